"""Gear with many people and with few labels: whom it validates on, what it refuses."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from fairgear import SensitiveGraph
from fairgear.errors import ParameterError
from fairgear.methods import GearConfig
from fairgear.methods.gear import data
from fairgear.methods.gear.training import validation_subset
from tests.methods.gear.tiny import tiny


@given(
    zeros=st.integers(1, 300), ones=st.integers(1, 300), most=st.integers(8, 50), seed=st.integers()
)
def test_validation_subsets_are_of_both_classes_and_no_more_than_wanted(
    zeros: int, ones: int, most: int, seed: int
) -> None:
    generator = torch.Generator().manual_seed(seed % 2**31)
    y = torch.cat([torch.zeros(zeros), torch.ones(ones)]).long()
    y = y[torch.randperm(len(y), generator=generator)]
    rows = torch.arange(len(y))
    kept = validation_subset(rows, y, most)
    assert len(kept) <= max(most, 2) or len(rows) <= most
    assert set(y[kept].tolist()) == {0, 1}
    assert torch.equal(kept, torch.tensor(sorted(set(kept.tolist()))))
    if len(rows) <= most:
        assert torch.equal(kept, rows)


def test_a_great_many_rows_are_not_run_past() -> None:
    # float32 would round the last place up.
    n = 2**24 + 4
    y = torch.zeros(n, dtype=torch.int8)
    y[::2] = 1
    kept = validation_subset(torch.arange(n), y, 100)
    assert len(kept) == 100
    assert int(kept[-1]) < n


def test_statistics_come_from_some_people_and_from_all_where_a_group_is_rare(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(data, "STATISTICS", 40)
    monkeypatch.setattr(data, "FEWEST", 5)
    order, sens = torch.randperm(200), torch.arange(200) % 2
    asked = data._sample(order, sens)
    assert len(asked) == 40
    places = order.argsort()[asked]
    assert torch.equal(places, places.sort().values)
    rare = torch.zeros(200, dtype=torch.int64)
    rare[3] = 1
    assert torch.equal(data._sample(order, rare), order)


@pytest.mark.parametrize("averaging", [0.0, 0.9])
def test_a_fit_without_averaging_is_kept_and_resumed_too(
    graph: SensitiveGraph, tmp_path: Path, averaging: float
) -> None:
    settings = {"averaging": averaging, "variant": "np"}
    plain = tiny(**settings).fit(graph)
    kept = tiny(**settings).fit(graph, checkpoint=tmp_path)
    assert np.array_equal(plain.predict_proba(graph), kept.predict_proba(graph))


def test_parts_that_labels_cannot_fill_are_refused(graph: SensitiveGraph) -> None:
    few = torch.zeros_like(graph.train_mask)
    for label in (0, 1):
        few[torch.nonzero(graph.train_mask & (graph.y == label))[:2, 0]] = True
    with pytest.raises(ParameterError, match="4 of batches that may have 4 people"):
        tiny(micro_batches=4).fit(graph.replace(train_mask=few))


def test_processes_that_do_not_divide_the_parts_are_refused() -> None:
    GearConfig(micro_batches=4).check_batches(100, processes=2)
    with pytest.raises(ParameterError, match="3 for 2 processes"):
        GearConfig(micro_batches=3).check_batches(100, processes=2)
