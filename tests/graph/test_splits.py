from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from fairgear.errors import GraphError, ParameterError, UnknownNameError
from fairgear.graph import SPLITS, SensitiveGraph, split
from tests.graphs import random_graph


def labelled_graph(n: int, positive: int, unknown: int = 0) -> SensitiveGraph:
    y = torch.zeros(n, dtype=torch.int64)
    y[:positive] = 1
    y[n - unknown :] = -1
    return random_graph(n=n).replace(y=y)


def test_sixty_twenty_twenty_of_the_labelled_nodes() -> None:
    graph = split(labelled_graph(110, 40, unknown=10), "sixty-twenty-twenty")
    sizes = [int(m.sum()) for m in (graph.train_mask, graph.val_mask, graph.test_mask)]
    assert sizes == [60, 20, 20]
    assert not (graph.train_mask | graph.val_mask | graph.test_mask)[graph.y < 0].any()


def test_released_is_balanced_out_of_half_of_each_class() -> None:
    graph = split(labelled_graph(400, 100), "released", train_labels=60)
    train = graph.y[graph.train_mask]
    assert (int((train == 0).sum()), int((train == 1).sum())) == (30, 30)
    # A quarter of each class: 75 of the 300, 25 of the 100.
    for mask in (graph.val_mask, graph.test_mask):
        part = graph.y[mask]
        assert (int((part == 0).sum()), int((part == 1).sum())) == (75, 25)


def test_released_takes_half_a_class_at_most() -> None:
    graph = split(labelled_graph(400, 20), "released", train_labels=200)
    train = graph.y[graph.train_mask]
    assert (int((train == 0).sum()), int((train == 1).sum())) == (100, 10)


@given(seed=st.integers(0, 1000), name=st.sampled_from(["sixty-twenty-twenty", "released"]))
def test_splits_are_disjoint_repeat_and_ignore_the_order_of_nodes(seed: int, name: str) -> None:
    graph = labelled_graph(60, 25, unknown=5)
    labels = 20 if name == "released" else None
    once = split(graph, name, seed=seed, train_labels=labels)
    again = split(graph, name, seed=seed, train_labels=labels)
    assert once.fingerprint() == again.fingerprint()
    assert int((once.train_mask.int() + once.val_mask.int() + once.test_mask.int()).max()) == 1
    order = torch.randperm(60, generator=torch.Generator().manual_seed(seed))
    moved = split(graph.permute(order), name, seed=seed, train_labels=labels)
    assert torch.equal(moved.train_mask, once.train_mask[order])
    assert torch.equal(moved.test_mask, once.test_mask[order])


def test_another_seed_is_another_draw() -> None:
    graph = labelled_graph(60, 25)
    assert not torch.equal(split(graph, seed=0).test_mask, split(graph, seed=1).test_mask)


def test_errors() -> None:
    graph = labelled_graph(60, 25)
    assert list(SPLITS) == ["sixty-twenty-twenty", "released"]
    with pytest.raises(UnknownNameError, match="did you mean 'released'"):
        split(graph, "relesed")
    with pytest.raises(ParameterError, match="train_labels"):
        split(graph, "released")
    with pytest.raises(ParameterError, match="train_labels"):
        split(graph, train_labels=5)
    with pytest.raises(GraphError, match="none known"):
        split(graph.replace(y=None))
