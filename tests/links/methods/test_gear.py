"""Gear for links: predicted links are alike where people are moved."""

from __future__ import annotations

from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.metrics import roc_auc_score
from torch import Tensor

from fairgear.causal import FEATURE_MODELS, Columns
from fairgear.errors import ParameterError
from fairgear.graph import SensitiveGraph, closed_neighborhood_mean, groups_around
from fairgear.links import LinkGear, LinkSplit, split_links
from fairgear.links.methods.tasks import GearPairTask
from fairgear.methods.gear.family import learners
from fairgear.testing import toy_graph
from tests.links.methods.graphs import SETTINGS, split_of
from tests.methods.gear.moves import ASSIGNMENT, whom_it_moves
from tests.methods.untrained import untrained

BATCHES: list[dict[str, Any]] = [{}, {"batch_size": 25}]


@pytest.fixture
def caught(monkeypatch: pytest.MonkeyPatch) -> list[GearPairTask]:
    """The tasks of the fits to come."""
    return untrained(monkeypatch, GearPairTask)


def gear(**settings: Any) -> LinkGear:
    return LinkGear(device="cpu", **SETTINGS["gear"] | settings)


def summary(near: Tensor, ends: Tensor) -> Tensor:
    """The mean of s around both ends, and how far apart they are, pair by pair."""
    rows = [
        torch.stack([(near[i] + near[j]) / 2, abs(near[i] - near[j])]) for i, j in ends.T.tolist()
    ]
    return torch.stack(rows).flatten(1)


@pytest.mark.parametrize("batches", BATCHES)
def test_the_loss_is_the_weighted_sum_of_its_terms(
    batches: dict[str, Any], caught: list[GearPairTask], monkeypatch: pytest.MonkeyPatch
) -> None:
    split = split_of()
    settings = {"edge_noise": 0.0, "dropout": 0.0, "fairness_weight": 2.0, "r2_limit": 0.01}
    gear(**settings, **batches, fanout=0, steps=60).fit(split)
    (task,) = caught
    task.penalty.weight.fill_(0.5)
    task.boundary.cut.fill_(0.1)
    torch.manual_seed(0)
    drawn = task._draw()
    moved = whom_it_moves(monkeypatch)
    assert drawn.asked is not None
    batch = drawn.batch
    rows = torch.arange(150) if batch.rows is None else batch.rows
    monkeypatch.setattr(task, "_draw", lambda: drawn)
    new = torch.randint(0, 2, (150,))[rows]
    monkeypatch.setattr(ASSIGNMENT, lambda *_: new)
    network = deepcopy(task.network)
    found = task.step(9)

    ((people, models, draws),) = moved
    assert torch.equal(people, rows)
    labelled, asked = drawn.labelled.view(2, -1), drawn.asked.view(2, -1)
    count = labelled.shape[1]
    assert asked.shape[1] == 2 * count
    assert torch.equal(asked[:, :count], labelled)
    # The others are of the same people.
    for one, two in zip(asked, labelled, strict=True):
        assert torch.equal(one[count:].sort().values, two.sort().values)
    other = task.moved._seen[rows, draws, models]
    x = task.graph.x[rows]
    goes = new == task.moved.target(rows, draws)
    with torch.no_grad():
        z, elsewhere = (
            network(of, batch.neighbors)[0] for of in (x, torch.where(goes[:, None], other, x))
        )
        p = network.head(z[labelled[0]], z[labelled[1]]).sigmoid()
        here, there = (network.head(of[asked[0]], of[asked[1]]) for of in (z, elsewhere))
    assert set(drawn.y.tolist()) == {0, 1}
    gaps = (torch.tanh(here - 0.1) - torch.tanh(there - 0.1)) ** 2
    assert float(gaps.max()) > 1e-6
    expected = {
        "prediction": float(-torch.where(drawn.y == 1, p, 1 - p).log().mean()),
        "consistency": float(gaps.mean()),
        "dependence": regression_r2(torch.tanh(here), summary(task.sens_around, rows[asked])),
    }
    assert {name: float(part) for name, part in found.items()} == pytest.approx(expected, abs=1e-4)
    # The tenth of the first thirty steps: a third of the weight.
    assert task.weights == pytest.approx({"consistency": 2 / 3, "dependence": 0.5})
    # Both ends of a pair say which models its gap is of.
    sums, counts = torch.zeros(3), torch.zeros(3)
    for pair, gap in zip(asked.T, gaps, strict=True):
        for end in pair:
            sums[models[end]] += gap
            counts[models[end]] += 1
    running = 0.9 * torch.ones(3) + 0.1 * sums / counts
    torch.testing.assert_close(task.model_weights.running, running, atol=1e-5, rtol=1e-4)


