"""Gear with few labels: what it resumes and what it refuses."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from fairgear import SensitiveGraph
from fairgear.errors import ParameterError
from fairgear.methods import GearConfig
from tests.methods.gear.tiny import tiny


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
