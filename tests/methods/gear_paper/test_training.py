"""Epochs of GearPaper, and batches that it refuses."""

from __future__ import annotations

import pytest
import torch

from fairgear import SensitiveGraph
from fairgear.errors import ParameterError
from fairgear.methods import GearPaperConfig
from fairgear.methods.features import FeatureScaler
from fairgear.methods.gear_paper.generator import FlipOnly
from fairgear.methods.gear_paper.network import PaperNetwork
from fairgear.methods.gear_paper.training import PaperData, PaperTask
from tests.methods.gear_paper.tiny import tiny


def test_parts_that_labels_cannot_fill_are_refused(graph: SensitiveGraph) -> None:
    few = torch.zeros_like(graph.train_mask)
    for label in (0, 1):
        few[torch.nonzero(graph.train_mask & (graph.y == label))[:2, 0]] = True
    with pytest.raises(ParameterError, match="4 of batches that may have 4 people"):
        tiny(micro_batches=4).fit(graph.replace(train_mask=few))


def test_processes_that_do_not_divide_the_parts_are_refused() -> None:
    GearPaperConfig(micro_batches=4).check_batches(100, processes=2)
    with pytest.raises(ParameterError, match="3 for 2 processes"):
        GearPaperConfig(micro_batches=3).check_batches(100, processes=2)


def test_small_last_parts_of_an_epoch_count_too() -> None:
    # 101 people are parts of 51 and 50, which 25 micro-batches of two can share.
    GearPaperConfig(micro_batches=25, epochs=1).check_batches(101)
    with pytest.raises(ParameterError, match="26 of batches that may have 50 people"):
        GearPaperConfig(micro_batches=26, epochs=1).check_batches(101)


def test_in_an_epoch_everybody_is_seen_once_in_an_order_of_its_own(graph: SensitiveGraph) -> None:
    gear = tiny(variant="nc", epochs=3, batch_size=40).fit(graph)
    scaler = FeatureScaler(graph.x.shape[1], graph.sens_column)
    data = PaperData.of(graph, gear.ego_index(graph), scaler, torch.device("cpu"))
    network = PaperNetwork(len(scaler.mean), gear.config)
    task = PaperTask(network, gear.config, FlipOnly(), data, seed=4)
    parts = [task.labelled(number) for number in range(9)]
    labels = int(graph.train_mask.sum())
    each = -(-labels // 40)
    assert each == 3
    assert gear.history_["network"].training[-1]["step"] == 3 * each
    assert {len(part) for part in parts} <= {labels // each, labels // each + 1}
    epochs = [torch.cat(parts[begin : begin + each]) for begin in range(0, 9, each)]
    for epoch in epochs:
        assert torch.equal(epoch.sort().values, data.train_rows)
    assert not torch.equal(epochs[0], epochs[1])
    # The order depends on nothing but seed and epoch.
    torch.manual_seed(9)
    again = PaperTask(network, gear.config, FlipOnly(), data, seed=4)
    assert torch.equal(again.labelled(4), parts[4])
    other = PaperTask(network, gear.config, FlipOnly(), data, seed=5)
    assert not torch.equal(other.labelled(4), parts[4])
