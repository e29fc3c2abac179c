"""The ways that are timed against each other give the same result."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch_geometric.utils import ppr as pyg_ppr

from benchmarks.bench.audit import audit_case
from benchmarks.bench.egos import ALPHA, K, PprCase
from benchmarks.bench.graphs import Scene
from benchmarks.bench.measure import NOTHING, Case, Side, Unsuitable, Work, time_case
from benchmarks.bench.push import plain_push, power_walks, pyg_push, top_members, walk_matrix
from benchmarks.bench.runner import with_ratios
from benchmarks.bench.sparse import BATCHINGS, SparseEncoder
from benchmarks.bench.steps import (
    WHOLE,
    Pool,
    gear_task,
    largest_difference,
    loss_of,
    vae_case,
    vae_loss,
    vae_task,
)
from fairgear.egos import PageRank, Structure, find_egos
from fairgear.methods.gear_paper.config import GearPaperConfig, VaeConfig

CPU = torch.device("cpu")


@pytest.mark.parametrize("batching", BATCHINGS)
def test_a_step_on_sparse_batches_has_the_same_loss(pool: Pool, batching: str) -> None:
    config = GearPaperConfig(dim=16)
    assert largest_difference(pool, config, CPU, batching) < 1e-5
    # It is the same through learning, not by not learning.
    tasks = [
        gear_task(pool, config, CPU, batching=name, dropout=0.0) for name in ("fairgear", batching)
    ]
    first, second = ([loss_of(task, step) for step in range(3)] for task in tasks)
    assert first[2] == pytest.approx(second[2], abs=1e-3)
    assert first[0]["prediction"] != first[2]["prediction"]


@pytest.mark.parametrize("batching", BATCHINGS)
def test_another_weight_would_be_noticed(pool: Pool, batching: str) -> None:
    config = GearPaperConfig(dim=16)
    dense = gear_task(pool, config, CPU, dropout=0.0)
    sparse = gear_task(pool, config, CPU, batching=batching, dropout=0.0)
    encoder = sparse.network.encoder
    assert isinstance(encoder, SparseEncoder)
    with torch.no_grad():
        next(encoder.parameters()).mul_(1.5)
    one, other = loss_of(dense, 0), loss_of(sparse, 0)
    assert max(abs(one[name] - other[name]) for name in one) > 1e-4


@pytest.mark.parametrize("batching", BATCHINGS)
def test_the_vae_on_sparse_batches_has_the_same_loss(pool: Pool, batching: str) -> None:
    config = VaeConfig(batch_size=20)
    dense, sparse = (vae_task(pool, config, CPU, name) for name in ("fairgear", batching))
    for seed in range(2):
        assert vae_loss(dense, seed) == pytest.approx(vae_loss(sparse, seed), abs=1e-3)


def exact(structure: Structure) -> np.ndarray:
    """R = α (I − (1−α) A D⁻¹)⁻¹ by solving for it."""
    n = structure.num_nodes
    walk = walk_matrix(structure.indptr, structure.indices)[0].toarray()
    return np.asarray(ALPHA * np.linalg.inv(np.eye(n) - (1 - ALPHA) * walk))


def test_all_ways_to_pagerank_agree(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    # Uncompiled: compiling takes longer than all the tests here.
    monkeypatch.setattr("torch_geometric.utils.ppr._get_ppr_numba", pyg_ppr._get_ppr)
    case = PprCase(scene)
    structure = case.structure
    truth = exact(structure)
    few = case.people[:3].numpy()
    walk, degrees = walk_matrix(structure.indptr, structure.indices)
    settled = power_walks(walk, degrees, few, ALPHA, 1e-9)
    np.testing.assert_allclose(settled, truth[:, few], atol=1e-6)
    pushed = plain_push(structure.indptr, structure.indices, int(few[0]), ALPHA, 1e-7)
    for node, mass in pushed.settled.items():
        assert mass == pytest.approx(truth[node, few[0]], abs=1e-4)
    assert pushed.edges >= pushed.pushes > 0
    call = pyg_push(scene.graph.edge_index, structure.num_nodes, ALPHA, 1e-5)
    found = top_members(call(case.people[:3]), structure, case.people[:3], K)
    ranked = np.argsort(-truth[:, few] / structure.degrees[:, None], axis=0)[:K].T
    for row, (members, wanted) in enumerate(zip(found.tolist(), ranked.tolist(), strict=True)):
        assert members[0] == few[row]
        assert len(set(members) & set(wanted)) >= K - 1
    egos = find_egos(structure, PageRank(K, ALPHA), nodes=case.people).ids
    assert case.overlap(egos) == 1.0
    assert case.overlap(egos.roll(1, dims=0)) < 0.9


def test_sides_take_turns_and_overhead_is_taken_off() -> None:
    calls: list[str] = []

    def side(name: str, units: int, against: str = "") -> Side:
        return Side(lambda: Work(lambda: calls.append(name), units), against)

    def refuse() -> Work:
        raise Unsuitable("too large")

    sides = {"a": side("a", 2), "b": side("b", 4, "a"), "c": Side(refuse, "a")}
    rows = time_case(Case("thing", 8, sides), 2, 60.0, CPU)
    assert [row["side"] for row in rows] == ["a", "b", "c"]
    assert rows[0]["repeats"] == 2
    assert rows[0]["units"] == 2
    assert rows[2]["note"] == "too large"
    assert "seconds" not in rows[2]
    # Short work is done often within a round; rounds alternate.
    turns = [name for name, before in zip(calls, ["", *calls], strict=False) if name != before]
    assert turns == ["a", "b", "a", "b", "a", "b"]


def test_other_work_has_no_ratio(scene: Scene) -> None:
    assert audit_case(scene).sides["a world a person"].against == NOTHING
    assert vae_case(scene).sides[WHOLE].against == NOTHING
    rows: list[dict[str, Any]] = [
        {"side": "fairgear", "against": "", "seconds": 1.0},
        {"side": "other", "against": NOTHING, "seconds": 2.0},
        {"side": "same", "against": "fairgear", "seconds": 3.0},
    ]
    assert [row["ratio"] for row in with_ratios(rows)] == [None, None, 3.0]
