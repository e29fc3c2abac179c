"""The methods that see no graph, against scikit-learn's own classifiers and each other."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from numpy.typing import NDArray
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.preprocessing import StandardScaler
from torch import Tensor

import fairgear as fg
from fairgear import SensitiveGraph
from fairgear.errors import FileError, GraphError, NotFittedError, ParameterError
from fairgear.methods.base import METHODS, load_model
from fairgear.methods.config import Config
from fairgear.methods.tabular import (
    Boosting,
    LinearLogits,
    Logistic,
    LogisticProjected,
    LogisticResidual,
    LogisticUnaware,
    Tabular,
)
from fairgear.methods.tabular_config import C_TRIED, BoostingConfig, LogisticConfig
from fairgear.methods.trees import Trees
from fairgear.tensor_files import read_tensors, write_tensors
from tests.docs.pages import ROOT, alike, run_blocks
from tests.graphs import random_graph

Array = NDArray[np.float64]

LOGISTICS: list[type[Tabular]] = [Logistic, LogisticUnaware, LogisticResidual, LogisticProjected]
ALL: list[type[Tabular]] = [*LOGISTICS, Boosting]
every_method = pytest.mark.parametrize("kind", ALL, ids=lambda kind: kind.name)
every_logistic = pytest.mark.parametrize("kind", LOGISTICS, ids=lambda kind: kind.name)


@pytest.fixture(scope="module")
def people() -> SensitiveGraph:
    return fg.datasets.load("synthetic", n=300, threshold=0.3, a=0.05)


@pytest.fixture(scope="module")
def models(people: SensitiveGraph) -> dict[type[Tabular], Tabular]:
    """One fitted model of each; tests must leave them as they are."""
    return {kind: small(kind).fit(people) for kind in ALL}


def small(kind: type[Tabular], **settings: Any) -> Tabular:
    """A model that is fitted at once."""
    given = {"trees": 15} if kind is Boosting else {"C": 1.0}
    return kind(**(given | settings))


def parts(graph: SensitiveGraph) -> tuple[Array, NDArray[np.int64], NDArray[np.bool_]]:
    """Standardised columns with s, labels, and who is trained on, the plain way."""
    x = StandardScaler().fit_transform(graph.x.double().numpy())
    return x, graph.y.numpy(), graph.train_mask.numpy()


def moved(graph: SensitiveGraph, sens: Tensor, share: float = 1.0) -> SensitiveGraph:
    """A world in which s moves features by that share of the difference of the groups' means."""
    x = graph.x.double()
    change = x[graph.sens == 1].mean(dim=0) - x[graph.sens == 0].mean(dim=0)
    x = x + share * (sens - graph.sens)[:, None] * change
    x[:, graph.sens_column] = sens.double()
    return graph.replace(x=x, sens=sens)


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
    trees = Trees.of(grown, 0.3)
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
    losses = {c: log_loss(y, Logistic(C=c).fit(people).predict_proba(people)[val]) for c in C_TRIED}
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
    monkeypatch.setattr("fairgear.methods.tabular.MOST_TREES", 40)
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
        kind: fg.auditing.evaluate(kind(C=1.0).fit(graph), graph, draws=1, self_people=5)
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


def test_trees_asked_in_pieces_say_the_same(
    models: dict[type[Tabular], Tabular],
    people: SensitiveGraph,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("fairgear.methods.tabular.MOST_TREES", 15)
    model = models[Boosting]
    scores, z, chosen = model.predict_proba(people), model.embed(people), Boosting().fit(people)
    monkeypatch.setattr("fairgear.methods.trees._PLACES", 100)
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


@every_method
def test_a_saved_model_comes_back_exactly(
    kind: type[Tabular], people: SensitiveGraph, tmp_path: Path
) -> None:
    model = small(kind, seed=3, threshold="validation").fit(people)
    model.save(tmp_path / "one")
    back = load_model(tmp_path / "one", device="cpu")
    assert type(back) is kind
    assert np.array_equal(back.predict_proba(people), model.predict_proba(people))
    assert np.array_equal(back.predict(people), model.predict(people))
    assert np.array_equal(back.embed(people), model.embed(people))
    assert back.get_params() == model.get_params() | {"device": "cpu"}
    assert back.__dict__.keys() == model.__dict__.keys()
    for name in ("C_", "trees_", "threshold_"):
        assert getattr(back, name, None) == getattr(model, name, None)
    back.save(tmp_path / "two")
    for name in ("model.json", "weights.safetensors"):
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()


def damage(name: str, facts: dict[str, Any], tensors: dict[str, Tensor]) -> None:
    what, _, how = name.partition(" ")
    if what in facts:
        facts[what] = {"none": None, "wrong": 2.5, "outside": 26}[how]
    elif how == "missing":
        del tensors[what]
    elif how == "short":
        tensors[what] = tensors[what][:-1]
    elif how == "flat":
        tensors[what] = tensors[what].sum()
    else:
        tensors[what][0] = {"below": -1, "above": 10**6}[how]


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        *((Logistic, f"features {how}") for how in ("none", "wrong")),
        *((Logistic, f"sens_column {how}") for how in ("wrong", "outside")),
        (Logistic, "C none"),
        *((Logistic, f"classifier.w {how}") for how in ("missing", "short")),
        (LogisticResidual, "features.v short"),
        (LogisticProjected, "features.erasure.u missing"),
        *((Boosting, f"classifier.value {how}") for how in ("missing", "short", "flat")),
        (Boosting, "classifier.root missing"),
        *((Boosting, f"classifier.root {how}") for how in ("below", "above")),
        *((Boosting, f"classifier.left {how}") for how in ("below", "above")),
        *((Boosting, f"classifier.right {how}") for how in ("below", "above")),
        *((Boosting, f"classifier.feature {how}") for how in ("below", "above")),
    ],
    ids=str,
)
def test_damaged_models_are_refused(
    kind: type[Tabular], name: str, models: dict[type[Tabular], Tabular], tmp_path: Path
) -> None:
    models[kind].save(tmp_path)
    path = tmp_path / "weights.safetensors"
    tensors, facts = read_tensors(path)
    damage(name, facts, tensors)
    write_tensors(path, tensors, facts)
    with pytest.raises(FileError, match=r"^[^\n]*weights[^\n]*$"):
        load_model(tmp_path)


