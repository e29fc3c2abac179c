from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from numpy.typing import NDArray
from scipy.special import expit
from sklearn.ensemble import VotingClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import f1_score, make_scorer
from sklearn.model_selection import (
    FixedThresholdClassifier,
    GridSearchCV,
    TunedThresholdClassifierCV,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from fairgear import SensitiveGraph
from fairgear.auditing.adapters import TableAdapter, adapt
from fairgear.auditing.world import World
from fairgear.auditing.worlds import Worlds
from fairgear.errors import NotFittedError, ParameterError
from tests.auditing.models import measure

SOME = torch.tensor([5, 2, 40])
NO_EDGES = "It is given the features alone, never the edges."
BLIND = "It is given the features without the sensitive column."
CALLABLE = "pass a callable such as lambda graph: model.predict_proba(features(graph))[:, 1]"


def without_sens(graph: SensitiveGraph) -> NDArray[np.float32]:
    assert graph.sens_column == 0
    return np.delete(graph.x.numpy(), 0, axis=1)


def logistic(x: Any, graph: SensitiveGraph) -> LogisticRegression:
    return LogisticRegression().fit(x, graph.y.numpy())


def test_all_features(graph: SensitiveGraph, other: World) -> None:
    model = logistic(graph.x.numpy(), graph)
    adapter = adapt(model)
    expected = model.predict_proba(other.graph.x.numpy())[SOME.numpy(), 1]
    np.testing.assert_allclose(adapter.scores(other, SOME), expected, rtol=1e-6)
    assert adapter.notes == (NO_EDGES,)


def test_the_features_without_the_sensitive_one(graph: SensitiveGraph, other: World) -> None:
    model = logistic(without_sens(graph), graph)
    adapter = adapt(model)
    expected = model.predict_proba(without_sens(other.graph))[SOME.numpy(), 1]
    np.testing.assert_allclose(adapter.scores(other, SOME), expected, rtol=1e-6)
    adapter.scores(other, SOME)
    assert adapter.notes == (NO_EDGES, BLIND)


def test_columns_go_by_name_where_there_are_names(graph: SensitiveGraph, other: World) -> None:
    table = pd.DataFrame(graph.x.numpy(), columns=graph.feature_names)
    wanted = graph.feature_names[:0:-1]
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(
        table[wanted], graph.y.numpy()
    )
    adapter = adapt(model)
    there = pd.DataFrame(other.graph.x.numpy(), columns=graph.feature_names)[wanted]
    expected = model.predict_proba(there)[SOME.numpy(), 1]
    np.testing.assert_allclose(adapter.scores(other, SOME), expected, rtol=1e-6)
    assert adapter.notes == (NO_EDGES, BLIND)


def test_numbers_keep_their_precision(graph: SensitiveGraph, worlds: Worlds) -> None:
    seen = []

    def watch(x: NDArray[Any]) -> NDArray[Any]:
        seen.append(x.dtype)
        return x

    model = make_pipeline(FunctionTransformer(watch), LogisticRegression())
    model.fit(graph.x.numpy(), graph.y.numpy())
    seen.clear()
    adapter = adapt(model)
    adapter.scores(worlds.factual, SOME)
    adapter.scores(Worlds(graph.replace(x=graph.x.double())).factual, SOME)
    assert seen == [np.float32, np.float64]


def test_a_decision_function_is_cut_at_zero(graph: SensitiveGraph, worlds: Worlds) -> None:
    model = LinearSVC().fit(graph.x.numpy(), graph.y.numpy())
    adapter = adapt(model)
    everyone = torch.arange(60)
    answers = adapter.scores(worlds.factual, everyone) > adapter.threshold
    np.testing.assert_array_equal(answers, model.predict(graph.x.numpy()))


def test_classes_may_be_true_and_false(graph: SensitiveGraph, worlds: Worlds) -> None:
    model = LogisticRegression().fit(graph.x.numpy(), graph.y.numpy() == 1)
    twin = logistic(graph.x.numpy(), graph)
    np.testing.assert_array_equal(
        adapt(model).scores(worlds.factual, SOME), adapt(twin).scores(worlds.factual, SOME)
    )


@pytest.mark.parametrize(
    ("labels", "got"),
    [
        (["no", "yes"], "'no', 'yes'"),
        (["0", "1"], "'0', '1'"),
        ([-1, 1], "-1, 1"),
        ([0, 1, 2], "0, 1, 2"),
    ],
)
def test_other_classes(graph: SensitiveGraph, labels: list[Any], got: str) -> None:
    y = np.array(labels)[np.arange(60) % len(labels)]
    with pytest.raises(ParameterError) as caught:
        adapt(LogisticRegression().fit(graph.x.numpy(), y)).aim(graph.target)
    assert str(caught.value) == (
        f"classes of the model 'LogisticRegression': got {got}; allowed: 0 and 1, or False and "
        "True. Next: fit it on labels 0 and 1."
    )


def test_a_model_of_another_library_needs_no_base_class(worlds: Worlds) -> None:
    class Foreign:
        def fit(self) -> None:
            self.classes_ = np.array([0, 1])

        def predict_proba(self, x: NDArray[Any]) -> NDArray[Any]:
            return np.tile([0.25, 0.75], (len(x), 1))

    model = Foreign()
    with pytest.raises(NotFittedError) as caught:
        adapt(model)
    assert str(caught.value) == (
        "the model 'Foreign': got an estimator without classes_; allowed: a fitted estimator. "
        "Next: call fit(x, y) first; if it is one over graphs, pass lambda graph: "
        "model.predict_proba(graph)."
    )
    model.fit()
    adapter = adapt(model)
    assert isinstance(adapter, TableAdapter)
    assert adapter.scores(worlds.factual, SOME).tolist() == [0.75] * 3


def test_unfitted() -> None:
    for model in (LogisticRegression(), make_pipeline(StandardScaler(), LogisticRegression())):
        with pytest.raises(NotFittedError) as caught:
            adapt(model, name="mine")
        assert str(caught.value) == (
            "the model 'mine': got an estimator that was not fitted; allowed: a fitted "
            "estimator. Next: call fit(x, y) first."
        )


def test_features_that_the_graph_does_not_have(graph: SensitiveGraph, worlds: Worlds) -> None:
    width = graph.x.shape[1]
    table = pd.DataFrame(graph.x.numpy(), columns=[f"c{i}" for i in range(width)])
    with pytest.raises(ParameterError) as caught:
        adapt(logistic(table, graph)).scores(worlds.factual, SOME)
    message = str(caught.value)
    assert message.startswith(
        "features of the model 'LogisticRegression': got columns that the graph does not have: "
        "'c0', 'c1', 'c2', 'c3', 'c4' and "
    )
    assert message.endswith(f"Next: fit it on the graph's features, or {CALLABLE}.")
    for narrow, allowed in (
        (graph, f"{width}, or {width - 1} without the sensitive column"),
        (graph.replace(sens_column=None), f"{width}"),
    ):
        with pytest.raises(ParameterError) as caught:
            adapt(logistic(graph.x[:, :3].numpy(), graph)).scores(Worlds(narrow).factual, SOME)
        assert str(caught.value) == (
            "features of the model 'LogisticRegression': got one that was fitted on 3; allowed: "
            f"{allowed}. Next: fit it on graph.x, or {CALLABLE}."
        )


def test_a_regression_is_no_classifier(graph: SensitiveGraph) -> None:
    model = adapt(LinearRegression().fit(graph.x.numpy(), graph.y.numpy()))
    with pytest.raises(ParameterError, match="got a regressor; allowed: a classifier for 2 classe"):
        model.aim(graph.target)


def own_thresholds(graph: SensitiveGraph) -> dict[str, tuple[Any, str]]:
    """Classifiers that were given a threshold, and what is said about it."""
    x, y = graph.x.numpy(), graph.y.numpy()
    plain, tree = LogisticRegression(), DecisionTreeClassifier(max_depth=2, random_state=0)
    by_odds = {"threshold": -0.4, "response_method": "decision_function"}
    # A leaf's share of class 1: many people have exactly the threshold.
    share = float(np.median(tree.fit(x, y).predict_proba(x)[:, 1]))
    said = "Its own threshold is used: "
    tuned = TunedThresholdClassifierCV(plain, cv=3, scoring=make_scorer(f1_score)).fit(x, y)
    turned = TunedThresholdClassifierCV(
        plain, cv=3, scoring=make_scorer(f1_score, pos_label=0)
    ).fit(x, y)
    return {
        "fixed": (
            FixedThresholdClassifier(plain, threshold=0.3),
            f"{said}0.3 of its predict_proba.",
        ),
        "of class 0": (
            FixedThresholdClassifier(plain, threshold=0.3, pos_label=0),
            f"{said}0.3 of its predict_proba.",
        ),
        "by decision function": (
            FixedThresholdClassifier(plain, **by_odds),
            f"{said}-0.4 of its decision_function, by the logistic function.",
        ),
        "only decision function": (
            FixedThresholdClassifier(LinearSVC()),
            f"{said}0 of its decision_function, by the logistic function.",
        ),
        "met exactly": (
            FixedThresholdClassifier(tree, threshold=share),
            f"{said}{share:g} of its predict_proba.",
        ),
        "everybody": (
            FixedThresholdClassifier(plain, threshold=0.0),
            f"{said}0 of its predict_proba.",
        ),
        "in a pipeline": (
            make_pipeline(StandardScaler(), FixedThresholdClassifier(plain, threshold=0.3)),
            f"{said}0.3 of its predict_proba.",
        ),
        "searched for": (
            GridSearchCV(FixedThresholdClassifier(plain), {"threshold": [0.3]}, cv=2),
            f"{said}0.3 of its predict_proba.",
        ),
        "tuned": (tuned, f"{said}{tuned.best_threshold_:g} of its predict_proba."),
        "tuned for class 0": (turned, f"{said}{turned.best_threshold_:g} of its predict_proba."),
    }


def test_labels_are_those_of_a_classifier_with_a_threshold(
    graph: SensitiveGraph, worlds: Worlds, other: World
) -> None:
    everyone = torch.arange(60)
    for kind, (model, note) in own_thresholds(graph).items():
        model.fit(graph.x.numpy(), graph.y.numpy())
        adapter = adapt(model)
        adapter.check(worlds)
        for world in (worlds.factual, other):
            labels = adapter.scores(world, everyone) > adapter.threshold
            np.testing.assert_array_equal(labels, model.predict(world.graph.x.numpy()), kind)
        assert adapter.notes == (NO_EDGES, note), kind


class Disagrees(LinearSVC):  # type: ignore[misc]  # scikit-learn has no types
    """Decides by its decision function, and has probabilities that were fitted afterwards."""

    def predict_proba(self, x: NDArray[Any]) -> NDArray[Any]:
        positive = expit(3 * self.decision_function(x) - 1)
        return np.stack([1 - positive, positive], axis=1)


def test_labels_are_those_of_predict(graph: SensitiveGraph, worlds: Worlds, other: World) -> None:
    model = Disagrees().fit(graph.x.numpy(), graph.y.numpy())
    everyone = torch.arange(60)
    usual = model.predict_proba(other.graph.x.numpy())[:, 1]
    assert ((usual > 0.5) != model.predict(other.graph.x.numpy())).any()
    adapter = adapt(model)
    adapter.check(worlds)
    scores = adapter.scores(other, everyone)
    np.testing.assert_allclose(scores, expit(model.decision_function(other.graph.x.numpy())))
    np.testing.assert_array_equal(scores > 0.5, model.predict(other.graph.x.numpy()))
    assert adapter.threshold == 0.5
    assert adapter.notes == (
        NO_EDGES,
        "Its predict uses its decision_function, not its predict_proba: so does this audit, with "
        "the logistic function of it cut at 0.5.",
    )
    # Whoever says where to cut, says what is cut: the probabilities.
    for chosen in (adapt(model, threshold=0.4), adapt(adapter, threshold=0.4)):
        chosen.check(worlds)
        np.testing.assert_allclose(chosen.scores(other, everyone), usual, rtol=1e-6)
        assert chosen.threshold == 0.4
        assert chosen.notes == (NO_EDGES,)


def test_labels_that_no_score_gives_are_noted(graph: SensitiveGraph, worlds: Worlds) -> None:
    class Stubborn(LogisticRegression):  # type: ignore[misc]  # scikit-learn has no types
        """Answers 1 to five people more than its scores say."""

        def predict(self, x: NDArray[Any]) -> NDArray[Any]:
            scores = self.predict_proba(x)[:, 1]
            lowest = np.argsort(scores)[:5]
            assert (scores[lowest] <= 0.5).all()
            answers: NDArray[Any] = (scores > 0.5).astype(int)
            answers[lowest] = 1
            return answers

    model = Stubborn().fit(graph.x.numpy(), graph.y.numpy())
    adapter = adapt(model)
    adapter.check(worlds)
    assert adapter.threshold == 0.5
    np.testing.assert_allclose(
        adapter.scores(worlds.factual, SOME),
        model.predict_proba(graph.x.numpy())[SOME.numpy(), 1],
        rtol=1e-6,
    )
    assert adapter.notes == (
        NO_EDGES,
        "Its predict and its scores cut at 0.5 differ for 5 of 60 people: this audit uses the "
        "scores cut at 0.5.",
    )
    evaluation = measure(model, worlds, nodes=SOME, self_people=0)
    assert adapter.notes[1] in evaluation.notes


def test_a_predict_that_exits(graph: SensitiveGraph, worlds: Worlds) -> None:
    class Exits(LogisticRegression):  # type: ignore[misc]  # scikit-learn has no types
        def predict(self, x: NDArray[Any]) -> NDArray[Any]:
            sys.exit(0)

    adapter = adapt(Exits().fit(graph.x.numpy(), graph.y.numpy()))
    with pytest.raises(ParameterError, match="got SystemExit: 0; allowed: a model that answers"):
        adapter.check(worlds)


def test_a_predict_that_works_in_place_harms_nothing(graph: SensitiveGraph, worlds: Worlds) -> None:
    class InPlace(LogisticRegression):  # type: ignore[misc]  # scikit-learn has no types
        def predict(self, x: NDArray[Any]) -> NDArray[Any]:
            answers: NDArray[Any] = super().predict(x)
            x[:] = 0
            return answers

    adapter = adapt(InPlace().fit(graph.x.numpy(), graph.y.numpy()))
    before = worlds.graph.fingerprint()
    adapter.check(worlds)
    assert adapter.notes == (NO_EDGES,)
    assert worlds.graph.fingerprint() == before


def test_a_classifier_that_only_votes(graph: SensitiveGraph, worlds: Worlds) -> None:
    votes = VotingClassifier([("a", LogisticRegression())]).fit(graph.x.numpy(), graph.y.numpy())
    with pytest.raises(ParameterError, match="got AttributeError: "):
        TableAdapter(votes).check(worlds)
