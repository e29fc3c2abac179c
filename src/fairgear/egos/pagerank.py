"""The k nodes that matter most to a node, by personalised PageRank.

R = α (I − (1−α) A D⁻¹)⁻¹. Column R[:,i] is where a walk that starts at i, and stops with
probability α before each step, ends: its *visits*. Row R[i,:] is how much each node j matters to
i: its *importance*. On an undirected graph R[i,j] = R[j,i] d_i / d_j, so that ranking by the row
is ranking the visits from i divided by the degree of j, and one push from i serves for both.

Where edges have directions or weights, A[j,i] is the weight of the edge from i to j, and D holds
the sums of A's columns; who points to nobody has none, and walks are lost there. A row is then
pushed backwards, along the edges to i, and a column forwards.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from scipy import sparse
from torch import Tensor

from fairgear.compiled import in_chunks, threads
from fairgear.egos import search
from fairgear.egos.push import Flags, Floats, Graph, Ints, Keys
from fairgear.egos.ranking import first_places
from fairgear.egos.structure import Structure
from fairgear.errors import ParameterError
from fairgear.graph.sensitive_graph import checked_rows
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
        steps: so many power steps x ← α e_i + (1−α) A D⁻¹ x from x = e_i, instead of the push.
        precision: with neither tolerance nor steps, what makes members certain: "exact" is a
            proof; "close" an estimate of what is left, for large graphs (see `egos.close`).

    Example:
        >>> from fairgear.egos import PageRank
        >>> PageRank(k=10).alpha
        0.15
        >>> PageRank(rank_by="visits").precision
        'exact'
    """

    k: int = 20
    alpha: float = 0.15
    tolerance: float | None = None
    rank_by: str = "importance"
    steps: int | None = None
    precision: str = "exact"

    def __post_init__(self) -> None:
        if not _whole(self.k):
            raise ParameterError("k", self.k, "a whole number from 1 on", "use 20")
        if not 0 < self.alpha < 1:
            raise ParameterError("alpha", self.alpha, "between 0 and 1, both excluded", "use 0.15")
        if self.tolerance is not None and not 0 < self.tolerance < float("inf"):
            raise ParameterError("tolerance", self.tolerance, "above 0, or None", "use None")
        if self.steps is not None and not _whole(self.steps):
            allowed = "a whole number from 1 on, or None"
            raise ParameterError("steps", self.steps, allowed, "use None")
        for name, known in (("rank_by", RANKINGS), ("precision", PRECISIONS)):
            got = getattr(self, name)
            if got not in known:
                raise ParameterError(name, repr(got), " or ".join(known), "name one of them")
        close = None if self.precision == "exact" else self.precision
        chosen = {"tolerance": self.tolerance, "steps": self.steps, "precision": close}
        given = [f"{name}={value}" for name, value in chosen.items() if value is not None]
        if len(given) > 1:
            allowed = "one of tolerance, steps and precision: each says when to stop"
            raise ParameterError("a ranking", " and ".join(given), allowed, "leave one out")


