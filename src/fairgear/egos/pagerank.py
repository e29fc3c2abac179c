"""The k nodes that matter most to a node, by personalised PageRank.

R = α (I − (1−α) A D⁻¹)⁻¹. Column R[:,i] is where a walk that starts at i, and stops with
probability α before each step, ends: its *visits*. Row R[i,:] is how much each node j matters to
i: its *importance*. On an undirected graph R[i,j] = R[j,i] d_i / d_j, so that ranking by the row
is ranking the visits from i divided by the degree of j, and one push from i serves for both.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
from scipy import sparse
from torch import Tensor

from fairgear.compiled import in_chunks, threads
from fairgear.egos import search
from fairgear.egos.push import Flags, Floats, Ints
from fairgear.egos.ranking import first_places
from fairgear.egos.structure import Structure
from fairgear.errors import ParameterError
from fairgear.progress import log

RANKINGS = ("importance", "visits")
PRECISIONS = ("exact", "close")
CHUNK = 128
# Numbers in a block of power steps: 4 MB, which caches hold.
POWER_BLOCK = 500_000


@dataclass(frozen=True)
class PageRank:
    """How egos are ranked; checked when built.

    Args:
        k: nodes of an ego, the centre counted.
        alpha: the chance that the walk stops at a step, 0 < α < 1.
        tolerance: push until every residual r[u] ≤ tolerance · degree(u); None to push on until
            the members of the ego are certain, however small that takes.
        rank_by: "importance" (the row R[i,:]) or "visits" (the column R[:,i]).
        steps: so many power steps x ← α e_i + (1−α) A D⁻¹ x from x = e_i, in place of the push.
        precision: with neither tolerance nor steps, what makes members certain: "exact" is a
            proof; "close" an estimate of what is left, for large graphs (see `egos.close`).
    """

    k: int = 20
    alpha: float = 0.15
    tolerance: float | None = None
    rank_by: str = "importance"
    steps: int | None = None
    precision: str = "exact"

    def __post_init__(self) -> None:
        if not _whole(self.k) or self.k < 1:
            raise _refused("k", self.k, "a whole number from 1 on", "use 20")
        if not 0 < self.alpha < 1:
            raise _refused(
                "alpha", self.alpha, "a number between 0 and 1, both excluded", "use 0.15"
            )
        if self.tolerance is not None and not 0 < self.tolerance < float("inf"):
            raise _refused("tolerance", self.tolerance, "a number above 0, or None", "use None")
        if self.rank_by not in RANKINGS:
            raise _refused("rank_by", repr(self.rank_by), " or ".join(RANKINGS), "name one of them")
        if self.steps is not None and (not _whole(self.steps) or self.steps < 1):
            raise _refused("steps", self.steps, "a whole number from 1 on, or None", "use None")
        if self.steps is not None and self.tolerance is not None:
            raise _refused(
                "tolerance and steps",
                f"{self.tolerance} and {self.steps}",
                "one of them: a number of steps has no tolerance",
                "leave one out",
            )
        if self.precision not in PRECISIONS:
            allowed = " or ".join(PRECISIONS)
            raise _refused("precision", repr(self.precision), allowed, "name one of them")
        if self.precision != "exact" and (self.tolerance, self.steps) != (None, None):
            raise _refused(
                "precision",
                f"{self.precision} with tolerance {self.tolerance} and steps {self.steps}",
                "no tolerance and no steps: it says when the push is fine enough",
                "leave them out",
            )


@dataclass(frozen=True)
class Egos:
    """Members of egos, centre first.

    Attributes:
        ids: (m, k) rows of the graph; where a node reaches fewer than k, its own row again.
        mask: (m, k), true for members that are reached.
        uncertified: (m,), true where what the push left unsettled could still exchange members;
            with precision "close", where the estimate of it says that it well may.
    """

    ids: Tensor
    mask: Tensor
    uncertified: Tensor


def top_k_pagerank(
    edge_index: Tensor,
    num_nodes: int,
    k: int = 20,
    alpha: float = 0.15,
    tolerance: float | None = None,
    rank_by: str = "importance",
    steps: int | None = None,
    precision: str = "exact",
    *,
    node_id: Tensor | None = None,
    nodes: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """Rows (m, k) of the top-k nodes of each of `nodes` (default: all), and their mask.

    The node itself comes first and counts. Equal scores go to the smaller `node_id` (default: the
    row number), so that reordering a graph does not change its egos. The graph is undirected:
    `edge_index` holds both directions of each edge. The other arguments are those of `PageRank`.
    """
    how = PageRank(k, alpha, tolerance, rank_by, steps, precision)
    egos = find_egos(Structure.of(edge_index, num_nodes, node_id), how, nodes=nodes)
    device = edge_index.device
    return egos.ids.to(device), egos.mask.to(device)


def find_egos(structure: Structure, how: PageRank, *, nodes: Tensor | None = None) -> Egos:
    """The egos of `nodes` (rows; default: all) with what is known of their certainty."""
    sources = structure.canonical.numbers.numpy()[checked_rows(nodes, structure.num_nodes)]
    m = len(sources)
    ids = np.empty((m, how.k), np.int64)
    mask = np.zeros((m, how.k), np.bool_)
    uncertified = np.zeros(m, np.bool_)
    if how.steps is not None:
        _power_egos(structure, sources, how.alpha, how.steps, how.rank_by == "visits", ids, mask)
    else:
        work = partial(_search, structure, how, sources, ids, mask, uncertified)
        # Smaller chunks for few nodes, so that every thread gets some.
        in_chunks(work, m, max(1, min(CHUNK, m // (4 * threads()))), "egos")
    doubtful = int(uncertified.sum())
    if doubtful:
        log(f"egos: {doubtful} of {m} have a last place that is tied, nearly, or past the budget")
    return Egos(
        structure.canonical.rows[torch.from_numpy(ids)],
        torch.from_numpy(mask),
        torch.from_numpy(uncertified),
    )


def _search(
    structure: Structure,
    how: PageRank,
    sources: Ints,
    ids: Ints,
    mask: Flags,
    uncertified: Flags,
    start: int,
    stop: int,
) -> None:
    search.search(
        structure.indptr,
        structure.indices,
        structure.twins,
        structure.component,
        structure.component_size,
        structure.degrees,
        int(structure.degrees.max()),
        sources[start:stop],
        float(how.alpha),
        0.0 if how.tolerance is None else float(how.tolerance),
        how.precision == "close",
        how.rank_by == "visits",
        search.BUDGET,
        ids[start:stop],
        mask[start:stop],
        uncertified[start:stop],
    )


def _power_egos(
    structure: Structure,
    sources: Ints,
    alpha: float,
    steps: int,
    visits: bool,
    ids: Ints,
    mask: Flags,
) -> None:
    """Fill `ids` and `mask` from x ← α e_i + (1−α) A D⁻¹ x; nodes that x reaches are members."""
    inverse = 1.0 / np.maximum(structure.degrees, 1.0)
    walk = structure.adjacency_matrix() @ sparse.diags_array(inverse)

    def work(start: int, stop: int) -> None:
        centres = sources[start:stop]
        walks = _walks(walk, centres, alpha, steps)
        if not visits:
            walks *= inverse[:, None]
        for column, centre in enumerate(centres):
            # Twins may differ in the last bit, since their sums have another order.
            alike = np.where(structure.twins[:, 0] == centre, 1, 0)
            score = walks[structure.twins[np.arange(len(alike)), alike], column]
            reached = np.flatnonzero(walks[:, column]).astype(np.int32)
            best = first_places(centre, ids.shape[1] - 1, score[reached], reached, 0.0, -1.0)
            row = start + column
            ids[row] = centre
            ids[row, 1 : len(best) + 1] = reached[best]
            mask[row, : len(best) + 1] = True

    in_chunks(work, len(sources), max(1, POWER_BLOCK // max(structure.num_nodes, 1)), "egos")


def _walks(walk: sparse.csr_array, centres: Ints, alpha: float, steps: int) -> Floats:
    place = (centres, np.arange(len(centres)))
    x = np.zeros((walk.shape[0], len(centres)))
    x[place] = 1.0
    for _ in range(steps):
        x = (1.0 - alpha) * (walk @ x)
        x[place] += alpha
    return x


def checked_rows(nodes: Tensor | None, num_nodes: int) -> Ints:
    """Checked row numbers; all rows if not given."""
    if nodes is None:
        return np.arange(num_nodes)
    if nodes.dim() != 1 or nodes.dtype != torch.int64:
        got = f"{nodes.dtype} of shape {tuple(nodes.shape)}"
        raise _refused("nodes", got, "int64 of shape (m,)", "pass row numbers of the graph")
    outside = nodes[(nodes < 0) | (nodes >= num_nodes)]
    if len(outside):
        allowed = f"0 to {num_nodes - 1}"
        raise _refused("nodes", int(outside[0]), allowed, "pass row numbers of the graph")
    rows: Ints = nodes.cpu().numpy()
    return rows


def _whole(number: object) -> bool:
    return isinstance(number, int) and not isinstance(number, bool)


def _refused(what: str, got: object, allowed: str, next_step: str) -> ParameterError:
    return ParameterError(what, got, allowed, next_step)
