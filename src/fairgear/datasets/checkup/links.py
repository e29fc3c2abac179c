"""Weights and directions that a list of edges may hold."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd

from fairgear.column_names import near
from fairgear.datasets.checkup.finding import Finding
from fairgear.errors import FairgearError
from fairgear.graph.tables.columns import TableColumns
from fairgear.graph.tables.identity import Rows
from fairgear.graph.tables.links import Floats, Ties, has_directions, weight_column
from fairgear.graph.tables.table_graph import EdgeList
from fairgear.graph.tables.values import spelled


def link_findings(edges: EdgeList, pairs: Rows, columns: TableColumns) -> Iterator[Finding]:
    """What `--weight` and `--directed` have to do with a list that joins these rows."""
    names = _names(edges)
    weights: Floats | None = None
    if len(edges.ends) - pairs.shape[1] != int(edges.header):
        # No line of names: there is no column that could be named.
        yield from _nameless(edges.ends, columns)
    elif columns.weight is None:
        yield from _unused(edges, names)
    else:
        try:
            weights = weight_column(edges.ends, columns.weight, header=edges.header)
        except FairgearError as error:
            meant = [] if columns.weight in names else near(columns.weight, names)
            change = {"weight": meant[0]} if meant else {}
            advice = "" if change else error.next_step
            said = f"{error.got}; allowed: {error.allowed}"
            yield Finding("--weight", said, change, advice, True)
    if columns.directed is None and has_directions(Ties(pairs, weights)):
        said = "some pairs are listed both ways and others are not, or with another weight; "
        yield Finding("edges", f"{said}if edges have directions, say so", {"directed": True})


def _names(edges: EdgeList) -> list[str]:
    """Of the columns after the ids."""
    first = edges.ends.iloc[0] if edges.header and len(edges.ends) else edges.ends.columns
    return [spelled(value) for value in first][2:]


def _unused(edges: EdgeList, names: list[str]) -> Iterator[Finding]:
    for name in names[:1]:
        if _may_weigh(edges.ends.iloc[int(edges.header) :, 2]):
            said = f"the third column, {name!r}, holds positive numbers, which are not used; "
            yield Finding("edges", f"{said}if they are weights, say so", {"weight": name})


def _nameless(ends: pd.DataFrame, columns: TableColumns) -> Iterator[Finding]:
    advice = "begin the list with a line such as source,target,weight, and add --weight weight"
    if columns.weight is not None:
        yield Finding("--weight", "a list without names of its columns", {}, advice, True)
    elif ends.shape[1] > 2 and _may_weigh(ends.iloc[:, 2]):
        said = "the third column holds positive numbers, which are not used"
        yield Finding("edges", said, {}, f"if they are weights, {advice}")


def _may_weigh(values: pd.Series) -> bool:
    """Whether they are positive numbers that differ."""
    found = pd.to_numeric(values, errors="coerce").to_numpy(np.float64)
    return bool((np.isfinite(found) & (found > 0)).all()) and len(np.unique(found)) > 1
