"""What the push reads of a graph: neighbour lists in the order of node ids, components, twins."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from scipy import sparse
from scipy.sparse import csgraph
from torch import Tensor

from fairgear.egos.kernel import Floats, Ints, Keys
from fairgear.graph import validation
from fairgear.hashing import mix


@dataclass(frozen=True)
class Structure:
    """An undirected graph whose nodes are numbered by the rank of their node_id.

    That numbering is what makes the result independent of the order of rows: everything below
    works in it, and `row_of` leads back.
    """

    indptr: Ints
    indices: Keys
    row_of: Ints
    number_of: Ints
    component: Keys
    component_size: Ints
    degrees: Floats
    twins: Keys

    @classmethod
    def of(cls, edge_index: Tensor, num_nodes: int, node_id: Tensor | None = None) -> Structure:
        """Check the edges and sort them; an edge list that is not undirected is refused."""
        validation.check_edges(edge_index, num_nodes)
        if node_id is None:
            node_id = torch.arange(num_nodes)
        validation.check_node_ids(node_id, num_nodes)
        row_of = node_id.cpu().argsort().numpy()
        number_of = np.empty_like(row_of)
        number_of[row_of] = np.arange(num_nodes)
        source, target = number_of[edge_index.cpu().numpy()]
        key = source * num_nodes + target
        if not (key[1:] > key[:-1]).all():
            target = target[np.argsort(key)]
        indices = target.astype(np.int32)
        indptr = np.zeros(num_nodes + 1, np.int64)
        np.cumsum(np.bincount(source, minlength=num_nodes), out=indptr[1:])
        adjacency = adjacency_matrix(indptr, indices)
        _, label = csgraph.connected_components(adjacency, directed=False)
        size = np.bincount(label)[label].astype(np.int64)
        return cls(
            indptr,
            indices,
            row_of,
            number_of,
            label.astype(np.int32),
            size,
            np.diff(indptr).astype(np.float64),
            _twins(indptr, indices),
        )

    @property
    def num_nodes(self) -> int:
        """Number of nodes."""
        return len(self.indptr) - 1


def adjacency_matrix(indptr: Ints, indices: Keys) -> sparse.csr_array:
    """The adjacency as a sparse matrix of ones."""
    n = len(indptr) - 1
    return sparse.csr_array((np.ones(len(indices)), indices, indptr), shape=(n, n))


def _twins(indptr: Ints, indices: Keys) -> Keys:
    """For each node the two smallest members of its twin class; for most nodes, itself twice.

    Twins have the same neighbours, each other aside. Exchanging two of them changes no graph, so
    any third node gives them exactly the same score. Neighbour lists are compared through sums of
    64-bit hashes: two different lists agree with probability 2⁻⁶⁴.
    """
    n = len(indptr) - 1
    own = mix(np.arange(n, dtype=np.uint64))
    running = np.zeros(len(indices) + 1, np.uint64)
    np.cumsum(own[indices], out=running[1:])
    neighbours = running[indptr[1:]] - running[indptr[:-1]]
    twins = np.repeat(np.arange(n, dtype=np.int32)[:, None], 2, axis=1)
    connected = np.flatnonzero(np.diff(indptr) > 0)
    # No node has twins of both kinds, those it is linked to and those it is not.
    for key in (neighbours, neighbours + own):
        _, inverse, size = np.unique(key[connected], return_inverse=True, return_counts=True)
        order = np.argsort(inverse, kind="stable")
        begin = np.cumsum(size) - size
        several = size[inverse] > 1
        first = connected[order[begin[inverse[several]]]]
        second = connected[order[begin[inverse[several]] + 1]]
        twins[connected[several], 0] = first
        twins[connected[several], 1] = second
    return twins
