"""Ranks as further inputs of the baselines: seen, saved, and the same near a person."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from scipy.stats import rankdata

import fairgear as fg
from fairgear import SensitiveGraph
from fairgear.causal import for_graph
from fairgear.methods import METHODS, Method, load_model
from fairgear.methods.baselines.tabular import Logistic, LogisticResidual
from fairgear.methods.baselines.whole_graph import WholeGraph

NETWORK = {"dim": 8, "steps": 10, "device": "cpu"}
SETTINGS: dict[str, dict[str, Any]] = {
    "gcn": NETWORK,
    "graphsage": NETWORK,
    "gin": NETWORK,
    "c-enc": NETWORK,
    "fairgnn": {**NETWORK, "estimator_steps": 5, "known_sens": 0, "use_sens": True},
    "nifty-gcn": NETWORK,
    "nifty-sage": NETWORK,
    "logistic": {"C": 1.0},
    "logistic-unaware": {"C": 1.0},
    "logistic-residual": {"C": 1.0},
    "logistic-projected": {"C": 1.0},
    "boosting": {"trees": 10},
}


@pytest.fixture(scope="module")
def people() -> SensitiveGraph:
    return fg.datasets.load("synthetic", n=200, threshold=0.3, a=0.05)


def fitted(name: str, people: SensitiveGraph, **settings: Any) -> Method:
    return METHODS[name](**(SETTINGS[name] | settings)).fit(people)


def test_every_baseline_is_listed() -> None:
    assert set(SETTINGS) == {name for name in METHODS if not name.startswith("gear")}


@pytest.mark.parametrize("name", SETTINGS)
def test_ranks_are_seen_and_saved(name: str, people: SensitiveGraph, tmp_path: Path) -> None:
    model = fitted(name, people, ranks=True, threshold="validation")
    scores = model.predict_proba(people)
    assert not np.allclose(scores, fitted(name, people).predict_proba(people))
    model.save(tmp_path)
    back = load_model(tmp_path, device="cpu")
    assert back.config == model.config
    assert back.threshold_ == model.threshold_
    assert np.array_equal(back.predict_proba(people), scores)


@pytest.mark.parametrize("name", SETTINGS)
def test_ranks_near_a_person_are_those_in_the_whole_world(
    name: str, people: SensitiveGraph
) -> None:
    model = fitted(name, people, ranks=True)
    causal, rows = for_graph(people), torch.tensor([5])
    sens = 1 - people.sens[rows]
    near = model.predict_near([causal.local(people, rows, sens)], [rows])
    everybody = people.sens.clone()
    everybody[rows] = sens
    whole = model.predict_proba(causal.counterfactual(people, everybody), nodes=rows)
    assert near is not None
    np.testing.assert_allclose(near, whole, atol=1e-6)


def test_the_regression_sees_standardised_ranks_behind_its_features(
    people: SensitiveGraph,
) -> None:
    model = Logistic(C=1.0, ranks=True).fit(people)
    seen, own = model.embed(people), people.x.shape[1] - 1
    assert seen.shape[1] == people.x.shape[1] + own
    plain = Logistic(C=1.0).fit(people).embed(people)
    assert np.array_equal(seen[:, : own + 1], plain)
    ranks = rankdata(people.x[:, 1:].double().numpy(), axis=0)
    expected = (ranks - ranks.mean(axis=0)) / ranks.std(axis=0)
    assert np.abs(seen[:, own + 1 :] - expected).mean() < 0.02


def test_ranks_of_residuals_do_not_follow_a_shift(people: SensitiveGraph) -> None:
    model = LogisticResidual(C=1.0, ranks=True).fit(people)
    v = model._features.v * model._features.scaler.scale  # type: ignore[operator]
    moved = people.x.clone()
    moved[:, 0] = 1 - moved[:, 0]
    moved[:, 1:] += ((1 - 2 * people.sens)[:, None] * v).float()
    world = people.replace(x=moved, sens=1 - people.sens, mechanism=None)
    np.testing.assert_allclose(model.predict_proba(world), model.predict_proba(people), atol=1e-5)


def test_networks_see_twice_the_features_and_s(people: SensitiveGraph) -> None:
    model = fitted("graphsage", people, ranks=True)
    assert isinstance(model, WholeGraph)
    inputs = model._inputs(people)
    own = people.x.shape[1] - 1
    assert inputs.x.shape[1] == 2 * own + 1
    assert torch.equal(inputs.x[:, -1], inputs.sens.float())
