from __future__ import annotations

import torch

from fairgear.egos import EgoIndex
from tests.egos.plain import disconnected_edges, people

N = 120
GRAPH = people(disconnected_edges(N, 5), N)
INDEX = EgoIndex.build(GRAPH, k=8)
ROWS = torch.tensor([5, 0, 119, 5, 60, *range(20, 60)])


def test_batch_holds_what_the_graph_holds() -> None:
    batch = INDEX.batch(ROWS, GRAPH.x)
    linked = {(a, b) for a, b in GRAPH.edge_index.t().tolist()}
    padded = 0
    assert len(batch) == len(ROWS)
    for i, root in enumerate(ROWS.tolist()):
        assert int(batch.root_n_id[i]) == root == int(batch.n_id[i, 0])
        for a in range(8):
            node = int(batch.n_id[i, a])
            if not batch.mask[i, a]:
                padded += 1
                assert not bool(batch.x[i, a].any())
                assert not bool(batch.adjacency[i, a].any())
                assert not bool(batch.adjacency[i, :, a].any())
                continue
            assert torch.equal(batch.x[i, a], GRAPH.x[node])
            for b in range(8):
                expected = bool(batch.mask[i, b]) and (node, int(batch.n_id[i, b])) in linked
                assert float(batch.adjacency[i, a, b]) == expected
    assert padded > 0
    assert float(batch.adjacency.sum()) > 0


def test_shapes_and_types_follow_the_features() -> None:
    batch = INDEX.batch(ROWS[:3], GRAPH.x.double())
    assert batch.x.shape == (3, 8, 3)
    assert batch.adjacency.shape == (3, 8, 8)
    assert batch.x.dtype == batch.adjacency.dtype == torch.float64
    assert batch.n_id.dtype == torch.int64


def test_nan_elsewhere_does_not_reach_padding() -> None:
    lonely = int(torch.nonzero(INDEX.mask.sum(1) == 1)[0])
    features = GRAPH.x.clone()
    features[lonely] = float("nan")
    batch = INDEX.batch(torch.tensor([lonely]), features)
    assert not bool(batch.x[0, 1:].any())


def test_gather_gives_values_of_members() -> None:
    batch = INDEX.batch(ROWS, GRAPH.x)
    values = torch.arange(N) + 1
    assert torch.equal(batch.gather(values), (batch.n_id + 1) * batch.mask)
    assert torch.equal(batch.gather(GRAPH.x), batch.x)


def test_index_of_some_nodes() -> None:
    some = EgoIndex.build(GRAPH, k=8, nodes=torch.tensor([7, 3]))
    batch = some.batch(torch.tensor([1]), GRAPH.x)
    assert batch.root_n_id.tolist() == [3]
    assert torch.equal(batch.x, INDEX.batch(torch.tensor([3]), GRAPH.x).x)


def test_to_keeps_everything() -> None:
    moved = INDEX.to("meta")
    assert moved.ids.device.type == moved.adjacency.device.type == moved.mask.device.type == "meta"
    assert moved.key == INDEX.key
