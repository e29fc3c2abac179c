from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

from fairgear import SensitiveGraph
from fairgear.auditing.adapters import adapt
from fairgear.auditing.world import World
from fairgear.auditing.worlds import Worlds
from fairgear.errors import ParameterError

SOME = torch.tensor([7, 0, 59])
WHERE = "the model 'model' in the world 'strict-rate-0-draw-0': "


def share(graph: SensitiveGraph) -> torch.Tensor:
    """A probability for everyone that is not the same in any two worlds."""
    return torch.sigmoid(graph.x.sum(dim=1) + graph.sens)


FORMS: dict[str, Callable[[SensitiveGraph], Any]] = {
    "tensor": share,
    "tensor with gradient": lambda graph: share(graph).requires_grad_(),
    "bfloat16": lambda graph: share(graph).bfloat16(),
    "array": lambda graph: share(graph).numpy(),
    "list": lambda graph: share(graph).tolist(),
    "column": lambda graph: share(graph)[:, None],
    "two columns": lambda graph: torch.stack([1 - share(graph), share(graph)], dim=1),
    "series": lambda graph: pd.Series(share(graph).numpy()),
    "nullable series": lambda graph: pd.Series(share(graph).numpy(), dtype="Float64"),
    "series by name": lambda graph: pd.Series(
        share(graph).numpy(), index=[f"p{i}" for i in range(60)]
    ),
    "table": lambda graph: pd.DataFrame({"score": share(graph).numpy()}),
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_of_scores(other: World, form: str) -> None:
    scores = adapt(FORMS[form]).scores(other, SOME)
    assert scores.dtype == np.float64
    tolerance = 4e-3 if form == "bfloat16" else 1e-7
    np.testing.assert_allclose(scores, share(other.graph)[SOME].numpy(), atol=tolerance)


WRONG: dict[str, tuple[Callable[[SensitiveGraph], Any], str]] = {
    "too few": (
        lambda graph: [0.5] * 59,
        "got scores of shape (59,); allowed: shape (60,), (60, 1) or (60, 2), one row a node. "
        "Next: return one score for each node, in the order of the graph.",
    ),
    "nothing": (
        lambda graph: None,
        "got NoneType, which holds no numbers; allowed: 60 scores, one a node. "
        "Next: return an array or a tensor of numbers.",
    ),
    "text": (
        lambda graph: np.array(["yes"] * 60),
        "got <U3, which holds no numbers; allowed: 60 scores, one a node. "
        "Next: return an array or a tensor of numbers.",
    ),
    "sparse": (
        lambda graph: torch.eye(60).to_sparse(),
        "got Tensor, which holds no numbers; allowed: 60 scores, one a node. "
        "Next: return an array or a tensor of numbers.",
    ),
    "ragged": (
        lambda graph: [[1], [1, 2]],
        "got list, which holds no numbers; allowed: 60 scores, one a node. "
        "Next: return an array or a tensor of numbers.",
    ),
    "missing": (
        lambda graph: pd.Series([None] * 8 + [0.5] * 52, dtype="Float64"),
        "got 2 NaN or infinite scores, the first of node 7; allowed: finite numbers. "
        "Next: find out why the model gives no score there.",
    ),
    "logits": (
        lambda graph: torch.linspace(-2, 57, 60),
        "got scores from -2 to 57; allowed: 0 to 1, unless a threshold is given. "
        "Next: pass a threshold, such as 0 for logits, or keep them within 0 and 1.",
    ),
    "two logits": (
        lambda graph: torch.full((60, 2), 1.5),
        "got scores from 1.5 to 1.5; allowed: probabilities, 0 to 1. "
        "Next: return one column, such as softmax(outputs)[:, 1].",
    ),
    "other order": (
        lambda graph: pd.Series(0.5, index=np.arange(60)[::-1]),
        "got a Series whose index holds the node ids in another order; allowed: scores in the "
        "order of the graph. Next: return scores.loc[graph.node_id.numpy()].",
    ),
    "own error": (
        lambda graph: 1 // 0,
        "got ZeroDivisionError: integer division or modulo by zero; allowed: a model that "
        "answers in every world. Next: check that it works when it is called with a graph alone.",
    ),
    # Otherwise the whole command would end there, and with the status of a success.
    "exit": (
        lambda graph: sys.exit(0),
        "got SystemExit: 0; allowed: a model that answers in every world. "
        "Next: check that it works when it is called with a graph alone.",
    ),
}


@pytest.mark.parametrize("fault", WRONG)
def test_wrong_scores(other: World, fault: str) -> None:
    model, message = WRONG[fault]
    with pytest.raises(ParameterError) as caught:
        adapt(model, name="model").scores(other, SOME)
    assert str(caught.value) == WHERE + message


def test_any_numbers_do_with_a_threshold(other: World) -> None:
    scores = adapt(lambda graph: graph.x.sum(dim=1) * 100, threshold=0).scores(other, SOME)
    np.testing.assert_allclose(scores, other.graph.x.sum(dim=1)[SOME].numpy() * 100, rtol=1e-5)
    with pytest.raises(ParameterError, match=r"probabilities, 0 to 1"):
        adapt(WRONG["two logits"][0], threshold=0).scores(other, SOME)


def test_people_who_are_not_asked_about_need_no_score(worlds: Worlds) -> None:
    def model(graph: SensitiveGraph) -> torch.Tensor:
        scores = torch.full((60,), float("nan"))
        scores[SOME] = 0.5
        return scores

    assert adapt(model).scores(worlds.factual, SOME).tolist() == [0.5] * 3


@pytest.mark.parametrize("kind", [bool, np.int64, float])
def test_answers_are_taken_and_noted(worlds: Worlds, other: World, kind: type) -> None:
    adapter = adapt(lambda graph: (graph.x[:, 1] > 0).numpy().astype(kind))
    for world in (worlds.factual, other):
        assert set(adapter.scores(world, torch.arange(60))) == {0.0, 1.0}
    assert adapter.notes == ("It gives answers, not scores: AUROC ranks by them.",)


def test_whole_numbers_are_scores_whatever_one_person_has(worlds: Worlds) -> None:
    adapter = adapt(lambda graph: torch.arange(60), threshold=30)
    adapter.scores(worlds.factual, SOME)
    assert adapter.scores(worlds.factual, torch.tensor([1])).tolist() == [1]
    assert adapter.notes == ()


def test_a_model_cannot_harm_the_world(worlds: Worlds) -> None:
    graph = worlds.graph
    before = graph.fingerprint()

    def overwrites(graph: SensitiveGraph) -> torch.Tensor:
        graph.x.numpy()[:] = 0.5
        graph.sens.zero_()
        graph.edge_index = graph.edge_index[:, :0]
        graph.y[:] = 1
        return graph.x[:, 0]

    assert adapt(overwrites).scores(worlds.factual, SOME).tolist() == [0.5] * 3
    assert graph.fingerprint() == before


def test_a_reordered_graph_takes_series_in_its_own_order(graph: SensitiveGraph) -> None:
    moved = graph.permute(torch.arange(60).flip(0))
    world = Worlds(moved).factual
    ids = moved.node_id.numpy()
    by_id = adapt(lambda graph: pd.Series(ids / 100, index=ids)).scores(world, SOME)
    by_row = adapt(lambda graph: pd.Series(ids / 100)).scores(world, SOME)
    np.testing.assert_array_equal(by_id, ids[SOME.numpy()] / 100)
    np.testing.assert_array_equal(by_id, by_row)


def test_people_without_a_score_are_named(worlds: Worlds) -> None:
    graph = worlds.graph.replace()
    graph["node_names"] = tuple(f"p {i}" for i in range(60))
    world = Worlds(graph, draws=1).factual
    with pytest.raises(ParameterError, match=r"3 NaN or infinite scores, the first of node 'p 7';"):
        adapt(lambda graph: torch.full((60,), float("nan"))).scores(world, SOME)
