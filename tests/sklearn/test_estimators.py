"""The estimators, by scikit-learn's own checks and tools, and against the method called by hand."""

from __future__ import annotations

import doctest
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.metrics import accuracy_score, roc_auc_score
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

import fairgear
from fairgear.errors import GraphError, ParameterError
from fairgear.graph import from_tables
from fairgear.methods import METHODS
from fairgear.sklearn import (
    FewestFlips,
    NodeClassifier,
    NodeRegressor,
    estimators,
    scorers,
    worst_flips_scorer,
)

EXPECTED = {
    "check_do_not_raise_errors_in_init_or_set_params": "names of settings are checked at once",
    "check_fit2d_1feature": "one column is the sensitive one, and there is no feature left",
    "check_fit2d_1sample": "one person is of one group; the message speaks of groups",
}


def people(n: int = 160, seed: int = 0) -> tuple[pd.DataFrame, pd.Series, pd.DataFrame]:
    """Rows by name, labels that follow from two columns, and friends."""
    rng = np.random.default_rng(seed)
    ids = [f"p{number}" for number in rng.permutation(10 * n)[:n]]
    table = pd.DataFrame(
        {
            "sex": np.where(rng.random(n) < 0.5, "f", "m"),
            "points": rng.normal(size=n),
            "owner": np.where(rng.random(n) < 0.4, "yes", "no"),
        },
        index=ids,
    )
    table["debt"] = rng.normal(size=n) + (table["sex"] == "m")
    y = table["points"] - table["debt"] + 0.5 * rng.normal(size=n)
    labels = pd.Series(np.where(y > y.median(), "approved", "refused"), index=ids)
    ends = rng.integers(0, n, (2, 3 * n))
    ends = ends[:, ends[0] != ends[1]]
    friends = pd.DataFrame({"a": np.array(ids)[ends[0]], "b": np.array(ids)[ends[1]]})
    return table, labels, friends


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", [NodeClassifier, NodeRegressor])
def test_the_checks_of_scikit_learn(kind: type[Any]) -> None:
    model = kind("logistic", sensitive="x0", similarity=0.9)
    results = check_estimator(model, expected_failed_checks=EXPECTED, on_skip=None)
    assert len(results) > 50
    failed = {one["check_name"] for one in results if one["status"] == "xfail"}
    assert failed <= set(EXPECTED)
    assert "check_fit2d_1feature" in failed


def test_it_is_the_method_on_the_same_graph() -> None:
    table, labels, friends = people()
    model = NodeClassifier("graphsage", sensitive="sex", edges=friends, seed=3, steps=5, dim=8)
    model.fit(table, labels)
    graph = from_tables(table.rename_axis("id").reset_index(), friends, sensitive="sex")
    codes = torch.from_numpy((labels == "refused").to_numpy().astype(np.int64))
    masks = {name: model.graph_[name] for name in ("train_mask", "val_mask")}
    assert not bool((masks["train_mask"] & masks["val_mask"]).any())
    assert int(masks["val_mask"].sum()) == 40
    assert bool((masks["train_mask"] | masks["val_mask"]).all())
    by_hand = METHODS["graphsage"](seed=3, steps=5, dim=8).fit(graph.replace(y=codes, **masks))
    assert model.classes_.tolist() == ["approved", "refused"]
    np.testing.assert_array_equal(model.predict_proba(table), by_hand.predict_proba(graph))
    expected = np.where(by_hand.predict(graph) == 1, "refused", "approved")
    assert model.predict(table).tolist() == expected.tolist()
    assert model.score(table, labels) == accuracy_score(labels, expected)
    assert model.predict(table[40:50]).tolist() == expected[40:50].tolist()


def test_without_people_another_fold_is_not_there_in_the_fit() -> None:
    table, labels, friends = people()
    first, rest = table[:100], table[100:]
    model = NodeClassifier("graphsage", sensitive="sex", edges=friends, steps=3, dim=8)
    model.fit(first, labels[:100])
    assert list(model.people_.index) == list(first.index)
    before = model.predict_proba(rest)
    # Whatever they are, the fit is the same; their predictions read their rows and their friends'.
    other = clone(model).fit(first, labels[:100])
    np.testing.assert_array_equal(other.predict_proba(rest), before)
    whole = model.to_graph(rest, labels[100:])
    assert int(whole.test_mask.sum()) == len(rest)
    assert len(whole.x) == len(table)
    assert whole.num_undirected_edges > model.graph_.num_undirected_edges
    np.testing.assert_array_equal(model.method_.predict_proba(whole, nodes=whole.test_mask), before)
    assert whole.y[100:].tolist() == (labels[100:] == "refused").astype(int).tolist()
    assert whole.y[:100].tolist() == model.graph_.y.tolist()


