"""Egos wherever the graph is kept, and the values of s that they are asked about."""

from __future__ import annotations

import pytest
import torch

from fairgear import SensitiveGraph
from fairgear.egos import EgoIndex
from fairgear.methods import egos
from fairgear.methods.egos import (
    Ego,
    EgoSource,
    ScaledRows,
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
