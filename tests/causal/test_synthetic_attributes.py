"""The synthetic model where s is a number, or two attributes at once, against loops over people."""

from __future__ import annotations

import math
from functools import cache
from itertools import product
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from fairgear import SensitiveGraph
from fairgear.causal import (
    MIXED,
    SyntheticCausalModel,
    SyntheticMechanism,
    SyntheticSettings,
    assigned,
    at_random,
    changed_groups,
    for_graph,
    sample,
    whole_graph,
    with_group,
)
from fairgear.errors import GraphError, ParameterError
from fairgear.graph import split
from fairgear.graph.attributes import LEVELS
from fairgear.testing import check_causal_model

Floats = NDArray[np.float64]
SMALL: dict[str, Any] = {"n": 60, "d_z": 6, "d": 3, "a": 0.25, "w_s": 3.0, "threshold": 0.6}
S: dict[str, dict[str, Any]] = {
    "number": {"continuous": True},
    "two attributes": {"groups": 3, "second_groups": 2},
    "two of two": {"second_groups": 2},
}
REST: dict[str, dict[str, Any]] = {
    "paper": {},
    "neighbours": {"w_n": 1.5, "noise": 0.5, "shape": 0.6},
    "classes": {"classes": 3},
    "score": {"number": True},
    "directed": {"directed": True},
    "directed, weighted": {"directed": True, "weighted": True, "w_n": 1.0},
}


def drawn(kind: str, rest: str = "paper", **more: Any) -> SensitiveGraph:
    return sample(SyntheticSettings(**(SMALL | S[kind] | REST[rest] | more)), seed=3)


def by_hand(
    graph: SensitiveGraph, sens: list[float]
) -> tuple[Floats, dict[tuple[int, int], float], list[float]]:
    """Features, edges with their weights, and labels: person by person, pair by pair."""
    made: SyntheticMechanism = graph.mechanism
    assert graph.latent is not None
    z, noise = np.split(graph.latent.numpy(), [made.settings.d_z], axis=1)
    own = [float(row @ made.w.numpy()) for row in z]
    edges = edges_by_hand(made, z, own, sens)
    return features_by_hand(made, z, noise, sens), edges, labels_by_hand(made, own, edges, sens)


def edges_by_hand(
    made: SyntheticMechanism, z: Floats, own: list[float], sens: list[float]
) -> dict[tuple[int, int], float]:
    how, length = made.settings, float(np.linalg.norm(made.w.numpy()))

    def agree(i: int, j: int) -> float:
        if how.continuous:
            return max(0.0, 1 - abs(sens[i] - sens[j]))
        one, other = (divmod(int(sens[k]), how.second_groups) for k in (i, j))
        return (one[0] == other[0]) / 2 + (one[1] == other[1]) / 2

    edges = {}
    for i, j in product(range(len(z)), repeat=2):
        near = z[i] @ z[j] / np.linalg.norm(z[i]) / np.linalg.norm(z[j]) + how.a * agree(i, j)
        near += how.reach * math.tanh(own[j] / length) if how.directed else 0
        if i != j and near >= how.threshold:
            edges[i, j] = 2 ** (10 * (near - how.threshold)) if how.weighted else 1.0
    return edges


def features_by_hand(
    made: SyntheticMechanism, z: Floats, noise: Floats, sens: list[float]
) -> Floats:
    how = made.settings
    x = np.zeros((len(z), how.d + 1))
    for i, s in enumerate(sens):
        x[i, 0] = s
        for place, column in enumerate(made.columns.tolist()):
            seen = z[i, column] + (how.noise * noise[i, place] if noise.size else 0)
            bend = seen + float(made.skew[place]) * math.sqrt(1 + seen * seen)
            if how.shape:
                share = s if how.continuous else float(s >= 1)
                seen += share * (float(made.stretch[place]) * bend - seen)
            v = made.v[..., place]
            x[i, 1 + place] = seen + (s * float(v) if v.dim() == 0 else float(v[int(s)]))
    return x


