"""Credibility: could the people exist whom a causal model makes?"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import roc_auc_score
from threadpoolctl import threadpool_limits
from torch import Tensor

from fairgear.causal.features.base import Floats, Integers
from fairgear.graph import SensitiveGraph
from fairgear.hashing import node_uniform

# Up to this AUROC, moved people pass for real ones.
CREDIBLE = 0.60
# From here on, maps are too uncertain to be relied on.
UNSTEADY = 0.5
# People of each kind that the classifier is shown, and the fewest that say anything.
_MOST, _LEAST = 3000, 30
# Columns whose order is looked at, those with most values first: their pairs grow as the square.
_ORDERED = 64


@dataclass(frozen=True)
class Credibility:
    """How believable the people are whom a causal model makes.

    Attributes:
        auroc: how well a boosted classifier tells people who were moved to a group from the real
            people of that group, on people it was not fitted on; 0.5 is not at all. That of the
            group where it is larger; NaN with too few people.
        broken: share of the moved people who break an order that all real people keep, such as a
            highest bill that is never below the latest; NaN where there is no such order.
        order: the order that is broken most often, in words; empty if none is.
        unsteadiness: half of how far maps fitted on two halves of the people lie apart, which is
            about how far the map would be another with other people, relative to how far it
            moves people; NaN where nothing was fitted.

    Example:
        >>> from fairgear.causal import Credibility
        >>> Credibility(auroc=0.56, broken=0.0, order="").credible
        True
        >>> Credibility(auroc=0.93, broken=0.0, order="").credible
        False
    """

    auroc: float
    broken: float
    order: str
    unsteadiness: float = math.nan

    @property
    def credible(self) -> bool:
        """Whether moved people pass for real ones, as far as can be told."""
        return not self.auroc > CREDIBLE

    @property
    def verdict(self) -> str:
        """The same in words."""
        if math.isnan(self.auroc):
            found = ["There are too few people to tell whether moved people look real."]
        elif self.credible:
            found = [f"Moved people look like real ones (AUROC {self.auroc:.2f})."]
        else:
            told = f"A classifier tells moved people from real ones (AUROC {self.auroc:.2f})"
            found = [f"{told}: read its flips with caution."]
        if self.broken > 0:
            found.append(
                f"{self.broken:.0%} of them are impossible, most often with {self.order}."
                if self.broken >= 0.005
                else f"A few of them are impossible, with {self.order}."
            )
        if self.unsteadiness > UNSTEADY:
            found.append(
                "Its maps are uncertain: learned from other people like these, they would differ "
                f"by about {self.unsteadiness:.0%} of what they move."
            )
        return " ".join(found)


def credibility(
    graph: SensitiveGraph,
    worlds: Mapping[int, SensitiveGraph],
    *,
    people: Tensor | None = None,
    unsteadiness: float = math.nan,
) -> Credibility:
    """Compare the people who were moved to each group with the real people of that group.

    Args:
        graph: the factual graph.
        worlds: for each group, the world in which everybody belongs to it; where the attribute is
            a number, any worlds in which everybody has somebody's value.
        people: mask (n,) of those who are compared; everybody if not given. They should be those
            whom the maps were learned from: a map from few people has few values.
        unsteadiness: see `Credibility`.

    Moved values are rounded to the nearest value that the column really has, so that nobody is
    recognised by a fraction of a child. Of a number, a random half of the people are moved and the
    others are real, and the classifier sees the number: does what goes with it look alike?

    Example:
        >>> import torch
        >>> import fairgear as fg
        >>> from fairgear.causal import credibility
        >>> graph = fg.datasets.load("synthetic", seed=0)
        >>> model = fg.causal.for_graph(graph)
        >>> everybody = torch.ones(graph.num_nodes, dtype=torch.int64)
        >>> worlds = {value: model.counterfactual(graph, value * everybody) for value in (0, 1)}
        >>> found = credibility(graph, worlds)
        >>> found.credible
        True
    """
    support = Support.of(graph)
    ids, sens = graph.node_id.cpu(), graph.sens.cpu().numpy()
    rows = graph.canonical.rows.numpy()
    rows = rows if people is None else rows[people.cpu().numpy()[rows]]
    place = node_uniform(ids, 0, "credibility").numpy()
    found, impossible = [], []
    first = node_uniform(ids, 0, "moved").numpy()[rows] < 0.5
    for group, world in worlds.items():
        moved, real = (rows[of(sens[rows], group)] for of in (np.not_equal, np.equal))
        if graph.continuous:
            moved, real = rows[first], rows[~first]
        there = support.rounded(world.x.cpu().numpy()[moved])
        impossible.append(support.broken(there))
        chosen = np.argsort(place[moved], kind="stable")[:_MOST]
        others = real[np.argsort(place[real], kind="stable")[:_MOST]]
        table = np.concatenate([there[chosen], support.rounded(graph.x.cpu().numpy()[others])])
        if graph.continuous:
            now = world.sens.cpu().numpy()[moved][chosen]
            table = np.column_stack([table, np.concatenate([now, sens[others]])])
        is_moved = np.repeat([1, 0], [len(chosen), len(others)])
        half = np.concatenate([place[moved][chosen], place[others]])
        found.append(_distinguished(table, is_moved, _fold(half)))
    broken, order = support.worst(impossible)
    return Credibility(max(found), broken, order, unsteadiness)


@dataclass(frozen=True, eq=False)
class Support:
    """The values that each column really has, and the orders of columns that everybody keeps.

    Attributes:
        names: of the columns, the sensitive one left out.
        columns: their numbers.
        values: of each, the distinct values, ascending.
        raw: the same in the units of the table that the graph was built from.
        orders: (m, 2), pairs of places in `columns` whose first is never above the second.
    """

    names: tuple[str, ...]
    columns: Integers
    values: tuple[Floats, ...]
    raw: tuple[Floats, ...]
    orders: Integers

    @classmethod
    def of(cls, graph: SensitiveGraph) -> Support:
        """The support of a graph's features."""
        x = graph.x.cpu().numpy()
        table = x if graph.raw is None else graph.raw.cpu().numpy()
        columns = np.array([k for k in range(x.shape[1]) if k != graph.sens_column], dtype=np.int64)
        found = [np.unique(x[:, k], return_index=True) for k in columns]
        raw = tuple(table[first, k] for k, (_, first) in zip(columns, found, strict=True))
        return cls(
            names=tuple(graph.feature_names[k] for k in columns),
            columns=columns,
            values=tuple(values for values, _ in found),
            raw=raw,
            orders=_orders(table[:, columns], [len(values) for values in raw]),
        )

    def rounded(self, x: Floats) -> Integers:
        """(n, columns): for each value, the number of the nearest one that the column has."""
        places = [
            np.searchsorted((values[1:] + values[:-1]) / 2, x[:, k])
            for k, values in zip(self.columns, self.values, strict=True)
        ]
        return np.stack(places, axis=1) if places else np.empty((len(x), 0), dtype=np.int64)

    def broken(self, places: Integers) -> NDArray[np.bool_]:
        """(n, orders): whether each person, as `rounded` gives them, breaks each order."""
        sides = [
            [self.raw[k][places[:, k]] for k in self.orders[:, side].tolist()] for side in (0, 1)
        ]
        if not len(self.orders):
            return np.zeros((len(places), 0), dtype=np.bool_)
        return np.stack([low > high for low, high in zip(*sides, strict=True)], axis=1)

    def worst(self, parts: list[NDArray[np.bool_]]) -> tuple[float, str]:
        """The share of people who break any order, and the one that is broken most often."""
        table = np.concatenate(parts)
        if table.size == 0:
            return math.nan, ""
        share = float(table.any(axis=1).mean())
        if share == 0:
            return 0.0, ""
        low, high = self.orders[int(table.sum(axis=0).argmax())]
        return share, f"{self.names[high]} below {self.names[low]}"


