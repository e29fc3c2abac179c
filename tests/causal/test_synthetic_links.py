"""The synthetic model with directions and weights, against a loop over all pairs."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from fairgear import SensitiveGraph
from fairgear.causal import SyntheticCausalModel, SyntheticSettings, at_random, for_graph, sample
from fairgear.errors import GraphError
from fairgear.graph import split
from fairgear.testing import check_causal_model

KINDS = [(True, False), (False, True), (True, True)]


def drawn(directed: bool, weighted: bool, n: int = 120) -> SensitiveGraph:
    settings = SyntheticSettings(
        n=n, d_z=8, d=4, a=0.15, w_s=3.0, w_n=1.0, threshold=0.6, directed=directed,
        weighted=weighted,
    )  # fmt: skip
    return sample(settings, seed=3)


def by_hand(
    graph: SensitiveGraph, sens: torch.Tensor
) -> tuple[dict[tuple[int, int], float], list[int]]:
    """Arcs with their weights, and labels, one pair after another."""
    made, z = graph.mechanism, graph.latent.numpy()  # type: ignore[union-attr]  # sampled
    w, how = made.w.numpy(), made.settings
    own = (z * w).sum(axis=1)
    arcs = {}
    for i in range(len(z)):
        for j in range(len(z)):
            near = z[i] @ z[j] / np.sqrt((z[i] @ z[i]) * (z[j] @ z[j]))
            near += how.a * float(sens[i] == sens[j])
            if how.directed:
                near += how.reach * np.tanh(own[j] / np.sqrt(w @ w))
            if i != j and near >= how.threshold:
                arcs[i, j] = 2 ** (10 * (near - how.threshold)) if how.weighted else 1.0
    labels = []
    for i in range(len(z)):
        mine = {j: weight for (a, j), weight in arcs.items() if a == i}
        total = 1 + sum(mine.values())
        s = (float(sens[i]) + sum(weight * float(sens[j]) for j, weight in mine.items())) / total
        o = (own[i] + sum(weight * own[j] for j, weight in mine.items())) / total
        labels.append(int(own[i] + how.w_s * s + how.w_n * o > made.label_threshold))
    return arcs, labels


@pytest.mark.parametrize(("directed", "weighted"), KINDS)
def test_worlds_are_those_of_a_loop_over_all_pairs(directed: bool, weighted: bool) -> None:
    graph = drawn(directed, weighted)
    assert graph.directed == directed
    assert (graph.edge_weight is not None) == weighted
    for sens in (graph.sens, 1 - graph.sens, at_random(graph, seed=1)):
        world = for_graph(graph).counterfactual(graph, sens)
        arcs, labels = by_hand(graph, sens)
        assert [tuple(pair) for pair in world.edge_index.T.tolist()] == sorted(arcs)
        assert world.y.tolist() == labels
        if weighted:
            assert world.edge_weight is not None
            expected = [arcs[pair] for pair in sorted(arcs)]
            np.testing.assert_allclose(world.edge_weight, expected, atol=2**-9 * 1.001)


@pytest.mark.parametrize(("directed", "weighted"), KINDS)
def test_it_keeps_every_law_and_leads_back(directed: bool, weighted: bool) -> None:
    graph = split(drawn(directed, weighted))
    check_causal_model(SyntheticCausalModel, graph)
    model, sens = for_graph(graph), 1 - graph.sens
    world = model.counterfactual(graph, sens)
    assert world.fingerprint() != graph.fingerprint()
    assert model.counterfactual(world, graph.sens).fingerprint() == graph.fingerprint()
    rows = torch.tensor([5, 17])
    some = graph.sens.clone()
    some[rows] = 1 - some[rows]
    near = model.local(graph, rows, some[rows])
    assert near.graph().fingerprint() == model.counterfactual(graph, some).fingerprint()


def test_arcs_are_not_all_returned_and_go_to_those_who_score_high() -> None:
    graph = drawn(directed=True, weighted=False, n=400)
    arcs = set(map(tuple, graph.edge_index.T.tolist()))
    returned = sum((b, a) in arcs for a, b in arcs) / len(arcs)
    assert 0.2 < returned < 0.9
    own = graph.mechanism.own_scores(graph.latent)
    count = torch.bincount(graph.edge_index[1], minlength=400)
    assert np.corrcoef(own, count)[0, 1] > 0.3


def test_other_weights_are_refused() -> None:
    graph = drawn(directed=True, weighted=True)
    assert graph.edge_weight is not None
    with pytest.raises(GraphError, match="edges that differ from its equations"):
        for_graph(graph.replace(edge_weight=2 * graph.edge_weight))


def test_reach_changes_nothing_where_edges_have_no_directions() -> None:
    one, other = (sample(SyntheticSettings(n=80, reach=reach)) for reach in (0.0, 0.5))
    assert one.fingerprint() == other.fingerprint()
