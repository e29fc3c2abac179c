"""The columns of a table of people: which is the attribute, and which encode one category."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from fairgear.errors import ParameterError
from fairgear.graph import SensitiveGraph

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Columns:
    """What a table's columns are.

    Args:
        names: one a column.
        skip: the column that holds the sensitive attribute, which is set and never moved.
        categories: for each category, its indicator columns: exactly one of them is at its higher
            value for each person, and every column has two values at most.
        titles: the categories' names.
        crossed: of several attributes, each group's value of every one of them.

    Example:
        >>> from fairgear.causal import Columns
        >>> from fairgear.testing import toy_graph
        >>> columns = Columns.of(toy_graph())
        >>> columns.skip
        2
    """

    names: tuple[str, ...]
    skip: int | None = None
    categories: tuple[tuple[int, ...], ...] = ()
    titles: tuple[str, ...] = ()
    crossed: tuple[tuple[int, ...], ...] = ()

    def __post_init__(self) -> None:
        if len(self.titles) != len(self.categories):
            got = f"{len(self.titles)} titles of {len(self.categories)} categories"
            raise ParameterError("columns", got, "one title a category", "name each category")

    @classmethod
    def of(cls, graph: SensitiveGraph) -> Self:
        """Those of a graph, whether its table is `raw` or `x`.

        Categories are those of the table's encoding; a category of two levels is one column of
        two values, and none here. A graph without an encoding has a category where columns called
        NAME=LEVEL say so and their values agree: exactly one is high for everybody.
        """
        names = tuple(graph.feature_names)
        encoding = graph.get("encoding")
        if encoding is None:
            groups = _by_name(names, graph)
        else:
            at = {name: place for place, name in enumerate(names)}
            groups = {
                code.column: tuple(at[name] for name in code.features)
                for code in encoding.columns
                if code.levels and len(code.features) > 1 and set(code.features) <= set(at)
            }
        attributes = graph.attributes
        several = attributes is not None and len(attributes.each) > 1
        crossed = attributes.groups if attributes is not None and several else ()
        return cls(names, graph.sens_column, tuple(groups.values()), tuple(groups), crossed)

    @classmethod
    def unnamed(cls, width: int, skip: int | None = None) -> Self:
        """Columns of numbers without names of their own."""
        return cls(tuple(f"column {place}" for place in range(width)), skip)

    @property
    def nodes(self) -> dict[str, tuple[int, ...]]:
        """Numbers and categories by name, in the order of their first column; not the attribute."""
        titles = dict(zip(self.categories, self.titles, strict=True))
        group_of = {column: group for group in self.categories for column in group}
        found: dict[str, tuple[int, ...]] = {}
        for place, name in enumerate(self.names):
            group = group_of.get(place)
            if group is not None:
                found[titles[group]] = group
            elif place != self.skip:
                found[name] = (place,)
        return found

    def places(self, names: Iterable[str], what: str) -> list[int]:
        """The columns of numbers and categories, by their names; of a category all or none."""
        nodes = self.nodes
        for name in names:
            if name not in nodes:
                allowed = f"columns besides the attribute: {listed(nodes)}"
                raise ParameterError(what, repr(name), allowed, "correct the name")
        return sorted(place for name in set(names) for place in nodes[name])

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready; as it was before there were several attributes, where there is one."""
        held = asdict(self)
        return held if self.crossed else {k: v for k, v in held.items() if k != "crossed"}

    @classmethod
    def from_dict(cls, held: dict[str, Any]) -> Self:
        """What `to_dict` gave, before or after JSON."""
        groups, crossed = (
            tuple(tuple(one) for one in held.get(key, ())) for key in ("categories", "crossed")
        )
        return cls(tuple(held["names"]), held["skip"], groups, tuple(held["titles"]), crossed)


def listed(names: Iterable[str], most: int = 8) -> str:
    """Names for a message, the first few of many."""
    names = list(names)
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def _by_name(names: Sequence[str], graph: SensitiveGraph) -> dict[str, tuple[int, ...]]:
    candidates: dict[str, list[int]] = {}
    for place, name in enumerate(names):
        title, equals, _ = name.partition("=")
        if equals and place != graph.sens_column:
            candidates.setdefault(title, []).append(place)
    table = graph.x if graph.raw is None else graph.raw
    return {
        title: tuple(places)
        for title, places in candidates.items()
        if len(places) > 1 and title not in names and _one_hot(table[:, places].cpu().numpy())
    }


def _one_hot(values: NDArray[Any]) -> bool:
    low, high = values.min(axis=0), values.max(axis=0)
    is_high = (values == high) & (low < high)
    return bool((is_high | (values == low)).all() and (is_high.sum(axis=1) == 1).all())