def regression_r2(y: Tensor, x: Tensor) -> float:
    """By least squares."""
    a = np.column_stack([np.ones(len(x)), x.double().numpy()])
    b = y.double().numpy()
    residual = b - a @ np.linalg.lstsq(a, b, rcond=None)[0]
    return float(1 - residual.var() / b.var())


def test_a_score_is_auroc_less_flips_and_less_the_price_of_r2(caught: list[GearPairTask]) -> None:
    split = split_of()
    gear(r2_limit=0.02, threshold="half").fit(split)
    (task,) = caught
    val, graph = split.val, split.input
    near = closed_neighborhood_mean(graph.sens, graph.edge_index)
    # Training sees pairs in the order of ids.
    known = {tuple(sorted(graph.node_id[ends].tolist())): k for k, ends in enumerate(val.ends.T)}
    ids = graph.node_id[graph.canonical.rows]
    order = [known[tuple(sorted(ids[e].tolist()))] for e in task.graph.ends[:, task.val_rows].T]
    x = summary(near.float(), val.ends[:, order])
    y = val.linked[order]
    assert torch.equal(task.y[task.val_rows], y)
    draw = torch.Generator().manual_seed(4)
    logits = 4 * (x[:, 0] - x[:, 0].mean()) + torch.randn(len(y), generator=draw)
    worlds = logits + torch.randn(3, 2, len(y), generator=draw)
    outcome = task.judged(logits, worlds)
    flips = max(float(((model > 0) != (logits > 0)).double().mean()) for model in worlds)
    auroc = roc_auc_score(y, logits)
    r2 = regression_r2((logits > 0).double(), x)
    adjusted = 1 - (1 - r2) * (len(y) - 1) / (len(y) - 3)
    excess = adjusted - 0.02 - 6 / len(y)
    assert excess > 0.01
    figures = {"auroc": auroc, "flips": flips, "dependence": adjusted}
    assert outcome.figures == pytest.approx(figures, abs=1e-5)
    assert outcome.score == pytest.approx(auroc - flips - 10 * excess, abs=1e-4)


@pytest.mark.parametrize("sens", ["binary", "categorical", "continuous"])
def test_r2_is_of_s_around_both_ends(sens: str, caught: list[GearPairTask]) -> None:
    graph = toy_graph(sens=sens)
    split = split_links(graph)
    gear().fit(split)
    (task,) = caught
    near = groups_around(split.input)[split.input.canonical.rows].float()
    if sens == "continuous":
        # In standard deviations, which R² does not depend on.
        near = (near - near.mean()) / near.std(correction=0)
    rows = task.val_rows
    found, expected = task.around_s(rows), summary(near, task.graph.ends[:, rows])
    assert found.shape == (len(rows), task.summaries)
    assert task.summaries == (4 if sens == "categorical" else 2)
    if sens == "continuous":
        scale = found.std(dim=0) / expected.std(dim=0)
        torch.testing.assert_close(scale[0], scale[1], atol=1e-4, rtol=1e-4)
    else:
        torch.testing.assert_close(found, expected)


