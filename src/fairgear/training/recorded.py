"""Work on a CUDA card that is recorded once and replayed: one call in place of hundreds."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch
from torch import Tensor

Work = Callable[..., dict[str, Tensor]]
# Calls before the recording: libraries set themselves up, and optimisers make their state.
_WARM_UP = 3


class Recorded:
    """`work` on tensors of fixed sizes, as a CUDA graph.

    A training step is a few hundred small kernels, and starting one takes longer than running it.
    Replayed, they start as one. Random numbers follow the generator's seed at each call, as they
    do without. What is returned is overwritten by the next call.
    """

    def __init__(self, work: Work) -> None:
        self._work = work
        self._calls = 0
        self._graph: torch.cuda.CUDAGraph | None = None
        self._inputs: tuple[Tensor, ...] = ()
        self._outputs: dict[str, Tensor] = {}

    def __call__(self, *inputs: Tensor) -> dict[str, Tensor]:
        """Do the work; the first calls do it plainly."""
        if self._calls < _WARM_UP:
            self._calls += 1
            return self._aside(inputs)
        if self._graph is None:
            self._record(inputs)
        for held, given in zip(self._inputs, inputs, strict=True):
            held.copy_(given)
        assert self._graph is not None
        self._graph.replay()
        return self._outputs

    def _aside(self, inputs: tuple[Tensor, ...]) -> dict[str, Tensor]:
        """On a stream of its own, where recordings are made too."""
        stream = torch.cuda.Stream()  # type: ignore[no-untyped-call]  # torch has no type
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            outputs = self._work(*inputs)
        torch.cuda.current_stream().wait_stream(stream)
        return outputs

    def _record(self, inputs: tuple[Tensor, ...]) -> None:
        self._inputs = tuple(given.clone() for given in inputs)
        self._graph = torch.cuda.CUDAGraph()
        with _nothing_collected(), torch.cuda.graph(self._graph):
            self._outputs = self._work(*self._inputs)


@contextmanager
def _nothing_collected() -> Iterator[None]:
    """Python's collector rests: to free an earlier recording would spoil the one under way."""
    gc.collect()
    before = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if before:
            gc.enable()
