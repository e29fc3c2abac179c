"""Edges with directions or weights, from lists and graphs of users."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray

from fairgear.column_names import listed
from fairgear.errors import GraphError, ParameterError
from fairgear.graph.tables.identity import Rows
from fairgear.graph.tables.values import spelled

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Ties:
    """Pairs of rows (2, m) as they are listed.

    Attributes:
        pairs: sources and targets.
        weights: (m,), if they have any.
        directed: whether the source of the list says that edges have directions; None if it
            cannot say.
    """

    pairs: Rows
    weights: Floats | None = None
    directed: bool | None = None


def weight_column(ends: pd.DataFrame, name: str, *, header: bool) -> Floats:
    """The weights in the column `name` of an edge list, whose first row may hold the names."""
    texts = ends.iloc[0] if header and len(ends) else ends.columns
    names = [spelled(value) for value in texts]
    if name not in names[2:]:
        raise ParameterError(
            "--weight",
            f"{name!r}, which is no column of the edge list after the first two",
            listed(names[2:], 20) if names[2:] else "a third column with a name in the first line",
            "name the column that holds the weights",
        )
    return edge_weights(ends.iloc[1 if header else 0 :, names.index(name)], name)


def edge_weights(values: pd.Series, name: str) -> Floats:
    """Positive finite numbers, from numbers or text."""
    found = np.array([_number(value) for value in values.tolist()], dtype=np.float64)
    wrong = np.flatnonzero(~(np.isfinite(found) & (found > 0)))
    if len(wrong):
        raise GraphError(
            f"weights of edges in {name!r}",
            f"{len(wrong)} that are not, the first {spelled(values.iloc[int(wrong[0])])!r} "
            f"of edge {int(wrong[0]) + 1}",
            "positive finite numbers",
            "leave those edges out, or correct them",
        )
    return found


def _number(value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        return float("nan")


def has_directions(ties: Ties) -> bool:
    """Whether some pairs are listed both ways and others not, or with another weight each way.

    Where none is listed both ways, each edge may have been listed once: that cannot be told.
    """
    source, target = ties.pairs
    size = int(ties.pairs.max(initial=0)) + 1
    there, first = np.unique(source * size + target, return_index=True)
    back, twin = np.unique(target * size + source, return_index=True)
    twins = np.isin(there, back, assume_unique=True) & (there // size != there % size)
    if not np.array_equal(there, back):
        return bool(twins.any())
    return ties.weights is not None and bool((ties.weights[first] != ties.weights[twin]).any())


def linked(ties: Ties, keep: NDArray[np.bool_], directed: bool, notes: list[str]) -> dict[str, Any]:
    """The fields of a graph for pairs of kept rows, renumbered, without loops and repeats.

    Of pairs that are listed several times, the first counts.
    """
    stay = keep[ties.pairs].all(axis=0)
    if not stay.all():
        notes.append(f"edges: left out {int((~stay).sum()):,} at people who were left out")
    apart = stay & (ties.pairs[0] != ties.pairs[1])
    pairs = (np.cumsum(keep) - 1)[ties.pairs[:, apart]].astype(np.int64)
    weights = None if ties.weights is None else ties.weights[apart]
    count = int(keep.sum())
    ends = pairs if directed else np.sort(pairs, axis=0)
    _, first, place = np.unique(ends[0] * count + ends[1], return_index=True, return_inverse=True)
    one_way = len(np.unique(pairs[0] * count + pairs[1]))
    loops, repeats = int((stay & ~apart).sum()), pairs.shape[1] - one_way
    if loops or repeats:
        notes.append(f"edges: dropped {loops:,} self-loops and {repeats:,} repeats")
    if weights is not None:
        other = int((weights != weights[first][place]).sum())
        if other:
            notes.append(f"edges: {other:,} are listed again with another weight; the first counts")
    once = torch.from_numpy(ends[:, first])
    edges = once if directed else torch.cat([once, once.flip(0)], dim=1)
    fields: dict[str, Any] = {"edge_index": edges, "directed": directed}
    if weights is not None:
        kept = torch.from_numpy(weights[first])
        fields["edge_weight"] = kept if directed else torch.cat([kept, kept])
    notes.append(_said(len(first), directed, weights is not None))
    return fields


def _said(count: int, directed: bool, weighted: bool) -> str:
    kind = "directed, from the first end to the second" if directed else "undirected"
    return f"edges: {count:,}, {kind}" + (", with weights" if weighted else "")
