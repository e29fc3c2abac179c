"""Egos wherever the graph is kept, and the values of s that they are asked about."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from fairgear import SensitiveGraph
from fairgear.egos import EgoIndex
from fairgear.graph.attributes import Attributes
from fairgear.methods import egos
from fairgear.methods.egos import (
    Ego,
    EgoSource,
    ScaledRows,
    SensValues,
    neighbor_perturbed,
    self_perturbed,
)
from fairgear.methods.features import FeatureScaler
from tests.nn.ego_batches import random_egos

CPU = torch.device("cpu")


def scaler_of(graph: SensitiveGraph) -> FeatureScaler:
    return FeatureScaler(graph.x.shape[1], graph.sens_column).fit(graph)


@pytest.mark.parametrize("kept", [0, 2**40])
def test_an_ego_has_its_members_features_groups_and_links(
    dense: SensitiveGraph, kept: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(egos, "KEPT", kept)
    monkeypatch.setattr(egos, "_CHUNK", 7)
    index, scaler = EgoIndex.build(dense, k=8), scaler_of(dense)
    order = torch.randperm(len(dense.x))
    source = EgoSource(dense, index, scaler, CPU, order)
    assert isinstance(source._x, ScaledRows) == (kept == 0)
    people = torch.tensor([3, 0, 149, 3])
    expected = Ego.of(index.batch(order[people], scaler(dense)), dense.sens)
    found = source(people)
    for field in ("x", "sens", "adjacency", "mask", "n_id"):
        assert torch.equal(getattr(found, field), getattr(expected, field)), field
    assert not source.on_gpu


def test_without_an_order_people_are_rows(dense: SensitiveGraph) -> None:
    index = EgoIndex.build(dense, k=4)
    ego = EgoSource(dense, index, scaler_of(dense), CPU)(torch.tensor([7, 2]))
    assert ego.n_id is not None
    assert ego.n_id[:, 0].tolist() == [7, 2]


def test_self_perturbation_flips_the_centre_and_nobody_else() -> None:
    ego = random_egos()
    kept = ego.sens.clone()
    sens = self_perturbed(ego)
    assert torch.equal(sens[:, 0], 1 - ego.sens[:, 0])
    assert torch.equal(sens[:, 1:], ego.sens[:, 1:])
    assert torch.equal(ego.sens, kept)


def test_neighbour_perturbation_draws_everyone_but_the_centre_evenly() -> None:
    ego = random_egos(batch=4000)
    kept = ego.sens.clone()
    torch.manual_seed(0)
    sens = neighbor_perturbed(ego)
    assert torch.equal(ego.sens, kept)
    assert torch.equal(sens[:, 0], ego.sens[:, 0])
    assert int(sens[~ego.mask].sum()) == 0
    assert set(sens.unique().tolist()) == {0, 1}  # type: ignore[no-untyped-call]
    for value in (0, 1):
        others = ego.mask & (ego.sens == value)
        others[:, 0] = False
        share = float(sens[others].double().mean())
        assert share == pytest.approx(0.5, abs=4 * (0.25 / int(others.sum())) ** 0.5)


def test_with_several_groups_the_centre_moves_to_any_other_evenly() -> None:
    ego = random_egos(batch=6000)
    sens = torch.randint(4, ego.sens.shape, generator=torch.Generator().manual_seed(3)) * ego.mask
    ego = replace(ego, sens=sens)
    torch.manual_seed(0)
    moved = self_perturbed(ego, SensValues(4))
    assert torch.equal(moved[:, 1:], sens[:, 1:])
    for group in range(4):
        found = torch.bincount(moved[sens[:, 0] == group, 0], minlength=4).double()
        assert int(found[group]) == 0
        others = found[[other for other in range(4) if other != group]] / found.sum()
        assert float((others - 1 / 3).abs().max()) < 4 * (0.25 / float(found.sum())) ** 0.5


def test_with_several_groups_neighbours_are_drawn_from_all_evenly() -> None:
    ego = random_egos(batch=3000)
    torch.manual_seed(0)
    drawn = neighbor_perturbed(ego, SensValues(5))
    assert torch.equal(drawn[:, 0], ego.sens[:, 0])
    assert int(drawn[~ego.mask].sum()) == 0
    others = ego.mask.clone()
    others[:, 0] = False
    share = torch.bincount(drawn[others], minlength=5).double() / int(others.sum())
    assert float((share - 0.2).abs().max()) < 4 * (0.25 / int(others.sum())) ** 0.5


def test_a_number_is_drawn_from_those_of_training_people(dense: SensitiveGraph) -> None:
    ages = 30 + 10 * torch.rand(150, generator=torch.Generator().manual_seed(0)).double()
    x = dense.x.clone()
    x[:, 1] = ages.float()
    graph = dense.replace(x=x, sens=ages, sens_kind="continuous", attributes=Attributes.number("a"))
    values = SensValues.of(graph, CPU)
    trained = ages[graph.train_mask]
    assert values.observed is not None
    assert torch.equal(values.observed.sort().values, trained.sort().values)
    ego = random_egos(batch=4000)
    ego = replace(ego, sens=torch.zeros(ego.sens.shape, dtype=torch.float64))
    torch.manual_seed(0)
    own, around = self_perturbed(ego, values), neighbor_perturbed(ego, values)
    assert float(own[:, 1:].abs().max()) == 0
    assert float(around[:, 0].abs().max()) == 0
    assert float(around[~ego.mask].abs().max()) == 0
    around_mask = ego.mask.clone()
    around_mask[:, 0] = False
    for drawn in (own[:, 0], around[around_mask]):
        assert bool(torch.isin(drawn, trained).all())
        spread = float(trained.std()) / len(drawn) ** 0.5
        assert float(drawn.mean()) == pytest.approx(float(trained.mean()), abs=4 * spread)
    nobody = graph.replace(train_mask=torch.zeros_like(graph.train_mask))
    everyone = SensValues.of(nobody, CPU).observed
    assert everyone is not None
    assert len(everyone) == 150
    # Not in the order of rows.
    order = torch.randperm(150)
    again = SensValues.of(graph.permute(order), CPU).observed
    assert again is not None
    assert torch.equal(again, values.observed)


def test_means_of_egos_are_those_of_their_members(
    dense: SensitiveGraph, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(egos, "_CHUNK", 7)
    index = EgoIndex.build(dense, k=8)
    means = EgoSource(dense, index, scaler_of(dense), CPU).means()
    for person in (0, 77, 149):
        members = index.ids[person][index.mask[person]].long()
        expected = float(dense.sens[members].double().mean())
        assert float(means[person]) == pytest.approx(expected)
