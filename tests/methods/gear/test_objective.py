"""What Gear minimises: the terms of its loss, and whom they ask about."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from fairgear import SensitiveGraph
from fairgear.methods.gear.training import Drawn, GearTask
from tests.methods.gear.moves import ASSIGNMENT, whom_it_moves
from tests.methods.gear.tiny import BATCHES, tiny


def drawn(task: GearTask, monkeypatch: pytest.MonkeyPatch) -> Drawn:
    """A batch that every step from now on has."""
    found = task._draw()
    monkeypatch.setattr(task, "_draw", lambda: found)
    return found


def states_before(network: nn.Module) -> list[Tensor]:
    """The state of the generator before each pass through a network in training mode."""
    states: list[Tensor] = []

    def note(module: nn.Module, inputs: Any) -> None:
        assert module.training
        states.append(torch.get_rng_state())

    network.register_forward_pre_hook(note)
    return states


@pytest.mark.parametrize("dropout", [0.0, 0.5])
@pytest.mark.parametrize("batches", BATCHES)
def test_the_loss_is_the_weighted_sum_of_its_terms(
    batches: dict[str, Any],
    dropout: float,
    dense: SensitiveGraph,
    caught: list[GearTask],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    settings = {"views": False, "dropout": dropout, "edge_noise": 0.0, "steps": 20}
    settings |= {"fairness_weight": 1.7, "r2_limit": 0.1, "weight_decay": 0.0}
    graph = dense.replace(x=dense.x + 2 * dense.sens[:, None] * (torch.arange(6) != 1))
    tiny(**settings, **batches).fit(graph)
    (task,) = caught
    task.penalty.weight.fill_(0.6)
    torch.manual_seed(0)
    now = drawn(task, monkeypatch)
    batch, labelled = now.batch, now.labelled
    with torch.no_grad():
        cut = task.network(batch.inputs(task.graph.x), batch.neighbors)[1].quantile(0.4)
    task.boundary.cut.fill_(float(cut))
    new = torch.randint(0, 2, (150,), generator=torch.Generator().manual_seed(0))
    rows = torch.arange(150) if batch.rows is None else batch.rows
    monkeypatch.setattr(ASSIGNMENT, lambda sens, *_: new[rows])
    # A step changes the network, and what follows needs it as it was.
    network = deepcopy(task.network.train())
    moved, states = whom_it_moves(monkeypatch), states_before(task.network)
    found = task.step(3)

    ((asked, models, draws),) = moved
    assert torch.equal(asked, rows)
    other = [
        task.moved._seen[row, draw, model] if new[row] != task.graph.sens[row] else factual
        for row, model, draw, factual in zip(
            rows.tolist(), models.tolist(), draws.tolist(), task.graph.x[rows], strict=True
        )
    ]
    # Two passes, one for all terms and one for those who are moved, that drop the same units.
    assert len(states) == 2
    logits = []
    for x in (task.graph.x[rows], torch.stack(other)):
        torch.set_rng_state(states[0])
        logits.append(network(x, batch.neighbors)[1])
    p, y = logits[0][labelled].sigmoid(), task.y[rows[labelled]]
    prediction = -torch.where(y == 1, p, 1 - p).log().mean()
    about = torch.arange(150) if batch.targets is None else batch.targets
    here, there = (one[about] for one in logits)
    gaps = (torch.tanh(here - cut) - torch.tanh(there - cut)) ** 2
    around = task.sens_around[rows[about]]
    r2 = torch.corrcoef(torch.stack([torch.tanh(here), around]))[0, 1] ** 2
    parts = {"prediction": prediction, "consistency": gaps.mean(), "dependence": r2}
    expected = {name: float(part.detach()) for name, part in parts.items()}
    assert {name: float(part) for name, part in found.items()} == pytest.approx(expected, abs=1e-5)
    # The fourth of the first ten steps: 4/10 of the weight.
    total = prediction + 0.4 * 1.7 * gaps.mean() + 0.6 * r2
    gradients = torch.autograd.grad(total, list(network.parameters()))
    for parameter, gradient in zip(task.network.parameters(), gradients, strict=True):
        assert parameter.grad is not None
        torch.testing.assert_close(parameter.grad, gradient, atol=1e-4, rtol=1e-3)
    # Each model's running mean takes in a tenth of the gaps of those whom it moves.
    means = [float(gaps[models[about] == model].detach().mean()) for model in range(3)]
    assert np.ptp(means) > 1e-3
    running = [0.9 + 0.1 * mean for mean in means]
    np.testing.assert_allclose(task.model_weights.running, running, atol=1e-6, rtol=0)


@pytest.mark.parametrize("batches", BATCHES)
@pytest.mark.parametrize("encoder", ["graphsage", "mlp", "linear"])
def test_where_nothing_moves_there_is_no_inconsistency(
    encoder: str,
    batches: dict[str, Any],
    dense: SensitiveGraph,
    caught: list[GearTask],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Both passes drop the same units."""
    tiny(encoder=encoder, dropout=0.5, edge_noise=0.0, **batches).fit(dense)
    (task,) = caught
    task.network.train()
    monkeypatch.setattr(ASSIGNMENT, lambda sens, *_: sens)
    assert float(task.step(0)["consistency"]) < 1e-12
    monkeypatch.setattr(ASSIGNMENT, lambda sens, *_: 1 - sens)
    assert float(task.step(1)["consistency"]) > 1e-6


