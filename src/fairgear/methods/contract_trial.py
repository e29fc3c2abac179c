"""A method on trial: what it answers, what it must answer, and how its fit is interrupted."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from fairgear.errors import FairgearError, ParameterError
from fairgear.graph import SensitiveGraph
from fairgear.methods.base import Method
from fairgear.methods.contract_graphs import toy_graph
from fairgear.training import Checkpoint


class ContractError(FairgearError, AssertionError):
    """A method that breaks a promise."""


@dataclass(frozen=True)
class Answers:
    """All that a fitted method says about the people of a graph."""

    scores: NDArray[np.float64]
    embeddings: NDArray[np.float32]
    threshold: float

    @classmethod
    def of(cls, model: Method, graph: SensitiveGraph, nodes: Tensor | None = None) -> Answers:
        """Ask for everything."""
        scores = model.predict_proba(graph, nodes=nodes)
        threshold = float("nan") if model.threshold_ is None else model.threshold_
        return cls(scores, model.embed(graph, nodes=nodes), threshold)

    def by_id(self, graph: SensitiveGraph) -> Answers:
        """In the order of the ids of the graph that was asked about."""
        order = graph.node_id.argsort().numpy()
        return Answers(self.scores[order], self.embeddings[order], self.threshold)


class Trial:
    """A method on the toy graph; a model that several checks ask for is fitted once.

    Args:
        method: the class, or a function from a seed to a new, unfitted method.
        settings: for a class: its settings, such as few steps.
        random: whether the seed plays a part; where it does not, no seed may change anything.
    """

    def __init__(
        self,
        method: type[Method] | Callable[[int], Method],
        *,
        settings: Mapping[str, Any] | None = None,
        random: bool = True,
    ) -> None:
        if settings and not isinstance(method, type):
            raise ParameterError(
                "settings with a function that makes the method",
                ", ".join(settings),
                "settings with a class only",
                "let the function give the settings itself",
            )
        self.random = random
        self._method = method
        self._settings = dict(settings or {})
        self._fitted: dict[int, Method] = {}

    def make(self, seed: int = 0) -> Method:
        """A new, unfitted method; a class runs on the CPU, where all sums can be repeated."""
        if isinstance(self._method, type):
            of_class: type[Method] = self._method
            return of_class(**{"seed": seed, "device": "cpu", **self._settings})
        return self._method(seed)

    def fitted(self, seed: int = 0) -> Method:
        """A model of the toy graph, which checks leave as it is."""
        if seed not in self._fitted:
            self._fitted[seed] = self.make(seed).fit(toy_graph())
        return self._fitted[seed]

    def broken(self, promise: str, got: str) -> ContractError:
        """The error for a promise that is not kept; `got` says how."""
        return ContractError(
            f"method {self.make().name!r}",
            got=got,
            allowed=promise,
            next_step="read docs/methods/your-own.md",
        )

    def expect(self, holds: bool, promise: str, got: str) -> None:
        """Unless it holds, the promise is broken."""
        if not holds:
            raise self.broken(promise, got)

    def expect_error(
        self, kind: type[FairgearError], call: Callable[[], object], promise: str
    ) -> None:
        """The call must fail with an error of that kind, on one line."""
        try:
            call()
        except kind as error:
            self.expect("\n" not in str(error), promise, "an error of several lines")
        except Exception as error:
            got = f"{type(error).__name__}: {error}"
            raise self.broken(f"{promise}: a {kind.__name__}", got) from error
        else:
            raise self.broken(f"{promise}: a {kind.__name__}", "no error")

    def expect_same(self, got: Answers, expected: Answers, promise: str, within: float = 0) -> None:
        """The answers must be the same, bit for bit unless `within` allows for rounding."""
        for part in ("scores", "embeddings"):
            one, other = getattr(got, part), getattr(expected, part)
            self.expect(one.shape == other.shape, promise, f"{part} of shape {one.shape}")
            # A scale for embeddings, which may be of any size; that of scores is 1.
            scale = 1.0 if part == "scores" else max(1.0, float(np.abs(other).max(initial=0)))
            gap = float(np.abs(one - other).max(initial=0)) / scale
            self.expect(gap <= within, promise, f"{part} that differ by up to {gap:.2g}")
        gap = abs(got.threshold - expected.threshold)
        self.expect(gap <= within, promise, f"thresholds that differ by {gap:.2g}")


class _Stopped(BaseException):
    """As if somebody had stopped the process; no method may catch it."""


@dataclass(frozen=True)
class Attempt:
    """One fit with a checkpoint: did it finish, and did it go on from what it found?"""

    finished: bool
    went_on: bool


def attempt_fit(
    model: Method, graph: SensitiveGraph, folder: Path, *, stop_after: int | None
) -> Attempt:
    """Fit with a checkpoint.

    Args:
        model: an unfitted method.
        graph: to fit it on.
        folder: of the checkpoint.
        stop_after: the step after which a checkpoint is due; once one has been written, then or
            at the end of a stage, the fit is stopped. None to let it finish.
    """
    asked, found = [], []
    write, read = Checkpoint.write, Checkpoint.read

    def due(self: Checkpoint) -> bool:
        asked.append(self)
        return len(asked) == stop_after

    def write_and_stop(self: Checkpoint, tensors: dict[str, Tensor], facts: dict[str, Any]) -> None:
        write(self, tensors, facts)
        if stop_after is not None:
            raise _Stopped

    def read_and_tell(self: Checkpoint) -> tuple[dict[str, Tensor], dict[str, Any]] | None:
        what = read(self)
        found.append(what is not None)
        return what

    with (
        patch.object(Checkpoint, "due", due),
        patch.object(Checkpoint, "write", write_and_stop),
        patch.object(Checkpoint, "read", read_and_tell),
    ):
        try:
            model.fit(graph, checkpoint=folder)
        except _Stopped:
            return Attempt(False, any(found))
    return Attempt(True, any(found))
