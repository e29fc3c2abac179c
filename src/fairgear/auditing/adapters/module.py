"""Torch modules that are called with features and edges."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Literal, get_args

import numpy as np
import torch
from torch import Tensor, nn
from torch_geometric.nn import MessagePassing

from fairgear.auditing.adapters.base import SUM_ERROR, Adapter, within_unit
from fairgear.auditing.world import World
from fairgear.auditing.worlds import Worlds
from fairgear.causal import Surroundings
from fairgear.errors import ParameterError
from fairgear.graph.targets import Target
from fairgear.metrics.inputs import Floats, Integers

Output = Literal["auto", "logits", "probabilities"]
_CALLABLE = "pass a callable such as lambda graph: module(graph.x, graph.edge_index)[:, 1]"
_LOGITS = "if these are logits, pass ModuleAdapter(module, output='logits')"


class ModuleAdapter(Adapter):
    """A module whose `forward(x, edge_index)` returns (n,), (n, 1) or (n, 2).

    (n, classes) for several classes, and (n,) or (n, 1) for numbers. If edges have weights and it
    takes them, it is called with `edge_weight` too.

    It is called in evaluation mode, without gradients, on the device of its parameters. The modes
    of its parts and its buffers are restored afterwards.

    Args:
        module: the model.
        name: that of its class if not given.
        threshold: 0.5 if not given; a probability, also where outputs are logits.
        output: what it returns; "auto" decides by the first world.

    Example:
        >>> import torch
        >>> from torch_geometric.nn import GCNConv
        >>> import fairgear as fg
        >>> from fairgear.auditing import ModuleAdapter
        >>> from fairgear.testing import toy_graph
        >>> graph = toy_graph()
        >>> module = ModuleAdapter(GCNConv(graph.x.shape[1], 2), name="untrained", output="logits")
        >>> audit = fg.audit(module, graph, other_causal_models=False, what_if_people=0)
        >>> audit.probes.graph
        True
    """

    kind = "PyTorch module"
    probabilities = True

    def __init__(
        self,
        module: nn.Module,
        *,
        name: str | None = None,
        threshold: float | None = None,
        output: str = "auto",
    ) -> None:
        self.original = self._module = module
        self.name = name or type(module).__name__
        self._set_threshold(threshold)
        if output not in get_args(Output):
            what, step = f"output of {self.name!r}", "use 'auto' to decide by the outputs"
            raise ParameterError(what, repr(output), ", ".join(get_args(Output)), step)
        self._output = output
        # How far its layers see; known after a first call.
        self._hops: int | None = None
        # Whether they also read the degrees of the farthest people they see.
        self._degrees = False
        self._takes_weights = False
        self._check_signature()

    def scores(self, world: World, nodes: Tensor) -> Floats:
        """The probability of class 1."""
        rows = nodes.cpu().numpy()
        with _counting_hops(self._module) as hops:
            graph = world.graph
            values = self._values(world, graph.x, graph.edge_index, rows, graph.edge_weight)
        self._hops = hops()
        return self._checked(world, values, rows, next_step=_LOGITS)

    def near(self, worlds: Sequence[World], nodes: Sequence[Tensor]) -> Floats | None:
        """The same from as many steps around them as the module has layers of message passing."""
        local = [world.local for world in worlds]
        # Directions and weights are not part of the surroundings' edges here.
        if self._hops is None or not local[0].factual.plain:
            return None
        return np.concatenate(
            [
                self._values(worlds[0], *_inputs(around, self._degrees), around.targets)
                for around in Surroundings.parts(local, nodes, self._hops)
            ]
        )

    def prepare(self, worlds: Worlds) -> None:
        """See `Adapter`; degrees cost many edges, and most layers do not read them."""
        for self._degrees in (False, True):
            super().prepare(worlds)
            if self.is_local:
                return

    def _values(
        self,
        world: World,
        x: Tensor,
        edge_index: Tensor,
        rows: Integers,
        edge_weight: Tensor | None = None,
    ) -> Floats:
        """The probability of class 1 of some rows of x, those of several classes, or numbers."""
        with self._calling(world, f"check that module(x, edge_index) works, or {_CALLABLE}"):
            found = self._forward(x, edge_index, edge_weight)
        if not isinstance(found, Tensor):
            raise self._refusal(world, f"a {type(found).__name__}", "one tensor", _CALLABLE)
        table = self._columns(world, found, len(x))
        if self.target.is_number:
            return self._kept(table[rows])
        if self._output == "auto":
            self._output = self._decide(table)
        if self._output == "logits":
            return _logistic(table[rows], self.target)
        return self._kept(table[rows])

    def _check_signature(self) -> None:
        try:
            signature = inspect.signature(self._module.forward)
        except (TypeError, ValueError):
            # A compiled forward may have no signature; the first call will show.
            return
        try:
            signature.bind("x", "edge_index")
            self._takes_weights = "edge_weight" in signature.parameters
        except TypeError as error:
            got = f"forward{signature.replace(return_annotation=signature.empty)}"
            what, allowed = f"the model {self.name!r}", "forward(x, edge_index)"
            raise ParameterError(what, got, allowed, _CALLABLE) from error

    def _forward(self, x: Tensor, edge_index: Tensor, edge_weight: Tensor | None) -> object:
        first = next(self._module.parameters(), next(self._module.buffers(), x))
        kind = first.dtype if first.is_floating_point() else x.dtype
        # Copies: a layer that works in place must not reach the graph.
        x = x.to(first.device, kind, copy=True)
        edge_index = edge_index.to(first.device, copy=True)
        more: dict[str, Tensor] = {}
        if edge_weight is not None and self._takes_weights:
            more["edge_weight"] = edge_weight.to(first.device, kind, copy=True)
        elif edge_weight is not None:
            self._note("Its forward takes no edge_weight: it does not read the weights of edges.")
        with torch.no_grad(), evaluating(self._module) as caches:
            if caches:
                self._note(
                    "It has layers that cache the first graph they see (cached=True): here they "
                    "read every graph."
                )
            restore = saved_buffers(self._module)
            try:
                found = self._module(x, edge_index, **more)
                # What it returned may be the very state that is restored.
                return found.clone() if isinstance(found, Tensor) else found
            finally:
                if restore():
                    self._note(
                        "It changes a state of its own when it is called; every call began with "
                        "the original state."
                    )

    def _decide(self, table: Floats) -> Output:
        """Whether the outputs are logits; rows that are not finite are ignored."""
        known = table[np.isfinite(table).all(axis=1)]
        found: Output = "probabilities" if within_unit(known) else "logits"
        if table.shape[1] == 1:
            lies = "lies within" if found == "probabilities" else "goes beyond"
            self._note(f"Its one column of outputs {lies} 0 to 1 and is read as {found}.")
            return found
        if not np.allclose(known.sum(axis=1), 1, rtol=0, atol=SUM_ERROR):
            found = "logits"
        add_up = "sum" if found == "probabilities" else "do not sum"
        width = "two" if table.shape[1] == 2 else str(table.shape[1])
        self._note(f"Its {width} columns of outputs {add_up} to 1 and are read as {found}.")
        return found


def _inputs(around: Surroundings, degrees: bool) -> tuple[Tensor, Tensor]:
    """Features and edges of the surroundings.

    With `degrees`, also those whose neighbours are not all there have as many edges as in the
    graph: the others come from one more node.
    """
    if not degrees:
        return around.x, torch.from_numpy(around.edges)
    rim, missing = around.rim
    outside = np.stack([np.full(missing.sum(), len(around.x)), np.repeat(rim, missing)])
    back = around.edges[::-1, ~around.inner[around.edges[0]]]
    edges = torch.from_numpy(np.concatenate([around.edges, back, outside], axis=1))
    return torch.cat([around.x, torch.zeros_like(around.x[:1])]), edges


@contextmanager
def _counting_hops(module: nn.Module) -> Iterator[Callable[[], int]]:
    """Yields what tells, afterwards, how often messages were passed on inside."""
    count = 0

    def add(*_: object) -> None:
        nonlocal count
        count += 1

    layers = [part for part in module.modules() if isinstance(part, MessagePassing)]
    handles = [layer.register_propagate_forward_hook(add) for layer in layers]
    try:
        yield lambda: count
    finally:
        for handle in handles:
            handle.remove()


def _logistic(logits: Floats, target: Target) -> Floats:
    """The probability of class 1, from one column or two; or of each of several classes."""
    values = torch.from_numpy(logits)
    if target.outputs > 1:
        shares: Floats = values.softmax(dim=1).numpy()
        return shares
    found = values.sigmoid()[:, 0] if logits.shape[1] == 1 else values.softmax(dim=1)[:, 1]
    result: Floats = found.numpy()
    return result


@contextmanager
def evaluating(module: nn.Module) -> Iterator[bool]:
    """Evaluation mode inside, without cached graphs; yields whether any layer caches."""
    parts = list(module.modules())
    modes = [part.training for part in parts]
    # PyG's attribute of layers that compute what depends on the edges only once.
    caching = [part for part in parts if getattr(part, "cached", None) is True]
    kept = [
        {key: value for key, value in vars(part).items() if key.startswith("_cached")}
        for part in caching
    ]
    try:
        module.eval()
        for part, cache in zip(caching, kept, strict=True):
            vars(part).update(cached=False, **dict.fromkeys(cache))
        yield bool(caching)
    finally:
        for part, mode in zip(parts, modes, strict=True):
            part.training = mode
        for part, cache in zip(caching, kept, strict=True):
            vars(part).update(cached=True, **cache)


def saved_buffers(module: nn.Module) -> Callable[[], bool]:
    """Copy every buffer; the result restores them, and returns whether any had changed."""
    kept = []
    for part in module.modules():
        held: dict[str, Tensor | None] = dict(part._buffers.items())
        copies = {
            name: (value.detach().clone(), value._version)
            for name, value in held.items()
            if value is not None
        }
        kept.append((part, held, copies))

    def restore() -> bool:
        changed = False
        for part, held, copies in kept:
            for name in [name for name in part._buffers if name not in held]:
                delattr(part, name)
                changed = True
            for name, value in held.items():
                if getattr(part, name) is not value:
                    setattr(part, name, value)
                    changed = True
                # The tensor itself, not only its name: other objects may refer to it.
                if value is not None and not _is_same(value, *copies[name]):
                    with torch.no_grad():
                        value.copy_(copies[name][0])
                    changed = True
        return changed

    return restore


def _is_same(value: Tensor, copy: Tensor, version: int) -> bool:
    if value.layout != torch.strided:
        # Sparse tensors cannot be compared by value, but count their changes.
        return value._version == version
    if value.shape != copy.shape:
        return False
    # NaN must stay NaN, and equals nothing.
    return bool(((value == copy) | ((value != value) & (copy != copy))).all())
