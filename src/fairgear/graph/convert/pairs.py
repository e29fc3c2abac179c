"""Edge lists of any source as pairs of rows, and what was odd about them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from torch import Tensor

from fairgear.errors import GraphError
from fairgear.graph.convert.header import are_names
from fairgear.graph.convert.identity import Identity
from fairgear.graph.convert.spelling import spelled
from fairgear.graph.edges import undirected_edges

Pairs = NDArray[np.int64]


def matched_pairs(
    edges: pd.DataFrame, people: Identity, *, header: bool, notes: list[str]
) -> Pairs:
    """The rows (2, m) that a list of ids joins.

    Args:
        edges: its first two columns count.
        people: whose ids they are.
        header: whether the first row may hold names of columns.
        notes: where to say what was odd.
    """
    if edges.shape[1] < 2:
        raise GraphError(
            "edges",
            f"{edges.shape[1]} columns",
            "two columns: one id at each end",
            "write one edge a line, both ids separated by a comma",
        )
    if edges.shape[1] > 2:
        notes.append("edges: only the first two columns count; weights are not used")
    ends = edges.iloc[:, :2]
    rows = np.stack([people.rows_of(ends.iloc[:, end]) for end in (0, 1)])
    if header and len(ends) and (rows[:, 0] < 0).all():
        names = [spelled(value) for value in ends.iloc[0]]
        if are_names(names, people, known=bool((rows[:, 1:] >= 0).all(axis=0).any())):
            notes.append(f"edges: the first line names the columns: {', '.join(names)}")
            ends, rows = ends.iloc[1:], rows[:, 1:]
    lost = (rows < 0).any(axis=0)
    if lost.any():
        line = int(np.flatnonzero(lost)[0])
        end = int(rows[0, line] >= 0)
        raise GraphError(
            "edges",
            f"{int(lost.sum())} of {lost.size} with an end that is nobody's id, the first "
            f"{spelled(ends.iloc[line, end])!r}",
            "ids of the node table"
            if people.names or not np.array_equal(people.node_id, np.arange(len(people.node_id)))
            else f"0 to {len(people.node_id) - 1}, the rows of the node table",
            "correct the list, or name the column of the ids with --id"
            + (", or call the columns source and target" if header and line == 0 else ""),
        )
    return rows


def joined(pairs: Pairs, keep: NDArray[np.bool_], notes: list[str]) -> Tensor:
    """Both directions of each pair of kept rows, renumbered, without loops and repeats."""
    stay = keep[pairs].all(axis=0)
    if not stay.all():
        notes.append(f"edges: left out {int((~stay).sum()):,} at people who were left out")
    place = np.cumsum(keep) - 1
    pairs = place[pairs[:, stay]].astype(np.int64)
    count = int(keep.sum())
    loops = int((pairs[0] == pairs[1]).sum())
    pairs = pairs[:, pairs[0] != pairs[1]]
    one_way = np.unique(pairs[0] * count + pairs[1])
    edge_index = undirected_edges(torch.from_numpy(pairs), count)
    repeats = pairs.shape[1] - len(one_way)
    if loops or repeats:
        notes.append(f"edges: dropped {loops:,} self-loops and {repeats:,} repeats")
    both = 2 * len(one_way) - edge_index.shape[1]
    if 0 < both < len(one_way):
        notes.append("edges: some are listed one way and some both ways; all count both ways")
    return edge_index
