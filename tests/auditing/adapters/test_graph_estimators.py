from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from fairgear import SensitiveGraph
from fairgear.auditing.adapters import adapt
from fairgear.auditing.world import World
from fairgear.auditing.worlds import Worlds
from fairgear.errors import GraphError, ParameterError
from tests.auditing.models import CopiesSens

SOME = torch.tensor([5, 2, 40])


class Returns:
    """Returns what it was given."""

    threshold_ = 0.5

    def __init__(self, answer: object) -> None:
        self.answer = answer

    def predict_proba(self, graph: SensitiveGraph, *, nodes: Tensor | None = None) -> Any:
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


def test_it_is_asked_about_those_nodes_in_that_world(other: World) -> None:
    scores = adapt(CopiesSens()).scores(other, SOME)
    assert scores.dtype == np.float64
    np.testing.assert_allclose(scores, 0.1 + 0.8 * other.graph.sens[SOME].numpy())


def test_scores_may_end_a_last_digit_beyond_one(worlds: Worlds) -> None:
    answer = np.array([[0, 1 + 1e-7], [0.5, 0.5], [1, -1e-8]])
    np.testing.assert_array_equal(
        adapt(Returns(answer)).scores(worlds.factual, SOME), [1.0, 0.5, 0.0]
    )


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (
            np.zeros((60, 2)),
            "got scores of shape (60, 2); allowed: shape (3,), (3, 1) or (3, 2), one row a node. "
            "Next: return one score for each node, in the order of the graph.",
        ),
        (
            [[0.1, 0.9], [0.2, float("nan")], [1.0, float("inf")]],
            "got 2 NaN or infinite scores, the first of node 2; allowed: finite numbers. "
            "Next: find out why the model gives no score there.",
        ),
        (
            np.array([[-3.0, 3.0]] * 3),
            "got scores from 3 to 3; allowed: probabilities, 0 to 1. "
            "Next: return probabilities from predict_proba.",
        ),
        (
            RuntimeError("no\nsecond line"),
            "got RuntimeError: no; allowed: a model that answers in every world. "
            "Next: check that predict_proba(graph, nodes=nodes) works on its own.",
        ),
    ],
)
def test_wrong_answers(worlds: Worlds, answer: object, message: str) -> None:
    for threshold in (None, 0.4):
        adapter = adapt(Returns(answer), threshold=threshold)
        with pytest.raises(ParameterError) as caught:
            adapter.scores(worlds.factual, SOME)
        where = "the model 'Returns' in the world 'factual-unchanged-draw-0': "
        assert str(caught.value) == where + message
    if isinstance(answer, Exception):
        assert caught.value.__cause__ is answer


def test_errors_of_our_own_and_ctrl_c_pass(worlds: Worlds) -> None:
    ours = GraphError("x", got=1, allowed=2, next_step="3")
    with pytest.raises(GraphError) as caught:
        adapt(Returns(ours)).scores(worlds.factual, SOME)
    assert caught.value is ours

    class Stopped(Returns):
        def predict_proba(self, graph: SensitiveGraph, *, nodes: Tensor | None = None) -> Any:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        adapt(Stopped(None)).scores(worlds.factual, SOME)