def test_with_people_everybody_is_there_and_only_labels_of_y_are_seen() -> None:
    table, labels, friends = people()
    model = NodeClassifier(
        "graphsage", sensitive="sex", edges=friends, people=table, steps=3, dim=8
    ).fit(table[50:], labels[50:])
    assert list(model.people_.index) == list(table.index)
    assert model.graph_.num_undirected_edges == model.to_graph(table).num_undirected_edges
    assert model.graph_.y[:50].tolist() == [-1] * 50
    assert not bool((model.graph_.train_mask | model.graph_.val_mask)[:50].any())
    # A person's new row counts, not the one that was known.
    changed = table[:1].assign(points=5.0, debt=-5.0)
    assert model.to_graph(changed).feature_names == model.graph_.feature_names
    assert not torch.equal(model.to_graph(changed).x[0], model.graph_.x[0])
    assert torch.equal(model.to_graph(changed).x[1:], model.graph_.x[1:])


def test_grid_search_by_fewest_flips() -> None:
    table, labels, _ = people(120)
    model = NodeClassifier("logistic", sensitive="sex", similarity=0.8)
    grid = GridSearchCV(
        model,
        {"C": [0.001, 1.0], "method": ["logistic", "logistic-residual"]},
        scoring={"auroc": "roc_auc", "flips": worst_flips_scorer},
        refit=FewestFlips(0.05),
        cv=StratifiedKFold(2),
        n_jobs=2,
    ).fit(table, labels)
    found = pd.DataFrame(grid.cv_results_)
    near = found[found["mean_test_auroc"] >= found["mean_test_auroc"].max() - 0.05]
    assert found["mean_test_flips"].max() <= 0
    assert found["mean_test_flips"].nunique() > 1
    assert found["mean_test_flips"][grid.best_index_] == near["mean_test_flips"].max()
    best = grid.best_estimator_
    assert best.method == grid.best_params_["method"]
    assert grid.best_params_["C"] == best.method_.config.C
    assert grid.predict(table).shape == (120,)


def test_cross_validation_measures_each_fold_as_by_hand() -> None:
    table, labels, friends = people()
    model = NodeClassifier("logistic", sensitive="sex", edges=friends)
    folds = StratifiedKFold(2)
    scoring = {"auroc": "roc_auc", "flips": worst_flips_scorer}
    found = cross_validate(model, table, labels, cv=folds, scoring=scoring, return_estimator=True)
    for at, (train, test) in enumerate(folds.split(table, labels)):
        by_hand = clone(model).fit(table.iloc[train], labels.iloc[train])
        scores = by_hand.predict_proba(table.iloc[test])[:, 1]
        expected = roc_auc_score(labels.iloc[test] == "refused", scores)
        assert found["test_auroc"][at] == pytest.approx(expected)
        graph = by_hand.to_graph(table.iloc[test], labels.iloc[test])
        audit = fairgear.audit(by_hand.method_, graph, draws=1, what_if_people=0)
        assert found["test_flips"][at] == pytest.approx(-audit.metrics["delta_cf_max"])
        assert audit.metrics["auroc"] == pytest.approx(expected)


def test_pipelines_hand_on_names_and_ids() -> None:
    table, labels, friends = people()
    scaled = make_column_transformer(
        (StandardScaler(), ["points", "debt"]),
        remainder="passthrough",
        verbose_feature_names_out=False,
    ).set_output(transform="pandas")
    model = make_pipeline(scaled, NodeClassifier("logistic", sensitive="sex", edges=friends))
    model.fit(table[:120], labels[:120])
    found = model.predict_proba(table[120:])
    plain = NodeClassifier("logistic", sensitive="sex", edges=friends)
    plain.fit(table[:120], labels[:120])
    # A regression scales by itself; regularisation and rounding leave small differences.
    np.testing.assert_allclose(found, plain.predict_proba(table[120:]), atol=0.02)
    assert worst_flips_scorer(model, table[120:], labels[120:]) <= 0


