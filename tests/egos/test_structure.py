"""Neighbour lists: the same from an edge list and from sorted rows, whatever the order of ids."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.sparse import csgraph
from torch import Tensor

from fairgear.egos import PageRank, Structure, find_egos
from fairgear.errors import GraphError
from fairgear.graph.canonical import Canonical
from tests.egos.plain import disconnected_edges, path, random_edges

ARRAYS = ("indptr", "indices", "component", "component_size", "degrees", "twins")


def same(a: Structure, b: Structure) -> bool:
    assert torch.equal(a.canonical.rows, b.canonical.rows)
    return all(np.array_equal(getattr(a, name), getattr(b, name)) for name in ARRAYS)


def of_csr(indptr: NDArray[Any], indices: NDArray[Any], node_id: Tensor | None = None) -> Structure:
    """From neighbour lists alone: the edge list is not looked at."""
    node_id = torch.arange(len(indptr) - 1) if node_id is None else node_id
    return Structure.of_canonical(Canonical(node_id, torch.empty(0), (indptr, indices)))


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10**6), n=st.integers(1, 40), density=st.floats(0.0, 3.0))
def test_rows_give_what_edges_give(seed: int, n: int, density: float) -> None:
    rng = np.random.default_rng(seed)
    edges = random_edges(n, int(density * n), seed)
    node_id = torch.from_numpy(rng.permutation(10 * n)[:n])
    plain = Structure.of(edges, n)
    shuffled = edges[:, torch.from_numpy(rng.permutation(edges.shape[1]))]
    assert same(Structure.of(shuffled, n), plain)
    assert same(of_csr(plain.indptr, plain.indices), plain)
    assert same(of_csr(plain.indptr, plain.indices, torch.arange(n) * 3), plain)
    renumbered = Structure.of(edges, n, node_id)
    assert same(of_csr(plain.indptr, plain.indices, node_id), renumbered)
    canonical = renumbered.canonical
    for row in range(n):
        first, last = renumbered.indptr[canonical.numbers[row] :][:2]
        neighbours = canonical.rows[renumbered.indices[first:last]]
        assert set(neighbours.tolist()) == set(edges[1][edges[0] == row].tolist())
        assert (np.diff(renumbered.indices[first:last]) > 0).all()


def test_components_are_those_of_scipy() -> None:
    n = 400
    structure = Structure.of(disconnected_edges(n, 1), n)
    matrix = structure.adjacency_matrix()
    count, label = csgraph.connected_components(matrix, directed=False)
    assert count > 10
    assert np.array_equal(structure.component, label)
    assert np.array_equal(structure.component_size, np.bincount(label)[label])


def test_rows_may_be_a_read_only_file(tmp_path: Path) -> None:
    n = 300
    plain = Structure.of(random_edges(n, 900, 0), n)
    maps = []
    for name, values in (("indptr", plain.indptr), ("indices", plain.indices)):
        np.save(tmp_path / f"{name}.npy", values)
        maps.append(np.load(tmp_path / f"{name}.npy", mmap_mode="r"))
    mapped = of_csr(*maps)
    assert np.shares_memory(mapped.indices, maps[1])
    for precision in ("exact", "close"):
        how = PageRank(precision=precision)
        assert torch.equal(find_egos(mapped, how).ids, find_egos(plain, how).ids)


@pytest.mark.parametrize(
    "change",
    [
        {"indices": [1, 0, 2, 1, 3]},
        {"indices": [1, 2, 0, 1, 3, 2]},
        {"indices": [1, 0, 2, 1, 3, 1]},
        {"indices": [1, 0, 2, 1, 4, 2]},
        {"indices": [0, 0, 2, 1, 3, 2]},
        {"indptr": [0, 2, 1, 5, 6]},
        {"indptr": [1, 1, 3, 5, 6]},
    ],
    ids=["too few", "unsorted", "one direction", "out of range", "loop", "falling", "begins late"],
)
def test_rows_that_would_give_wrong_egos_are_refused(change: dict[str, list[int]]) -> None:
    plain = Structure.of(path(4), 4)
    indptr = np.array(change.get("indptr", plain.indptr), np.int64)
    indices = np.array(change.get("indices", plain.indices), np.int32)
    with pytest.raises(GraphError, match="indptr and indices"):
        of_csr(indptr, indices)
    with pytest.raises(GraphError, match="int32"):
        of_csr(plain.indptr, plain.indices.astype(np.int64))
