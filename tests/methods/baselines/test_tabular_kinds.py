"""The methods that see no graph, with several groups and with a number for s."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from fairgear import SensitiveGraph
from fairgear.errors import GraphError
from fairgear.graph.attributes import Attributes
from fairgear.methods.baselines.tabular import (
    Boosting,
    Logistic,
    LogisticProjected,
    LogisticResidual,
    LogisticUnaware,
    Tabular,
)
from fairgear.methods.features import Erasure
from fairgear.testing import toy_graph
from tests.graphs import random_graph
from tests.methods.baselines.tabular_people import every_method, small

Array = NDArray[np.float64]
GROUPS = 4


def people(kind: str, seed: int = 0, n: int = 300) -> SensitiveGraph:
    """Correlated features that s moves in its own direction for each group, or along a slope."""
    draw = torch.Generator().manual_seed(seed)
    noise = torch.randn(n, 5, generator=draw) @ torch.randn(5, 5, generator=draw)
    if kind == "groups":
        sens = torch.randint(GROUPS, (n,), generator=draw)
        attributes = Attributes.single("race", ("a", "b", "c", "d"))
        x = noise + torch.randn(GROUPS, 5, generator=draw)[sens]
    else:
        sens = 40 + 12 * torch.randn(n, generator=draw, dtype=torch.float64)
        attributes = Attributes.number("age")
        x = noise + (sens.float()[:, None] / 12) * torch.randn(5, generator=draw)
    plain = random_graph(n=n, d=5, seed=seed)
    y = (noise[:, 0] + x[:, 2] > 1).long()
    return plain.replace(
        x=x,
        y=y,
        sens=sens,
        sens_column=None,
        sens_kind="categorical" if kind == "groups" else "continuous",
        attributes=attributes,
    )


def scaled(graph: SensitiveGraph) -> Array:
    found: Array = StandardScaler().fit_transform(graph.x.double().numpy())
    return found


def coded(graph: SensitiveGraph) -> Array:
    """φ(s) by scikit-learn, before scaling."""
    s = graph.sens.double().numpy()[:, None]
    if graph.continuous:
        return s
    found: Array = OneHotEncoder(drop="first", sparse_output=False).fit_transform(s)
    return found


def erased(x: Array, code: Array) -> Array:
    """LEACE as its paper has it: whiten, project orthogonally, undo the whitening."""
    regression = LinearRegression().fit(code, x)
    left = x - regression.predict(code)
    within = left.T @ left / len(x) + 1e-3 * np.eye(x.shape[1])
    values, vectors = np.linalg.eigh(within)
    whiten = vectors / np.sqrt(values) @ vectors.T
    along = whiten @ regression.coef_
    onto = along @ np.linalg.pinv(along)
    found: Array = x @ (np.eye(x.shape[1]) - np.linalg.inv(whiten) @ onto @ whiten).T
    return found


@pytest.mark.parametrize("kind", ["groups", "number"])
@pytest.mark.parametrize("method", [Logistic, LogisticUnaware, LogisticResidual, LogisticProjected])
def test_logistic_regressions_are_scikit_learns(method: type[Tabular], kind: str) -> None:
    graph = people(kind)
    x, code = scaled(graph), coded(graph)
    y, train = graph.y.numpy(), graph.train_mask.numpy()
    views: dict[type[Tabular], Array] = {
        Logistic: np.hstack([x, StandardScaler().fit_transform(code)]),
        LogisticUnaware: x,
        LogisticResidual: x - LinearRegression().fit(code, x).predict(code),
        LogisticProjected: erased(x, code),
    }
    seen = views[method]
    oracle = LogisticRegression(C=0.3, tol=1e-8, max_iter=10_000).fit(seen[train], y[train])
    model = method(C=0.3).fit(graph)
    np.testing.assert_allclose(model.embed(graph), seen, atol=1e-4)
    np.testing.assert_allclose(
        model.predict_proba(graph), oracle.predict_proba(seen), rtol=0, atol=1e-4
    )


@pytest.mark.parametrize("kind", ["groups", "number"])
def test_boosted_trees_are_scikit_learns_and_see_s(kind: str) -> None:
    graph = people(kind)
    # Only s tells the label.
    y = (graph.sens > (1 if kind == "groups" else 40)).long()
    graph = graph.replace(y=y)
    seen = np.hstack([scaled(graph), StandardScaler().fit_transform(coded(graph))])
    train = graph.train_mask.numpy()
    oracle = GradientBoostingClassifier(n_estimators=20, random_state=0)
    oracle.fit(seen[train], y.numpy()[train])
    model = Boosting(trees=20).fit(graph)
    logits = np.log(model.predict_proba(graph)[:, 1] / model.predict_proba(graph)[:, 0])
    np.testing.assert_allclose(logits, oracle.decision_function(seen), atol=1e-9)
    assert (model.predict(graph) == y.numpy()).mean() > 0.95


@pytest.mark.parametrize("kind", ["groups", "number"])
@pytest.mark.parametrize("method", [LogisticResidual, LogisticProjected])
def test_nothing_linear_is_left_of_s(method: type[Tabular], kind: str) -> None:
    graph = people(kind)
    z, code = small(method).fit(graph).embed(graph).astype(np.float64), coded(graph)
    assert LinearRegression().fit(code, scaled(graph)).score(code, scaled(graph)) > 0.05
    np.testing.assert_allclose(LinearRegression().fit(code, z).coef_, 0, atol=1e-6)


@pytest.mark.parametrize("kind", ["groups", "number"])
def test_who_is_moved_as_s_moves_the_means_keeps_the_answer(kind: str) -> None:
    graph = people(kind)
    x, code = graph.x.double(), torch.from_numpy(coded(graph))
    slope = torch.from_numpy(LinearRegression().fit(code, x).coef_.T)
    other = graph.sens[torch.randperm(300, generator=torch.Generator().manual_seed(5))]
    world = graph.replace(sens=other)
    world = world.replace(x=x + (torch.from_numpy(coded(world)) - code) @ slope)
    for method, still in ((LogisticResidual, True), (LogisticProjected, True), (Logistic, False)):
        model = small(method).fit(graph.replace(x=x))
        moved = np.abs(model.predict_proba(world) - model.predict_proba(graph.replace(x=x))).max()
        assert (moved < 1e-6) == still, method.name
    # The projection does not ask who is in which group.
    model = small(LogisticProjected).fit(graph.replace(x=x))
    alone = model.predict_proba(graph.replace(x=x, sens=other))
    assert np.array_equal(alone, model.predict_proba(graph.replace(x=x)))


def test_a_number_that_is_a_column_of_x_is_seen_once() -> None:
    bare = people("number")
    held = bare.replace(
        x=torch.cat([bare.sens[:, None].float(), bare.x], dim=1),
        sens_column=0,
        feature_names=["age", *bare.feature_names],
    )
    for method in (Logistic, LogisticUnaware, LogisticResidual, LogisticProjected):
        one, other = (small(method).fit(graph).predict_proba(graph) for graph in (bare, held))
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-12)


@every_method
def test_groups_are_refused_where_a_number_was_learned(kind: type[Tabular]) -> None:
    model = small(kind).fit(toy_graph(sens="continuous"))
    with pytest.raises(GraphError, match=r"^[^\n]*got groups; allowed: a number[^\n]*$"):
        model.predict(toy_graph())


@pytest.mark.parametrize("groups", [3, 6])
def test_more_directions_than_columns_leave_nothing_and_equal_groups_stay(groups: int) -> None:
    draw = torch.Generator().manual_seed(0)
    sens = torch.arange(600) % groups
    x = torch.randn(600, 2, generator=draw) + torch.randn(groups, 2, generator=draw)[sens]
    erasure = Erasure(2, 1.0, groups).double().fit(x, sens)
    # Two directions or more in two columns: all that is left is the same for everybody.
    assert float(erasure(x.double(), sens).abs().max()) < 1e-6
    # Groups 1 and 2 with equal means: one direction goes, the other columns' share stays.
    means = torch.zeros(groups, 4)
    means[1:3, 0] = 1.0
    noise = torch.randn(600 // groups, 4, generator=draw).repeat_interleave(groups, dim=0)
    x = (noise - noise.mean(dim=0) + means[sens]).double()
    left = Erasure(4, 1.0, groups).double().fit(x, sens)(x, sens)
    assert np.linalg.matrix_rank(left.numpy(), tol=1e-6) == 3
    between = torch.stack([left[sens == group].mean(dim=0) for group in range(groups)])
    assert float((between - between[0]).abs().max()) < 1e-9


@pytest.mark.parametrize("kind", ["groups", "number"])
def test_without_a_share_everybody_is_brought_to_the_same_s(kind: str) -> None:
    graph = people(kind)
    x, code = torch.from_numpy(scaled(graph)), coded(graph)
    groups = GROUPS if kind == "groups" else 0
    undone = Erasure(5, 0.0, groups).double().fit(x, graph.sens)(x, graph.sens).numpy()
    whole = LinearRegression().fit(code, x.numpy())
    base = code.mean(axis=0) if kind == "number" else 0 * code[0]
    expected = x.numpy() - (code - base) @ whole.coef_.T
    np.testing.assert_allclose(undone, expected, atol=1e-9)
