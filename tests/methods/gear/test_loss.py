"""Terms of Gear's loss that depend on who is around a person, and the rate of flips."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from fairgear.egos import EgoIndex
from fairgear.graph import SensitiveGraph, closed_neighborhood_mean
from fairgear.methods import Gear
from fairgear.methods.egos import Ego
from fairgear.methods.features import FeatureScaler
from fairgear.methods.gear.data import GearData
from fairgear.methods.gear.generator import FlipOnly
from fairgear.methods.gear.loss import DependencePenalty, GearLoss, Views
from fairgear.methods.gear.network import GearNetwork
from fairgear.methods.gear.training import GearTask
from fairgear.metrics import r2
from fairgear.nn import objectives
from tests.methods.gear.tiny import telling, tiny
from tests.nn.ego_batches import random_egos


def test_around_is_that_of_the_graph_in_the_order_of_ids(graph: SensitiveGraph) -> None:
    order = torch.randperm(len(graph.x), generator=torch.Generator().manual_seed(1))
    moved = graph.replace(node_id=graph.node_id[order])
    scaler = FeatureScaler(graph.x.shape[1], graph.sens_column)
    data = GearData.of(moved, EgoIndex.build(moved, k=5), scaler, torch.device("cpu"))
    links: list[set[int]] = [set() for _ in moved.x]
    for one, other in moved.edge_index.T.tolist():
        links[one].add(other)
    for row, node in enumerate(moved.node_id.argsort().tolist()):
        everyone = [node, *links[node]]
        mean = sum(int(moved.sens[other]) for other in everyone) / len(everyone)
        assert abs(float(data.sens_around[row]) - mean) < 1e-6


def test_a_limit_on_r2_is_kept_in_training(dense: SensitiveGraph) -> None:
    people = telling(dense)
    near = closed_neighborhood_mean(dense.sens, dense.edge_index)

    def r2_of(limit: float) -> float:
        gear = tiny(
            r2_limit=limit, steps=100, averaging=0.0, erase=None, row_norm=False, logit_weight=0
        ).fit(people)
        rows = gear.history_["network"].training
        assert (limit < 1) == ("dependence" in rows[-1])
        return r2(gear.predict(people), near)

    assert r2_of(0.0) < r2_of(1.0) / 2


def test_the_penalty_weighs_r2_and_makes_logits_heavier(
    dense: SensitiveGraph, fitted: Gear
) -> None:
    config = tiny(logit_weight=3.0, r2_limit=0.02, dropout=0.0).config
    scaler = FeatureScaler(dense.x.shape[1], dense.sens_column)
    data = GearData.of(dense, fitted.ego_index(dense), scaler, torch.device("cpu"))
    recipe = config.recipes(100)[0]
    network = GearNetwork(len(scaler.mean), config, recipe)
    network.fit_inputs(data.x_sample, data.sens_sample, scaler, None)
    task = GearTask(network, config, recipe, fitted.generator(), data)
    people = torch.arange(30)

    def terms(weight: float) -> objectives.Terms:
        task.penalty.weight.fill_(weight)
        torch.manual_seed(0)
        ego = data.egos(people)
        return task.loss(ego, data.sens_around[people], ego, data.y[people])

    plain, pressed = terms(0.0), terms(2.0)
    parts = plain.parts
    assert all(torch.equal(part, pressed.parts[name]) for name, part in parts.items())
    assert parts["consistency"].item() > 0
    more = 2 * parts["dependence"] + 3.0 * (2 / 4) * parts["consistency"]
    torch.testing.assert_close(pressed.total - plain.total, more, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize(
    ("erase", "min_dose", "least"),
    [
        (1.0, 0.0, 0.0),
        (1.0, 0.4, 0.4),
        (0.0, 0.4, 1.0),
        (0.5, 0.0, 0.5),
        (None, 0.0, 0.0),
        (None, 0.4, 0.4),
    ],
)
def test_doses_are_whole_where_s_undoes_the_shift(
    erase: float | None, min_dose: float, least: float
) -> None:
    ego, doses = random_egos(batch=500), []

    class Recording(FlipOnly):
        def counterfactual(self, ego: Ego, sens: Tensor, dose: Tensor | None = None) -> Ego:
            assert dose is not None
            doses.append(dose)
            return super().counterfactual(ego, sens, dose)

    config = tiny(erase=erase, min_dose=min_dose).config
    recipe = config.recipes(100)[0]
    network = GearNetwork(ego.x.shape[-1], config, recipe).eval()
    loss = GearLoss(network, Recording(), config, recipe, DependencePenalty(1.0))
    torch.manual_seed(0)
    loss.validation_views(ego)
    (drawn,) = doses
    assert least <= float(drawn.min()) <= least + 0.02 * (1 - least)
    assert 1 >= float(drawn.max()) >= 1 - 0.02 * (1 - least)


def test_flips_are_counted_at_the_threshold_in_use() -> None:
    logits = torch.tensor([-1.0, 0.5, 2.0, 3.0])
    own = logits + torch.tensor([0.0, -1.0, 0.0, -1.5])
    every = (logits, own, logits - 0.2)
    views = Views(every, every, own=1)
    # At 0 one of four changes sign under its own perturbation; at 1.9 two do in all.
    assert views.flip_rate() == (1 / 4 + 0) / 2
    assert views.flip_rate(1.9) == (1 / 4 + 1 / 4) / 2
