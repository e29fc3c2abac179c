"""FairDrop: which edges are left out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from fairgear.links.methods.tasks import FairDropTask
from tests.links.methods.graphs import new, split_of
from tests.methods.untrained import untrained


@pytest.fixture
def caught(monkeypatch: pytest.MonkeyPatch) -> list[FairDropTask]:
    """The tasks of the fits to come."""
    return untrained(monkeypatch, FairDropTask)


@pytest.mark.parametrize("batches", [{}, {"batch_size": 60, "fanout": 0}])
@pytest.mark.parametrize("kind", ["homophilous", "directed", "weighted", "groups"])
def test_edges_within_a_group_are_left_out_more_often(
    kind: str, batches: dict[str, Any], caught: list[FairDropTask]
) -> None:
    new("fairdrop", delta=0.3, **batches).fit(split_of(kind))
    (task,) = caught
    torch.manual_seed(0)
    batch = task.draw()[0]
    sens = batch.inputs(task.graph.sens)
    before = batch.neighbors.matrix.to_dense()
    same = (sens[:, None] == sens[None]) & (before > 0)
    other = (before > 0) & ~same
    kept_same, kept_other, rounds = 0.0, 0.0, 150
    for _ in range(rounds):
        after = task.neighbors(batch).matrix.to_dense()
        # Weights of those who stay are as before, and both directions go together.
        assert torch.equal(after[after > 0], before[after > 0])
        both = (before > 0) & (before.T > 0)
        assert torch.equal((after > 0)[both], (after.T > 0)[both])
        kept_same += float((after > 0)[same].float().mean()) / rounds
        kept_other += float((after > 0)[other].float().mean()) / rounds
    for found, wanted, count in ((kept_same, 0.2, same.sum()), (kept_other, 0.8, other.sum())):
        # An edge has two entries.
        deviation = (wanted * (1 - wanted) * 2 / (int(count) * rounds)) ** 0.5
        assert abs(found - wanted) < 4.5 * deviation


def test_degrees_are_of_those_who_are_left(caught: list[FairDropTask]) -> None:
    new("fairdrop").fit(split_of())
    (task,) = caught
    left = task.neighbors(task.graph.links.everyone)
    np.testing.assert_array_equal(left.degree[:, 0], left.matrix.to_dense().sum(dim=1))
    assert float(left.degree.sum()) < 0.7 * float(task.graph.links.degree.sum())


def test_without_a_bias_half_of_all_are_left_out(caught: list[FairDropTask]) -> None:
    new("fairdrop", delta=0.0).fit(split_of())
    (task,) = caught
    torch.manual_seed(0)
    everyone = task.graph.links.everyone
    kept = torch.stack([task.neighbors_kept(everyone) for _ in range(300)]).float().mean(dim=0)
    # 300 draws of a half: 4.5 standard deviations.
    assert float((kept - 0.5).abs().max()) < 4.5 * 0.5 / 300**0.5


def test_all_edges_are_read_after_training() -> None:
    split = split_of()
    model = new("fairdrop", steps=5).fit(split)
    ends = split.test.ends
    first, second = (model.score(split.input, ends) for _ in range(2))
    np.testing.assert_array_equal(first, second)
