"""What the push reads of a graph: its canonical neighbour lists, components and twins."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse import csgraph
from torch import Tensor

from fairgear.compiled import compiled
from fairgear.egos.push import Floats, Graph, Ints, Keys
from fairgear.egos.search import SPILL_NODES
from fairgear.graph import validation
from fairgear.graph.canonical import Canonical
from fairgear.hashing import mix

Hashes = NDArray[np.uint64]


@dataclass(frozen=True, repr=False)
class Structure:
    """A graph in its canonical order, and what is derived of its edges.

    Components are those of edges whatever their directions, and degrees are counts, of arcs those
    that leave. Twins are exact: with weights or directions, only those with the same lists count.

    Example:
        >>> import torch
        >>> from fairgear.egos import Structure
        >>> from fairgear.graph import undirected_edges
        >>> path = undirected_edges(torch.tensor([[0, 1, 2], [1, 2, 3]]), num_nodes=4)
        >>> structure = Structure.of(path, num_nodes=4)
        >>> structure.degrees.tolist()
        [1, 2, 2, 1]
    """

    canonical: Canonical
    component: Keys
    component_size: Ints
    degrees: Keys
    twins: Keys

    @classmethod
    def of(
        cls,
        edge_index: Tensor,
        num_nodes: int,
        node_id: Tensor | None = None,
        edge_weight: Tensor | None = None,
        *,
        directed: bool = False,
    ) -> Structure:
        """Of an edge list, which must be undirected unless told, and ids (default: row numbers)."""
        node_id = torch.arange(num_nodes) if node_id is None else node_id
        validation.check_edges(edge_index, num_nodes, directed=directed)
        if edge_weight is not None:
            validation.check_weights(edge_weight, edge_index, num_nodes, directed=directed)
        validation.check_node_ids(node_id, num_nodes)
        return cls.of_canonical(Canonical(node_id, edge_index, None, edge_weight, directed))

    @classmethod
    def of_canonical(cls, canonical: Canonical) -> Structure:
        """Of a graph's canonical order; neighbour lists that are maps of files are not copied."""
        indptr, indices = canonical.csr
        degrees = np.diff(indptr).astype(np.int32)
        if canonical.plain:
            twins = _twins(indptr, indices)
            return cls(canonical, *_components(indptr, indices), degrees, twins)
        components = _components(*_either_way(canonical))
        return cls(canonical, *components, degrees, linked_twins(canonical))

    def __repr__(self) -> str:
        count = len(self.indices) // (1 if self.canonical.directed else 2)
        return f"Structure({self.num_nodes:,} nodes, {count:,} edges)"

    @property
    def indptr(self) -> Ints:
        """Where the neighbours of each node begin."""
        return self.canonical.csr[0]

    @property
    def indices(self) -> Keys:
        """The neighbours of all nodes, sorted for each."""
        return self.canonical.csr[1]

    @property
    def arrays(self) -> Graph:
        """What a push reads, where edges have neither directions nor weights."""
        return self.indptr, self.indices, self.degrees, self.degrees, None

    def pushed(self, *, visits: bool) -> Graph:
        """What a push for one of the rankings reads."""
        if self.canonical.plain:
            return self.arrays
        found = self.shares(visits=visits)
        indptr, indices = found.indptr.astype(np.int64), found.indices.astype(np.int32)
        ones = np.ones(self.num_nodes, np.int32)
        return indptr, indices, np.diff(indptr).astype(np.int32), ones, found.data

    def shares(self, *, visits: bool) -> sparse.csr_array:
        """Row u has the share of what is pushed from u that each node gets.

        For visits, that of the walk's step from u to v; for importance, that of the step from v to
        u, so that the lists are the incoming ones.
        """
        adjacency = self.adjacency_matrix()
        if self.canonical.weights is not None:
            adjacency.data = self.canonical.weights.copy()
        # One number after another, so that sums do not depend on the order of the rows.
        total = np.bincount(
            np.repeat(np.arange(self.num_nodes), self.degrees),
            adjacency.data,
            minlength=self.num_nodes,
        )
        adjacency.data /= np.repeat(total, self.degrees)
        if visits:
            return adjacency
        backwards = adjacency.T.tocsr()
        backwards.sort_indices()
        return backwards

    def ending(self, alpha: float) -> Floats:
        """The chance that a walk from each node ends among those who can reach the core; else 0.

        The core is the largest set of nodes who can all reach each other. Of no length without
        directions, where every walk ends in its component, and where a push stays in its table.
        """
        if not self.canonical.directed or self.num_nodes > SPILL_NODES:
            return np.empty(0)
        walk = self.shares(visits=True)
        label = csgraph.connected_components(walk, connection="strong")[1]
        core = int(np.argmax(label == np.argmax(np.bincount(label))))
        inside = np.zeros(self.num_nodes)
        back = walk.T.tocsr()
        inside[csgraph.breadth_first_order(back, core, return_predecessors=False)] = 1.0
        chance = inside
        # What is not known after so many steps is less than rounding.
        for _ in range(int(np.ceil(-37.0 / np.log1p(-alpha)))):
            before, chance = chance, inside * (alpha + (1.0 - alpha) * (walk @ chance))
            if np.abs(before - chance).max() < 1e-15 * alpha:
                break
        return chance

    @property
    def num_nodes(self) -> int:
        """Number of nodes."""
        return len(self.canonical)

    def adjacency_matrix(self) -> sparse.csr_array:
        """The adjacency as a sparse matrix of ones."""
        indptr, indices = self.canonical.csr
        shape = (self.num_nodes, self.num_nodes)
        return sparse.csr_array((np.ones(len(indices)), indices, indptr), shape=shape)


