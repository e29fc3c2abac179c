"""The laws of arcs and weights, against brute force, other optimisers and their own noise."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import logsumexp
from scipy.stats import kstest
from sklearn.linear_model import LinearRegression

from fairgear import SensitiveGraph
from fairgear.causal import FittedCausalModel, for_graph
from fairgear.causal.edges.dyads import Arcs, DyadModel, DyadRegression, moved_states
from fairgear.causal.edges.linked import LinkLaw
from fairgear.causal.edges.pairs import pairs_of
from fairgear.causal.edges.terms import DistanceTerms
from fairgear.causal.selection import named
from fairgear.errors import GraphError
from fairgear.testing import check_causal_model

Floats = NDArray[np.float64]
N = 90
KINDS = [(True, False), (False, True), (True, True)]


def society(directed: bool, weighted: bool, seed: int = 0, n: int = N) -> SensitiveGraph:
    """People who point to those like them, often return it, and prefer group 1."""
    rng = np.random.default_rng(seed)
    sens = rng.integers(0, 2, n)
    z = rng.normal(size=(n, 2)) + 0.7 * sens[:, None]
    apart = np.sqrt(((z[:, None] - z[None]) ** 2).mean(axis=2))
    level = -4.0 + 5 / (1 + apart) + 0.8 * sens[None, :] * (1 - sens[:, None])
    arcs = np.zeros((n, n), dtype=bool)
    for i in range(n):
        for j in range(i):
            up, down = level[i, j], level[j, i]
            logs = np.array([0, up, down, up + down + 1.5])
            state = rng.choice(4, p=np.exp(logs - logsumexp(logs)))
            arcs[i, j], arcs[j, i] = state % 2 == 1, state >= 2
    arcs = arcs if directed else arcs | arcs.T
    log_weight = 1 / (1 + apart) + 0.5 * rng.normal(size=(n, n))
    log_weight = log_weight if directed else (log_weight + log_weight.T) / 2
    edges = torch.from_numpy(np.stack(np.nonzero(arcs)))
    weight = torch.from_numpy(np.exp(log_weight))[edges[0], edges[1]]
    x = torch.from_numpy(np.column_stack([sens, z])).float()
    return SensitiveGraph(
        x,
        edges,
        None,
        torch.from_numpy(sens),
        sens_column=0,
        node_id=torch.from_numpy(rng.permutation(n) * 3 + 5),
        directed=directed,
        edge_weight=weight if weighted else None,
    )


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6))
def test_moved_dyads_follow_the_new_chances(seed: int) -> None:
    rng = np.random.default_rng(seed)
    old, new = (rng.dirichlet(np.ones(4) * rng.choice([0.3, 1, 5])) for _ in range(2))
    noise = (np.arange(20_000) + 0.5) / 20_000
    total = np.zeros(4)
    for state in range(4):
        given_state = np.full(len(noise), state)
        before, after = (np.repeat(p[:, None], len(noise), axis=1) for p in (old, new))
        then = moved_states(given_state, before, after, noise)
        share = np.bincount(then, minlength=4) / len(noise)
        total += old[state] * share
        # As few as possible change.
        assert share[state] == pytest.approx(min(1, new[state] / old[state]), abs=1e-4)
    np.testing.assert_allclose(total, new, atol=5e-4)


def test_dyads_whose_chances_stay_never_change() -> None:
    rng = np.random.default_rng(0)
    chances = rng.dirichlet(np.ones(4), size=1000).T
    state, noise = rng.integers(0, 4, 1000), rng.random(1000)
    assert np.array_equal(moved_states(state, chances, chances.copy(), noise), state)


def brute_force(graph: SensitiveGraph, theta: Floats) -> float:
    """The log-likelihood of the dyads, one after another."""
    order = graph.node_id.argsort().numpy()
    table, sens = graph.x.double().numpy()[order], graph.sens.numpy()[order]
    place = np.argsort(order)
    arcs = set(map(tuple, place[graph.edge_index.numpy()].T.tolist()))
    columns = table[:, 1:] / table[:, 1:].std(axis=0)
    total = 0.0
    for i in range(N):
        for j in range(i):
            apart = np.sqrt(((columns[i] - columns[j]) ** 2).mean())

            def level(a: int, b: int, alike: float = 1 / (1 + apart)) -> float:
                out = sum((a, k) in arcs for k in range(N) if k != b)
                back = sum((k, b) in arcs for k in range(N) if k != a)
                group = [0.0, *theta[4:7]][2 * sens[a] + sens[b]]
                return float(
                    theta[0] + theta[1] * alike + theta[2] * np.log1p(out)
                    + theta[3] * np.log1p(back) + group
                )  # fmt: skip

            up, down = level(i, j), level(j, i)
            a, b = (i, j) in arcs, (j, i) in arcs
            logs = [0, up, down, up + down + theta[7]]
            total += logs[a + 2 * b] - float(logsumexp(logs))
    return total


def regression(graph: SensitiveGraph) -> DyadRegression:
    arcs = Arcs.of(graph)
    terms = DistanceTerms.of(arcs.factual.table, 0)
    return DyadRegression(terms, arcs, pairs_of(arcs.factual, 0))


def test_the_likelihood_is_that_of_a_loop_and_its_slopes_are_right() -> None:
    graph = society(directed=True, weighted=False)
    found = regression(graph)
    everyone = np.ones(N * (N - 1) // 2, dtype=bool)
    theta = np.array([-2.0, 1.5, 0.2, 0.3, 0.4, -0.3, 0.2, 1.0])
    value, gradient, curvature = found._likelihood(theta, everyone)
    penalty = 0.5 * float(found._penalty @ theta**2)
    assert value + penalty == pytest.approx(brute_force(graph, theta), rel=1e-9)
    for k in range(8):
        step = np.zeros(8)
        step[k] = 1e-5
        above, below = (found._likelihood(theta + s * step, everyone) for s in (1, -1))
        assert gradient[k] == pytest.approx((above[0] - below[0]) / 2e-5, rel=1e-4, abs=1e-3)
        np.testing.assert_allclose(curvature[k], (below[1] - above[1]) / 2e-5, rtol=1e-4, atol=1e-3)


def test_the_fit_is_that_of_another_optimiser() -> None:
    found = regression(society(directed=True, weighted=False))
    everyone = np.ones(N * (N - 1) // 2, dtype=bool)
    theta = found.fit()

    def falling(t: Floats) -> tuple[float, Floats]:
        value, gradient, _ = found._likelihood(t, everyone)
        return -value, -gradient

    other = minimize(falling, np.zeros(8), jac=True, method="BFGS", tol=1e-6)
    np.testing.assert_allclose(theta, other.x, atol=1e-4)


def test_the_truth_is_within_its_interval() -> None:
    graph = society(directed=True, weighted=False, n=300)
    model, quality = DyadModel.fitted(Arcs.of(graph), 0, seed=0)
    wide = 3 * np.sqrt(model.variance)
    # Reciprocity is 1.5; 0-1 is preferred by 0.8 to 0-0, and 1-0 is not.
    for place, truth in ((7, 1.5), (4, 0.8), (5, 0.0)):
        assert abs(model.theta[place] - truth) < wide[place]
    assert quality.auc > 0.6
    assert quality.expected == pytest.approx(quality.actual, rel=0.02)


@pytest.mark.parametrize(("directed", "weighted"), KINDS)
def test_it_keeps_every_law(directed: bool, weighted: bool) -> None:
    graph = society(directed, weighted)
    check_causal_model(lambda: FittedCausalModel(gate=False), graph)
    check_causal_model(lambda: FittedCausalModel(edges="fixed"), graph)


@pytest.mark.parametrize(("directed", "weighted"), KINDS)
def test_worlds_move_what_follows_from_changed_people_alone(directed: bool, weighted: bool) -> None:
    graph = society(directed, weighted)
    model = FittedCausalModel(gate=False).fit(graph)
    sens = graph.sens.clone()
    sens[:30] = 1 - sens[:30]
    world = model.counterfactual(graph, sens, seed=1)
    assert world.fingerprint("edge_index") != graph.fingerprint("edge_index")

    def among(one: SensitiveGraph) -> dict[tuple[int, int], float]:
        weight = one.edge_weight
        values = torch.ones(one.edge_index.shape[1]) if weight is None else weight
        pairs = map(tuple, one.edge_index.T.tolist())
        found = dict(zip(pairs, values.tolist(), strict=True))
        return {key: value for key, value in found.items() if min(key) >= 30}

    assert among(world) == among(graph)
    near = model.local(graph, torch.tensor([4]), 1 - graph.sens[4:5], seed=1)
    alone = graph.sens.clone()
    alone[4] = 1 - alone[4]
    whole = model.counterfactual(graph, alone, seed=1)
    assert near.graph().fingerprint() == whole.fingerprint()
    assert any("fitted model" in note for note in model.notes)


@pytest.mark.parametrize("directed", [True, False])
def test_weights_keep_what_the_regression_leaves(directed: bool) -> None:
    graph = society(directed, weighted=True, n=200)
    model = FittedCausalModel(gate=False).fit(graph)
    law = model._links
    assert isinstance(law, LinkLaw)
    assert law.weights is not None
    people = Arcs.of(graph) if directed else Arcs.of(graph).factual
    factual = model._factual(graph)
    before = model._world(factual, factual.sens, 0)
    after = model._world(factual, 1 - factual.sens, 0)
    ends = Arcs.of(graph).arcs
    ends = ends if directed else ends[:, ends[0] < ends[1]]
    assert graph.edge_weight is not None
    place = graph.canonical.rows.numpy()[ends]
    table = {
        key: w
        for key, w in zip(
            map(tuple, graph.edge_index.T.tolist()), graph.edge_weight.tolist(), strict=True
        )
    }
    weight = np.array([table[tuple(pair)] for pair in place.T.tolist()])
    # The regression is scikit-learn's.
    design = law.weights.design(before, people, ends)
    known = LinearRegression(fit_intercept=False).fit(design, np.log(weight))
    np.testing.assert_allclose(design @ law.weights.theta, known.predict(design), atol=1e-8)
    assert law.weights.explained == pytest.approx(known.score(design, np.log(weight)))
    # The noise of an edge is the same in the other world.
    moved = law.weights.changed(after, people, ends, weight)
    other = law.weights.design(after, people, ends)
    left = np.log(weight) - known.predict(design)
    np.testing.assert_allclose(np.log(moved) - known.predict(other), left, atol=1e-8)
    assert np.array_equal(law.weights.changed(before, people, ends, weight), weight)
    # New ones have noise of the same spread, and their own in each direction.
    low, high = np.triu_indices(200, 1)
    new = np.log(law.weights.new(before, people, np.stack([low, high]), 3))
    eta = law.weights.design(before, people, np.stack([low, high])) @ law.weights.theta
    noise = (new - eta) / law.weights.spread
    assert kstest(noise, "norm").pvalue > 1e-3
    back = law.weights.new(before, people, np.stack([high, low]), 3)
    assert np.allclose(np.log(back), new) != directed


def test_the_default_holds_edges_fixed_and_says_so() -> None:
    graph = society(directed=True, weighted=True)
    model = for_graph(graph)
    world = model.counterfactual(graph, 1 - graph.sens)
    assert world.fingerprint("edge_index") == graph.fingerprint("edge_index")
    assert not torch.equal(world.x, graph.x)
    expected = "Edges are held fixed: no law of directed and weighted edges is fitted."
    assert expected in model.notes
    assert any("rcs" in note for note in named("fitted", graph).notes)


def test_what_is_refused() -> None:
    graph = society(directed=True, weighted=False)
    with pytest.raises(GraphError, match="undirected, unweighted ones"):
        FittedCausalModel(edges="cosine").fit(graph)
    model = FittedCausalModel(edges="fixed").fit(graph)
    with pytest.raises(GraphError, match="directed edges, as in the fit"):
        model.counterfactual(society(directed=False, weighted=True), 1)


def test_few_arcs_and_many_people_stay_fixed(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = society(directed=True, weighted=False)
    few = FittedCausalModel(gate=False).fit(graph.replace(edge_index=graph.edge_index[:, :20]))
    assert any("20 arcs among" in note and "held fixed" in note for note in few.notes)
    monkeypatch.setattr("fairgear.causal.edges.linked.MOST_PEOPLE", 50)
    many = FittedCausalModel().fit(graph)
    assert any("90 people are more than 50" in note for note in many.notes)
    world = many.counterfactual(graph, 1 - graph.sens)
    assert world.fingerprint("edge_index") == graph.fingerprint("edge_index")
