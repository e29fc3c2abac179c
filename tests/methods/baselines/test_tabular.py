"""The methods that see no graph, against scikit-learn's own classifiers and each other."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.preprocessing import StandardScaler

from fairgear import SensitiveGraph
from fairgear.methods.base import METHODS
from fairgear.methods.baselines.linear import C_VALUES
from fairgear.methods.baselines.tabular import (
    Boosting,
    Logistic,
    LogisticProjected,
    LogisticResidual,
    LogisticUnaware,
    Tabular,
)
from fairgear.methods.baselines.trees import Trees
from tests.docs.pages import ROOT, alike, run_blocks
from tests.graphs import random_graph
from tests.methods.baselines import tabular_people
from tests.methods.baselines.tabular_people import LOGISTICS, every_method, small

people, models = tabular_people.people, tabular_people.models
Array = NDArray[np.float64]
every_logistic = pytest.mark.parametrize("kind", LOGISTICS, ids=lambda kind: kind.name)


def parts(graph: SensitiveGraph) -> tuple[Array, NDArray[np.int64], NDArray[np.bool_]]:
    """Standardised columns with s, labels, and who is trained on, the plain way."""
    x = StandardScaler().fit_transform(graph.x.double().numpy())
    return x, graph.y.numpy(), graph.train_mask.numpy()


@every_method
def test_every_method_answers(
    kind: type[Tabular], models: dict[type[Tabular], Tabular], people: SensitiveGraph
) -> None:
    before = people.fingerprint()
    model = small(kind)
    assert model.fit(people) is model
    scores, z = model.predict_proba(people), model.embed(people)
    assert people.fingerprint() == before
    assert scores.shape == (300, 2)
    assert scores.dtype == np.float64
    np.testing.assert_allclose(scores.sum(axis=1), 1)
    assert ((scores > 0) & (scores < 1)).all()
    train = people.train_mask.numpy()
    assert roc_auc_score(people.y.numpy()[train], scores[train, 1]) > 0.7
    widths = {Logistic: 26, Boosting: 15}
    assert z.shape == (300, widths.get(kind, 25))
    assert z.dtype == np.float32
    assert model.threshold_ == 0.5
    assert np.array_equal(model.predict(people), (scores[:, 1] > 0.5).astype(int))
    assert METHODS[kind.name] is kind
    assert np.array_equal(models[kind].predict_proba(people), scores), "not the same twice"


def residuals(x: Array, s: Array) -> Array:
    regression = LinearRegression().fit(s[:, None], x)
    left: Array = x - regression.predict(s[:, None])
    return left


def projected(x: Array, s: Array) -> Array:
    """The projection along v that moves the people least in the metric of their groups."""
    v = x[s == 1].mean(axis=0) - x[s == 0].mean(axis=0)
    within = sum(np.cov(x[s == g].T, bias=True) * np.mean(s == g) for g in (0, 1))
    metric = np.linalg.inv(within + 1e-3 * np.eye(len(v)))
    share = (x @ metric @ v) / (v @ metric @ v)
    left: Array = x - share[:, None] * v
    return left


@every_logistic
def test_logistic_regressions_are_scikit_learns(
    kind: type[Tabular], people: SensitiveGraph
) -> None:
    x, y, train = parts(people)
    s = people.sens.double().numpy()
    own = x[:, 1:]
    views: dict[type[Tabular], Array] = {
        Logistic: x,
        LogisticUnaware: own,
        LogisticResidual: residuals(own, s),
        LogisticProjected: projected(own, s),
    }
    seen = views[kind]
    oracle = LogisticRegression(C=0.3, tol=1e-8, max_iter=10_000).fit(seen[train], y[train])
    model = kind(C=0.3).fit(people)
    np.testing.assert_allclose(
        model.predict_proba(people), oracle.predict_proba(seen), rtol=0, atol=1e-5
    )
    z = model.embed(people)
    z = np.roll(z, 1, axis=1) if kind is Logistic else z
    np.testing.assert_allclose(z, seen, atol=1e-5)


@pytest.mark.parametrize("depth", [1, 4])
def test_boosted_trees_are_scikit_learns(depth: int, people: SensitiveGraph) -> None:
    x, y, train = parts(people)
    x = np.roll(x, -1, axis=1)
    oracle = GradientBoostingClassifier(
        n_estimators=20, max_depth=depth, learning_rate=0.3, random_state=0
    ).fit(x[train], y[train])
    model = Boosting(trees=20, depth=depth, learning_rate=0.3).fit(people)
    logits = np.log(model.predict_proba(people)[:, 1] / model.predict_proba(people)[:, 0])
    np.testing.assert_allclose(logits, oracle.decision_function(x), atol=1e-9)
    share = np.mean(y[train])
    staged = np.log(share / (1 - share)) + model.embed(people).cumsum(axis=1)
    np.testing.assert_allclose(
        staged.T, np.stack(list(oracle.staged_decision_function(x)))[:, :, 0], atol=1e-5
    )


def test_somebody_next_to_a_cut_goes_the_trees_way(people: SensitiveGraph) -> None:
    """Single precision puts those next to a cut on either side of it: which, must not differ."""
    x, y, train = parts(people)
    grown = GradientBoostingClassifier(n_estimators=10, learning_rate=0.3).fit(x[train], y[train])
    trees = Trees.of(grown, 0.3, 10)
    inner = trees.left != torch.arange(len(trees.left))
    near = np.repeat(x, 50, axis=0)[: 3 * int(inner.sum())]
    for i, (feature, cut) in enumerate(zip(trees.feature[inner], trees.cut[inner], strict=True)):
        near[3 * i : 3 * i + 3, feature] = float(cut) * np.array([1 - 1e-9, 1, 1 + 1e-9])
    expected = grown.decision_function(near)
    np.testing.assert_allclose(trees(torch.from_numpy(near)).numpy(), expected, atol=1e-12)
    unrounded = near.copy()
    unrounded[2::3] *= 1 + 1e-6
    assert not np.allclose(grown.decision_function(unrounded), expected)


def test_c_that_is_left_open_is_chosen_by_validation_people(people: SensitiveGraph) -> None:
    val = people.val_mask.numpy()
    y = people.y.numpy()[val]
    losses = {
        c: log_loss(y, Logistic(C=c).fit(people).predict_proba(people)[val]) for c in C_VALUES
    }
    model = Logistic().fit(people)
    best = min(losses, key=losses.__getitem__)
    assert best == model.C_
    other = people.y.clone()
    other[people.val_mask] = (people.x[:, 3] > 0).long()[people.val_mask]
    assert Logistic().fit(people.replace(y=other)).C_ != model.C_
    assert np.array_equal(
        model.predict_proba(people), Logistic(C=model.C_).fit(people).predict_proba(people)
    )


def test_a_number_of_trees_that_is_left_open_is_chosen_by_validation_people(
    people: SensitiveGraph, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fairgear.methods.baselines.tabular.MOST_TREES", 40)
    # More ones than zeros: then the log-odds that the trees start from count.
    people = people.replace(y=torch.where(people.x[:, 3] > 0, 1, people.y))
    model = Boosting(learning_rate=0.5).fit(people)
    val = people.val_mask.numpy()
    x, y, train = parts(people)
    x = np.roll(x, -1, axis=1)
    grown = GradientBoostingClassifier(n_estimators=40, learning_rate=0.5, random_state=0)
    grown.fit(x[train], y[train])
    losses = [log_loss(y[val], scores) for scores in grown.staged_predict_proba(x[val])]
    assert model.trees_ == 1 + int(np.argmin(losses))
    assert model.trees_ < 40
    fewer = Boosting(trees=model.trees_, learning_rate=0.5).fit(people)
    assert np.array_equal(fewer.predict_proba(people), model.predict_proba(people))
    assert model.embed(people).shape == (300, model.trees_)


@every_method
def test_labels_of_test_people_are_never_read(kind: type[Tabular], people: SensitiveGraph) -> None:
    blind, wrong = people.y.clone(), people.y.clone()
    blind[people.test_mask] = -1
    wrong[people.test_mask] = 1 - wrong[people.test_mask]
    fits = [
        small(kind, threshold="validation").fit(people.replace(y=y))
        for y in (people.y, blind, wrong)
    ]
    for other in fits[1:]:
        assert other.threshold_ == fits[0].threshold_
        assert np.array_equal(other.predict_proba(people), fits[0].predict_proba(people))


@every_method
def test_labels_of_training_people_are_read_and_those_of_validation_people_are_not_trained_on(
    kind: type[Tabular], models: dict[type[Tabular], Tabular], people: SensitiveGraph
) -> None:
    scores = models[kind].predict_proba(people)
    for mask, same in ((people.train_mask, False), (people.val_mask, True)):
        y = torch.where(mask, 1 - people.y, people.y)
        again = small(kind).fit(people.replace(y=y)).predict_proba(people)
        assert np.allclose(again, scores, atol=1e-3) == same


def test_trees_asked_in_pieces_say_the_same(
    models: dict[type[Tabular], Tabular],
    people: SensitiveGraph,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("fairgear.methods.baselines.tabular.MOST_TREES", 15)
    model = models[Boosting]
    scores, z, chosen = model.predict_proba(people), model.embed(people), Boosting().fit(people)
    monkeypatch.setattr("fairgear.methods.baselines.trees._PAIRS", 100)
    assert np.array_equal(model.predict_proba(people), scores)
    assert np.array_equal(model.embed(people), z)
    assert Boosting().fit(people).trees_ == chosen.trees_


@every_method
def test_the_seed_plays_no_part(kind: type[Tabular]) -> None:
    """Not even where two columns are equally good to ask for."""
    graph = random_graph(n=120, d=4, seed=3)
    twins = graph.replace(
        x=torch.cat([graph.x, graph.x[:, :1]], dim=1), feature_names=[*graph.feature_names, "twin"]
    )
    apart = twins.x.clone()
    apart[:, 4] = 0
    fits = [small(kind, seed=seed).fit(twins) for seed in (0, 1, 2, 2**40)]
    seen = [model.predict_proba(twins.replace(x=apart)) for model in fits]
    assert not np.allclose(seen[0], fits[0].predict_proba(twins), atol=1e-3), "twin not asked for"
    for other in seen[1:]:
        assert np.array_equal(other, seen[0])


@every_method
def test_a_threshold_from_validation_is_no_less_accurate_there(
    kind: type[Tabular], people: SensitiveGraph
) -> None:
    # Labels that are mostly 1 there, so that one half cannot be the best.
    y = torch.where(people.val_mask & (people.x[:, 3] > -1), 1, people.y)
    model = small(kind, threshold="validation").fit(people.replace(y=y))
    val = people.val_mask.numpy()
    scores, truth = model.predict_proba(people)[val, 1], y.numpy()[val]
    assert model.threshold_ is not None
    assert model.threshold_ != 0.5
    assert np.mean((scores > model.threshold_) == truth) > np.mean((scores > 0.5) == truth)
    assert np.array_equal(model.predict(people)[val], scores > model.threshold_)


def test_the_page_shows_what_its_code_prints(tmp_path: Path) -> None:
    (block,) = run_blocks(ROOT / "docs" / "reference" / "methods" / "floors.md", tmp_path, {})
    assert alike(block.shown, block.printed)
