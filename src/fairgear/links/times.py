"""When links came to be, from a column of the list of edges."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from torch import Tensor

from fairgear.auditing.exchange.given_scores import known_rows
from fairgear.column_names import listed
from fairgear.errors import GraphError, ParameterError
from fairgear.graph import SensitiveGraph
from fairgear.graph.formats import read_edge_list
from fairgear.graph.tables.spellings import days_of, read_column
from fairgear.graph.tables.values import spelled
from fairgear.links.pairs import pair_keys

Floats = NDArray[np.float64]


def edge_times(path: Path | str, column: str, graph: SensitiveGraph) -> Tensor:
    """A time for each edge of a graph (E,), for `split_links`: dates as days since 1970.

    An edge that is listed several times came to be the first time.

    Args:
        path: the list of edges that the graph was read from, with names in its first line.
        column: which one holds the times: numbers or dates.
        graph: of `fairgear.graph.read_graph`.

    Example:
        >>> import pandas as pd
        >>> from fairgear.graph import TableColumns, read_graph
        >>> from fairgear.links import edge_times
        >>> who = {"id": ["a", "b", "c"], "sex": ["f", "m", "f"], "age": [30, 41, 52]}
        >>> pd.DataFrame(who).to_csv("people.csv", index=False)
        >>> met = {"from": ["a", "b"], "to": ["b", "c"], "since": ["2020-01-02", "2019-05-01"]}
        >>> pd.DataFrame(met).to_csv("met.csv", index=False)
        >>> columns = TableColumns(sensitive="sex", id="id")
        >>> graph = read_graph("people.csv", columns, edges="met.csv")
        >>> edge_times("met.csv", "since", graph).tolist()
        [18263.0, 18263.0, 18017.0, 18017.0]
    """
    edges = read_edge_list(Path(path), [])
    ends = edges.ends
    names = [spelled(value) for value in (ends.iloc[0] if edges.header else ends.columns)]
    if column not in names[2:]:
        raise ParameterError(
            "--time",
            f"{column!r}, which is no column of the edge list after the first two",
            listed(names[2:], 20) if names[2:] else "a third column with a name in the first line",
            "name the column that holds the times",
        )
    held = ends.iloc[1 if edges.header else 0 :]
    when = _numbers(held.iloc[:, names.index(column)], column)
    rows = np.stack([known_rows(held.iloc[:, end], graph, names[end]) for end in (0, 1)])
    # People without a row were left out of the graph, and their edges too.
    inside = (rows >= 0).all(axis=0)
    n, directed = len(graph.x), graph.directed
    keys = pair_keys(torch.from_numpy(rows[:, inside]), n, directed=directed).numpy()
    order = np.lexsort((when[inside], keys))
    known, first = np.unique(keys[order], return_index=True)
    wanted = pair_keys(graph.edge_index.cpu(), n, directed=directed).numpy()
    place = np.searchsorted(known, wanted).clip(max=len(known) - 1) if len(known) else wanted
    missing = int((known[place] != wanted).sum()) if len(known) else len(wanted)
    if missing:
        got = f"{missing:,} of {len(wanted):,} edges that it does not list"
        step = "pass the list that the graph was read from"
        raise GraphError(f"times in {path}", got, "a time for each edge", step)
    return torch.from_numpy(when[inside][order][first][place])


def _numbers(values: pd.Series, name: str) -> Floats:
    """Times as finite numbers, from numbers, dates, or text that spells them."""
    if pd.api.types.is_datetime64_any_dtype(values):
        found = days_of(values)
    elif pd.api.types.is_numeric_dtype(values):
        found = values
    else:
        read = read_column(values.astype(str).str.strip(), ",", coded=False)
        if read.kind not in ("numbers", "dates"):
            raise ParameterError(
                "--time",
                f"{name!r}, which has text such as {spelled(values.iloc[0])!r}",
                "numbers, or dates such as 2020-12-31",
                "name another column, or write dates by year, month and day",
            )
        found = read.values
    times = np.asarray(found, dtype=np.float64)
    wrong = np.flatnonzero(~np.isfinite(times))
    if len(wrong):
        raise ParameterError(
            f"times in {name!r}",
            f"{len(wrong):,} unknown, the first of edge {int(wrong[0]) + 1}",
            "a time for each edge",
            "leave those edges out, or write their times",
        )
    return times
