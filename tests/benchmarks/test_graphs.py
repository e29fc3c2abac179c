"""The graphs of benchmarks: their degrees, their draws, their signal."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

from benchmarks.bench.graphs import make_graph
from benchmarks.bench.plan import KINDS
from fairgear.graph import degrees


@pytest.mark.parametrize("kind", KINDS)
def test_the_average_degree_is_about_what_is_asked_for(kind: str) -> None:
    graph = make_graph(kind, 5000, degree=10)
    assert graph.edge_index.shape[1] / 5000 == pytest.approx(10, rel=0.08)
    assert graph.x.shape == (5000, 32)


@pytest.mark.parametrize("kind", KINDS)
def test_a_seed_gives_one_graph_and_another_seed_another(kind: str) -> None:
    one, same, other = (make_graph(kind, 800, seed=seed) for seed in (0, 0, 1))
    assert one.fingerprint() == same.fingerprint()
    assert one.fingerprint("edge_index") != other.fingerprint("edge_index")


def test_attachment_has_a_heavy_tail_and_similarity_has_none() -> None:
    """P(degree ≥ d) ~ d⁻² of preferential attachment, by Hill's estimate from the largest."""
    heavy, light = (
        np.sort(degrees(make_graph(kind, 20_000).edge_index, 20_000).numpy()) for kind in KINDS[:2]
    )
    tail = heavy[-500:].astype(float)
    exponent = 1 / np.log(tail[1:] / tail[0]).mean()
    assert 1.6 < exponent < 2.6
    assert heavy[-1] > 20 * np.median(heavy)
    assert light[-1] < 3 * np.median(light)


@pytest.mark.parametrize("kind", KINDS)
def test_labels_can_be_learned_and_groups_differ(kind: str) -> None:
    graph = make_graph(kind, 3000)
    x, y = graph.x.numpy(), graph.y.numpy()
    train, test = graph.train_mask.numpy(), graph.test_mask.numpy()
    fitted = LogisticRegression(max_iter=500).fit(x[train], y[train])
    assert roc_auc_score(y[test], fitted.decision_function(x[test])) > 0.75
    assert torch.equal(graph.x[:, graph.sens_column or 0].long(), graph.sens)
    apart = x[graph.sens == 1].mean(axis=0) - x[graph.sens == 0].mean(axis=0)
    np.testing.assert_allclose(apart[:15], 0.5, atol=0.2)
    np.testing.assert_allclose(apart[15:31], 0.0, atol=0.2)
