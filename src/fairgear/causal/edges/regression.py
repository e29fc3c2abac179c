"""Weighted logistic regression on pairs of people, and its cross-validated quality."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from fairgear.causal.edges.kernel import Floats, Integers
from fairgear.causal.edges.pairs import FOLDS, Factual, Pairs
from fairgear.causal.edges.terms import EdgeTerms
from fairgear.metrics import weighted_auroc
from fairgear.progress import bar

Rows = NDArray[np.bool_]

# Rows of the design per block: 5 MB, whatever the number of pairs.
_BLOCK = 1 << 17
# A normal prior of standard deviation 10 on each parameter times its column's deviation. It keeps
# parameters finite that the data would send to infinity, and moves the others by less than a
# hundredth of their interval.
PENALTY = 0.01
_STEPS = 100
_TOLERANCE = 1e-9

# Below 0.7, discrimination is poor (Hosmer and Lemeshow).
LEAST_AUC = 0.7
# Degrees are the same in every world: a model that predicts by them alone moves edges blindly.
LEAST_AUC_WITHOUT_DEGREES = 0.6
# The number of edges may be off by a twentieth, and a tenth of them may be in the wrong bin.
MOST_OFF, MOST_MISPLACED = 0.05, 0.1
# Fewer bins where there are fewer edges: a bin of 50 is off by 11 % by chance.
BINS, LEAST_IN_BIN = 10, 50


def maximised(
    likelihood: Callable[[Floats], tuple[float, Floats, Floats]], start: Floats
) -> Floats:
    """Where a concave function of θ, given with gradient and curvature, is greatest."""
    theta = start
    value, gradient, curvature = likelihood(theta)
    for _ in range(_STEPS):
        step = np.linalg.solve(curvature, gradient)
        size = 1.0
        while True:
            trial = likelihood(theta + size * step)
            # The likelihood is concave: a short enough step always gains, up to rounding.
            if trial[0] >= value - 1e-12 * abs(value) or size < 1e-6:
                break
            size /= 2
        theta = theta + size * step
        value, gradient, curvature = trial
        if np.abs(size * step).max() <= _TOLERANCE * (1.0 + np.abs(theta).max()):
            break
    return theta


def sandwich(score: Floats, first: Integers, second: Integers, curvature: Floats) -> Floats:
    """The diagonal of H⁻¹ M H⁻¹, as in `PairRegression.variance`, from the scores of pairs."""
    people = int(max(first.max(), second.max())) + 1
    by_person = np.stack(
        [
            sum(np.bincount(ends, column, minlength=people) for ends in (first, second))
            for column in score.T
        ],
        axis=1,
    )
    bread, own = np.linalg.inv(curvature), score.T @ score
    shared = by_person.T @ by_person - own
    result: Floats = np.maximum(np.diag(bread @ shared @ bread), np.diag(bread @ own @ bread))
    return result


class EntryRegression(Protocol):
    """A regression on entries that are edges or not, which can be fitted to some of them."""

    pairs: Pairs

    def fit(self, rows: Rows | None = None, *, start: Floats | None = None) -> Floats:
        """θ, on all entries or on `rows`."""

    def logits(self, theta: Floats, rows: Rows | None = None, *, degree: bool = True) -> Floats:
        """The logit of every entry of `rows`."""


class PairRegression:
    """logit P(edge) = design · θ over weighted pairs of a graph."""

    def __init__(self, terms: EdgeTerms, factual: Factual, pairs: Pairs) -> None:
        self._terms = terms
        self.pairs = pairs
        first, second = pairs.first, pairs.second
        self._alike = terms.likeness(terms.prepared(factual.table), first, second)
        self._activity = factual.activity(first, second, pairs.joined)
        self._between = terms.between(factual.sens[first], factual.sens[second])
        total = pairs.weight.sum()
        mean = sum(z.T @ w for z, w, *_ in self._blocks()) / total
        square = sum((z * z).T @ w for z, w, *_ in self._blocks()) / total
        variance = square - mean * mean
        # The variance of a constant column can be a rounding error above 0.
        self._varies = variance > 1e-12 * (square + 1e-300)
        self._penalty = PENALTY * np.where(self._varies, variance, 1.0)
        self._penalty[0] = 0.0
        self._varies[0] = True

    def fit(self, rows: Rows | None = None, *, start: Floats | None = None) -> Floats:
        """θ by Newton's method, on all pairs or on `rows`; by default from the rate of edges."""
        if start is None:
            joined = float((self.pairs.weight * self.pairs.joined).sum())
            start = np.zeros(len(self._terms.parameters))
            start[0] = np.log(joined / (float(self.pairs.weight.sum()) - joined))
        return maximised(lambda theta: self._likelihood(theta, rows), start)

    def logits(self, theta: Floats, rows: Rows | None = None, *, degree: bool = True) -> Floats:
        """The logit of every pair of `rows`, with or without the degree term."""
        if not degree:
            named = [name == "degree" for name in self._terms.parameters]
            theta = np.where(named, 0.0, theta)
        return np.concatenate([z @ theta for z, *_ in self._blocks(rows)])

    def variance(self, theta: Floats) -> Floats:
        """The diagonal of H⁻¹ M H⁻¹ with M = Σ s_a s_bᵀ over all pairs a, b that share a person.

        NaN for parameters that no pair informs.

        s_a = w_a (y_a − p_a) z_a. Scores of pairs that share nobody are uncorrelated given the
        rest of the graph. Those that share a person are correlated through the degrees and through
        whatever about that person the model leaves out. M is the sum over people of (Σ of their
        scores)², less the pairs counted twice. By chance it may fall below the sandwich of
        independent pairs; the larger of the two is taken.
        """
        size = len(theta)
        people = int(max(self.pairs.first.max(), self.pairs.second.max())) + 1
        by_person = np.zeros((people, size))
        own, curvature = np.zeros((size, size)), np.diag(self._penalty)
        for z, w, y, rows in self._blocks():
            p = expit(z @ theta)
            curvature = curvature + (z * (w * p * (1 - p))[:, None]).T @ z
            score = z * (w * (y - p))[:, None]
            own += score.T @ score
            for ends in (self.pairs.first[rows], self.pairs.second[rows]):
                for k in range(size):
                    by_person[:, k] += np.bincount(ends, score[:, k], minlength=people)
        bread = np.linalg.inv(curvature)
        shared = by_person.T @ by_person - own
        variance = np.maximum(np.diag(bread @ shared @ bread), np.diag(bread @ own @ bread))
        return np.where(self._varies, variance, np.nan)

    def _likelihood(self, theta: Floats, rows: Rows | None) -> tuple[float, Floats, Floats]:
        value = -0.5 * float(self._penalty @ theta**2)
        gradient, curvature = -self._penalty * theta, np.diag(self._penalty)
        for z, w, y, _ in self._blocks(rows):
            logit = z @ theta
            p = expit(logit)
            value += float(w @ (y * logit - np.logaddexp(0.0, logit)))
            gradient = gradient + z.T @ (w * (y - p))
            curvature = curvature + (z * (w * p * (1 - p))[:, None]).T @ z
        return value, gradient, curvature

    def _blocks(
        self, chosen: Rows | None = None
    ) -> Iterator[tuple[Floats, Floats, Integers, Integers | slice]]:
        """Design, weights, outcomes and rows, block by block."""
        for start in range(0, len(self.pairs), _BLOCK):
            rows: slice | Integers = slice(start, start + _BLOCK)
            if chosen is not None:
                rows = start + np.flatnonzero(chosen[rows])
            z = self._terms.design(self._alike[rows], self._activity[rows], self._between[rows])
            yield z, self.pairs.weight[rows], self.pairs.joined[rows], rows