def unsteadiness(one: Floats, other: Floats, moved: Floats, table: Floats) -> float:
    """See `Credibility`; everything is measured in standard deviations of the columns.

    Example:
        >>> import numpy as np
        >>> from fairgear.causal import unsteadiness
        >>> table = np.random.default_rng(0).normal(size=(100, 2))
        >>> moved = table + 1
        >>> unsteadiness(moved, moved, moved, table)
        0.0
    """
    spread = table.std(axis=0)
    used = spread > 0
    apart, far = (np.abs(a - b)[:, used] / spread[used] for a, b in ((one, other), (moved, table)))
    return float(apart.mean() / far.mean() / 2) if far.any() else math.nan


def _orders(table: Floats, distinct: list[int]) -> Integers:
    """Pairs of columns whose first is never above the second, though their ranges overlap."""
    used = np.argsort([-count for count in distinct], kind="stable")[:_ORDERED]
    low, high = table.min(axis=0), table.max(axis=0)
    found = [
        (a, b)
        for a in used.tolist()
        for b in used.tolist()
        # Ranges that do not overlap, and two indicators, say nothing.
        if a != b
        and high[a] > low[b]
        and max(distinct[a], distinct[b]) > 2
        and bool((table[:, a] <= table[:, b]).all())
    ]
    return np.array(sorted(found), dtype=np.int64).reshape(-1, 2)


def _fold(place: Floats) -> NDArray[np.bool_]:
    """Half of the people, by another part of the hash than the one that chose them."""
    return np.asarray(np.floor(place * 2**20).astype(np.int64) % 2 == 0)


def _distinguished(table: Integers | Floats, is_moved: Integers, first: NDArray[np.bool_]) -> float:
    """AUROC of a boosted classifier on the half of the people that it was not fitted on."""
    scores = np.empty(len(table))
    for fold in (first, ~first):
        least = min(int((is_moved[fold] == kind).sum()) for kind in (0, 1))
        if least < _LEAST / 2 or table.shape[1] == 0:
            return math.nan
        booster = HistGradientBoostingClassifier(max_iter=50, early_stopping=False, random_state=0)
        # On busy cores, threads that wait for each other make this twenty times slower.
        with threadpool_limits(1):
            booster.fit(table[fold], is_moved[fold])
            scores[~fold] = booster.predict_proba(table[~fold])[:, 1]
    # Scores of two boosters are not of one scale.
    return float(np.mean([roc_auc_score(is_moved[f], scores[f]) for f in (first, ~first)]))
