"""The same egos, whether features are kept scaled or are scaled batch by batch."""

from __future__ import annotations

import pytest
import torch

from fairgear import SensitiveGraph
from fairgear.egos import EgoIndex
from fairgear.methods.features import FeatureScaler
from fairgear.methods.gear import data
from fairgear.methods.gear.data import EgoSource, ScaledRows
from fairgear.methods.gear.generator import Ego

CPU = torch.device("cpu")


def scaler_of(graph: SensitiveGraph) -> FeatureScaler:
    return FeatureScaler(graph.x.shape[1], graph.sens_column).fit(graph)


@pytest.mark.parametrize("kept", [0, 2**40])
def test_an_ego_has_its_members_features_groups_and_links(
    dense: SensitiveGraph, kept: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(data, "KEPT", kept)
    monkeypatch.setattr(data, "_CHUNK", 7)
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
