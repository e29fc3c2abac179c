"""What the push reads of a graph: neighbour lists in the order of node ids, components, twins."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse
from torch import Tensor

from fairgear.egos import csr
from fairgear.egos.table import Ints, Keys
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
    degrees: Keys
    twins: Keys

    @classmethod
    def of(cls, edge_index: Tensor, num_nodes: int, node_id: Tensor | None = None) -> Structure:
        """Check the edges and sort them; an edge list that is not undirected is refused."""
        validation.check_edges(edge_index, num_nodes)
        source, target = edge_index.cpu().numpy()
        row_of, number_of = _numbering(node_id, num_nodes)
        if not _rising(row_of):
            source, target = number_of[source], number_of[target]
        indptr, indices = csr.from_keys(source * num_nodes + target, num_nodes)
        return cls._of(indptr, indices, row_of, number_of)

    @classmethod
    def of_csr(cls, indptr: Ints, indices: Keys, node_id: Tensor | None = None) -> Structure:
        """From sorted neighbour lists, which are checked, and kept as they are if node ids rise.

        They may be read-only maps of files: nothing is copied then but what is derived of them.
        """
        indptr, indices = np.asarray(indptr), np.asarray(indices)
        csr.check(indptr, indices)
        num_nodes = len(indptr) - 1
        row_of, number_of = _numbering(node_id, num_nodes)
        if not _rising(row_of):
            key = np.repeat(number_of * num_nodes, np.diff(indptr))
            key += number_of[indices]
            indptr, indices = csr.from_keys(key, num_nodes)
        return cls._of(indptr, indices, row_of, number_of)

    @classmethod
    def _of(cls, indptr: Ints, indices: Keys, row_of: Ints, number_of: Ints) -> Structure:
        return cls(
            indptr,
            indices,
            row_of,
            number_of,
            *csr.components(indptr, indices),
            np.diff(indptr).astype(np.int32),
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
    neighbours = csr.neighbour_sums(indptr, indices, own)
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


def _numbering(node_id: Tensor | None, num_nodes: int) -> tuple[Ints, Ints]:
    """Rows in the order of their node ids, and the place of each row in that order."""
    rows = np.arange(num_nodes)
    if node_id is None:
        return rows, rows
    validation.check_node_ids(node_id, num_nodes)
    ids = node_id.cpu().numpy()
    if _rising(ids):
        return rows, rows
    row_of = np.argsort(ids)
    number_of = np.empty_like(row_of)
    number_of[row_of] = rows
    return row_of, number_of


def _rising(numbers: Ints) -> bool:
    return bool((numbers[1:] > numbers[:-1]).all())
