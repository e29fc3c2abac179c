"""What moves the answers of the methods that see no graph, and what does not."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import torch
from torch import Tensor

import fairgear as fg
from fairgear import SensitiveGraph
from fairgear.errors import GraphError, ParameterError
from fairgear.methods.baselines.tabular import (
    Boosting,
    Logistic,
    LogisticProjected,
    LogisticResidual,
    LogisticUnaware,
    Tabular,
)
from tests.graphs import random_graph
from tests.methods.baselines import tabular_people
from tests.methods.baselines.tabular_people import ALL, every_method, small

people, models = tabular_people.people, tabular_people.models


def moved(graph: SensitiveGraph, sens: Tensor, share: float = 1.0) -> SensitiveGraph:
    """A world in which s moves features by that share of the difference of the groups' means."""
    x = graph.x.double()
    change = x[graph.sens == 1].mean(dim=0) - x[graph.sens == 0].mean(dim=0)
    x = x + share * (sens - graph.sens)[:, None] * change
    x[:, graph.sens_column] = sens.double()
    return graph.replace(x=x, sens=sens)


@every_method
def test_reordered_people_get_the_same_model_and_scores(
    kind: type[Tabular], models: dict[type[Tabular], Tabular], people: SensitiveGraph
) -> None:
    order = torch.randperm(300, generator=torch.Generator().manual_seed(0))
    other = people.permute(order)
    model = small(kind).fit(other)
    for name, tensor in models[kind]._state()[0].items():
        assert torch.equal(model._state()[0][name], tensor), name
    rows = order.numpy()
    np.testing.assert_allclose(
        model.predict_proba(other), models[kind].predict_proba(people)[rows], rtol=0, atol=1e-12
    )
    np.testing.assert_allclose(
        model.embed(other), models[kind].embed(people)[rows], rtol=0, atol=1e-6
    )


@every_method
def test_no_edge_is_looked_at(
    kind: type[Tabular], models: dict[type[Tabular], Tabular], people: SensitiveGraph
) -> None:
    alone = people.replace(edge_index=people.edge_index[:, :0])
    scores = models[kind].predict_proba(people)
    assert np.array_equal(models[kind].predict_proba(alone), scores)
    assert np.array_equal(small(kind).fit(alone).predict_proba(alone), scores)


def test_flipping_s_alone(models: dict[type[Tabular], Tabular], people: SensitiveGraph) -> None:
    """Where features stay as they are, those who are not told s answer as before."""
    other = moved(people, 1 - people.sens, share=0.0)
    for kind in ALL:
        same = np.allclose(
            models[kind].predict_proba(other), models[kind].predict_proba(people), atol=1e-9
        )
        # This graph is small: no tree of this model happens to ask for s.
        asks = kind in (Logistic, LogisticResidual)
        assert same != asks, kind.name


@pytest.mark.parametrize("share", [0.1, 1.0])
def test_moving_people_by_the_difference_of_means(
    share: float, models: dict[type[Tabular], Tabular], people: SensitiveGraph
) -> None:
    """The residual undoes the whole shift and nothing less, the projection any share of it."""
    draws = torch.rand(300, generator=torch.Generator().manual_seed(1))
    for sens in (torch.zeros_like(people.sens), 1 - people.sens, (draws < 0.5).long()):
        world = moved(people, sens, share)
        change = {
            kind: np.abs(model.predict_proba(world) - model.predict_proba(people)).max()
            for kind, model in models.items()
        }
        assert change[LogisticProjected] < 1e-6
        assert (change[LogisticResidual] < 1e-6) == (share == 1.0)
        assert change[Logistic] > 0.01
        assert change[LogisticUnaware] > 0.01


@pytest.mark.parametrize("kind", [LogisticResidual, LogisticProjected])
def test_groups_have_the_same_mean_features(
    kind: type[Tabular], models: dict[type[Tabular], Tabular], people: SensitiveGraph
) -> None:
    z, s = models[kind].embed(people).astype(np.float64), people.sens.numpy()
    np.testing.assert_allclose(z[s == 1].mean(axis=0), z[s == 0].mean(axis=0), atol=1e-6)
    plain = models[LogisticUnaware].embed(people)
    assert np.abs(plain[s == 1].mean(axis=0) - plain[s == 0].mean(axis=0)).max() > 0.1


