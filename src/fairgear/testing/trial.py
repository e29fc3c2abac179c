"""A method under test: its answers, what is expected of them, and interrupted fits."""

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
from fairgear.testing.toy_graphs import toy_graph, toy_world
from fairgear.training import Checkpoint


class ContractError(FairgearError, AssertionError):
    """A method or causal model that breaks its contract.

    Example:
        >>> from fairgear.methods import METHODS
        >>> from fairgear.testing import ContractError, check_method
        >>> class Contrary(METHODS["logistic"]):
        ...     def predict(self, graph):
        ...         return 1 - super().predict(graph)
        >>> try:
        ...     check_method(Contrary, random=False)
        ... except ContractError as error:
        ...     print(error.got)
        other labels
    """


@dataclass(frozen=True)
class Answers:
    """Everything a fitted method says about the people of a graph."""

    scores: NDArray[np.float64]
    embeddings: NDArray[np.float32]
    threshold: float

    @classmethod
    def of(cls, model: Method, graph: SensitiveGraph, nodes: Tensor | None = None) -> Answers:
        """Compute them all."""
        scores = model.scores(graph, nodes=nodes)
        threshold = float("nan") if model.threshold_ is None else model.threshold_
        return cls(scores, model.embed(graph, nodes=nodes), threshold)

    def by_id(self, graph: SensitiveGraph) -> Answers:
        """The same, sorted by the graph's node ids."""
        order = graph.canonical.rows.numpy()
        return Answers(self.scores[order], self.embeddings[order], self.threshold)


class Trial:
    """A method on the toy graph; checks share its fitted models.

    Args:
        method: the class, or a function from a seed to a new, unfitted method.
        settings: settings for a class, such as few steps.
        random: whether the method depends on its seed; if False, no seed may change anything.
        kind: of the labels: "binary", "multiclass" or "regression".
        sens: what s is: "binary", "categorical" or "continuous".
        links: "undirected", "directed" or "weighted".

    Example:
        >>> from fairgear.methods import METHODS
        >>> from fairgear.testing import Trial
        >>> trial = Trial(METHODS["logistic"], random=False)
        >>> trial.fitted().predict(trial.graph()).shape
        (160,)
    """

    def __init__(
        self,
        method: type[Method] | Callable[[int], Method],
        *,
        settings: Mapping[str, Any] | None = None,
        random: bool = True,
        kind: str = "binary",
        sens: str = "binary",
        links: str = "undirected",
    ) -> None:
        if settings and not isinstance(method, type):
            what, got = "settings with a function that makes the method", ", ".join(settings)
            raise ParameterError(what, got, "settings with a class only", "set them inside it")
        self.random = random
        self.kinds = {"kind": kind, "sens": sens, "links": links}
        self._method = method
        self._settings = dict(settings or {})
        self._fitted: dict[int, Method] = {}
        self._others: dict[str, Trial] = {}

    def on(self, **kinds: str) -> Trial:
        """The same method on a toy graph with other labels, another s or other links; shared."""
        key, settings = repr(sorted(kinds.items())), self._settings or None
        if key not in self._others:
            given = {**self.kinds, **kinds}
            self._others[key] = Trial(self._method, settings=settings, random=self.random, **given)
        return self._others[key]

    def graph(self) -> SensitiveGraph:
        """A new copy of the toy graph."""
        return toy_graph(**self.kinds)

    def world(self) -> SensitiveGraph:
        """A new copy of its counterfactual."""
        return toy_world(**self.kinds)

    def make(self, seed: int = 0) -> Method:
        """A new, unfitted method; a class runs on the CPU, where sums are reproducible."""
        if isinstance(self._method, type):
            method: type[Method] = self._method
            return method(**{"seed": seed, "device": "cpu", **self._settings})
        return self._method(seed)

    def fitted(self, seed: int = 0) -> Method:
        """A model fitted on the toy graph, shared by checks that do not change it."""
        if seed not in self._fitted:
            self._fitted[seed] = self.make(seed).fit(self.graph())
        return self._fitted[seed]

    def broken(self, promise: str, got: str) -> ContractError:
        """The error for a broken promise; `got` says how."""
        what = f"method {self.make().name!r}"
        return ContractError(what, got, promise, "read docs/development/your-own-method.md")

    def expect(self, holds: bool, promise: str, got: str) -> None:
        """Raise unless the promise holds."""
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
        """The answers must be equal, to the bit unless `within` allows for rounding."""
        for part in ("scores", "embeddings"):
            one, other = getattr(got, part), getattr(expected, part)
            self.expect(one.shape == other.shape, promise, f"{part} of shape {one.shape}")
            # Embeddings and numbers can have any scale; that of probabilities is 1.
            scale = max(1.0, float(np.abs(other).max(initial=0)))
            gap = float(np.abs(one - other).max(initial=0)) / scale
            self.expect(gap <= within, promise, f"{part} that differ by up to {gap:.2g}")
        gap = abs(got.threshold - expected.threshold)
        self.expect(gap <= within, promise, f"thresholds that differ by {gap:.2g}")


class _Interrupted(BaseException):
    """Stands for a killed process; no method may catch it."""


def attempt_fit(
    model: Method, graph: SensitiveGraph, folder: Path, *, stop_after: int | None
) -> tuple[bool, bool]:
    """Fit with a checkpoint; returns whether the fit finished, and whether it resumed from one.

    A checkpoint is due after the step `stop_after`. The fit is interrupted once one has been
    written, then or at the end of a stage; it finishes if that is None.
    """
    steps, found = [], []
    write, read = Checkpoint.write, Checkpoint.read

    def due(self: Checkpoint) -> bool:
        steps.append(self)
        return len(steps) == stop_after

    def write_and_stop(self: Checkpoint, tensors: dict[str, Tensor], facts: dict[str, Any]) -> None:
        write(self, tensors, facts)
        if stop_after is not None:
            raise _Interrupted

    def noted_read(self: Checkpoint) -> tuple[dict[str, Tensor], dict[str, Any]] | None:
        state = read(self)
        found.append(state is not None)
        return state

    with (
        patch.object(Checkpoint, "due", due),
        patch.object(Checkpoint, "write", write_and_stop),
        patch.object(Checkpoint, "read", noted_read),
    ):
        try:
            model.fit(graph, checkpoint=folder)
        except _Interrupted:
            return False, any(found)
    return True, any(found)