@every_method
def test_graphs_that_cannot_be_learned_from_are_refused(
    kind: type[Tabular], people: SensitiveGraph
) -> None:
    with pytest.raises(GraphError, match="validation nodes: got no node"):
        small(kind).fit(people.replace(val_mask=torch.zeros_like(people.val_mask)))
    with pytest.raises(GraphError, match="class among the training nodes: got 1"):
        small(kind).fit(people.replace(y=torch.ones_like(people.y)))
    with pytest.raises(ParameterError, match=r"^device: got 'nosuch'"):
        small(kind, device="nosuch").fit(people)


@every_method
def test_x_of_s_alone_is_refused(kind: type[Tabular], people: SensitiveGraph) -> None:
    only = people.replace(x=people.x[:, :1], feature_names=["s"])
    with pytest.raises(GraphError, match=r"^features to learn from: got none but [^\n]*$"):
        small(kind).fit(only)


def test_a_constant_column_and_a_copy_of_s_do_no_harm(people: SensitiveGraph) -> None:
    x = people.x.clone()
    x[:, 3], x[:, 5] = 7.0, people.sens.float()
    graph = people.replace(x=x)
    for kind in ALL:
        assert np.isfinite(small(kind).fit(graph).predict_proba(graph)).all()
    for kind in (LogisticResidual, LogisticProjected):
        assert np.abs(small(kind).fit(graph).embed(graph)[:, 2]).max() < 1e-6, "constant"
    assert np.abs(small(LogisticResidual).fit(graph).embed(graph)[:, 4]).max() < 1e-6, "copy of s"


def test_a_fit_that_fails_leaves_no_fitted_model(
    people: SensitiveGraph, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = Logistic(C=1.0).fit(people)

    def broken(train: object, weight: float) -> None:
        raise RuntimeError("stopped on purpose")

    monkeypatch.setattr(LinearLogits, "of", broken)
    with pytest.raises(RuntimeError, match="on purpose"):
        model.fit(people)
    with pytest.raises(NotFittedError):
        model.predict(people)


@every_method
def test_settings_changed_after_fitting_wait_for_the_next_fit(
    kind: type[Tabular], people: SensitiveGraph, tmp_path: Path
) -> None:
    model = small(kind).fit(people)
    scores = model.predict_proba(people)
    change = {"trees": 3, "depth": 1} if kind is Boosting else {"C": 0.001}
    model.set_params(**change)
    assert np.array_equal(model.predict_proba(people), scores)
    model.save(tmp_path)
    assert np.array_equal(load_model(tmp_path).predict_proba(people), scores)
    assert not np.allclose(model.fit(people).predict_proba(people), scores, atol=1e-3)


@every_method
def test_a_checkpoint_folder_is_left_alone(
    kind: type[Tabular], people: SensitiveGraph, tmp_path: Path
) -> None:
    small(kind).fit(people, checkpoint=tmp_path / "nosuch")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("kind", "name", "value"),
    [
        *((LogisticConfig, "C", value) for value in (0, -1.0, float("inf"), "1", True)),
        *((BoostingConfig, "trees", value) for value in (0, 2.5, 10**6)),
        *((BoostingConfig, "depth", value) for value in (0, None, 33)),
        *((BoostingConfig, "learning_rate", value) for value in (0.0, 1.5, float("nan"))),
        *((kind, "threshold", "best") for kind in (LogisticConfig, BoostingConfig)),
        *((kind, "nosuch", 1) for kind in (LogisticConfig, BoostingConfig)),
    ],
)
def test_impossible_settings_are_refused(kind: type[Config], name: str, value: Any) -> None:
    with pytest.raises(ParameterError, match=rf"^[^\n]*{name}[^\n]*$"):
        kind.from_dict({name: value})


def test_the_settings_are_read_without_torch() -> None:
    code = "import fairgear.methods.tabular_config, sys; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_the_page_shows_what_its_code_prints(tmp_path: Path) -> None:
    (block,) = run_blocks(ROOT / "docs" / "methods" / "floors.md", tmp_path, {})
    assert alike(block.shown, block.printed)