def _either_way(canonical: Canonical) -> tuple[Ints, Keys]:
    """The lists of a graph in which arcs go both ways; an end may be listed twice."""
    (there, outgoing), (back, incoming) = canonical.csr, canonical.incoming[0]
    n = len(canonical)
    row = np.concatenate([np.repeat(np.arange(n), np.diff(of)) for of in (there, back)])
    order = np.argsort(row, kind="stable")
    return there + back, np.concatenate([outgoing, incoming])[order]


def linked_twins(canonical: Canonical) -> Keys:
    """As `_twins`, where edges have directions or weights: of those who are not linked."""
    n = len(canonical)
    own = mix(np.arange(n, dtype=np.uint64))
    key = np.zeros(n, np.uint64)
    lists = [(canonical.csr, canonical.weights), canonical.incoming]
    for turn, ((indptr, indices), weights) in enumerate(lists):
        part = own[indices]
        if weights is not None:
            part = mix(part ^ weights.view(np.uint64))
        sums = np.zeros(n, np.uint64)
        np.add.at(sums, np.repeat(np.arange(n), np.diff(indptr)), part)
        key += mix(sums + np.uint64(turn))
    connected = np.diff(canonical.csr[0]) + np.diff(canonical.incoming[0][0]) > 0
    return _paired(np.flatnonzero(connected), [key], n)


def _twins(indptr: Ints, indices: Keys) -> Keys:
    """For each node the two smallest members of its twin class; for most nodes, itself twice.

    Twins have the same neighbours, each other aside. Exchanging two of them changes no graph, so
    any third node gives them exactly the same score. Neighbour lists are compared through sums of
    64-bit hashes: two different lists agree with probability 2⁻⁶⁴.
    """
    n = len(indptr) - 1
    own = mix(np.arange(n, dtype=np.uint64))
    neighbours = neighbour_sums(indptr, indices, own)
    connected = np.flatnonzero(np.diff(indptr) > 0)
    # No node has twins of both kinds, those it is linked to and those it is not.
    return _paired(connected, [neighbours, neighbours + own], n)


def _paired(connected: Ints, keys: list[Hashes], n: int) -> Keys:
    """The first two of each class of nodes with the same key."""
    twins = np.repeat(np.arange(n, dtype=np.int32)[:, None], 2, axis=1)
    for key in keys:
        order = connected[np.argsort(key[connected], kind="stable")]
        same = key[order[1:]] == key[order[:-1]]
        begin = np.flatnonzero(np.r_[True, ~same][: len(order)])
        size = np.diff(np.r_[begin, len(order)])
        first = np.repeat(begin[size > 1], size[size > 1])
        members = order[np.repeat(size > 1, size)]
        twins[members, 0] = order[first]
        twins[members, 1] = order[first + 1]
    return twins


@compiled
def _components(indptr: Ints, indices: Keys) -> tuple[Keys, Ints]:
    """The component of each node, numbered by their first nodes, and how many nodes it has."""
    n = len(indptr) - 1
    label = np.full(n, -1, np.int32)
    size = np.empty(n, np.int64)
    queue = np.empty(n, np.int32)
    found = 0
    for root in range(n):
        if label[root] >= 0:
            continue
        label[root] = found
        queue[0] = root
        done, waiting = 0, 1
        while done < waiting:
            node = queue[done]
            done += 1
            for edge in range(indptr[node], indptr[node + 1]):
                other = indices[edge]
                if label[other] < 0:
                    label[other] = found
                    queue[waiting] = other
                    waiting += 1
        for place in range(waiting):
            size[queue[place]] = waiting
        found += 1
    return label, size


@compiled
def neighbour_sums(indptr: Ints, indices: Keys, own: Hashes) -> Hashes:
    """For each node the sum of its neighbours' hashes."""
    sums = np.zeros(len(indptr) - 1, np.uint64)
    for node in range(len(sums)):
        for edge in range(indptr[node], indptr[node + 1]):
            sums[node] += own[indices[edge]]
    return sums