def test_on_its_home_ground_the_residual_never_flips_and_the_evaluation_says_where_it_stands() -> (
    None
):
    generator = np.random.default_rng(0)
    sex = generator.integers(0, 2, 120)
    amount, age = generator.normal(size=(2, 120)) + [[1.0], [-0.5]] * sex
    table = pd.DataFrame({"sex": sex, "amount": amount, "age": age})
    table["good"] = (amount + age + generator.normal(size=120) > 0.2).astype(int)
    graph = fg.graph.split(
        fg.graph.from_tables(table, label="good", sensitive="sex", similarity=0.7),
        "sixty-twenty-twenty",
    )
    found = {
        kind: fg.audit(kind(C=1.0).fit(graph), graph, draws=1, self_people=5, what_if_people=0)
        for kind in (LogisticResidual, LogisticUnaware)
    }
    assert found[LogisticResidual].metrics["delta_cf"] == 0
    assert found[LogisticUnaware].metrics["delta_cf"] > 0
    said = {kind: "home ground" in " ".join(result.notes) for kind, result in found.items()}
    assert said == {LogisticResidual: True, LogisticUnaware: False}


@every_method
def test_x_that_does_not_hold_s_is_fine(kind: type[Tabular], people: SensitiveGraph) -> None:
    bare = people.replace(
        x=people.x[:, 1:], sens_column=None, feature_names=people.feature_names[1:]
    )
    scores = small(kind).fit(bare).predict_proba(bare)
    # With s out of x, who is told s sees what the unaware see.
    same = small(LogisticUnaware if kind is Logistic else kind).fit(people).predict_proba(people)
    if kind is not Boosting:
        np.testing.assert_allclose(scores, same, rtol=0, atol=1e-9)
    with pytest.raises(GraphError, match="sens_column"):
        small(kind).fit(bare).predict_proba(people)


@every_method
def test_some_people_get_what_they_get_among_all(
    kind: type[Tabular], models: dict[type[Tabular], Tabular], people: SensitiveGraph
) -> None:
    model, rows = models[kind], torch.tensor([250, 3, 3, 77])
    for nodes, where in ((rows, rows.numpy()), (people.test_mask, people.test_mask.numpy())):
        np.testing.assert_allclose(
            model.predict_proba(people, nodes=nodes),
            model.predict_proba(people)[where],
            rtol=0,
            atol=1e-12,
        )
        assert np.array_equal(model.embed(people, nodes=nodes), model.embed(people)[where])
    none = torch.empty(0, dtype=torch.int64)
    assert model.predict_proba(people, nodes=none).shape == (0, 2)
    assert model.embed(people, nodes=none).shape == (0, model.embed(people).shape[1])
    with pytest.raises(ParameterError, match="row numbers from 0 to 299"):
        model.predict_proba(people, nodes=torch.tensor([300]))


@every_method
def test_other_graphs_are_scored_if_their_columns_are_the_same(
    kind: type[Tabular], models: dict[type[Tabular], Tabular], people: SensitiveGraph
) -> None:
    other = fg.datasets.load("synthetic", n=50, seed=4)
    assert models[kind].predict_proba(other).shape == (50, 2)
    for bad in (random_graph(n=40, d=26), random_graph(n=40, d=5)):
        with pytest.raises(GraphError, match=r"^[^\n]*columns[^\n]*$"):
            models[kind].predict_proba(bad)


def test_a_constant_column_and_a_copy_of_s_do_no_harm(people: SensitiveGraph) -> None:
    x = people.x.clone()
    x[:, 3], x[:, 5] = 7.0, people.sens.float()
    graph = people.replace(x=x)
    for kind in ALL:
        assert np.isfinite(small(kind).fit(graph).predict_proba(graph)).all()
    for kind in (LogisticResidual, LogisticProjected):
        assert np.abs(small(kind).fit(graph).embed(graph)[:, 2]).max() < 1e-6, "constant"
    assert np.abs(small(LogisticResidual).fit(graph).embed(graph)[:, 4]).max() < 1e-6, "copy of s"