def labels_by_hand(
    made: SyntheticMechanism,
    own: list[float],
    edges: dict[tuple[int, int], float],
    sens: list[float],
) -> list[float]:
    how, k = made.settings, made.settings.second_groups
    heights = sens
    if not how.continuous:
        parts = [divmod(int(s), k) for s in sens]
        heights = [first / (how.groups - 1) + second / (k - 1) for first, second in parts]
    scores = []
    for i in range(len(own)):
        mine = {j: weight for (a, j), weight in edges.items() if a == i} | {i: 1.0}
        total = sum(mine.values())
        score = own[i] + how.w_s * sum(t * heights[j] for j, t in mine.items()) / total
        scores.append(score + how.w_n * sum(t * own[j] for j, t in mine.items()) / total)
    if how.number:
        return scores
    cuts = [made.label_threshold] if made.cuts is None else made.cuts.tolist()
    return [float(sum(score > cut for cut in cuts)) for score in scores]


@pytest.mark.parametrize("kind", S)
@pytest.mark.parametrize("rest", REST)
def test_worlds_are_those_of_the_equations(kind: str, rest: str) -> None:
    graph = drawn(kind, rest)
    truth, moved = for_graph(graph), 0
    chosen = [whole_graph(graph)[0], whole_graph(graph)[-1], MIXED]
    asked = [graph.sens, *(assigned(graph, which, seed=4) for which in chosen)]
    for sens in asked:
        world = truth.counterfactual(graph, sens)
        x, edges, y = by_hand(graph, sens.tolist())
        np.testing.assert_allclose(world.x.numpy(), x, rtol=1e-6, atol=1e-6)
        assert [tuple(pair) for pair in world.edge_index.T.tolist()] == sorted(edges)
        np.testing.assert_allclose(world.y.numpy(), y, rtol=1e-4, atol=5e-3)
        if graph.edge_weight is not None:
            expected = [edges[pair] for pair in sorted(edges)]
            assert world.edge_weight is not None
            np.testing.assert_allclose(world.edge_weight, expected, atol=2**-9 * 1.001)
        moved += not torch.equal(world.edge_index, graph.edge_index)
    assert moved == len(chosen)


@pytest.mark.parametrize("kind", S)
@pytest.mark.parametrize("rest", ["neighbours", "score", "directed, weighted"])
def test_it_keeps_every_law_and_leads_back(kind: str, rest: str) -> None:
    graph = split(drawn(kind, rest))
    check_causal_model(SyntheticCausalModel, graph)
    truth = for_graph(graph)
    world = truth.counterfactual(graph, at_random(graph, seed=1))
    assert world.fingerprint() != graph.fingerprint()
    assert truth.counterfactual(world, graph.sens).fingerprint() == graph.fingerprint()


@pytest.mark.parametrize("kind", S)
@pytest.mark.parametrize("rest", ["paper", "neighbours", "score"])
def test_the_world_of_few_people_is_the_whole_one(kind: str, rest: str) -> None:
    graph = drawn(kind, rest, n=150)
    truth, rng, changed = for_graph(graph), np.random.default_rng(0), 0
    for trial in range(25):
        rows = torch.from_numpy(rng.choice(150, 1 + trial % 4, replace=False))
        values = changed_groups(graph, rows, seed=trial)
        if kind == "number" and trial % 3 == 0:
            # Not only what somebody has.
            values = values + math.pi / 7
        sens = graph.sens.clone()
        sens[rows] = values
        near = truth.local(graph, rows, values)
        assert near.graph().fingerprint() == truth.counterfactual(graph, sens).fingerprint()
        changed += near.removed.shape[1] + near.added.shape[1] + len(near.labelled)
    assert changed > 0


