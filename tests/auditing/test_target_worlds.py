"""Six people, all 64 worlds, labels of every kind: audits against enumeration."""

from __future__ import annotations

import math
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from fairgear import SensitiveGraph, audit, datasets
from fairgear.auditing import Audit, Worlds
from fairgear.causal import for_graph
from fairgear.errors import FairgearError
from fairgear.graph import closed_neighborhood_mean

N, DRAWS = 6, 100
KINDS: dict[str, dict[str, Any]] = {
    "binary": {},
    "multiclass": {"classes": 3},
    "regression": {"number": True},
}


def graph_of(kind: str) -> SensitiveGraph:
    return datasets.load("synthetic", n=N, seed=6, d_z=3, d=2, a=0.6, threshold=0.8, **KINDS[kind])


def shaped(kind: str, values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Scores from numbers: as they are, or as the probability of one of several classes."""
    if kind == "regression":
        return values
    if kind == "binary":
        return 1 / (1 + np.exp(-values))
    logits = -np.square(values[:, None] - np.array([-1.0, 0.0, 1.0]))
    shares: NDArray[np.float64] = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    return shares


class Model:
    """Reads features and neighbours; `unshifted` takes s out again, `copies` reads nothing else."""

    def __init__(self, graph: SensitiveGraph, kind: str, reads: str) -> None:
        self.kind, self.reads, self.v = kind, reads, graph.mechanism.v.numpy()

    def __call__(self, graph: SensitiveGraph) -> NDArray[np.float64]:
        sens = graph.sens.numpy().astype(float)
        if self.reads == "copies":
            return shaped(self.kind, 2 * sens - 1)
        x = graph.x[:, 1:].double().numpy()
        if self.reads == "unshifted":
            return shaped(self.kind, (x - sens[:, None] * self.v).round(4).sum(axis=1))
        around = closed_neighborhood_mean(graph.sens, graph.edge_index).numpy()
        return shaped(self.kind, x.sum(axis=1) + 2 * around)


def answers(kind: str, scores: NDArray[np.float64]) -> NDArray[Any]:
    if kind == "regression":
        return scores
    return (scores > 0.5).astype(int) if kind == "binary" else scores.argmax(axis=1)


def differ(kind: str, one: NDArray[Any], other: NDArray[Any], sd: float) -> NDArray[np.bool_]:
    found: NDArray[np.bool_] = (
        np.abs(one - other) > 0.1 * sd if kind == "regression" else one != other
    )
    return found


def found_in(graph: SensitiveGraph, model: Model, kind: str) -> tuple[float, float, dict[str, Any]]:
    """δCF, its mean size, and who flips alone, over all 64 assignments."""
    truth, sd = for_graph(graph), float(np.nanstd(graph.y.numpy())) if kind == "regression" else 1.0
    before = model(graph)
    flipped, moved = {}, {}
    for sens in product((0, 1), repeat=N):
        after = model(truth.counterfactual(graph, torch.tensor(sens)))
        flipped[sens] = differ(kind, answers(kind, before), answers(kind, after), sd)
        apart = np.abs(after - before)
        moved[sens] = apart / sd if apart.ndim == 1 else apart.sum(axis=1) / 2
    rates = [[s for s in flipped if sum(s) == ones] for ones in (0, N // 2, N)]
    delta = float(np.mean([np.mean([flipped[s].mean() for s in part]) for part in rates]))
    size = float(np.mean([np.mean([moved[s].mean() for s in part]) for part in rates]))
    own = graph.sens.tolist()
    alone = [flipped[tuple(1 - s if j == i else s for j, s in enumerate(own))][i] for i in range(N)]
    return delta, size, {"self": float(np.mean(alone))}


def measured(graph: SensitiveGraph, model: Model) -> Audit:
    worlds = Worlds(graph, draws=DRAWS)
    nodes = torch.arange(N)
    return audit(model, worlds, nodes=nodes, other_causal_models=False, affected_people=2)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("reads", ["everything", "unshifted", "copies"])
def test_an_audit_is_the_enumeration(kind: str, reads: str) -> None:
    graph = graph_of(kind)
    assert graph.target.kind == kind
    model = Model(graph, kind, reads)
    result = measured(graph, model)
    delta, size, own = found_in(graph, model, kind)
    row = next(r for r in result.flips if r.key == "strict_average_over_rates")
    assert abs(result.metrics["delta_cf"] - delta) <= 4 * (row.error or 0) + 1e-12
    assert result.metrics["delta_cf_self"] == pytest.approx(own["self"], abs=1e-12)
    if kind != "binary":
        assert result.metrics["delta_cf_size"] == pytest.approx(size, rel=0.15, abs=1e-6)
        assert row.score_size == result.metrics["delta_cf_size"]
    if reads == "unshifted":
        assert result.metrics["delta_cf"] == 0
    if reads == "copies":
        assert result.metrics["delta_cf_both"] == result.metrics["delta_cf_self"] == 1
        assert delta == pytest.approx(0.5, abs=0.01)
    assert math.isnan(row.gains) is (kind == "multiclass")


@pytest.mark.parametrize("kind", KINDS)
def test_synthetic_labels_are_exact_and_locally_the_same(kind: str) -> None:
    options = KINDS[kind]
    graph = datasets.load("synthetic", n=60, seed=1, d_z=4, d=3, a=0.5, threshold=0.8, **options)
    truth = for_graph(graph)
    same = truth.counterfactual(graph, graph.sens)
    assert torch.equal(same.y, graph.y)
    there = truth.counterfactual(graph, 1 - graph.sens)
    assert not torch.equal(there.y, graph.y)
    assert torch.equal(truth.counterfactual(there, graph.sens).y, graph.y)
    rows = torch.tensor([3])
    sens = graph.sens.clone()
    sens[3] = 1 - sens[3]
    whole = truth.counterfactual(graph, sens)
    near = truth.local(graph, rows, sens[rows]).graph()
    assert torch.equal(near.y, whole.y)
    if kind == "multiclass":
        counts = torch.bincount(graph.y, minlength=3)
        assert counts.tolist() == [20, 20, 20]


def test_default_settings_draw_the_graph_of_before() -> None:
    graph = datasets.load("synthetic", n=60, seed=1)
    others = [datasets.load("synthetic", n=60, seed=1, **KINDS[kind]) for kind in KINDS]
    for other in others:
        assert torch.equal(other.x, graph.x)
        assert torch.equal(other.edge_index, graph.edge_index)
    assert torch.equal(others[0].y, graph.y)
    assert torch.equal((others[2].y > others[2].y.mean()).long(), graph.y)


@pytest.mark.parametrize("kind", ["multiclass", "regression"])
def test_audits_are_saved_with_their_page(kind: str, tmp_path: Path) -> None:
    graph = datasets.load("synthetic", n=80, seed=1, d_z=4, d=3, **KINDS[kind])
    result = audit(Model(graph, kind, "everything"), graph, nodes=torch.arange(80), self_people=5)
    result.save(tmp_path)
    loaded = Audit.load(tmp_path)
    assert loaded.target == result.target
    assert loaded.to_dict() == result.to_dict()
    result.save_html(tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert ("standard deviation of the label" in page) is (kind == "regression")
    assert "δCF" in result.model_card()
    frame = result.to_frame()
    assert set(result.metrics) <= set(frame["name"])
    assert result.failures("delta_cf_size >= 0")
    with pytest.raises(FairgearError, match="labels of two classes"):
        result.compare(result)
