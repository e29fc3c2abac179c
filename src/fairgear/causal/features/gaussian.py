"""Gaussian transport: the least movement that turns one cell's means and covariances into
another's."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairgear.causal.features.base import FEATURE_MODELS, CellModel, Floats, Integers, Noise
from fairgear.causal.features.rows import products

# Variances below this share of the largest, or of everybody's, are rounding.
_NONE = 1e-9


class FeatureGaussian(CellModel):
    """Optimal transport between Gaussian laws, from a cell to everybody and on to another cell.

    Between N(μ, Σ) and N(ν, T) it is x ↦ ν + A(x − μ), A = Σ^{-½}(Σ^{½}TΣ^{½})^{½}Σ^{-½}. By way of
    everybody's law the maps compose and lead back, also among many cells. Columns are divided by
    their standard deviation first: which movement is the least must not depend on units.

    Directions in which nobody varies stay. A direction in which one cell does not vary takes
    everybody's variance, as in "location-scale".
    """

    name = "gaussian"
    how = "by optimal transport between Gaussian laws of the groups"
    composes = True

    def _learn_numbers(self, table: Floats, cells: Integers) -> dict[str, NDArray[Any]]:
        numbers = table[:, self._numeric]
        spread = numbers.std(axis=0)
        spread = np.where(spread > _NONE * np.abs(numbers).max(axis=0, initial=0), spread, 1.0)
        scaled = numbers / spread
        means = np.stack([scaled[cells == cell].mean(axis=0) for cell in range(self._cells)])
        values, vectors = np.linalg.eigh(_covariance(scaled))
        varies = values > _NONE * max(1.0, values.max(initial=0.0))
        # Coordinates in which everybody's covariance is diagonal and has full rank.
        basis, variances = vectors[:, varies], values[varies]
        to_all, back = [], []
        for cell in range(self._cells):
            law = basis.T @ _covariance(scaled[cells == cell]) @ basis
            to = _transport(_full_rank(law, variances), np.diag(variances))
            inside = basis @ to @ basis.T
            outside = np.eye(len(spread)) - basis @ basis.T
            to_all.append(inside + outside)
            back.append(basis @ np.linalg.inv(to) @ basis.T + outside)
        return {
            "spread": spread,
            "mean": means,
            "to everybody": np.stack(to_all),
            "from everybody": np.stack(back),
        }

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


def _covariance(values: Floats) -> Floats:
    centred = values - values.mean(axis=0)
    # Sums in the order of the rows, whatever the number of threads.
    columns = [(centred[:, [k]] * centred).sum(axis=0) for k in range(values.shape[1])]
    found: Floats = np.array(columns).reshape(values.shape[1], values.shape[1]) / len(values)
    return found


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
