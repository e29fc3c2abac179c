"""The k nodes that matter most to a node, by personalised PageRank.

R = α (I − (1−α) A D⁻¹)⁻¹. Column R[:,i] is where a walk that starts at i, and stops with
probability α before each step, ends. Row R[i,:] is how much each node j matters to i. On an
undirected graph R[i,j] = R[j,i] d_i / d_j, so that one push from i ranks by the row: by where its
walk ends, divided by the degree there.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from fairgear.compiled import in_chunks, threads
from fairgear.egos import search
from fairgear.egos.structure import Structure
from fairgear.errors import ParameterError
from fairgear.graph.sensitive_graph import checked_rows
from fairgear.progress import log

PRECISIONS = ("exact", "close")
CHUNK = 128


@dataclass(frozen=True)
class PageRank:
    """How egos are ranked; checked when built.

    Args:
        k: nodes of an ego, the centre counted.
        alpha: the chance that the walk stops at a step, 0 < α < 1.
        tolerance: push until every residual r[u] ≤ tolerance · degree(u); None to push on until
            the members of the ego are certain, however small that takes.
        precision: without a tolerance, what makes members certain: "exact" is a proof; "close"
            an estimate of what is left, for large graphs (see `egos.close`).
    """

    k: int = 20
    alpha: float = 0.15
    tolerance: float | None = None
    precision: str = "exact"

    def __post_init__(self) -> None:
        if not isinstance(self.k, int) or isinstance(self.k, bool) or self.k < 1:
            raise ParameterError("k", self.k, "a whole number from 1 on", "use 20")
        if not 0 < self.alpha < 1:
            raise ParameterError("alpha", self.alpha, "between 0 and 1, both excluded", "use 0.15")
        if self.tolerance is not None and not 0 < self.tolerance < float("inf"):
            raise ParameterError("tolerance", self.tolerance, "above 0, or None", "use None")
        if self.precision not in PRECISIONS:
            allowed = " or ".join(PRECISIONS)
            raise ParameterError("precision", repr(self.precision), allowed, "name one of them")
        if self.precision != "exact" and self.tolerance is not None:
            got = f"{self.precision} with tolerance {self.tolerance}"
            allowed = "no tolerance: the precision says when the push is fine enough"
            raise ParameterError("precision", got, allowed, "leave the tolerance out")


@dataclass(frozen=True, repr=False)
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

    def __repr__(self) -> str:
        count, k = self.ids.shape
        return f"Egos({count:,} of {k}, {int(self.uncertified.sum()):,} uncertified)"


def top_k_pagerank(
    edge_index: Tensor,
    num_nodes: int,
    k: int = 20,
    alpha: float = 0.15,
    tolerance: float | None = None,
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
    how = PageRank(k, alpha, tolerance, precision)
    egos = find_egos(Structure.of(edge_index, num_nodes, node_id), how, nodes=nodes)
    device = edge_index.device
    return egos.ids.to(device), egos.mask.to(device)


def find_egos(structure: Structure, how: PageRank, *, nodes: Tensor | None = None) -> Egos:
    """The egos of `nodes` (rows; default: all) with what is known of their certainty."""
    sources = structure.canonical.numbers[checked_rows(nodes, structure.num_nodes)].numpy()
    m = len(sources)
    ids = np.empty((m, how.k), np.int64)
    mask = np.zeros((m, how.k), np.bool_)
    uncertified = np.zeros(m, np.bool_)

    def work(start: int, stop: int) -> None:
        part = slice(start, stop)
        search.search(
            structure.arrays,
            structure.twins,
            structure.component,
            structure.component_size,
            sources[part],
            float(how.alpha),
            0.0 if how.tolerance is None else float(how.tolerance),
            how.precision == "close",
            search.BUDGET,
            ids[part],
            mask[part],
            uncertified[part],
        )

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
