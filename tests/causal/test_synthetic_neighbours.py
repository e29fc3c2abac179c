"""The dataset synthetic-neighbours: neighbours matter, groups differ, twins share noise."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.stats import skew
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

import fairgear as fg
from fairgear.causal import at_rate
from fairgear.graph import SensitiveGraph, closed_neighborhood_mean, degrees


@pytest.fixture(scope="module")
def graph() -> SensitiveGraph:
    return fg.datasets.load("synthetic-neighbours")


def seen(graph: SensitiveGraph) -> torch.Tensor:
    """What the features are made of: some latent variables and their noise."""
    assert graph.latent is not None
    settings, latent = graph.mechanism.settings, graph.latent
    found: torch.Tensor = latent[:, graph.mechanism.columns]
    found = found + settings.noise * latent[:, settings.d_z :]
    return found


def test_neighbours_say_what_own_features_do_not(graph: SensitiveGraph) -> None:
    own = graph.x.double()
    around = torch.stack([closed_neighborhood_mean(x, graph.edge_index) for x in own.t()], dim=1)
    train, test = graph.train_mask.numpy(), graph.test_mask.numpy()

    def auroc(inputs: torch.Tensor) -> float:
        x, y = inputs.numpy(), graph.y.numpy()
        model = LogisticRegression(max_iter=1000).fit(x[train], y[train])
        return float(roc_auc_score(y[test], model.decision_function(x[test])))

    assert auroc(torch.cat([own, around], dim=1)) > auroc(own) + 0.05


def test_edges_are_moderate_and_within_groups(graph: SensitiveGraph) -> None:
    counted = degrees(graph.edge_index, len(graph.x)).double()
    assert 15 < counted.mean() < 40
    source, target = graph.edge_index
    share = float((graph.sens == 1).double().mean())
    within = float((graph.sens[source] == graph.sens[target]).double().mean())
    assert within > share**2 + (1 - share) ** 2 + 0.2


def test_groups_differ_in_mean_spread_and_skewness(graph: SensitiveGraph) -> None:
    zero, one = (graph.x[graph.sens == value, 1:].double().numpy() for value in (0, 1))
    for statistic, least in ((np.mean, 0.5), (np.std, 0.3), (skew, 0.2)):
        assert np.abs(statistic(one, axis=0) - statistic(zero, axis=0)).max() > least


@pytest.mark.parametrize("value", [0, 1])
def test_features_can_be_inverted_given_the_group(graph: SensitiveGraph, value: int) -> None:
    world = fg.causal.for_graph(graph).counterfactual(graph, value)
    for column, x in zip(seen(graph).t(), world.x[:, 1:].t(), strict=True):
        # Increasing, with a slope that float32 features keep apart from 0.
        order = column.argsort()
        steps = column[order].diff()
        assert bool((x[order].double().diff()[steps > 1e-4] > 0).all())


def test_twins_share_their_noise(graph: SensitiveGraph) -> None:
    world = fg.causal.for_graph(graph).counterfactual(graph, 0)
    assert torch.equal(world.x[:, 1:], seen(graph).float())


class Equation:
    """Answers by the equation of the label, which it knows, or by a person's own part of it."""

    def __init__(self, graph: SensitiveGraph, *, own: bool) -> None:
        assert graph.latent is not None
        self._mechanism, self._latent, self._own = graph.mechanism, graph.latent, own

    def __call__(self, world: SensitiveGraph) -> torch.Tensor:
        known = self._mechanism
        scores = known.own_scores(self._latent)
        if not self._own:
            scores = known.scores(self._latent, world.sens, world.edge_index)
        answers: torch.Tensor = (scores > known.label_threshold).double()
        return answers


def test_who_reads_the_latent_flips_nobody_but_those_whose_label_changes() -> None:
    graph = fg.datasets.load("synthetic-neighbours", n=400, threshold=0.7)
    worlds = fg.auditing.Worlds(graph)
    own, whole = (
        fg.audit(
            Equation(graph, own=own), worlds, what_if_people=0, other_causal_models=False
        ).metrics
        for own in (True, False)
    )
    assert own["delta_cf"] == own["delta_cf_self"] == own["delta_cf_neighbor"] == 0
    assert whole["accuracy"] == 1
    assert whole["delta_cf"] > 0
    model = fg.causal.for_graph(graph)
    for rate in (0.0, 0.5, 1.0):
        world = model.counterfactual(graph, at_rate(graph, rate))
        assert torch.equal(Equation(graph, own=False)(world), world.y.double())


def test_options_reach_the_model() -> None:
    graph = fg.datasets.load("synthetic-neighbours", n=200, noise=0.0, seed=4)
    assert (len(graph.x), graph.name) == (200, "synthetic-neighbours")
    assert graph.latent is not None
    assert graph.latent.shape == (200, graph.mechanism.settings.d_z)
    assert graph.mechanism.settings.shape > 0
