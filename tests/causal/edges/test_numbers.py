"""Edge laws where the attribute is a number, and laws of arcs for several groups."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from scipy.special import logsumexp
from sklearn.linear_model import LinearRegression, LogisticRegression

from fairgear import SensitiveGraph
from fairgear.causal import FittedCausalModel
from fairgear.causal.edges.dyads import Arcs, DyadModel, DyadRegression, parameters_of
from fairgear.causal.edges.kernel import Floats
from fairgear.causal.edges.law import EdgeLaw
from fairgear.causal.edges.linked import LinkLaw
from fairgear.causal.edges.model import EdgeModel, World
from fairgear.causal.edges.pairs import Factual, pairs_of
from fairgear.causal.edges.regression import PairRegression
from fairgear.causal.edges.terms import CosineTerms, DistanceTerms
from fairgear.testing import check_causal_model
from tests.causal.edges.graphs import BIG, adjacency_of, alike, chances, noise

# intercept, likeness, degree, difference, sum
TRUTH = np.array([-4.0, 4.0, 0.0, -1.2, 0.4])
FAR = np.array([-4.5, 3.0, 0.2, 0.8, -0.3])


def aged(n: int, seed: int = 0, theta: Floats = TRUTH) -> Factual:
    """People of some age whose edges follow `theta`, with independent edges."""
    rng = np.random.default_rng(seed)
    age = rng.integers(20, 70, n) + np.round(rng.random(n), 3)
    table = rng.standard_normal((n, 3)) * [1.0, 5.0, 0.2] + 0.01 * age[:, None]
    draft = Factual(np.arange(n) + BIG, np.arange(n), table, age, np.empty((2, 0), np.int64), 0)
    p = by_hand(draft, table, age, theta, np.zeros((n, n)))
    edges = np.stack(np.nonzero(np.triu(rng.random((n, n)) < p, 1)))
    return replace(draft, edges=edges)


def by_hand(drawn: Factual, table: Floats, age: Floats, theta: Floats, adjacency: Floats) -> Floats:
    """p of every pair, one after another."""
    n, mean, sd = len(age), drawn.sens.mean(), drawn.sens.std()
    likeness = alike(table, 1 / drawn.table.std(axis=0) / np.sqrt(table.shape[1]))
    result = np.zeros((n, n))
    for i, j in product(range(n), repeat=2):
        known = adjacency[i].sum() - adjacency[i, j], adjacency[j].sum() - adjacency[i, j]
        logit = theta[0] + theta[1] * likeness[i, j]
        logit += theta[2] * (np.log(1 + known[0]) + np.log(1 + known[1]))
        logit += theta[3] * abs(age[i] - age[j]) / sd
        logit += theta[4] * (age[i] + age[j] - 2 * mean) / sd
        result[i, j] = 1 / (1 + np.exp(-logit))
    return result


def terms_of(drawn: Factual) -> DistanceTerms:
    return DistanceTerms.of(drawn.table, None, drawn.groups, drawn.code)


def written_out(drawn: Factual, world: World, theta: Floats) -> Floats:
    matrix = adjacency_of(drawn)
    before = by_hand(drawn, drawn.table, drawn.sens, theta, matrix)
    after = by_hand(drawn, world.table, world.sens, theta, matrix)
    return chances(matrix, before, after)


def world_of(drawn: Factual, age: Floats) -> World:
    return World(drawn, drawn.table + 0.05 * (age - drawn.sens)[:, None], age)


@pytest.mark.parametrize("theta", [TRUTH, FAR], ids=["alike", "apart"])
@pytest.mark.parametrize("which", ["one value", "a permutation", "some people"])
def test_worlds_are_those_written_out(theta: Floats, which: str) -> None:
    drawn = aged(70, 1)
    rng = np.random.default_rng(2)
    age = {
        "one value": np.full(70, 31.5),
        "a permutation": rng.permutation(drawn.sens),
        "some people": np.where(rng.random(70) < 0.3, 90.0 + rng.random(70), drawn.sens),
    }[which]
    world, model = world_of(drawn, age), EdgeModel(terms_of(drawn), theta, np.ones(5))
    expected = noise(drawn.ids, 3) < written_out(drawn, world, theta)
    np.fill_diagonal(expected, False)
    got = adjacency_of(replace(drawn, edges=model.edges(world, 3)))
    assert np.array_equal(got, expected)
    assert not np.array_equal(got, adjacency_of(drawn))


def test_worlds_of_the_cosine_are_those_written_out() -> None:
    drawn, theta = aged(60, 2), np.array([-1.5, 1.0, -0.9])
    terms = CosineTerms.of(drawn.table, None, 0, drawn.code)
    assert terms.parameters == ("intercept", "cosine", "difference")
    age = np.random.default_rng(0).permutation(drawn.sens)
    world, sd = world_of(drawn, age), drawn.sens.std()

    def p(table: Floats, sens: Floats) -> Floats:
        unit = table / np.linalg.norm(table, axis=1, keepdims=True)
        logit = theta[0] + theta[1] * unit @ unit.T
        logit = logit + theta[2] * np.abs(sens[:, None] - sens) / sd
        found: Floats = 1 / (1 + np.exp(-logit))
        return found

    matrix = adjacency_of(drawn)
    chance = chances(matrix, p(drawn.table, drawn.sens), p(world.table, age))
    expected = noise(drawn.ids, 1) < chance
    np.fill_diagonal(expected, False)
    got = EdgeModel(terms, theta, theta).edges(world, 1)
    assert np.array_equal(adjacency_of(replace(drawn, edges=got)), expected)


@pytest.mark.parametrize("people", [3, 60])
def test_likely_pairs_are_bounded_from_above(people: int) -> None:
    """Nobody is overlooked: exactly where few values are set, from above where many are."""
    drawn = aged(80, 3)
    terms, rng = terms_of(drawn), np.random.default_rng(1)
    for _ in range(20):
        theta = rng.normal(size=5) * 2
        sens = drawn.sens.copy()
        sens[:people] = rng.uniform(0, 100, people)
        own = rng.normal(size=80)
        lift, places = terms.lift(theta, own, sens, sens[:people])
        i, j = (part.ravel() for part in np.meshgrid(np.arange(people), np.arange(80)))
        found = lift[0, places[i], i] + lift[1, places[i], j]
        level = terms.coefficients(theta).level(terms.between(sens[i], sens[j]))
        exact = theta[0] + own[i] + own[j] + level
        assert (found >= exact - 1e-9).all()
        if people <= 32:
            np.testing.assert_allclose(found, exact, atol=1e-9)


def test_parameters_agree_with_another_solver() -> None:
    drawn = aged(150, 4)
    pairs = pairs_of(drawn, 0)
    i, j = pairs.first, pairs.second
    matrix, sd = adjacency_of(drawn), drawn.sens.std()
    others = [np.log(1 + matrix[k].sum(axis=1) - pairs.joined) for k in (i, j)]
    design = np.stack(
        [
            alike(drawn.table)[i, j],
            others[0] + others[1],
            np.abs(drawn.sens[i] - drawn.sens[j]) / sd,
            (drawn.sens[i] + drawn.sens[j] - 2 * drawn.sens.mean()) / sd,
        ],
        axis=1,
    )
    solver = LogisticRegression(C=np.inf, solver="newton-cholesky", tol=1e-10)
    solver.fit(design, pairs.joined)
    expected = np.concatenate([solver.intercept_, solver.coef_[0]])
    got = PairRegression(terms_of(drawn), drawn, pairs).fit()
    np.testing.assert_allclose(got, expected, rtol=2e-3, atol=2e-3)


def test_a_graph_drawn_from_the_model_gives_back_its_parameters() -> None:
    inside, found = [], []
    for seed in range(60):
        drawn = aged(90, seed)
        regression = PairRegression(terms_of(drawn), drawn, pairs_of(drawn, seed))
        theta = regression.fit()
        low, high = EdgeModel(terms_of(drawn), theta, regression.variance(theta)).intervals().T
        inside.append((low <= TRUTH) & (high >= TRUTH))
        found.append(theta)
    # 95 % intervals; 60 graphs with five parameters tell their share to about 2 %.
    assert 0.90 <= np.mean(inside) <= 0.99
    error = np.mean(found, axis=0) - TRUTH
    assert (np.abs(error) < 4 * np.std(found, axis=0) / np.sqrt(60) + 0.05).all()


def test_a_graph_that_follows_p_becomes_one_that_follows_p_of_the_new_world() -> None:
    base = aged(40, 5)
    age = np.random.default_rng(0).permutation(base.sens)
    table, nobody = world_of(base, age).table, np.zeros((40, 40))
    theta = np.array([-3.0, 4.0, 0.0, -0.9, 0.5])
    before, after = (
        by_hand(base, rows, sens, theta, nobody)
        for rows, sens in ((base.table, base.sens), (table, age))
    )
    count, graphs, rng = np.zeros((40, 40)), 300, np.random.default_rng(0)
    for seed in range(graphs):
        edges = np.stack(np.nonzero(np.triu(rng.random((40, 40)) < before, 1)))
        drawn = replace(base, edges=edges)
        model = EdgeModel(terms_of(drawn), theta, np.ones(5))
        first, second = model.edges(World(drawn, table, age), seed)
        count[first, second] += 1
    upper = np.triu_indices(40, 1)
    p, got = after[upper], count[upper]
    scores = (got - graphs * p) / np.sqrt(graphs * p * (1 - p))
    assert np.mean(scores**2) == pytest.approx(1.0, abs=0.2)
    assert abs(scores.mean()) < 4 / np.sqrt(len(scores))
    assert np.abs(after - before).max() > 0.2


def test_the_law_is_calibrated_and_read_from_a_file() -> None:
    drawn = aged(200, 6, np.array([-3.0, 5.0, 0.0, -2.0, 0.6]))
    law = EdgeLaw.of("distance", drawn, None, gate=True, seed=0)
    assert law.open
    assert law.held_out is not None
    assert law.held_out.auc > 0.8
    assert law.held_out.expected == pytest.approx(law.held_out.actual, rel=0.02)
    assert list(law.quality()["parameters"])[3:] == ["difference", "sum"]
    again = EdgeLaw.from_state(*law.state())
    world = world_of(drawn, np.full(200, 44.0))
    assert np.array_equal(again.pairs(world, 1, exact=True), law.pairs(world, 1, exact=True))
    assert again.quality() == law.quality()


def test_the_unit_of_the_number_does_not_count() -> None:
    drawn = aged(80, 7)
    days = replace(drawn, sens=365.25 * drawn.sens + 10**6)
    one, other = (PairRegression(terms_of(of), of, pairs_of(of, 0)).fit() for of in (drawn, days))
    np.testing.assert_allclose(one, other, atol=1e-7)


def society(kind: str, *, weighted: bool = False, n: int = 90, seed: int = 0) -> SensitiveGraph:
    """Arcs by dyads: to those of like age and to the older, or by a table of three groups."""
    rng = np.random.default_rng(seed)
    sens: NDArray[Any] = rng.integers(0, 3, n)
    if kind == "number":
        sens = rng.uniform(20, 70, n)
    z = rng.normal(size=(n, 2))
    apart = np.sqrt(((z[:, None] - z[None]) ** 2).mean(axis=2))
    level = -4.0 + 4 / (1 + apart) + between(kind, sens)
    arcs = np.zeros((n, n), dtype=bool)
    for i in range(n):
        for j in range(i):
            up, down = level[i, j], level[j, i]
            logs = np.array([0, up, down, up + down + 1.2])
            state = rng.choice(4, p=np.exp(logs - logsumexp(logs)))
            arcs[i, j], arcs[j, i] = state % 2 == 1, state >= 2
    edges = torch.from_numpy(np.stack(np.nonzero(arcs)))
    weight = torch.from_numpy(np.exp(between(kind, sens) / 2 + 0.3 * rng.normal(size=(n, n))))
    return SensitiveGraph(
        torch.from_numpy(np.column_stack([sens, z])).float(),
        edges,
        None,
        torch.from_numpy(sens),
        sens_column=0,
        sens_kind="continuous" if kind == "number" else "categorical",
        node_id=torch.from_numpy(rng.permutation(n) * 3 + 5),
        directed=True,
        edge_weight=weight[edges[0], edges[1]] if weighted else None,
    )


# Of groups: G[s_i, s_j], asymmetric; of a number: its difference, the sender's and the receiver's.
G = np.array([[0.0, 1.2, -0.6], [-0.4, 0.8, 0.5], [0.6, -0.8, 1.0]])
B, OUT, IN = -0.9, 0.1, 0.6


def between(kind: str, sens: NDArray[Any]) -> Floats:
    if kind == "groups":
        found: Floats = G[sens[:, None], sens]
        return found
    z = (sens - sens.mean()) / sens.std()
    return np.asarray(B * np.abs(z[:, None] - z) + OUT * z[:, None] + IN * z)


KINDS = ["groups", "number"]


@pytest.mark.parametrize("kind", KINDS)
def test_the_likelihood_of_dyads_is_that_of_a_loop(kind: str) -> None:
    graph = society(kind, n=40)
    arcs = Arcs.of(graph)
    factual = arcs.factual
    terms = DistanceTerms.of(factual.table, 0, factual.groups, factual.code)
    regression = DyadRegression(terms, arcs, pairs_of(factual, 0))
    theta = np.random.default_rng(1).normal(size=len(parameters_of(terms))) / 3
    levels = theta[4:-1]
    there = set(map(tuple, arcs.arcs.T.tolist()))
    columns = factual.table[:, 1:] / factual.table[:, 1:].std(axis=0)
    z = (factual.sens - factual.sens.mean()) / factual.sens.std()

    def level(a: int, b: int) -> float:
        likeness = 1 / (1 + np.sqrt(((columns[a] - columns[b]) ** 2).mean()))
        out = sum((a, k) in there for k in range(40) if k != b)
        back = sum((k, b) in there for k in range(40) if k != a)
        found = (
            theta[0] + theta[1] * likeness + theta[2] * np.log1p(out) + theta[3] * np.log1p(back)
        )
        if kind == "groups":
            return float(found + [0.0, *levels][3 * factual.sens[a] + factual.sens[b]])
        return float(found + levels @ [abs(z[a] - z[b]), z[a], z[b]])

    total = 0.0
    for i in range(40):
        for j in range(i):
            up, down = level(i, j), level(j, i)
            logs = [0, up, down, up + down + theta[-1]]
            total += logs[((i, j) in there) + 2 * ((j, i) in there)] - float(logsumexp(logs))
    value = regression._likelihood(theta, np.ones(40 * 39 // 2, dtype=bool))[0]
    penalty = 0.5 * float(regression._penalty @ theta**2)
    assert value + penalty == pytest.approx(total, rel=1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_the_truth_of_arcs_is_within_its_interval(kind: str) -> None:
    graph = society(kind, n=240)
    model, quality = DyadModel.fitted(Arcs.of(graph), 0, seed=0)
    names, wide = parameters_of(model.terms), 4 * np.sqrt(model.variance)
    truth = {"difference": B, "number out": OUT, "number in": IN}
    if kind == "groups":
        truth = {f"groups {a}-{b}": G[a, b] for a, b in product(range(3), repeat=2) if a or b}
    for name, value in {**truth, "reciprocity": 1.2}.items():
        at = names.index(name)
        assert abs(model.theta[at] - value) < wide[at], name
        assert wide[at] < 1.5
    assert quality.expected == pytest.approx(quality.actual, rel=0.02)


@pytest.mark.parametrize("kind", KINDS)
def test_weights_of_arcs_follow_the_attribute(kind: str) -> None:
    graph = society(kind, weighted=True, n=120)
    law = LinkLaw.of(graph, gate=False, seed=0)
    assert law.weights is not None
    arcs = Arcs.of(graph)
    factual = World(arcs.factual, arcs.factual.table, arcs.factual.sens)
    assert graph.edge_weight is not None
    target = np.log(graph.canonical.weights)  # type: ignore[arg-type]  # it has weights
    design = law.weights.design(factual, arcs, arcs.arcs)
    known = LinearRegression(fit_intercept=False).fit(design, target)
    np.testing.assert_allclose(design @ law.weights.theta, known.predict(design), atol=1e-8)
    names = parameters_of(law.weights.terms)
    if kind == "number":
        assert law.weights.theta[names.index("number in")] == pytest.approx(IN / 2, abs=0.06)
    else:
        assert law.weights.theta[names.index("groups 0-1")] == pytest.approx(0.6, abs=0.2)
    # The noise of an edge that stays is kept.
    sens = np.random.default_rng(0).permutation(arcs.factual.sens)
    there = World(arcs.factual, arcs.factual.table, sens)
    old = np.exp(target)
    moved = law.weights.changed(there, arcs, arcs.arcs, old)
    eta = [
        law.weights.design(world, arcs, arcs.arcs) @ law.weights.theta for world in (factual, there)
    ]
    np.testing.assert_allclose(np.log(moved) - eta[1], target - eta[0], atol=1e-9)
    assert np.array_equal(law.weights.changed(factual, arcs, arcs.arcs, old), old)


@pytest.mark.parametrize("weighted", [False, True])
def test_arcs_of_several_groups_keep_every_law(weighted: bool) -> None:
    graph = society("groups", weighted=weighted)
    check_causal_model(lambda: FittedCausalModel(gate=False), graph)
    plain = graph.replace(edge_index=graph.edge_index, directed=True)
    model = FittedCausalModel(gate=False).fit(plain)
    world = model.counterfactual(plain, 2, seed=1)
    assert world.fingerprint("edge_index") != plain.fingerprint("edge_index")
    assert any("Arcs follow a fitted model" in note for note in model.notes)


def test_arcs_of_many_groups_share_a_level() -> None:
    terms = DistanceTerms(np.array([0]), np.ones(1), 6)
    assert parameters_of(terms)[4:] == ("same group", "reciprocity")
    one, other = np.array([0, 3, 5]), np.array([0, 4, 5])
    assert terms.between_ends(one, other)[0].tolist() == [True, False, True]
