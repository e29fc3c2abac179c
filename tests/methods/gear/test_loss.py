"""The terms of Gear's loss against closed forms, and what it asks about in their frequencies."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from fairgear.methods.egos import Ego, self_perturbed
from fairgear.methods.gear.config import GearConfig
from fairgear.methods.gear.loss import (
    Boundary,
    DependencePenalty,
    GearLoss,
    ModelWeights,
    assignment,
)
from fairgear.methods.gear.network import GearNetwork
from tests.methods.gear.views import Given, viewed

ASSIGNMENT = "fairgear.methods.gear.loss.assignment"


def loss_of(ego: Ego, models: int = 2, limit: float = 1.0, **settings: Any) -> GearLoss:
    """A loss with people who are moved far, in training."""
    torch.manual_seed(1)
    config = GearConfig(**({"dim": 6, "edge_noise": 0.0} | settings))
    views, d = ego.x.shape[2:]
    moved = Given(3 * torch.randn(models, ego.mask.numel(), views, d))
    network = GearNetwork(d, views, config).train()
    penalty = DependencePenalty(limit, 10**9)
    return GearLoss(network, moved, config, ModelWeights(models), penalty, Boundary())


@given(st.lists(st.floats(0.0, 5.0), min_size=1, max_size=5))
def test_models_with_more_inconsistency_are_drawn_more_often(running: list[float]) -> None:
    weights = ModelWeights(len(running))
    weights.running.copy_(torch.tensor(running))
    values = np.asarray(running, dtype=np.float32).astype(float)
    powers = np.exp(values / max(values.mean(), 1e-12))
    np.testing.assert_allclose(weights(), powers / powers.sum(), atol=1e-5)


def test_running_means_take_in_a_tenth_of_each_step() -> None:
    weights = ModelWeights(3)
    weights.update(torch.tensor([4.0, 0.0, 3.0]), torch.tensor([2.0, 0.0, 1.0]))
    np.testing.assert_allclose(weights.running, [0.9 + 0.2, 1.0, 0.9 + 0.3], rtol=1e-6)
    # Means over micro-batches: the same people, in four parts.
    parts = ModelWeights(3)
    parts.update(torch.tensor([4.0, 0.0, 3.0]) / 4, torch.tensor([2.0, 0.0, 1.0]) / 4)
    assert torch.equal(parts.running, weights.running)


def test_answers_are_less_decided_the_closer_a_logit_is_to_the_cut() -> None:
    boundary = Boundary()
    boundary.cut.fill_(0.5)
    logits = torch.tensor([-1.0, 0.5, 1.5])
    found = boundary(logits, torch.tensor(4.0))
    np.testing.assert_allclose(found, np.tanh([-0.75, 0.0, 0.5]), atol=1e-6)


@pytest.mark.parametrize("encoder", ["graphsage", "linear"])
def test_where_nothing_moves_there_is_no_inconsistency(
    encoder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    ego = viewed(batch=20)
    loss = loss_of(ego, encoder=encoder, dropout=0.5)
    monkeypatch.setattr(ASSIGNMENT, lambda ego: ego.sens)
    terms, drawn = loss(ego, torch.rand(20), ego, torch.arange(20) % 2)
    assert float(terms.parts["consistency"].detach()) == 0
    assert drawn[0].tolist() == [0, 0]
    assert int(drawn[1].sum()) == 20
    assert loss.network.training, "dropout is on again for the next step"
    monkeypatch.setattr(ASSIGNMENT, self_perturbed)
    moved, _ = loss(ego, torch.rand(20), ego, torch.arange(20) % 2)
    assert float(moved.parts["consistency"].detach()) > 0


def moved_by_hand(ego: Ego, sens: Tensor, moved: Tensor) -> Ego:
    """Member by member: who changes gets other features, and padding is left alone."""
    x = ego.x.clone()
    new = ego.sens.clone()
    assert ego.n_id is not None
    for b, i in product(range(len(ego)), range(ego.mask.shape[1])):
        if ego.mask[b, i]:
            new[b, i] = sens[b, i]
            if sens[b, i] != ego.sens[b, i]:
                x[b, i] = moved[int(ego.n_id[b, i])]
    return replace(ego, x=x, sens=new)


def test_the_loss_is_the_weighted_sum_of_its_terms(monkeypatch: pytest.MonkeyPatch) -> None:
    ego, labelled = viewed(batch=30, seed=3), viewed(batch=20, seed=4)
    loss = loss_of(ego, models=1, limit=0.1, dropout=0.0, fairness_weight=1.7)
    loss.penalty.weight.fill_(0.6)
    loss.boundary.cut.fill_(0.2)
    around, y = torch.rand(30), torch.arange(20) % 2
    sens = torch.randint(0, 2, ego.sens.shape)
    monkeypatch.setattr(ASSIGNMENT, lambda ego: sens)
    terms, drawn = loss(ego, around, labelled, y)
    with torch.no_grad():
        other = moved_by_hand(ego, sens, loss.moved._given[0])  # type: ignore[attr-defined]
        here, there = (loss.network(one)[1].double().numpy() for one in (ego, other))
        answers = [np.tanh((logit - 0.2) / (0.5 * here.std(ddof=1))) for logit in (here, there)]
        gaps = (answers[0] - answers[1]) ** 2
        p = loss.network(labelled)[1].double().sigmoid().numpy()
    r2 = np.corrcoef(np.tanh(here), around)[0, 1] ** 2
    prediction = -np.log(np.where(y.numpy() == 1, p, 1 - p)).mean()
    found = {name: float(part.detach()) for name, part in terms.parts.items()}
    expected = {"prediction": prediction, "consistency": gaps.mean(), "dependence": r2}
    assert found == pytest.approx(expected, abs=1e-5)
    total = prediction + 1.7 * gaps.mean() + 0.6 * r2
    assert float(terms.total.detach()) == pytest.approx(total, abs=1e-5)
    np.testing.assert_allclose(drawn.numpy(), [[gaps.sum()], [30]], rtol=1e-4)


def test_each_ego_is_moved_by_one_model_which_is_drawn_by_its_weight(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ego = viewed(batch=600, k=2)
    loss = loss_of(ego, models=3)
    loss.weights.running.copy_(torch.tensor([1.0, 2.0, 6.0]))
    seen: list[tuple[Tensor, Tensor]] = []

    def spy(self: Given, n_id: Tensor, model: Tensor, draw: Tensor) -> Tensor:
        seen.append((model, draw))
        return self._given[model[:, None], n_id]

    monkeypatch.setattr(Given, "__call__", spy)
    terms, drawn = loss(ego, torch.rand(600), ego, torch.arange(600) % 2)
    ((model, draw),) = seen
    assert torch.equal(drawn[1].long(), torch.bincount(model, minlength=3))
    mean = float(terms.parts["consistency"].detach())
    assert float(drawn[0].sum()) == pytest.approx(600 * mean, rel=1e-4)
    for one, share in enumerate(loss.weights().tolist()):
        found = float(drawn[1, one]) / 600
        assert found == pytest.approx(share, abs=4 * (share * (1 - share) / 600) ** 0.5)
    assert set(draw.tolist()) == set(range(Given.DRAWS))


@pytest.mark.parametrize(("weight", "limit"), [(0.0, 1.0), (0.0, 0.1), (1.0, 1.0), (1.0, 0.1)])
def test_terms_without_a_weight_are_not_computed(weight: float, limit: float) -> None:
    ego = viewed(batch=20)
    loss = loss_of(ego, limit=limit, fairness_weight=weight)
    terms, drawn = loss(ego, torch.rand(20), ego, torch.arange(20) % 2)
    expected = {"prediction"} | ({"consistency"} if weight else set())
    assert set(terms.parts) == expected | ({"dependence"} if limit < 1 else set())
    assert int(drawn.sum()) == 0 or weight > 0
    assert loss.network.training


def assignment_law(sens: tuple[int, ...]) -> dict[tuple[int, ...], float]:
    """The probability of each new s, by all that can be drawn."""
    law: Counter[tuple[int, ...]] = Counter()
    law[1 - sens[0], *sens[1:]] += 1 / 3  # type: ignore[assignment]  # counts need not be whole
    for rate in (0.0, 0.5, 1.0):
        for coins in product((0, 1), repeat=len(sens)):
            chance = float(np.prod([rate if coin else 1 - rate for coin in coins])) / 9
            law[coins] += chance  # type: ignore[assignment]
            law[sens[0], *coins[1:]] += chance  # type: ignore[assignment]
    return dict(law)


@pytest.mark.parametrize("sens", [(0, 0, 0), (1, 0, 1)])
def test_the_centre_the_others_or_everyone_are_set(sens: tuple[int, ...]) -> None:
    n = 40_000
    own = torch.tensor(sens).expand(n, 3)
    mask = torch.ones(n, 3, dtype=torch.bool)
    torch.manual_seed(0)
    drawn = assignment(Ego(torch.zeros(n, 3, 1, 1), own, torch.zeros(n, 3, 3), mask))
    assert drawn.dtype == own.dtype
    found = Counter(map(tuple, drawn.tolist()))
    for values, chance in assignment_law(sens).items():
        away = 4 * (chance * (1 - chance) / n) ** 0.5
        assert found[values] / n == pytest.approx(chance, abs=away + 1e-9)


@pytest.mark.parametrize("density", [0.1, 0.6])
def test_edges_are_lost_and_gained_by_their_law(density: float) -> None:
    torch.manual_seed(0)
    k, noise, n = 12, 0.6, 4000
    mask = torch.arange(k) < 10
    pairs = torch.triu(mask[:, None] & mask[None, :], diagonal=1)
    upper = pairs & (torch.rand(k, k) < density)
    edges = (upper | upper.T).float()
    ego = Ego(
        torch.zeros(n, k, 1, 2),
        torch.zeros(n, k, dtype=torch.long),
        edges.expand(n, k, k),
        mask.expand(n, k),
    )
    found = loss_of(replace(ego, x=ego.x[:1], mask=ego.mask[:1]), edge_noise=noise)._noisy(ego)
    after = found.adjacency
    assert torch.equal(after, after.transpose(1, 2))
    assert int(after.diagonal(dim1=1, dim2=2).sum()) == 0
    assert int(after[:, ~mask].sum()) == 0
    assert set(after.unique().tolist()) == {0, 1}  # type: ignore[no-untyped-call]
    count, total = int(upper.sum()), int(pairs.sum())
    # The share of an ego is uniform up to the noise, so half of it is the mean.
    lost = noise / 2 * count
    gained = noise / 2 * count / total * (total - count)
    away = 5 * (total / n) ** 0.5
    kept = (after * edges).sum(dim=(1, 2)) / 2
    assert float(kept.mean()) == pytest.approx(count - lost, abs=away)
    assert float((after.sum(dim=(1, 2)) / 2 - kept).mean()) == pytest.approx(gained, abs=away)
    # One share for a whole ego: what egos keep differs more than by coins alone.
    coins = noise / 2 * count - noise**2 / 3 * count
    assert float(kept.var()) == pytest.approx(coins + noise**2 / 12 * count**2, rel=0.15)


def test_a_sparse_ego_keeps_the_expected_number_of_edges() -> None:
    torch.manual_seed(0)
    k, n = 20, 4000
    edges = torch.zeros(k, k)
    edges[0, 1] = edges[1, 0] = edges[2, 3] = edges[3, 2] = 1
    mask = torch.ones(n, k, dtype=torch.bool)
    sens = torch.zeros(n, k, dtype=torch.long)
    ego = Ego(torch.zeros(n, k, 1, 2), sens, edges.expand(n, k, k), mask)
    found = loss_of(replace(ego, x=ego.x[:1], mask=mask[:1]), edge_noise=1.0)._noisy(ego)
    mean = float(found.adjacency.sum(dim=(1, 2)).mean()) / 2
    assert mean == pytest.approx(2, abs=0.1)


@pytest.mark.parametrize("settings", [{"edge_noise": 0.0}, {"encoder": "mlp", "edge_noise": 1.0}])
def test_edges_stay_without_noise_and_where_nobody_reads_them(settings: dict[str, Any]) -> None:
    ego = viewed(batch=20)
    loss = loss_of(ego, **settings)
    first = torch.zeros(20, dtype=torch.long)
    assert torch.equal(loss.perturbed(ego, 1 - ego.sens, first, first).adjacency, ego.adjacency)
