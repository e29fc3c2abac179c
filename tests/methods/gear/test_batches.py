"""Whom a step of Gear sees, and by which edges."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from fairgear import SensitiveGraph
from fairgear.methods.baselines.neighbors import Neighbors
from fairgear.methods.gear.training import GearTask
from tests.methods.gear.tiny import BATCHES, tiny


def test_a_batch_has_labelled_people_once_and_anyone(
    dense: SensitiveGraph, caught: list[GearTask]
) -> None:
    tiny(batch_size=30, fanout=2).fit(dense)
    (task,) = caught
    torch.manual_seed(0)
    train, met = set(task.train_rows.tolist()), set()
    for _ in range(60):
        drawn = task._draw()
        batch, asked = drawn.batch, drawn.asked
        assert batch.rows is not None
        assert asked is not None
        people = batch.rows[asked]
        assert len(people) == 60
        assert torch.equal(asked[:30], drawn.labelled)
        assert torch.equal(task.y[people[:30]], drawn.y)
        assert torch.equal(task.sens_around[people], drawn.around)
        first = people[:30].tolist()
        assert len(set(first)) == 30
        assert set(first) <= train
        met |= set(people[30:].tolist())
        # A person's neighbours are two at most, and stand for all of them.
        matrix = batch.neighbors.matrix.to_dense()
        assert int((matrix > 0).sum(dim=1).max()) == 2
    assert met == set(range(150))


def test_without_batches_the_whole_graph_takes_part(
    dense: SensitiveGraph, caught: list[GearTask]
) -> None:
    tiny().fit(dense)
    (task,) = caught
    drawn = task._draw()
    assert drawn.batch is task.graph.links.everyone
    assert drawn.asked is None
    assert torch.equal(drawn.labelled, task.train_rows)
    assert torch.equal(drawn.y, task.y[task.train_rows])


def links(neighbors: Neighbors) -> int:
    return len(neighbors.matrix.values())


@pytest.mark.parametrize("batches", BATCHES)
def test_up_to_the_noise_of_the_edges_is_left_out(
    batches: dict[str, Any], dense: SensitiveGraph, caught: list[GearTask]
) -> None:
    tiny(edge_noise=0.6, **batches).fit(dense)
    (task,) = caught
    batch = task._draw().batch
    torch.manual_seed(0)
    all_links = links(batch.neighbors)
    left = np.array([1 - links(task._with_noise(batch)) / all_links for _ in range(400)])
    # The share is uniform up to the noise, a new one for each step.
    assert left.mean() == pytest.approx(0.3, abs=4 * 0.6 / 12**0.5 / 20)
    assert left.min() < 0.05
    assert 0.55 < left.max() < 0.7
    # None is gained.
    before, after = (
        one.matrix.to_dense() > 0 for one in (batch.neighbors, task._with_noise(batch))
    )
    assert not bool((after & ~before).any())


@pytest.mark.parametrize("settings", [{"edge_noise": 0.0}, {"encoder": "mlp", "edge_noise": 1.0}])
def test_edges_stay_without_noise_and_where_nobody_reads_them(
    settings: dict[str, Any], dense: SensitiveGraph, caught: list[GearTask]
) -> None:
    tiny(**settings).fit(dense)
    (task,) = caught
    batch = task._draw().batch
    assert task._with_noise(batch) is batch.neighbors
