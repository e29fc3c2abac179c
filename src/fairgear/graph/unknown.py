"""People whose sensitive attribute is unknown: how likely each value is, and completed graphs.

Nobody is left out. A model of the attribute is fitted on those who told, from features and known
neighbours, never from labels. A completion draws the others' values from it; several show how
much the draws matter, and what is measured on them is combined by Rubin's rules.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax, softmax
from sklearn.linear_model import LogisticRegression, Ridge

from fairgear.graph.sensitive_graph import SensitiveGraph
from fairgear.graph.similarity_mechanism import SimilarityMechanism
from fairgear.hashing import node_uniform

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]
# Parts of those who told; each is guessed by a fit on the others.
_FOLDS = 5
_BINS = 10
# Temperatures that guesses may be divided by, and the least chance whose logarithm is taken.
_COLDEST, _HOTTEST, _LEAST = 0.1, 10.0, 1e-6


@dataclass(frozen=True)
class Guessing:
    """How well the attribute is guessed of those who told, by fits on others who told.

    Attributes:
        right: share whose group is the likeliest; for a number the share of variance explained.
        base: the same by naming the largest group, or the mean, for everybody.
        calibration_error: mean difference between how likely groups were said to be and how often
            they occurred, in ten bins of equal size; NaN for a number.
    """

    right: float
    base: float
    calibration_error: float


class Unknown:
    """The law of the values that are not known, given those who told.

    Args:
        graph: a graph with `sens_known`; values of `sens` elsewhere are not read.
        seed: of the draws and of the parts that are guessed from one another.
    """

    def __init__(self, graph: SensitiveGraph, *, seed: int = 0) -> None:
        self.graph, self.seed = graph, seed
        rows = graph.canonical.rows
        known = graph.sens_known
        self._ids = graph.node_id.cpu()[rows]
        self._known: Mask = (
            np.ones(len(rows), dtype=np.bool_) if known is None else known.cpu()[rows].numpy()
        )
        self._sens = graph.sens.cpu()[rows].numpy()
        self._groups = 0 if graph.continuous else graph.num_groups
        self._possible: Mask | None = None
        if graph.sens_told is not None and graph.attributes is not None:
            self._possible = graph.attributes.possible(graph.sens_told.cpu()[rows].numpy())

    @cached_property
    def chances(self) -> Floats:
        """(n, groups), by row: the chance of each group, calibrated; 0 and 1 for those who told.

        (n,) for a number: what is expected, before the residual is drawn.
        """
        found = self._law(None)
        told = np.eye(self._groups)[self._sens] if self._groups else self._sens
        found[self._known] = told[self._known]
        by_row: Floats = found[self.graph.canonical.numbers.numpy()]
        return by_row

    @property
    def quality(self) -> Guessing:
        """Measured on those who told."""
        s, guess = self._sens[self._known], self._cross_fitted
        if not self._groups:
            spread = np.square(s - s.mean()).sum()
            return Guessing(float(1 - np.square(s - guess).sum() / spread), 0.0, float("nan"))
        chance = softmax(guess / self._temperature, axis=1)
        hit = np.eye(self._groups)[s]
        return Guessing(
            float((chance.argmax(axis=1) == s).mean()),
            float(hit.mean(axis=0).max()),
            float(np.mean([_calibration_error(*of) for of in zip(chance.T, hit.T, strict=True)])),
        )

    def completed(self, draw: int = 0) -> SensitiveGraph:
        """The graph with a value drawn for everybody who did not tell.

        Fits differ between draws too: those who told have random weights (Rubin's Bayesian
        bootstrap), so that draws also differ by what so few people cannot tell.
        """
        if self._known.all():
            return self.graph
        law = self._law(self._uniform(f"unknown, weights {draw}"))
        noise = self._uniform(f"unknown {draw}")
        if self._groups:
            below = np.cumsum(law, axis=1)[:, :-1] <= noise[:, None]
            drawn = below.sum(axis=1)
        else:
            told, residuals = self._sens[self._known], np.sort(self._residuals)
            drawn = law + residuals[(noise * len(residuals)).astype(np.int64)]
            # No age below 0: nobody is beyond those who told.
            drawn = np.clip(drawn, told.min(), told.max())
        values = np.where(self._known, self._sens, drawn)[self.graph.canonical.numbers.numpy()]
        sens = torch.from_numpy(values).to(self.graph.sens)
        x, column, mechanism = self.graph.x, self.graph.sens_column, self.graph.mechanism
        if column is not None:
            x = x.clone()
            x[:, column] = sens.to(x.dtype)
        changes: dict[str, Any] = {"x": x, "sens": sens}
        if column is not None or not isinstance(mechanism, SimilarityMechanism):
            # Equations and tables that hold the attribute are not those of a guess.
            changes |= {"mechanism": None, "raw": None}
        return self.graph.replace(**changes)

    def _uniform(self, stream: str) -> Floats:
        drawn: Floats = node_uniform(self._ids, self.seed, stream).numpy()
        return drawn

    @cached_property
    def _table(self) -> Floats:
        """Features without the attribute's own column, and the known neighbours; standardised."""
        graph, rows = self.graph, self.graph.canonical.rows
        x = graph.x.cpu()[rows].double().numpy()
        if graph.sens_column is not None:
            x = np.delete(x, graph.sens_column, axis=1)
        table = np.concatenate([x, self._around()], axis=1)
        spread = table.std(axis=0)
        standard: Floats = (table - table.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
        return standard

    def _around(self) -> Floats:
        """Shares of the groups but the first, or the mean, among neighbours who told.

        Those of everybody who told where no neighbour did.
        """
        lists = [(self.graph.canonical.csr, self.graph.canonical.weights)]
        lists += [self.graph.canonical.incoming] if self.graph.directed else []
        n, known = len(self._known), self._known
        told = [self._sens == group for group in range(1, self._groups)] or [self._sens]
        total, sums = np.zeros(n), np.zeros((n, len(told)))
        for (indptr, indices), weights in lists:
            weight = known[indices] * (1.0 if weights is None else weights)
            person = np.repeat(np.arange(n), np.diff(indptr))
            total += np.bincount(person, weight, n)
            for column, values in zip(sums.T, told, strict=True):
                column += np.bincount(person, weight * values[indices], n)
        for column, values in zip(sums.T, told, strict=True):
            mean = values[known].mean()
            column[:] = np.where(total > 0, column / np.where(total > 0, total, 1.0), mean)
        return sums

    @cached_property
    def _cross_fitted(self) -> Floats:
        """Of those who told, from fits on the others: log chances, or the number."""
        rows, s = np.flatnonzero(self._known), self._sens[self._known]
        place = self._uniform("unknown, parts")[self._known]
        # Every part has people of every group that is large enough.
        order = np.lexsort((place, s if self._groups else place))
        part = np.empty(len(rows), dtype=np.int64)
        part[order] = np.arange(len(rows)) % _FOLDS
        found = np.zeros((len(rows), *((self._groups,) if self._groups else ())))
        for one in range(min(_FOLDS, len(rows))):
            rest = part != one if len(rows) > 1 else part == one
            found[part == one] = self._fitted(rows[rest])(rows[part == one])
        return found

    @cached_property
    def _residuals(self) -> Floats:
        found: Floats = self._sens[self._known] - self._cross_fitted
        return found

    @cached_property
    def _temperature(self) -> float:
        """What log chances are divided by: the best on the guesses of those who told."""
        s, guess = self._sens[self._known], self._cross_fitted
        at = np.arange(len(s))

        def loss(log: float) -> float:
            return float(-log_softmax(guess / np.exp(log), axis=1)[at, s].mean())

        ends = (np.log(_COLDEST), np.log(_HOTTEST))
        return float(np.exp(minimize_scalar(loss, bounds=ends, method="bounded").x))

    def _law(self, noise: Floats | None) -> Floats:
        """Of everybody: calibrated chances, or the number; fitted with weights from `noise`."""
        everybody, rows = np.arange(len(self._known)), np.flatnonzero(self._known)
        weights = None if noise is None else -np.log1p(-noise[rows])
        found = self._fitted(rows, weights)(everybody)
        if not self._groups:
            return found
        chance: Floats = softmax(found / self._temperature, axis=1)
        if self._possible is None:
            return chance
        # Who told one of several attributes is in a group that has it, if anybody is.
        left = np.where(self._possible, chance, 0.0)
        total = left.sum(axis=1, keepdims=True)
        return np.where(total > 0, left / np.where(total > 0, total, 1.0), chance)

    def _fitted(
        self, rows: NDArray[np.int64], weights: Floats | None = None
    ) -> Callable[[NDArray[np.int64]], Floats]:
        """From people to log chances (m, groups), or to numbers (m,); learned from `rows`."""
        table, s = self._table, self._sens[rows]
        model: Any
        if not self._groups:
            model = Ridge().fit(table[rows], s, weights)
            return lambda some: np.asarray(model.predict(table[some]), dtype=np.float64)
        present = np.unique(s)
        if len(present) > 1:
            model = LogisticRegression(max_iter=1000).fit(table[rows], s, weights)

        def guess(some: NDArray[np.int64]) -> Floats:
            chance = np.zeros((len(some), self._groups))
            chance[:, present] = model.predict_proba(table[some]) if len(present) > 1 else 1.0
            logs: Floats = np.log(np.maximum(chance, _LEAST))
            # A group that nobody told of is never drawn.
            logs[:, ~np.isin(np.arange(self._groups), self._sens[self._known])] = -np.inf
            return logs

        return guess


def complete(graph: SensitiveGraph, draw: int = 0, seed: int = 0) -> SensitiveGraph:
    """The graph with unknown values drawn, and `sens_known` as it was; the same if all are known.

    Results depend on neither the order of the rows nor what `sens` holds for those who did not
    tell, so that a completed graph can be completed again.

    Example:
        >>> import torch
        >>> from fairgear.graph import complete
        >>> from fairgear.testing import toy_graph
        >>> graph = toy_graph()
        >>> told = torch.arange(graph.num_nodes) % 4 > 0
        >>> completed = complete(graph.replace(sens_known=told), seed=0)
        >>> bool((completed.sens[told] == graph.sens[told]).all())
        True
    """
    return Unknown(graph, seed=seed).completed(draw)


def _calibration_error(chance: Floats, hit: Floats) -> float:
    bins = np.array_split(np.argsort(chance, kind="stable"), min(_BINS, len(chance)))
    gaps = [len(of) * abs(float((chance[of] - hit[of]).mean())) for of in bins]
    return float(sum(gaps) / len(chance))
