"""Models of several classes and of numbers, of every kind that an audit takes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from sklearn.ensemble import GradientBoostingRegressor, RandomForestClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from torch import Tensor, nn
from torch_geometric.nn import SAGEConv

from fairgear import SensitiveGraph, audit
from fairgear.auditing import CommandAdapter
from fairgear.auditing.adapters import adapt
from fairgear.errors import FairgearError
from fairgear.methods import METHODS
from fairgear.testing import toy_graph


class Net(nn.Module):
    """One layer, with logits of as many columns as asked for."""

    def __init__(self, outputs: int) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.layer = SAGEConv(5, outputs)

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        found: Tensor = self.layer(x, edge_index)
        return 3 * found


def audited(model: object, graph: SensitiveGraph) -> Any:
    return audit(model, graph, self_people=5, affected_people=1, other_causal_models=False)


def test_several_classes_of_every_kind_of_model() -> None:
    graph = toy_graph("multiclass")
    x, y = graph.x.numpy(), graph.y.numpy()
    known = y >= 0
    names = np.array(["a", "b", "c"])[y]
    by_number = LogisticRegression(max_iter=500).fit(x[known], y[known])
    by_name = LogisticRegression(max_iter=500).fit(x[known], names[known])
    forest = RandomForestClassifier(20, random_state=0).fit(x[known], y[known])
    results = {
        "number": audited(by_number, graph),
        "name": audited(by_name, graph),
        "forest": audited(forest, graph),
        "function": audited(lambda g: by_number.predict_proba(g.x.numpy()), graph),
        "module": audited(Net(3), graph),
        "method": audited(METHODS["logistic"](C=1.0).fit(graph), graph),
    }
    assert results["number"].metrics == results["name"].metrics
    for name in ("accuracy", "auroc", "delta_cf"):
        assert results["number"].metrics[name] == results["function"].metrics[name]
    answers = by_number.predict(x)[graph.test_mask.numpy()]
    right = (answers == y[graph.test_mask.numpy()]).mean()
    assert results["number"].metrics["accuracy"] == pytest.approx(right)
    assert all(one.metrics["auroc"] > 0.8 for key, one in results.items() if key != "module")
    people = results["module"].people
    assert set(people["label"]) <= {0, 1, 2}
    assert people["score"].between(1 / 3, 1).all()


def test_numbers_of_every_kind_of_model() -> None:
    graph = toy_graph("regression")
    x, y = graph.x.numpy(), graph.y.numpy()
    known = ~np.isnan(y)
    line = LinearRegression().fit(x[known], y[known])
    boosted = GradientBoostingRegressor(random_state=0).fit(x[known], y[known])
    first, second = audited(line, graph), audited(lambda g: line.predict(g.x.numpy()), graph)
    assert first.metrics == second.metrics
    test = graph.test_mask.numpy()
    errors = line.predict(x)[test] - y[test]
    assert first.metrics["mae"] == pytest.approx(np.abs(errors).mean())
    assert audited(boosted, graph).metrics["r2_prediction"] > 0.8
    module = audited(Net(1), graph)
    with torch.no_grad():
        expected = Net(1)(graph.x, graph.edge_index)[:, 0].double().numpy()
    by_id = graph.canonical.by_id(torch.from_numpy(np.flatnonzero(test)))
    assert module.people["label"].to_numpy() == pytest.approx(expected[by_id.numpy()], abs=1e-5)
    method = METHODS["logistic"](C=1.0).fit(graph)
    assert audited(method, graph).metrics["rmse"] < 1


@pytest.mark.parametrize(
    ("kind", "model", "said"),
    [
        ("multiclass", lambda g: np.full(len(g.x), 0.5), "shape (160, 3)"),
        ("multiclass", lambda g: np.full((len(g.x), 3), 0.5), "do not sum to 1"),
        ("regression", lambda g: np.full((len(g.x), 2), 0.5), "shape (160,)"),
        ("regression", lambda g: np.full(len(g.x), np.nan), "NaN or infinite"),
        ("multiclass", CommandAdapter("cat {graph}"), "two classes or numbers"),
    ],
)
def test_refusals(kind: str, model: object, said: str) -> None:
    with pytest.raises(FairgearError) as error:
        audited(model, toy_graph(kind))
    assert said in str(error.value)
    assert "\n" not in str(error.value)


def test_labels_that_the_model_was_not_made_for() -> None:
    graph = toy_graph("multiclass")
    method = METHODS["logistic"](C=1.0).fit(toy_graph())
    with pytest.raises(FairgearError, match="got labels of 3 classes; allowed: 2 classes"):
        audited(method, graph)
    threshold = adapt(lambda g: np.full((len(g.x), 3), 1 / 3), threshold=0.4)
    with pytest.raises(FairgearError, match="leave the threshold out"):
        audited(threshold, graph)
    line = LinearRegression().fit(graph.x.numpy(), graph.y.numpy())
    with pytest.raises(FairgearError, match="got a regressor"):
        audited(line, graph)