@dataclass(frozen=True)
class EdgeQuality:
    """How well an edge model predicts held-out pairs, in five-fold cross-validation.

    Attributes:
        auc: weighted, of edges against non-edges.
        auc_without_degrees: the same from likeness and groups alone, which are what changes.
        expected, actual: number of edges.
        bins: (expected, actual) in up to ten classes of pairs by probability, each with about
            the same expected number of edges.
    """

    auc: float
    auc_without_degrees: float
    expected: float
    actual: float
    bins: tuple[tuple[float, float], ...]

    @property
    def misplaced(self) -> float:
        """The share of edges that the model expects in another bin than they are in."""
        return sum(abs(e - a) for e, a in self.bins) / 2 / self.actual

    def shortcoming(self) -> str | None:
        """Why the model is not good enough to move edges by, if so."""
        off = self.expected / self.actual - 1
        if not self.auc >= LEAST_AUC:
            return (
                f"the AUC on held-out pairs is {self.auc:.2f}, below {LEAST_AUC} (the model "
                "hardly separates edges from non-edges)"
            )
        if not self.auc_without_degrees >= LEAST_AUC_WITHOUT_DEGREES:
            return (
                f"the AUC on held-out pairs is {self.auc:.2f}, but {self.auc_without_degrees:.2f} "
                f"without degrees, below {LEAST_AUC_WITHOUT_DEGREES} (likeness and groups, which "
                "would move the edges, hardly predict them)"
            )
        if not abs(off) <= MOST_OFF:
            return (
                f"{self.expected:.0f} edges are expected on held-out pairs and {self.actual:.0f} "
                f"are there, {off:+.0%}, more than {MOST_OFF:.0%} off"
            )
        if not self.misplaced <= MOST_MISPLACED:
            return (
                f"{self.misplaced:.0%} of the edges on held-out pairs are expected among pairs of "
                f"another probability than theirs, more than {MOST_MISPLACED:.0%}"
            )
        return None

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        return {
            "auc": self.auc,
            "auc_without_degrees": self.auc_without_degrees,
            "held_out_edges": {"expected": self.expected, "actual": self.actual},
            "bins": [{"expected": e, "actual": a} for e, a in self.bins],
            "misplaced": self.misplaced,
        }


