"""The ways that are timed against each other give the same result."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor
from torch_geometric.utils import ppr as pyg_ppr

from fairgear.bench import pagerank_case
from fairgear.bench.audit_case import audit_case
from fairgear.bench.counts import Needs
from fairgear.bench.gear_case import gear_task, largest_difference, loss_of
from fairgear.bench.get_ppr import pyg_push, top_members
from fairgear.bench.measure import NOTHING, Case, Side, Unsuitable, Work, memory_of, time_case
from fairgear.bench.pagerank_case import ALPHA, K, PprCase
from fairgear.bench.plain_push import plain_push
from fairgear.bench.power_iteration import power_walks, walk_matrix
from fairgear.bench.runner import with_ratios
from fairgear.bench.scene import Pool, Scene
from fairgear.bench.sparse import BATCHINGS, SparseEncoder
from fairgear.bench.vae_case import WHOLE, vae_case, vae_loss, vae_task
from fairgear.egos import PageRank, Structure, find_egos
from fairgear.methods.gear_config import GearConfig, GeneratorConfig

CPU = torch.device("cpu")


@pytest.mark.parametrize("batching", BATCHINGS)
@pytest.mark.parametrize("preset", [GearConfig.paper(dim=16), GearConfig(dim=16)])
def test_a_step_on_sparse_batches_has_the_same_loss(
    pool: Pool, preset: GearConfig, batching: str
) -> None:
    assert largest_difference(pool, preset, CPU, batching) < 1e-5
    # It is the same through learning, not by not learning.
    tasks = [
        gear_task(pool, preset, CPU, batching=name, dropout=0.0) for name in ("fairgear", batching)
    ]
    first, second = ([loss_of(task, step) for step in range(3)] for task in tasks)
    assert first[2] == pytest.approx(second[2], abs=1e-3)
    assert first[0]["prediction"] != first[2]["prediction"]


@pytest.mark.parametrize("batching", BATCHINGS)
def test_another_weight_would_be_noticed(pool: Pool, batching: str) -> None:
    config = GearConfig.paper(dim=16)
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
    config = GeneratorConfig(batch_size=20)
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


def test_a_long_first_run_counts_and_so_does_its_overhead(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = [0.0]
    monkeypatch.setattr("fairgear.bench.measure.time.perf_counter", lambda: clock[0])

    def takes(seconds: float) -> None:
        clock[0] += seconds

    work = Work(
        lambda: takes(10.0),
        4,
        overhead=lambda: takes(2.0),
        needs=lambda: Needs(operations=7.0),
    )
    (row,) = time_case(Case("thing", 4, {"a": Side(lambda: work)}), 3, 1.0, CPU)
    assert row["repeats"] == 1
    assert row["seconds"] == row["median"] == (10.0 - 2.0) / 4
    assert row["operations"] == 7.0


def test_other_work_has_no_ratio(scene: Scene) -> None:
    assert audit_case(scene).sides["a world a person"].against == NOTHING
    assert vae_case(scene).sides[WHOLE].against == NOTHING
    rows: list[dict[str, Any]] = [
        {"side": "fairgear", "against": "", "seconds": 1.0},
        {"side": "other", "against": NOTHING, "seconds": 2.0},
        {"side": "same", "against": "fairgear", "seconds": 3.0},
    ]
    assert [row["ratio"] for row in with_ratios(rows)] == [None, None, 3.0]


def test_equal_overlap_is_reached_at_the_loosest_bound(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = PprCase(scene)
    case.too_long = float("inf")
    # The push is played by rankings that get better: 0 of 60, then all members right.
    asked: list[float] = []

    def push(edges: Tensor, n: int, alpha: float, epsilon: float) -> Callable[[Tensor], float]:
        return lambda people: epsilon

    def members(epsilon: float, structure: Structure, people: Tensor, k: int) -> Tensor:
        asked.append(epsilon)
        return case.truth if epsilon < 4.5e-5 else torch.full_like(case.truth, -1)

    monkeypatch.setattr(pagerank_case, "pyg_push", push)
    monkeypatch.setattr(pagerank_case, "top_members", members)
    assert "eps 4e-05" in case.by_pyg_as_good().note
    assert asked == pytest.approx([1e-4, 7e-5, 5e-5, 4e-5])
    case.too_long = -1.0
    with pytest.raises(Unsuitable, match=r"overlap 0\.0000 at eps 1e-04"):
        case.by_pyg_as_good()
    monkeypatch.setattr(pagerank_case, "EQUAL_OVERLAP", 1.01)
    with pytest.raises(Unsuitable, match="fairgear, close reaches"):
        case.by_pyg_as_good()


def test_the_sides_at_one_tolerance_ask_about_the_same_people(scene: Scene) -> None:
    case = PprCase(scene)
    assert len(case.people) == 60
    sides = case.case().sides
    for tolerance in ("1e-4", "1e-5"):
        assert (
            sides[f"get_ppr, tolerance {tolerance}"].against == f"fairgear, tolerance {tolerance}"
        )
    loose, tight = (sides[f"fairgear, tolerance {name}"].make() for name in ("1e-4", "1e-5"))
    # One person's push goes off with the set-up of a call, on both sides.
    assert loose.units == tight.units == 59
    assert loose.overhead is not None
    assert loose.needs is not None
    assert tight.needs is not None
    # A tighter bound takes more pushes, and its share of the limit is of its own count.
    assert loose.needs().accesses < tight.needs().accesses == case.needs().accesses


def test_memory_is_what_a_run_adds() -> None:
    def make() -> Work:
        return Work(lambda: np.ones(40 * 2**20 // 8).sum(), 1)

    found = memory_of(Side(make), CPU)
    assert found["process_mb"] >= found["peak_mb"] >= 0