def test_numbers() -> None:
    table, _, friends = people()
    y = 3.0 * table["points"] + table["debt"] + 100
    model = NodeRegressor("logistic", sensitive="sex", edges=friends).fit(table[:120], y[:120])
    found = model.predict(table[120:])
    assert found.shape == (40,)
    assert model.score(table[120:], y[120:]) > 0.95
    assert not hasattr(model, "predict_proba")
    graph = model.to_graph(table[120:], y[120:])
    assert graph.y[120:].tolist() == y[120:].tolist()
    assert -1 <= worst_flips_scorer(model, table[120:], y[120:]) < 0


def test_several_classes() -> None:
    table, _, friends = people()
    y = pd.cut(table["points"], [-9, -0.4, 0.4, 9], labels=["low", "middle", "high"]).astype(str)
    model = NodeClassifier("logistic", sensitive="sex", edges=friends).fit(table, y)
    assert model.classes_.tolist() == ["high", "low", "middle"]
    shares = model.predict_proba(table)
    assert shares.shape == (160, 3)
    assert model.score(table, y) > 0.7
    assert model.graph_.target.classes == ("high", "low", "middle")


def test_parameters_are_those_of_scikit_learn() -> None:
    model = NodeClassifier("gear", sensitive="sex", fairness_weight=2.0)
    assert model.get_params()["fairness_weight"] == 2.0
    assert "fairness_weight=2.0" in repr(model)
    model.set_params(fairness_weight=3.0, layers=1, sensitive="race")
    copy = clone(model)
    assert copy.get_params() == model.get_params()
    assert (copy.fairness_weight, copy.layers, copy.sensitive) == (3.0, 1, "race")
    with pytest.raises(ParameterError, match="'fairnes_weight'"):
        NodeClassifier("gear", fairnes_weight=1.0)
    with pytest.raises(ParameterError, match="'fairnes_weight'"):
        model.set_params(fairnes_weight=1.0)


@pytest.mark.parametrize("name", list(METHODS))
def test_no_setting_of_a_method_hides_a_parameter(name: str) -> None:
    settings = set(METHODS[name].config_type().to_dict())
    assert not settings & set(NodeClassifier._get_param_names())
    assert not any("_" in (one[0], one[-1]) for one in settings)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"edges": None}, "neither edges nor a similarity"),
        ({"sensitive": "race"}, "'race'"),
        ({"validation": 1.5}, "validation: got 1.5"),
        ({"columns": {"label": "x"}}, "columns: got 'label'"),
        ({"columns": {"missing": "drop"}}, "every row needs an answer"),
        ({"columns": {"mising": "impute"}}, "columns: got mising"),
        ({"people": "friends"}, "people: got a str"),
        ({"edges": pd.DataFrame({"a": ["q"], "b": ["r"]})}, "none between two of the people"),
        ({"edges": [["p1", "p2"]]}, "edges: got a list"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(changes: dict[str, Any], expected: str) -> None:
    table, labels, friends = people(40)
    model = NodeClassifier("logistic", **{"sensitive": "sex", "edges": friends, **changes})
    with pytest.raises((GraphError, ParameterError)) as caught:
        model.fit(table, labels)
    assert expected in str(caught.value)


def test_ids_and_classes_are_checked() -> None:
    table, labels, friends = people(40)
    model = NodeClassifier("logistic", sensitive="sex", edges=friends)
    twice = table.set_axis([table.index[1], *table.index[1:]], axis="index")
    with pytest.raises(GraphError, match="more than once"):
        model.fit(twice, labels)
    with pytest.raises(GraphError, match="DataFrame whose index holds the ids"):
        model.fit(table.select_dtypes("number").set_axis(range(2), axis="columns"), labels)
    model.fit(table, labels)
    with pytest.raises(GraphError, match="class in y"):
        model.to_graph(table[:2], ["approved", "perhaps"])
    with pytest.raises(ParameterError, match="estimator to score"):
        worst_flips_scorer(StandardScaler(), table, labels)
    with pytest.raises(ParameterError, match="no 'auroc'"):
        FewestFlips()({"mean_test_flips": [0.0]})


@pytest.mark.filterwarnings("ignore")
def test_the_examples_of_docstrings() -> None:
    for module in (estimators, scorers):
        assert doctest.testmod(module, optionflags=doctest.ELLIPSIS).failed == 0