@dataclass(frozen=True, repr=False)
class Egos:
    """Members of egos, centre first.

    Attributes:
        ids: (m, k) rows of the graph; where a node reaches fewer than k, its own row again.
        mask: (m, k), true for members that are reached.
        uncertified: (m,), true where what the push left unsettled could still exchange members;
            with precision "close", where the estimate of it says that it well may.

    Example:
        >>> from fairgear.egos import PageRank, Structure, find_egos
        >>> from fairgear.testing import toy_graph
        >>> egos = find_egos(Structure.of_canonical(toy_graph().canonical), PageRank(k=5))
        >>> tuple(egos.ids.shape), egos.mask.dtype
        ((160, 5), torch.bool)
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
    rank_by: str = "importance",
    steps: int | None = None,
    precision: str = "exact",
    *,
    node_id: Tensor | None = None,
    nodes: Tensor | None = None,
    edge_weight: Tensor | None = None,
    directed: bool = False,
) -> tuple[Tensor, Tensor]:
    """Rows (m, k) of the top-k nodes of each of `nodes` (default: all), and their mask.

    The node itself comes first and counts. Equal scores go to the smaller `node_id` (default: the
    row number), so that reordering a graph does not change its egos. `edge_index` holds both
    directions of each edge, or arcs if the graph is `directed`. The other arguments are those of
    `PageRank`.

    Example:
        >>> import torch
        >>> from fairgear.egos import top_k_pagerank
        >>> from fairgear.graph import undirected_edges
        >>> path = undirected_edges(torch.tensor([[0, 1, 2], [1, 2, 3]]), num_nodes=4)
        >>> ids, mask = top_k_pagerank(path, 4, k=3)
        >>> ids[0].tolist(), mask[0].tolist()
        ([0, 1, 2], [True, True, True])
    """
    how = PageRank(k, alpha, tolerance, rank_by, steps, precision)
    structure = Structure.of(edge_index, num_nodes, node_id, edge_weight, directed=directed)
    egos = find_egos(structure, how, nodes=nodes)
    device = edge_index.device
    return egos.ids.to(device), egos.mask.to(device)


def find_egos(structure: Structure, how: PageRank, *, nodes: Tensor | None = None) -> Egos:
    """The egos of `nodes` (rows; default: all) with what is known of their certainty.

    Example:
        >>> import torch
        >>> from fairgear.egos import PageRank, Structure, find_egos
        >>> from fairgear.testing import toy_graph
        >>> structure = Structure.of_canonical(toy_graph().canonical)
        >>> egos = find_egos(structure, PageRank(k=4), nodes=torch.tensor([2, 9]))
        >>> egos.ids[:, 0].tolist()
        [2, 9]
    """
    sources = structure.canonical.numbers[checked_rows(nodes, structure.num_nodes)].numpy()
    m, visits = len(sources), how.rank_by == "visits"
    # What only a proof, and only an estimate, reads.
    close = how.precision == "close" and not visits
    exact = how.tolerance is None and not close and not visits
    if how.steps is None:
        ids, mask, uncertified = search_egos(
            structure.pushed(visits=visits),
            structure.twins,
            structure.component,
            structure.component_size,
            sources,
            how,
            directed=structure.canonical.directed,
            ahead=structure.pushed(visits=True) if close else None,
            ending=structure.ending(how.alpha) if exact else None,
        )
    else:
        ids, mask = np.empty((m, how.k), np.int64), np.zeros((m, how.k), np.bool_)
        uncertified = np.zeros(m, np.bool_)
        _power_egos(structure, sources, how.alpha, how.steps, visits, ids, mask)
    doubtful = int(uncertified.sum())
    if doubtful:
        log(f"egos: {doubtful} of {m} have a last place that is tied, nearly, or past the budget")
    return Egos(
        structure.canonical.rows[torch.from_numpy(ids)],
        torch.from_numpy(mask),
        torch.from_numpy(uncertified),
    )


def search_egos(
    graph: Graph,
    twins: Keys,
    component: Keys,
    component_size: Ints,
    sources: Ints,
    how: PageRank,
    *,
    directed: bool = False,
    ahead: Graph | None = None,
    ending: Floats | None = None,
) -> tuple[Ints, Flags, Flags]:
    """Members, mask and doubt of the egos of `sources`; all are numbers, not rows."""
    m, most = len(sources), int(graph[3].max())
    ids = np.empty((m, how.k), np.int64)
    mask = np.zeros((m, how.k), np.bool_)
    uncertified = np.zeros(m, np.bool_)

    def work(start: int, stop: int) -> None:
        part = slice(start, stop)
        search.search(
            graph,
            graph if ahead is None else ahead,
            twins,
            component,
            component_size,
            most,
            sources[part],
            float(how.alpha),
            0.0 if how.tolerance is None else float(how.tolerance),
            how.precision == "close",
            how.rank_by == "visits",
            search.BUDGET,
            directed,
            np.empty(0) if ending is None else ending,
            ids[part],
            mask[part],
            uncertified[part],
        )

    # Smaller chunks for few nodes, so that every thread gets some.
    in_chunks(work, m, max(1, min(CHUNK, m // (4 * threads()))), "egos")
    return ids, mask, uncertified


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
    plain = structure.canonical.plain
    inverse = 1.0 / np.maximum(structure.degrees, 1.0)
    walk = structure.adjacency_matrix() @ sparse.diags_array(inverse)
    if not plain:
        # The lists have what flows to each node; their transpose is the matrix of the steps.
        walk = structure.shares(visits=visits).T.tocsr()

    def work(start: int, stop: int) -> None:
        centres = sources[start:stop]
        walks = _walks(walk, centres, alpha, steps)
        if plain and not visits:
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


def _whole(number: object) -> bool:
    return isinstance(number, int) and not isinstance(number, bool) and number >= 1