def test_a_number_is_uniform_and_exact_in_its_column() -> None:
    graph = sample(SyntheticSettings(n=4000, continuous=True), seed=1)
    assert graph.continuous
    assert graph.sens.dtype == torch.float64
    assert torch.equal(graph.x[:, 0].double(), graph.sens)
    # Of 4,000 uniform draws a quantile is off by less than .03.
    found = torch.quantile(graph.sens, torch.tensor(LEVELS, dtype=torch.float64))
    assert (found - torch.tensor(LEVELS)).abs().max() < 0.03
    plain = sample(SyntheticSettings(n=4000), seed=1)
    assert graph.latent is not None
    assert plain.latent is not None
    assert torch.equal(graph.latent, plain.latent)


def test_a_number_of_two_values_is_two_groups() -> None:
    """Where s is 0 or 1 the equations are those of two groups; thresholds are those of each."""
    options: dict[str, Any] = {**SMALL, **REST["neighbours"], "number": True}
    two = sample(SyntheticSettings(**options), seed=5)
    number = sample(SyntheticSettings(**options, continuous=True), seed=5)
    there = for_graph(number).counterfactual(number, two.sens.double())
    assert torch.equal(there.edge_index, two.edge_index)
    np.testing.assert_allclose(there.x, two.x, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(there.y, two.y, rtol=1e-12)


def test_two_attributes_add_up() -> None:
    graph = drawn("two attributes", n=400)
    assert graph.attributes is not None
    assert graph.num_groups == 6
    assert graph.attributes.names == ("0, 0", "0, 1", "1, 0", "1, 1", "2, 0", "2, 1")
    assert sorted(set(graph.sens.tolist())) == list(range(6))
    v = graph.mechanism.v.view(3, 2, -1)
    assert not v[0, 0].any()
    for first, second in product(range(3), range(2)):
        torch.testing.assert_close(v[first, second], v[first, 0] + v[0, second])
    codes = graph.attributes.codes(graph.sens.numpy())
    assert np.array_equal(codes @ [2, 1], graph.sens.numpy())
    # The share with s = 1 is that of the setting where the first attribute has two values.
    two = sample(SyntheticSettings(n=4000, p=0.3, second_groups=3), seed=0)
    share = (two.sens >= 3).double().mean()
    # 4,000 draws: four standard deviations are .03.
    assert abs(share - 0.3) < 0.03
    assert torch.bincount(two.sens % 3).min() > 1200


def test_groups_of_a_number_are_refused() -> None:
    with pytest.raises(ParameterError, match="continuous"):
        SyntheticSettings(continuous=True, groups=3)
    with pytest.raises(ParameterError, match="continuous"):
        SyntheticSettings(continuous=True, second_groups=2)
    graph = drawn("number")
    with pytest.raises(GraphError, match="each a finite number"):
        for_graph(graph).counterfactual(graph, torch.full_like(graph.sens, torch.nan))
    with pytest.raises(GraphError, match="a finite number for each"):
        for_graph(graph).local(graph, torch.tensor([1]), torch.tensor([torch.inf]))


# Six people, all assignments of three values: 729 worlds.
N, VALUES = 6, (0.0, 0.5, 1.0)
SIX: dict[str, Any] = {"n": N, "d_z": 3, "d": 2, "a": 0.6, "threshold": 0.8, "w_s": 3.0}


@cache
def six() -> tuple[SensitiveGraph, dict[tuple[float, ...], SensitiveGraph]]:
    """Six people whose s is one of three values, and every world."""
    first = sample(SyntheticSettings(**SIX, continuous=True), seed=6)
    sens = torch.tensor([0.0, 0.5, 1.0, 0.5, 1.0, 0.0], dtype=torch.float64)
    graph = for_graph(first).counterfactual(first, sens)
    truth = for_graph(graph)
    return graph, {
        values: truth.counterfactual(graph, torch.tensor(values, dtype=torch.float64))
        for values in product(VALUES, repeat=N)
    }


def unmoved(graph: SensitiveGraph) -> Floats:
    """Reads X − s·v, which is Z."""
    x, v = graph.x[:, 1:].double().numpy(), graph.mechanism.v.numpy()
    scores: Floats = (x - graph.sens.numpy()[:, None] * v).round(4).sum(axis=1)
    return scores


def test_every_assignment_of_six_people() -> None:
    """Each world is that of the equations."""
    graph, worlds = six()
    links = set()
    for values, world in worlds.items():
        x, edges, y = by_hand(graph, list(values))
        np.testing.assert_allclose(world.x.numpy(), x, rtol=1e-6, atol=1e-6)
        assert [tuple(pair) for pair in world.edge_index.T.tolist()] == sorted(edges)
        assert world.y.tolist() == y
        links.add(frozenset(edges))
    assert len(links) > 20


def test_who_reads_what_s_does_not_move_flips_nobody() -> None:
    graph, worlds = six()
    before = unmoved(graph) > 0
    assert 0 < before.sum() < N
    assert all(np.array_equal(unmoved(world) > 0, before) for world in worlds.values())


def test_who_copies_s_flips_as_the_definition_says() -> None:
    """Of three values, evenly assigned, two are above .25 and one is above .75."""
    graph, worlds = six()
    own = graph.sens.numpy()
    for threshold, above in ((0.25, 2 / 3), (0.75, 1 / 3)):
        before = own > threshold
        flips = [(world.sens.numpy() > threshold) != before for world in worlds.values()]
        expected = np.where(before, 1 - above, above).mean()
        assert np.mean(flips) == pytest.approx(expected)
    # As a regression score: E|s' − s| is 1/2 for the ends, 1/3 for the middle.
    moved = [np.abs(world.sens.numpy() - own) for world in worlds.values()]
    assert np.mean(moved) == pytest.approx(np.mean([0.5, 1 / 3, 0.5, 1 / 3, 0.5, 0.5]))


def test_worlds_of_an_audit_are_in_the_enumeration() -> None:
    """δCF over everybody at the quantiles and the permutations, against counting all of them."""
    graph, worlds = six()

    def model(one: SensitiveGraph) -> NDArray[np.bool_]:
        around = torch.eye(N, dtype=torch.float64)
        around[one.edge_index[0], one.edge_index[1]] = 1
        mean = (around @ one.sens) / around.sum(dim=1)
        found: NDArray[np.bool_] = (one.x[:, 1:].double().sum(dim=1) + 2 * mean > 1).numpy()
        return found

    before = model(graph)
    flips = {values: model(world) != before for values, world in worlds.items()}
    same = {s: flips[s] for s in flips if sorted(s) == sorted(graph.sens.tolist())}
    # 6!/(2!·2!·2!) permutations of the six values.
    assert len(same) == 90
    truth, rates = for_graph(graph), []
    for which in whole_graph(graph):
        draws = 300 if which == MIXED else 1
        made = [assigned(graph, which, draw=draw, seed=1) for draw in range(draws)]
        found = [model(truth.counterfactual(graph, sens)) != before for sens in made]
        for sens, who in zip(made, found, strict=True):
            assert np.array_equal(who, flips[tuple(sens.tolist())])
        rates.append((which, np.mean(found), np.std([who.mean() for who in found])))
    ((drawn_rate, spread),) = [(rate, sd) for which, rate, sd in rates if which == MIXED]
    exact = np.mean([who.mean() for who in same.values()])
    # 300 draws of 90 permutations: within four standard errors.
    assert abs(drawn_rate - exact) < 4 * spread / math.sqrt(300)
    assert 0 < exact < 1


def test_with_group_sets_a_number() -> None:
    graph = drawn("number")
    sens = with_group(graph, 4, 0.123)
    assert float(sens[4]) == 0.123
    assert torch.equal(sens[torch.arange(60) != 4], graph.sens[torch.arange(60) != 4])