def test_maps_are_not_learned_from_test_people_where_there_are_masks() -> None:
    masked = toy_graph()
    assert 0 < learners(masked).sum() < len(masked.x)
    split = split_links(masked.replace(y=torch.full_like(masked.y, -1)))
    model = gear(causal="shift", steps=2).fit(split)
    order = masked.canonical.rows
    # Training people are too few of a group each, so that those for validation are among them.
    train = (masked.train_mask | masked.val_mask)[order]
    x, sens = masked.x[order][train].double(), masked.sens[order][train]
    expected = x[sens == 1].mean(dim=0) - x[sens == 0].mean(dim=0)
    family = model._node._family  # type: ignore[attr-defined]  # of Gear
    ids, zeros = masked.node_id, torch.zeros_like(masked.sens)
    found = family.moved(0, masked.x, zeros, zeros + 1, ids) - masked.x
    kept = [column for column in range(5) if column != masked.sens_column]
    np.testing.assert_allclose(found[:, kept].mean(dim=0), expected[kept], atol=1e-4)


def flips(model: LinkGear, split: LinkSplit, by: str) -> float:
    """Of predicted test links, where everybody is moved to the other group by a causal model."""
    graph = split.input
    moved = fitted_map(graph, by)
    x = moved.clone()
    x[:, 3] = 1 - graph.sens
    world = graph.replace(x=x.float(), sens=1 - graph.sens)
    ends = split.test.ends
    return float((model.predict(world, ends) != model.predict(graph, ends)).mean())


def fitted_map(graph: SensitiveGraph, by: str) -> Tensor:
    """Everybody's features in the other group, by a model that is fitted to all."""
    table, sens = graph.x.double().numpy(), graph.sens.numpy()
    model = FEATURE_MODELS[by]().fit(table, sens, Columns.of(graph), np.ones(len(sens), dtype=bool))
    return torch.from_numpy(model.moved(table, sens, 1 - sens, graph.node_id, seed=3))


def test_a_weight_makes_answers_alike_where_people_are_moved() -> None:
    split = split_of()
    free, fair = (
        gear(steps=150, fairness_weight=weight, views=False, r2_limit=1.0).fit(split)
        for weight in (0.0, 20.0)
    )
    for by in ("shift", "quantile", "gaussian"):
        assert flips(fair, split, by) < flips(free, split, by) / 2
    assert free.trained_for_ == ()
    assert len(fair.trained_for_) == 3
    # And it still tells links from others.
    assert roc_auc_score(split.test.linked, fair.score(split.input, split.test.ends)) > 0.65


def test_views_make_them_alike_before_any_training() -> None:
    split = split_of()
    blind, seeing = (
        gear(steps=1, views=views, causal="shift").fit(split) for views in (True, False)
    )
    graph, x = split.input, fitted_map(split.input, "shift").float()
    x[:, 3] = 1 - graph.sens
    world = graph.replace(x=x, sens=1 - graph.sens)
    gaps = [
        float(
            np.abs(model.score(world, split.test.ends) - model.score(graph, split.test.ends)).max()
        )
        for model in (blind, seeing)
    ]
    assert gaps[0] < gaps[1] / 100


def test_settings_are_explicit_and_kept(tmp_path: Path) -> None:
    model = LinkGear(causal=["shift", "quantile"], head="bilinear", steps=3, dim=4)
    assert model.get_params()["causal"] == "shift+quantile"
    assert repr(model) == (
        "LinkGear(causal='shift+quantile', dim=4, steps=3, head='bilinear', seed=0)"
    )
    model.fit(split_of()).save(tmp_path)
    loaded = LinkGear.load(tmp_path)
    assert loaded.get_params() == model.get_params()
    assert loaded.trained_for_ == model.trained_for_
    assert len(loaded.trained_for_) == 2
    assert loaded.history_ == model.history_
    with pytest.raises(ParameterError, match="setting head"):
        LinkGear(head="cosine")
    with pytest.raises(ParameterError, match="setting encoder"):
        LinkGear(encoder="linear")
