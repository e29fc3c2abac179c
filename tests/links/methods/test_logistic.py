"""Logistic regression on the features of both people, against scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.preprocessing import StandardScaler

from fairgear.graph import SensitiveGraph
from fairgear.links import Pairs
from fairgear.links.methods.logistic import LinkLogistic
from tests.links.methods.graphs import split_of


def features(graph: SensitiveGraph, pairs: Pairs, *, use_sens: bool) -> NDArray[np.float64]:
    """By the definition, one pair after the other."""
    x = graph.x.double().numpy()
    if not use_sens and graph.sens_column is not None:
        x = np.delete(x, graph.sens_column, axis=1)
    x = StandardScaler().fit_transform(x)
    rows = []
    for i, j in pairs.ends.T.tolist():
        alone = [x[i], x[j]] if graph.directed else [x[i] + x[j]]
        rows.append(np.concatenate([abs(x[i] - x[j]), x[i] * x[j], *alone]))
    return np.array(rows)


@pytest.mark.parametrize("kind", ["homophilous", "directed"])
@pytest.mark.parametrize("use_sens", [True, False])
def test_it_is_that_of_scikit_learn(kind: str, use_sens: bool) -> None:
    split = split_of(kind)
    model = LinkLogistic(use_sens=use_sens).fit(split)
    parts = (split.train, split.val, split.test)
    train, val, test = (features(split.graph, part, use_sens=use_sens) for part in parts)
    scaler = StandardScaler().fit(train)
    losses = {}
    for weight in (0.001, 0.01, 0.1, 1.0, 10.0, 100.0):
        fitted = LogisticRegression(C=weight, tol=1e-8, max_iter=10_000)
        fitted.fit(scaler.transform(train), split.train.linked.numpy())
        shares = fitted.predict_proba(scaler.transform(val))
        losses[weight] = (log_loss(split.val.linked, shares), fitted)
    best = min(losses, key=lambda weight: losses[weight][0])
    assert best == model.C_
    expected = losses[best][1].predict_proba(scaler.transform(test))[:, 1]
    np.testing.assert_allclose(model.score(split.input, split.test.ends), expected, atol=2e-4)


def test_a_given_weight_and_half_are_kept() -> None:
    model = LinkLogistic(C=0.5, threshold="half").fit(split_of())
    assert (model.C_, model.threshold_) == (0.5, 0.5)


def test_without_s_it_is_blind_to_it() -> None:
    split = split_of()
    graph = split.input
    x = graph.x.clone()
    x[:, 3] = 1 - x[:, 3]
    world = graph.replace(x=x, sens=1 - graph.sens)
    blind, seeing = (LinkLogistic(use_sens=use).fit(split) for use in (False, True))
    ends = split.test.ends
    np.testing.assert_array_equal(blind.score(world, ends), blind.score(graph, ends))
    assert np.abs(seeing.score(world, ends) - seeing.score(graph, ends)).max() > 0.01
