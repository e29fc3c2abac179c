"""What the push reads of a graph: its canonical neighbour lists, components and twins."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import sparse
from torch import Tensor

from fairgear.compiled import compiled
from fairgear.egos.push import Graph, Ints, Keys
from fairgear.graph import validation
from fairgear.graph.canonical import Canonical
from fairgear.hashing import mix

Hashes = NDArray[np.uint64]


@dataclass(frozen=True, repr=False)
class Structure:
    """An undirected graph in its canonical order, and what is derived of its edges."""

    canonical: Canonical
    component: Keys
    component_size: Ints
    degrees: Keys
    twins: Keys

    @classmethod
    def of(cls, edge_index: Tensor, num_nodes: int, node_id: Tensor | None = None) -> Structure:
        """Of an edge list, which must be undirected, and ids (default: row numbers)."""
        node_id = torch.arange(num_nodes) if node_id is None else node_id
        validation.check_edges(edge_index, num_nodes)
        validation.check_node_ids(node_id, num_nodes)
        return cls.of_canonical(Canonical(node_id, edge_index))

    @classmethod
    def of_canonical(cls, canonical: Canonical) -> Structure:
        """Of a graph's canonical order; neighbour lists that are maps of files are not copied."""
        indptr, indices = canonical.csr
        return cls(
            canonical,
            *_components(indptr, indices),
            np.diff(indptr).astype(np.int32),
            _twins(indptr, indices),
        )

    def __repr__(self) -> str:
        return f"Structure({self.num_nodes:,} nodes, {len(self.indices) // 2:,} edges)"

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
        """What a push reads."""
        return self.indptr, self.indices, self.degrees

    @property
    def num_nodes(self) -> int:
        """Number of nodes."""
        return len(self.canonical)

    def adjacency_matrix(self) -> sparse.csr_array:
        """The adjacency as a sparse matrix of ones."""
        indptr, indices = self.canonical.csr
        shape = (self.num_nodes, self.num_nodes)
        return sparse.csr_array((np.ones(len(indices)), indices, indptr), shape=shape)


def _twins(indptr: Ints, indices: Keys) -> Keys:
    """For each node the two smallest members of its twin class; for most nodes, itself twice.

    Twins have the same neighbours, each other aside. Exchanging two of them changes no graph, so
    any third node gives them exactly the same score. Neighbour lists are compared through sums of
    64-bit hashes: two different lists agree with probability 2⁻⁶⁴.
    """
    n = len(indptr) - 1
    own = mix(np.arange(n, dtype=np.uint64))
    neighbours = neighbour_sums(indptr, indices, own)
    twins = np.repeat(np.arange(n, dtype=np.int32)[:, None], 2, axis=1)
    connected = np.flatnonzero(np.diff(indptr) > 0)
    # No node has twins of both kinds, those it is linked to and those it is not.
    for key in (neighbours, neighbours + own):
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
