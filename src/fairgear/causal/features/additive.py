"""Laws of a column given its parents, by regression on them and ranks of what remains."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from fairgear.causal.features.levels import coupled
from fairgear.causal.features.rows import products
from fairgear.causal.features.steps import MOST, at_ranks, ranks, steps_of

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

# Squares grow fast outside the values that were seen.
_FAR = 3.0
# A residual's scale follows the parents by at most this factor either way, e^1.5.
_SCALE = 1.5
_QUANTILES = 1025
_PENALTIES = 10.0 ** np.arange(-8, 2.5, 0.5)
# People in a bin of the index, and bins, at most.
_BIN, _BINS = 80, 48
_SHARED = 0.2


@dataclass(frozen=True)
class Terms:
    """What regressions see of a table: standard scores, and the squares of all but binary columns.

    Attributes:
        mean, spread: of each column (d,).
        squared: the columns whose squares are terms (q,), int64.
    """

    mean: Floats
    spread: Floats
    squared: Integers

    @classmethod
    def of(cls, table: Floats) -> Terms:
        """Those of a table (n, d)."""
        spread = table.std(axis=0)
        low, high = table.min(axis=0), table.max(axis=0)
        more = ((table > low) & (table < high)).any(axis=0)
        return cls(
            table.mean(axis=0),
            np.where(spread > 1e-12 * np.maximum(np.abs(low), np.abs(high)), spread, 1.0),
            np.flatnonzero(more),
        )

    def __call__(self, table: Floats) -> Floats:
        """The terms (n, d + q) of rows."""
        found = np.empty((len(table), len(self.mean) + len(self.squared)))
        self.write(found, table, list(range(table.shape[1])))
        return found

    def write(self, terms: Floats, table: Floats, columns: list[int]) -> None:
        """The terms of some columns, in place."""
        scores = (table[:, columns] - self.mean[columns]) / self.spread[columns]
        places = self.places(columns)
        squared = np.isin(columns, self.squared)
        squares = np.clip(scores[:, squared], -_FAR, _FAR) ** 2
        terms[:, places] = np.concatenate([scores, squares], axis=1)

    def places(self, columns: list[int]) -> Integers:
        """Where the terms of some columns are; the columns are sorted."""
        squares = np.flatnonzero(np.isin(self.squared, columns)) + len(self.mean)
        return np.concatenate([np.array(columns, dtype=np.int64), squares])


class Regressions:
    """Ridge regressions of several columns on terms of a table, each cell with its own level.

    How strongly slopes are shrunk is chosen for each by generalised cross-validation.
    """

    def __init__(self, terms: Floats, cells: Integers, cell_count: int) -> None:
        self.terms, self.cells, self.count = terms, cells, cell_count
        self._centred = self._less_means(terms)

    @cached_property
    def _gram(self) -> Floats:
        found: Floats = self._centred.T @ self._centred / len(self.cells)
        return found

    def _less_means(self, values: Floats) -> Floats:
        result = values.copy()
        for cell in range(self.count):
            mine = self.cells == cell
            result[mine] -= values[mine].mean(axis=0)
        return result

    def slope(self, values: Floats, places: Integers) -> Floats:
        """The slopes of `values` (n,) on the terms at `places`."""
        n, centred = len(values), self._less_means(values)
        sizes, vectors = np.linalg.eigh(self._gram[np.ix_(places, places)])
        sizes = np.maximum(sizes, 0.0)
        along = vectors.T @ (self._centred[:, places].T @ centred) / n
        penalty = _PENALTIES[:, None]
        explained = along**2 * (sizes + 2 * penalty) / (sizes + penalty) ** 2
        left = np.maximum(centred @ centred / n - explained.sum(axis=1), 0.0)
        free = 1 - ((sizes / (sizes + penalty)).sum(axis=1) + self.count) / n
        score = np.where(free > 0, left / np.maximum(free, 1e-9) ** 2, np.inf)
        found: Floats = vectors @ (along / (sizes + _PENALTIES[int(score.argmin())]))
        return found

    def intercepts(self, values: Floats) -> Floats:
        """The mean of `values` in each cell."""
        return np.array([values[self.cells == cell].mean() for cell in range(self.count)])


@dataclass(frozen=True)
class NumberLaw:
    """x = a_s + β·t + exp(γ·t)·e: terms t of the parents, and a residual e with ranks in the cell.

    A person keeps the rank of e. Where the attribute is no parent there is one cell, and e stays.

    Attributes:
        slope, scale: β and γ (p,).
        level: a and the middle of γ·t (cells + 1,).
        quantiles: of e in each cell (cells, k).
    """

    slope: Floats
    scale: Floats
    level: Floats
    quantiles: Floats

    @classmethod
    def of(cls, values: Floats, places: Integers, regressions: Regressions) -> NumberLaw:
        """The law of a column given the terms at `places`."""
        slope, terms = regressions.slope(values, places), regressions.terms[:, places]
        left = values - products(terms, slope)
        level = regressions.intercepts(left)
        left = left - level[regressions.cells]
        # A residual of 0 says no more than a small one.
        sizes = np.log(np.abs(left) + 1e-2 * left.std() + np.finfo(float).tiny)
        scale = regressions.slope(sizes, places)
        level = np.append(level, products(terms, scale).mean())
        law = cls(slope, scale, level, np.zeros((0, 0)))
        standard = left / law._spread(terms)
        ranks = np.linspace(0, 1, _QUANTILES)
        cells = range(regressions.count)
        quantiles = np.stack([np.quantile(standard[regressions.cells == c], ranks) for c in cells])
        return cls(slope, scale, level, quantiles)

    def _spread(self, terms: Floats) -> Floats:
        size = products(terms, self.scale) - self.level[-1]
        found: Floats = np.exp(np.clip(size, -_SCALE, _SCALE))
        return found

    def moved(
        self,
        values: Floats,
        old: Floats,
        new: Floats,
        before: Integers,
        after: Integers,
        noise: Floats,
    ) -> Floats:
        """The column under the terms `new` and the cells `after`."""
        left = values - products(old, self.slope) - self.level[before]
        standard = left / self._spread(old)
        ranks = np.linspace(0, 1, self.quantiles.shape[1])
        for cell, other in sorted(set(zip(before.tolist(), after.tolist(), strict=True))):
            if cell == other:
                continue
            mine = np.flatnonzero((before == cell) & (after == other))
            source, target = self.quantiles[cell], self.quantiles[other]
            inside = np.clip(standard[mine], source[0], source[-1])
            mapped = np.interp(np.interp(inside, source, ranks), ranks, target)
            standard[mine] = mapped + (standard[mine] - inside)
        found: Floats = products(new, self.slope) + self.level[after] + standard * self._spread(new)
        return found


@dataclass(frozen=True)
class StepLaw:
    """A column of values that many people share, by its law along one index of the parents.

    The index is the regression of the value's rank on the parents' terms. People are counted in
    bins of it, cell by cell, and shares are interpolated between bins. A person has a latent
    uniform number, drawn from the range that their value covers, and keeps it.

    Attributes:
        grid, atom: the column's steps (k,), see `steps_of`.
        slope: of the index (p,).
        middles: of the bins (cells, b).
        shares: of values up to each point of the grid (cells, b, k).
    """

    grid: Floats
    atom: NDArray[np.bool_]
    slope: Floats
    middles: Floats
    shares: Floats

    @staticmethod
    def fits(column: Floats) -> bool:
        """Whether the column has few values, or a fifth of the people shares some with many."""
        _, counts = np.unique(column, return_counts=True)
        shared = counts[counts > len(column) / MOST].sum()
        return len(counts) <= MOST or shared > _SHARED * len(column)

    @classmethod
    def of(cls, column: Floats, places: Integers, regressions: Regressions) -> StepLaw:
        """The law of a column given the terms at `places`."""
        grid, atom = steps_of(column)
        codes = np.searchsorted(grid, column)
        counts = np.bincount(codes, minlength=len(grid))
        middle = (np.cumsum(counts) - counts / 2) / len(codes)
        slope = regressions.slope(middle[codes], places)
        index = products(regressions.terms[:, places], slope)
        middles = np.zeros((regressions.count, _BINS))
        shares = np.zeros((regressions.count, _BINS, len(grid)))
        for cell in range(regressions.count):
            mine = regressions.cells == cell
            _count_bins(index[mine], codes[mine], middles[cell], shares[cell])
        return cls(grid, atom, slope, middles, shares)

    def moved(
        self,
        values: Floats,
        old: Floats,
        new: Floats,
        before: Integers,
        after: Integers,
        noise: Floats,
    ) -> Floats:
        """The column under the terms `new` and the cells `after`."""
        if len(self.grid) == 1:
            return values.copy()
        rank = ranks(self.grid, self.atom, self._law(old, before), values, noise)
        return at_ranks(self.grid, self.atom, self._law(new, after), rank)

    def _law(self, terms: Floats, cells: Integers) -> Floats:
        """P(value ≤ each | terms, cell), (n, k)."""
        index, result = products(terms, self.slope), np.zeros((len(terms), len(self.grid)))
        for cell in np.unique(cells).tolist():
            mine = np.flatnonzero(cells == cell)
            middles, shares = self.middles[cell], self.shares[cell]
            at = np.clip(np.searchsorted(middles, index[mine]), 1, len(middles) - 1)
            span = middles[at] - middles[at - 1]
            part = (index[mine] - middles[at - 1]) / np.where(span > 0, span, 1.0)
            part = np.clip(part, 0.0, 1.0)[:, None]
            result[mine] = (1 - part) * shares[at - 1] + part * shares[at]
        return result


def _count_bins(index: Floats, codes: Integers, middles: Floats, shares: Floats) -> None:
    """Fill in one cell's bins; of fewer bins than there is room for, the last is repeated."""
    all_shares = np.bincount(codes, minlength=shares.shape[1]) / len(codes)
    # Where parents are discrete, many people have the same index, up to rounding.
    unit = max(float(np.ptp(index)), np.finfo(float).tiny) * 1e-9
    _, place, counts = np.unique(
        np.round((index - index.min()) / unit), return_inverse=True, return_counts=True
    )
    bins = int(np.clip(len(codes) // _BIN, 1, _BINS))
    number = ((np.cumsum(counts) - counts / 2) * bins / len(codes)).astype(np.int64)
    _, number = np.unique(number, return_inverse=True)
    for bin_number in range(number.max() + 1):
        people = number[place] == bin_number
        found = np.bincount(codes[people], minlength=shares.shape[1])
        # As if one more person had been drawn from the whole cell.
        law = (found + all_shares) / (people.sum() + 1)
        middles[bin_number:], shares[bin_number:] = index[people].mean(), np.cumsum(law)


@dataclass(frozen=True)
class LevelLaw:
    """A category, by multinomial logistic regression on the parents' terms and the cell.

    Attributes:
        slope: (p, levels).
        intercept: (cells, levels); −∞ for levels that nobody has.
    """

    slope: Floats
    intercept: Floats

    @classmethod
    def of(cls, levels: Floats, count: int, places: Integers, regressions: Regressions) -> LevelLaw:
        """The law of `count` levels given the terms at `places`."""
        from sklearn.linear_model import LogisticRegression

        cells, terms = regressions.cells, regressions.terms[:, places]
        present = np.unique(levels).astype(np.int64)
        slope = np.zeros((len(places), count))
        intercept = np.full((regressions.count, count), -np.inf)
        intercept[:, present] = 0.0
        if len(present) > 1:
            codes = (cells[:, None] == np.arange(regressions.count)).astype(float)
            fitted = LogisticRegression(max_iter=2000, tol=1e-6, C=10.0)
            fitted.fit(np.concatenate([terms, codes], axis=1), levels)
            weights, level = fitted.coef_.T, fitted.intercept_
            if len(present) == 2:
                weights, level = np.hstack([0 * weights, weights]), np.append(0.0, level)
            slope[:, present] = weights[: len(places)]
            intercept[:, present] = weights[len(places) :] + level
        return cls(slope, intercept)

    def moved(
        self,
        values: Floats,
        old: Floats,
        new: Floats,
        before: Integers,
        after: Integers,
        noise: Floats,
    ) -> Floats:
        """The levels under the terms `new` and the cells `after`."""
        levels, law, other = values.astype(np.int64), self._law(old, before), self._law(new, after)
        return coupled(levels, law, other, noise).astype(float)

    def _law(self, terms: Floats, cells: Integers) -> Floats:
        scores = products(terms, self.slope) + self.intercept[cells]
        shares = np.exp(scores - scores.max(axis=1, keepdims=True))
        found: Floats = shares / shares.sum(axis=1, keepdims=True)
        return found
