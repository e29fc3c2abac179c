"""Laws of a column given its parents, by quantile regression forests."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairgear.causal.features.levels import coupled
from fairgear.causal.features.steps import at_ranks, ranks, steps_of
from fairgear.compiled import compiled

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

_TREES, _LEAF, _SAMPLE = 30, 15, 5000


@dataclass(frozen=True)
class ForestLaw:
    """P(x ≤ each point of a grid | parents), the mean over trees of the shares in a leaf.

    Each cell has a forest of its own: splits on the attribute would be chosen too seldom.

    Attributes:
        grid, atom: the column's steps (k,), see `steps_of`; for a category its levels.
        category: one value, 1 for a category.
        roots: the first node of each tree (cells, trees).
        left, right: the next nodes; 0 in a leaf, since no node leads to a root.
        feature, threshold: of each node: left if the feature is at most the threshold.
        start, stop: of each leaf's people in `codes`.
        codes: the step of each person, sorted within leaves.
    """

    grid: Floats
    atom: NDArray[np.bool_]
    category: Integers
    roots: Integers
    left: Integers
    right: Integers
    feature: Integers
    threshold: Floats
    start: Integers
    stop: Integers
    codes: Integers

    @classmethod
    def of(cls, values: Floats, parents: Floats, cells: Integers, levels: int = 0) -> ForestLaw:
        """The law of a column, or of a category of so many `levels`, given the parents (n, p)."""
        from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

        grid, atom = steps_of(np.arange(float(levels)) if levels else values)
        steps = np.searchsorted(grid, values)
        # A forest needs a column to read.
        given = parents if parents.shape[1] else np.zeros((len(values), 1))
        parts: dict[str, list[NDArray[Any]]] = {}
        roots: list[list[int]] = []
        nodes = people = 0
        for cell in range(int(cells.max()) + 1):
            mine = np.flatnonzero(cells == cell)
            kind = RandomForestClassifier if levels else RandomForestRegressor
            forest = kind(
                _TREES,
                min_samples_leaf=_LEAF,
                max_features=0.5,
                max_samples=min(len(mine), _SAMPLE),
                random_state=0,
            )
            leaves = forest.fit(given[mine], values[mine]).apply(given[mine])
            roots.append([])
            for tree, leaf in zip(forest.estimators_, leaves.T, strict=True):
                shape = tree.tree_
                inner = shape.children_left >= 0
                order = np.lexsort((steps[mine], leaf))
                ends = np.searchsorted(leaf[order], np.arange(shape.node_count + 1))
                found = {
                    "left": np.where(inner, shape.children_left + nodes, 0),
                    "right": np.where(inner, shape.children_right + nodes, 0),
                    "feature": np.where(inner, shape.feature, 0),
                    "threshold": shape.threshold,
                    "start": ends[:-1] + people,
                    "stop": ends[1:] + people,
                    "codes": steps[mine][order],
                }
                for key, part in found.items():
                    parts.setdefault(key, []).append(part)
                roots[-1].append(nodes)
                nodes, people = nodes + shape.node_count, people + len(mine)
        arrays = {key: np.concatenate(part) for key, part in parts.items()}
        return cls(grid, atom, np.array([int(levels > 0)]), np.array(roots), **arrays)

    def moved(
        self,
        values: Floats,
        old: Floats,
        new: Floats,
        before: Integers,
        after: Integers,
        noise: Floats,
    ) -> Floats:
        """The column, or the levels, given the parents `new` and the cells `after`."""
        law, other = self._law(old, before), self._law(new, after)
        if self.category[0]:
            own, there = (np.maximum(np.diff(one, prepend=0.0), 0.0) for one in (law, other))
            return coupled(values.astype(np.int64), own, there, noise).astype(float)
        rank = ranks(self.grid, self.atom, law, values, noise)
        return at_ranks(self.grid, self.atom, other, rank)

    def _law(self, parents: Floats, cells: Integers) -> Floats:
        if not parents.shape[1]:
            parents = np.zeros((len(parents), 1))
        # scikit-learn compares float32 with its thresholds.
        single = np.ascontiguousarray(parents, dtype=np.float32)
        nodes = (self.left, self.right, self.feature, self.threshold)
        leaves = (self.start, self.stop, self.codes)
        found: Floats = _shares(single, self.roots[cells], *nodes, *leaves, len(self.grid))
        return found


@compiled
def _shares(
    rows: Any,
    roots: Any,
    left: Any,
    right: Any,
    feature: Any,
    threshold: Any,
    start: Any,
    stop: Any,
    codes: Any,
    width: int,
) -> Any:
    """The mean over trees of the shares of a leaf's people up to each step (n, width)."""
    result = np.zeros((len(rows), width))
    for i in range(len(rows)):
        for root in roots[i]:
            node = root
            while left[node] > 0:
                node = left[node] if rows[i, feature[node]] <= threshold[node] else right[node]
            size = stop[node] - start[node]
            for k in range(start[node], stop[node]):
                result[i, codes[k]] += 1.0 / size
        for k in range(1, width):
            result[i, k] += result[i, k - 1]
        for k in range(width):
            result[i, k] /= len(roots[i])
    return result