def cross_validated(regression: EntryRegression, theta: Floats) -> EdgeQuality:
    """Predict each fifth of the pairs by a fit on the other four; fits start from `theta`."""
    pairs = regression.pairs
    p, bare = np.empty(len(pairs)), np.empty(len(pairs))
    with bar("testing the edge model", total=FOLDS) as shown:
        for fold in range(FOLDS):
            held = pairs.fold == fold
            fitted = regression.fit(~held, start=theta)
            p[held] = expit(regression.logits(fitted, held))
            bare[held] = regression.logits(fitted, held, degree=False)
            shown.advance()
    weights = pairs.weight[None]
    return EdgeQuality(
        auc=float(weighted_auroc(pairs.joined, p)(weights)[0]),
        auc_without_degrees=float(weighted_auroc(pairs.joined, bare)(weights)[0]),
        expected=float(p @ pairs.weight),
        actual=float(pairs.joined @ pairs.weight),
        bins=_bins(p, pairs.weight, pairs.joined * pairs.weight),
    )


def _bins(p: Floats, weight: Floats, joined: Floats) -> tuple[tuple[float, float], ...]:
    count = int(np.clip(joined.sum() // LEAST_IN_BIN, 1, BINS))
    order = np.argsort(p, kind="stable")
    share = np.cumsum((p * weight)[order])
    share /= share[-1]
    cuts = p[order][np.searchsorted(share, np.arange(1, count) / count)]
    # By value, so that pairs of the same probability share a bin.
    at = np.searchsorted(cuts, p, side="left")
    expected = np.bincount(at, p * weight, minlength=count)
    actual = np.bincount(at, joined, minlength=count)
    return tuple(
        (e, a) for e, a in zip(expected.tolist(), actual.tolist(), strict=True) if e > 0 or a > 0
    )
