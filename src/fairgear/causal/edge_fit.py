"""Weighted logistic regression on pairs of people, who are in many pairs each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from fairgear.causal.edge_kernel import Floats, Integers
from fairgear.causal.edge_pairs import Pairs
from fairgear.causal.edge_terms import EdgeTerms

Rows = NDArray[np.bool_]

# Rows of the design made at a time: 5 MB of them, whatever the number of pairs.
_BLOCK = 1 << 17
# A normal prior of standard deviation 10 on each parameter times its column's deviation: it holds
# parameters that the data would send to infinity and does not move the others by a hundredth of
# their interval.
_PENALTY = 0.01
_STEPS = 100
_TOLERANCE = 1e-9
_NORMAL_95 = 1.959963984540054


@dataclass(frozen=True, eq=False)
class Fit:
    """Parameters and how sure they are."""

    theta: Floats
    variance: Floats
    """NaN for parameters that no pair speaks of."""

    def intervals(self) -> Floats:
        """(parameters, 2): 95 %, by the normal distribution."""
        wide = _NORMAL_95 * np.sqrt(self.variance)
        return np.column_stack([self.theta - wide, self.theta + wide])


class PairRegression:
    """logit P(edge) = design · θ over weighted pairs."""

    def __init__(
        self, terms: EdgeTerms, pairs: Pairs, alike: Floats, activity: Floats, groups: Integers
    ) -> None:
        self._terms = terms
        self.pairs = pairs
        self._alike, self._activity, self._groups = alike, activity, groups
        total = pairs.weight.sum()
        mean = sum(z.T @ w for z, w, *_ in self._blocks()) / total
        square = sum((z * z).T @ w for z, w, *_ in self._blocks()) / total
        variance = square - mean * mean
        # Columns of equal values have a variance of rounding errors.
        self._varies = variance > 1e-12 * (square + 1e-300)
        self._penalty = _PENALTY * np.where(self._varies, variance, 1.0)
        self._penalty[0] = 0.0
        self._varies[0] = True

    def fit(self, rows: Rows | None = None, *, start: Floats | None = None) -> Floats:
        """θ by Newton's method, on all pairs or those of `rows`."""
        theta = self._first_guess() if start is None else start.copy()
        value, gradient, curvature = self._likelihood(theta, rows)
        for _ in range(_STEPS):
            step = np.linalg.solve(curvature, gradient)
            size = 1.0
            while True:
                trial = self._likelihood(theta + size * step, rows)
                # The likelihood is concave: a short enough step always gains, up to rounding.
                if trial[0] >= value - 1e-12 * abs(value) or size < 1e-6:
                    break
                size /= 2
            theta = theta + size * step
            value, gradient, curvature = trial
            if np.abs(size * step).max() <= _TOLERANCE * (1.0 + np.abs(theta).max()):
                break
        return theta

    def logits(self, theta: Floats, rows: Rows | None = None, *, degree: bool = True) -> Floats:
        """The logit of every pair of `rows`; without the degrees' part, if asked."""
        if not degree:
            named = [name == "degree" for name in self._terms.parameters]
            theta = np.where(named, 0.0, theta)
        return np.concatenate([z @ theta for z, *_ in self._blocks(rows)])

    def variance(self, theta: Floats) -> Floats:
        """The diagonal of H⁻¹ M H⁻¹ with M = Σ s_a s_bᵀ over all pairs a, b that share a person.

        s_a = w_a (y_a − p_a) z_a. Given the rest of the graph an edge is as likely as the model
        says, so the scores of pairs that share nobody are uncorrelated; those that share a person
        are not, through the degrees and through all that is particular to that person and not in
        the model. M is the sum over persons of (Σ of their scores)², less the pairs counted
        twice. It may fall below the sandwich of independent pairs by chance; the larger counts.
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

    def _first_guess(self) -> Floats:
        joined = float((self.pairs.weight * self.pairs.joined).sum())
        theta = np.zeros(len(self._terms.parameters))
        theta[0] = np.log(joined / (float(self.pairs.weight.sum()) - joined))
        return theta

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
            z = self._terms.design(self._alike[rows], self._activity[rows], self._groups[rows])
            yield z, self.pairs.weight[rows], self.pairs.joined[rows], rows
