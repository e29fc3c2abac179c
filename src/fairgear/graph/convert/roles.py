"""Whether a table has the columns that it is said to have."""

from __future__ import annotations

import difflib

import pandas as pd

from fairgear.errors import GraphError, ParameterError
from fairgear.graph.convert.columns import TableColumns
from fairgear.graph.convert.spelling import listed


def check_table(nodes: pd.DataFrame, columns: TableColumns) -> None:
    """Rows, distinct names, and every column that a setting names."""
    repeated = nodes.columns[nodes.columns.duplicated()]
    if len(repeated):
        raise GraphError(
            "columns of the node table",
            f"{repeated[0]!r} more than once",
            "distinct names",
            "rename or remove one of them",
        )
    for option in ("sensitive", "label", "id", "drop", "categorical"):
        given = getattr(columns, option)
        for name in [given] if isinstance(given, str) else given or ():
            if name not in nodes.columns:
                raise _unknown(nodes, name, option)
    if not len(nodes):
        raise GraphError("node table", "no rows", "one row a person", "check the input")


def check_joined(columns: TableColumns, *, edges: bool) -> None:
    """Edges come from a list or from similarity: from one of them."""
    if edges == (columns.similarity is not None):
        raise ParameterError(
            "edges of the graph",
            "both edges and a similarity" if edges else "neither edges nor a similarity",
            "one of them",
            "leave out --similarity, or the edges"
            if edges
            else "give a list with --edges, or join people with similar rows: --similarity 0.7",
        )


def _unknown(nodes: pd.DataFrame, name: str, option: str) -> ParameterError:
    known = [str(column) for column in nodes.columns]
    folded = {column.lower(): column for column in known}
    near = difflib.get_close_matches(name.lower(), folded, n=3, cutoff=0.5)
    return ParameterError(
        f"--{option}",
        f"{name!r}, which is no column",
        listed(known, 20),
        f"did you mean {' or '.join(repr(folded[key]) for key in near)}"
        if near
        else "choose a column of the table",
    )