def test_edges_that_are_left_out_are_an_inconsistency_too(
    dense: SensitiveGraph, caught: list[GearTask], monkeypatch: pytest.MonkeyPatch
) -> None:
    tiny(edge_noise=1.0).fit(dense)
    (task,) = caught
    monkeypatch.setattr(ASSIGNMENT, lambda sens, *_: sens)
    torch.manual_seed(0)
    assert float(task.step(0)["consistency"]) > 1e-6


@pytest.mark.parametrize("batches", BATCHES)
def test_each_person_is_moved_by_one_model_which_is_drawn_by_its_weight(
    batches: dict[str, Any],
    dense: SensitiveGraph,
    caught: list[GearTask],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tiny(**batches).fit(dense)
    (task,) = caught
    task.model_weights.running.copy_(torch.tensor([1.0, 2.0, 6.0]))
    shares = task.model_weights().tolist()
    monkeypatch.setattr(task.model_weights, "update", lambda sums, counts: None)
    seen = whom_it_moves(monkeypatch)
    torch.manual_seed(0)
    for number in range(40):
        task.step(number)
    rows, model, draw = (torch.cat(part) for part in zip(*seen, strict=True))
    assert set(rows.tolist()) == set(range(150))
    assert set(draw.tolist()) == set(range(6))
    for one, share in enumerate(shares):
        away = 4 * (share * (1 - share) / len(model)) ** 0.5
        assert float((model == one).float().mean()) == pytest.approx(share, abs=away)
    # Both vary from person to person within a step.
    assert len(set(seen[0][1].tolist())) == 3
    assert len(set(seen[0][2].tolist())) == 6


@pytest.mark.parametrize(("weight", "limit"), [(0.0, 1.0), (0.0, 0.1), (1.0, 1.0), (1.0, 0.1)])
def test_terms_without_a_weight_are_not_computed(
    weight: float,
    limit: float,
    dense: SensitiveGraph,
    caught: list[GearTask],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tiny(fairness_weight=weight, r2_limit=limit).fit(dense)
    (task,) = caught
    moved, passes = whom_it_moves(monkeypatch), states_before(task.network.train())
    expected = {"prediction"} | ({"consistency"} if weight else set())
    assert set(task.step(0)) == expected | ({"dependence"} if limit < 1 else set())
    assert len(moved) == (1 if weight else 0)
    assert len(passes) == (2 if weight else 1)
