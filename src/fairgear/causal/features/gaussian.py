"""Gaussian transport: the least movement that turns one cell's means and covariances into
another's."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairgear.causal.features.along import Knots, lines
from fairgear.causal.features.base import FEATURE_MODELS, CellModel, Floats, Integers, Noise
from fairgear.causal.features.rows import products

# Variances below this share of the largest, or of everybody's, are rounding.
_NONE = 1e-9
# Values of a number whose matrices are held at a time.
_PART = 512


class FeatureGaussian(CellModel):
    """Optimal transport between Gaussian laws, from a cell to everybody and on to another cell.

    Between N(μ, Σ) and N(ν, T) it is x ↦ ν + A(x − μ), A = Σ^{-½}(Σ^{½}TΣ^{½})^{½}Σ^{-½}. By way of
    everybody's law the maps compose and lead back, also among many cells. Columns are divided by
    their standard deviation first: which movement is the least must not depend on units.

    Directions in which nobody varies stay. A direction in which one cell does not vary takes
    everybody's variance, as in "location-scale".

    Along a number, means are lines between knots, and the map to everybody is mixed from those of
    the people around each knot.
    """

    name = "gaussian"
    how = "by optimal transport between Gaussian laws of the groups"
    how_along = "by optimal transport between Gaussian laws along the attribute"
    composes = True

    @property
    def most_columns(self) -> int | None:
        """Its matrices have an entry for each two columns."""
        return 2_000

    def _learn_numbers(self, table: Floats, cells: Integers) -> dict[str, NDArray[Any]]:
        scaled, spread = self._scaled(table)
        means = np.stack([scaled[cells == cell].mean(axis=0) for cell in range(self._cells)])
        laws = [_covariance(scaled[cells == cell]) for cell in range(self._cells)]
        to_all, back = _through(laws, _covariance(scaled))
        return {"spread": spread, "mean": means, "to everybody": to_all, "from everybody": back}

    def _scaled(self, table: Floats) -> tuple[Floats, Floats]:
        numbers = table[:, self._numeric]
        spread = numbers.std(axis=0)
        spread = np.where(spread > _NONE * np.abs(numbers).max(axis=0, initial=0), spread, 1.0)
        return numbers / spread, spread

    def _numbers(self, old: Floats, before: Integers, after: Integers, noise: Noise) -> Floats:
        result, numeric = old.copy(), self._numeric
        mean, spread = self._learned["mean"], self._learned["spread"]
        values = old[:, numeric] / spread - mean[before]
        for name, cells in (("to everybody", before), ("from everybody", after)):
            for cell in np.unique(cells).tolist():
                mine = cells == cell
                # The matrices are symmetric, so rows may be multiplied from the left.
                values[mine] = products(values[mine], self._learned[name][cell])
        result[:, numeric] = (values + mean[after]) * spread
        return result

    def _learn_along(self, table: Floats, sens: Floats) -> dict[str, NDArray[Any]]:
        (scaled, spread), knots = self._scaled(table), Knots.of(sens)
        mean = lines(scaled, knots.weights(sens, beyond=True))
        left = scaled - knots.mixed(mean, sens, beyond=True)
        laws = [_covariance(left, near) for near in knots.weights(sens).T]
        to_all, _ = _through(laws, _covariance(scaled))
        return {"spread": spread, "mean": mean, "to everybody": to_all, "knots": knots.at}

    def _along(self, old: Floats, before: Floats, after: Floats, noise: Noise) -> Floats:
        result, numeric, learned = old.copy(), self._numeric, self._learned
        knots, spread, to_all = Knots(learned["knots"]), learned["spread"], learned["to everybody"]
        here, there = (knots.mixed(learned["mean"], of, beyond=True) for of in (before, after))
        values = old[:, numeric] / spread - here

        def from_all(sens: Floats) -> Floats:
            found: Floats = np.linalg.inv(knots.mixed(to_all, sens)).astype(np.float64, copy=False)
            return found

        values = _by_value(values, before, lambda sens: knots.mixed(to_all, sens))
        values = _by_value(values, after, from_all)
        result[:, numeric] = (values + there) * spread
        return result


def _covariance(values: Floats, weights: Floats | None = None) -> Floats:
    """Of the rows (n, d); with weights (n,) about 0, which is their mean."""
    centred = values - values.mean(axis=0) if weights is None else values
    weighted = centred if weights is None else centred * weights[:, None]
    total = len(values) if weights is None else weights.sum()
    # Sums in the order of the rows, whatever the number of threads.
    columns = [(centred[:, [k]] * weighted).sum(axis=0) for k in range(values.shape[1])]
    found: Floats = np.array(columns).reshape(values.shape[1], values.shape[1]) / total
    return found


def _through(laws: Sequence[Floats], everybody: Floats) -> tuple[Floats, Floats]:
    """The matrices that lead from each covariance to everybody's, and back."""
    values, vectors = np.linalg.eigh(everybody)
    varies = values > _NONE * max(1.0, values.max(initial=0.0))
    # Coordinates in which everybody's covariance is diagonal and has full rank.
    basis, variances = vectors[:, varies], values[varies]
    to_all, back = [], []
    for own in laws:
        law = basis.T @ own @ basis
        to = _transport(_full_rank(law, variances), np.diag(variances))
        inside = basis @ to @ basis.T
        outside = np.eye(len(everybody)) - basis @ basis.T
        to_all.append(inside + outside)
        back.append(basis @ np.linalg.inv(to) @ basis.T + outside)
    return np.stack(to_all), np.stack(back)


def _by_value(values: Floats, sens: Floats, matrices_of: Callable[[Floats], Floats]) -> Floats:
    """Each row times the matrix of its number, summed column by column: see `products`."""
    distinct, place = np.unique(sens, return_inverse=True)
    result = np.zeros_like(values)
    for begin in range(0, len(distinct), _PART):
        matrices = matrices_of(distinct[begin : begin + _PART])
        mine = np.flatnonzero((place >= begin) & (place < begin + _PART))
        for k in range(values.shape[1]):
            result[mine] += values[mine, k, None] * matrices[place[mine] - begin, k]
    return result


def _full_rank(law: Floats, variances: Floats) -> Floats:
    """The law of a cell, with everybody's variance in directions where the cell has none."""
    scale = np.sqrt(variances)
    values, vectors = np.linalg.eigh(law / scale[:, None] / scale)
    values = np.where(values > _NONE, values, 1.0)
    found: Floats = (vectors * values) @ vectors.T * scale[:, None] * scale
    return found


def _transport(source: Floats, target: Floats) -> Floats:
    root, inverse = _power(source, 0.5), _power(source, -0.5)
    found = inverse @ _power(root @ target @ root, 0.5) @ inverse
    return (found + found.T) / 2


def _power(matrix: Floats, exponent: float) -> Floats:
    values, vectors = np.linalg.eigh(matrix)
    found: Floats = (vectors * np.maximum(values, np.finfo(float).tiny) ** exponent) @ vectors.T
    return found


FEATURE_MODELS.add("gaussian", FeatureGaussian)
