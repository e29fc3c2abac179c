"""Modules with an encoder and a decoder, as PyTorch Geometric writes models of links."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from fairgear.auditing.adapters.module import evaluating, saved_buffers
from fairgear.graph import SensitiveGraph
from fairgear.links.adapters import AuditedLinks, FunctionScorer
from fairgear.links.base import PairScorer
from fairgear.metrics.inputs import Floats

# Pairs that a module decodes at a time: two rows of 256 numbers each are then 2 GB at most.
_DECODED = 2**20


class ModuleLinks(AuditedLinks):
    """A PyTorch or PyG module: `encode(x, edge_index)` once a world, then `decode(z, pairs)`.

    If edges have weights and `encode` takes them, it is called with `edge_weight` too. Modes of
    parts, buffers and caches are restored after each call.
    """

    kind = "PyTorch module"

    def __init__(self, module: Any, name: str | None, threshold: float | None) -> None:
        super().__init__(name or type(module).__name__, threshold)
        self.original = self._module = module

    def scorer(self, graph: SensitiveGraph, world: str) -> PairScorer:
        """See `AuditedLinks`."""
        codes = self._encoded(graph, world)

        def decode(ends: Tensor) -> Floats:
            parts = torch.split(ends, _DECODED, dim=1)
            return np.concatenate([self._decoded(codes, part, world) for part in parts])

        return FunctionScorer(graph, decode)

    def _encoded(self, graph: SensitiveGraph, world: str) -> Any:
        device, kind = self._place(graph.x)
        more = {}
        if graph.edge_weight is not None:
            if _takes_weights(self._module.encode):
                more["edge_weight"] = graph.edge_weight.to(device, kind, copy=True)
            else:
                self.note("Its encode takes no edge_weight: it does not read weights of edges.")
        x = graph.x.to(device, kind, copy=True)
        edges = graph.edge_index.to(device, copy=True)
        with self._calling_module(world, "check that module.encode(x, edge_index) works"):
            return self._module.encode(x, edges, **more)

    def _decoded(self, codes: Any, ends: Tensor, world: str) -> Floats:
        device, _ = self._place(torch.empty(0))
        step = "check that module.decode(encode(x, edge_index), pairs) works"
        with self._calling_module(world, step):
            found = self._module.decode(codes, ends.to(device))
        return self.checked(found, ends.shape[1], world)

    @contextmanager
    def _calling_module(self, world: str, next_step: str) -> Iterator[None]:
        module = self._module
        with self.calling(world, next_step), torch.no_grad():
            if not isinstance(module, nn.Module):
                yield
                return
            with evaluating(module):
                restore = saved_buffers(module)
                try:
                    yield
                finally:
                    restore()

    def _place(self, x: Tensor) -> tuple[torch.device, torch.dtype]:
        if not isinstance(self._module, nn.Module):
            return x.device, x.dtype
        first = next(self._module.parameters(), next(self._module.buffers(), x))
        return first.device, first.dtype if first.is_floating_point() else x.dtype


def _takes_weights(function: Callable[..., object]) -> bool:
    try:
        return "edge_weight" in inspect.signature(function).parameters
    except (TypeError, ValueError):
        # Compiled functions may have no signature.
        return False
