from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.linear_model import LogisticRegression
from torch import Tensor, nn

from fairgear import Gear, SensitiveGraph
from fairgear.auditing.adapters import (
    Adapter,
    CallableAdapter,
    CommandAdapter,
    EstimatorAdapter,
    ModuleAdapter,
    TableAdapter,
    adapt,
)
from fairgear.auditing.world import World
from fairgear.auditing.worlds import Worlds
from fairgear.errors import NotFittedError, ParameterError
from tests.auditing.models import CopiesSens, Features

ALL = torch.arange(60)
KINDS = (
    "an estimator with predict_proba(graph, nodes=) and threshold_; a torch module called as "
    "module(x, edge_index); a scikit-learn classifier or regressor; a callable from a graph to "
    "scores; a "
    "CommandAdapter; a FolderAdapter; an array of scores, or the Path of a file of them"
)


class InScikitsManner(BaseEstimator):  # type: ignore[misc]  # it ships no types
    """Over graphs, by its signature, although it is one of scikit-learn's."""

    threshold_ = 0.4

    def fit(self) -> InScikitsManner:
        return self

    def predict_proba(
        self, graph: SensitiveGraph, *, nodes: Tensor | None = None
    ) -> NDArray[np.float64]:
        return Features().predict_proba(graph, nodes=nodes)


class Linear(nn.Module):
    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        return x.sum(dim=1)


def fitted(graph: SensitiveGraph) -> LogisticRegression:
    return LogisticRegression().fit(graph.x.numpy(), graph.y.numpy())


def test_every_kind_of_model_gets_its_adapter(graph: SensitiveGraph) -> None:
    found: dict[type[Adapter], list[Any]] = {
        EstimatorAdapter: [CopiesSens(), InScikitsManner()],
        ModuleAdapter: [Linear()],
        TableAdapter: [fitted(graph)],
        CallableAdapter: [lambda graph: graph.x[:, 0]],
    }
    for kind, models in found.items():
        for model in models:
            adapter = adapt(model)
            assert type(adapter) is kind
            assert adapter.original is model
    names = [adapt(models[-1]).name for models in found.values()]
    assert names == ["InScikitsManner", "Linear", "LogisticRegression", "function"]
    kinds = [adapt(models[0]).kind for models in found.values()]
    assert kinds == [
        "graph estimator",
        "PyTorch module",
        "scikit-learn estimator",
        "Python callable",
    ]


def test_name_and_threshold_are_taken(graph: SensitiveGraph) -> None:
    for model in (CopiesSens(), Linear(), fitted(graph), lambda graph: graph.x[:, 0]):
        adapter = adapt(model, name="mine", threshold=0.25)
        assert (adapter.name, adapter.threshold) == ("mine", 0.25)


def test_an_adapter_is_itself_or_a_copy(worlds: Worlds) -> None:
    first = adapt(lambda graph: graph.x.sum(dim=1))
    assert adapt(first) is first
    renamed = adapt(first, name="again", threshold=0)
    assert (renamed.name, renamed.threshold) == ("again", 0)
    assert (first.name, first.threshold) == ("function", 0.5)
    # The copy's threshold says that its scores are no probabilities; the first still refuses.
    assert renamed.scores(worlds.factual, ALL).min() < 0
    with pytest.raises(ParameterError):
        first.scores(worlds.factual, ALL)


def test_ones_own_adapter_is_taken(worlds: Worlds) -> None:
    class Mine(Adapter):
        kind = "mine"
        name = "mine"

        def scores(self, world: World, nodes: Tensor) -> NDArray[np.float64]:
            return np.zeros(len(nodes))

    adapter = adapt(Mine(), threshold=-1)
    assert isinstance(adapter, Mine)
    assert adapter.threshold == -1
    assert adapter.can_score(worlds.factual)


def test_methods_are_measured_on_everyone_and_others_on_500() -> None:
    method = Gear()
    method.threshold_ = 0.3
    adapter = adapt(method)
    assert (adapter.name, adapter.default_self_people, adapter.threshold) == ("gear", None, 0.3)
    assert adapt(CopiesSens()).default_self_people == 500


def test_a_model_that_was_never_fitted() -> None:
    with pytest.raises(NotFittedError) as caught:
        adapt(Gear())
    assert str(caught.value) == (
        "the model 'gear': got one whose threshold_ is None; allowed: a fitted model. "
        "Next: call fit(graph) first, or set threshold_."
    )
    with pytest.raises(NotFittedError):
        adapt(Gear(), threshold=0.5)
    model = CopiesSens()
    model.threshold_ = None
    assert adapt(model, threshold=0.5).threshold == 0.5


@pytest.mark.parametrize(
    ("model", "got", "step"),
    [
        (CopiesSens, "the class CopiesSens", "pass an instance, fitted"),
        (None, "a NoneType", "pass a callable, such as lambda graph: scores(graph)"),
        (
            "r.sh",
            "the text 'r.sh'",
            "pass CommandAdapter(...), FolderAdapter(...) or ScoresAdapter(...)",
        ),
        ({"a": 1}, "a dict", "pass a callable, such as lambda graph: scores(graph)"),
    ],
)
def test_what_is_no_model(model: object, got: str, step: str) -> None:
    with pytest.raises(ParameterError) as caught:
        adapt(model)
    assert str(caught.value) == f"a model to audit: got {got}; allowed: {KINDS}. Next: {step}."


@pytest.mark.parametrize("threshold", [float("nan"), float("inf"), "high"])
def test_thresholds_are_finite_numbers(threshold: float) -> None:
    with pytest.raises(ParameterError) as caught:
        adapt(lambda graph: graph.x[:, 0], threshold=threshold)
    assert str(caught.value) == (
        f"threshold of 'function': got {threshold!r}; allowed: a finite number. "
        "Next: leave it out to use 0.5."
    )


def test_a_threshold_for_logits_is_refused_where_there_are_probabilities() -> None:
    with pytest.raises(ParameterError) as caught:
        adapt(Linear(), threshold=0)
    assert str(caught.value) == (
        "threshold of 'Linear': got 0; allowed: more than 0, less than 1: its outputs are turned "
        "into probabilities. Next: use 0.5 where logits would be cut at 0."
    )
    assert adapt(CommandAdapter("score {graph}"), threshold=0).threshold == 0
