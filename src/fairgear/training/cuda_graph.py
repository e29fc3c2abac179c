"""A training step on a GPU, captured once as a CUDA graph and replayed, and Adam for it."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn
from torch.optim import Adam, Optimizer

Work = Callable[..., dict[str, Tensor]]
# Calls before the capture: libraries initialise, and optimisers create their state.
_WARM_UP = 3


class CapturedStep:
    """`work` on tensors of fixed sizes, as a CUDA graph.

    A training step is a few hundred small kernels, and launching one takes longer than running
    it. A replay launches them as one. Random numbers follow the generator's seed at each call, as
    they do without capture. The next call overwrites what was returned.
    """

    def __init__(self, work: Work) -> None:
        self._work = work
        self._calls = 0
        self._graph: torch.cuda.CUDAGraph | None = None
        self._inputs: tuple[Tensor, ...] = ()
        self._outputs: dict[str, Tensor] = {}

    def __call__(self, *inputs: Tensor) -> dict[str, Tensor]:
        """Do the work; the first calls are not captured."""
        if self._calls < _WARM_UP:
            self._calls += 1
            return self._on_side_stream(inputs)
        if self._graph is None:
            self._capture(inputs)
        for held, given in zip(self._inputs, inputs, strict=True):
            held.copy_(given)
        assert self._graph is not None
        self._graph.replay()
        return self._outputs

    def _on_side_stream(self, inputs: tuple[Tensor, ...]) -> dict[str, Tensor]:
        """Captures are made on a side stream, so the warm-up runs on one too."""
        stream = torch.cuda.Stream()  # type: ignore[no-untyped-call]  # torch has no type
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            outputs = self._work(*inputs)
        torch.cuda.current_stream().wait_stream(stream)
        return outputs

    def _capture(self, inputs: tuple[Tensor, ...]) -> None:
        self._inputs = tuple(given.clone() for given in inputs)
        self._graph = torch.cuda.CUDAGraph()
        with _without_garbage_collection(), torch.cuda.graph(self._graph):
            self._outputs = self._work(*self._inputs)


@contextmanager
def _without_garbage_collection() -> Iterator[None]:
    """Freeing an earlier graph during a capture would invalidate it."""
    gc.collect()
    before = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if before:
            gc.enable()


def adam(module: nn.Module, learning_rate: float, weight_decay: float = 0.0) -> Adam:
    """Adam in one pass over memory; on a GPU its state stays there, so that it can be captured."""
    parameters = list(module.parameters())
    device = parameters[0].device
    return Adam(
        parameters,
        lr=torch.tensor(learning_rate, device=device) if device.type == "cuda" else learning_rate,
        weight_decay=weight_decay,
        capturable=device.type == "cuda",
        fused=True,
    )


def set_learning_rate(optimizer: Optimizer, learning_rate: float) -> None:
    """Change the learning rate, also for a captured step."""
    for group in optimizer.param_groups:
        if isinstance(group["lr"], Tensor):
            group["lr"].fill_(learning_rate)
        else:
            group["lr"] = learning_rate
