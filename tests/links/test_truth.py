"""The probability of links of the synthetic model, against its own worlds and many draws."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch import Tensor

from fairgear.causal import SyntheticMechanism, SyntheticSettings, for_graph, sample
from fairgear.errors import FairgearError
from fairgear.graph import SensitiveGraph
from fairgear.links import link_probability
from fairgear.testing import toy_graph

PLAIN = SyntheticSettings(n=6, d_z=12, d=6, a=0.3, threshold=0.35)
KINDS = {
    "groups": PLAIN,
    "directed": replace(PLAIN, directed=True, reach=0.4),
    "three groups": replace(PLAIN, groups=3),
    "two attributes": replace(PLAIN, second_groups=2),
    "weighted": replace(PLAIN, weighted=True),
    "a number": replace(PLAIN, continuous=True),
    "noisy": replace(PLAIN, noise=0.7, shape=0.5),
}
EVERYBODY = torch.tensor([(i, j) for i in range(6) for j in range(6) if i != j]).T


def adjacency(graph: SensitiveGraph) -> list[float]:
    arcs = {tuple(edge) for edge in graph.edge_index.T.tolist()}
    return [float(tuple(pair) in arcs) for pair in EVERYBODY.T.tolist()]


@pytest.mark.parametrize("kind", KINDS)
def test_with_all_latent_variables_it_is_the_edges_of_every_assignment(kind: str) -> None:
    graph = sample(KINDS[kind], seed=2)
    model = for_graph(graph)
    assert link_probability(graph, EVERYBODY).tolist() == adjacency(graph)
    values = [0.0, 0.4, 1.0] if graph.continuous else range(graph.num_groups)
    kept = set()
    for assignment in product(values, repeat=6 if len(values) == 2 else 4):
        sens = torch.tensor([*assignment, *assignment[:2]][:6], dtype=graph.sens.dtype)
        world = model.counterfactual(graph, sens)
        found = link_probability(graph, EVERYBODY, sens)
        assert found.tolist() == adjacency(world)
        assert link_probability(world, EVERYBODY).tolist() == found.tolist()
        kept.add(tuple(found.tolist()))
    assert len(kept) > 3  # the attribute moves links


def by_drawing(
    mechanism: SyntheticMechanism, known: NDArray[np.float64] | None, agree: float, draws: int
) -> float:
    """How often a pair is linked whose unknown latent variables are drawn, in plain numpy."""
    settings = mechanism.settings
    rng = np.random.default_rng(5)
    z = rng.standard_normal((2, draws, settings.d_z))
    if known is not None:
        z[:, :, mechanism.columns.numpy()] = known[:, None]
    lengths = np.sqrt((z**2).sum(2))
    near = (z[0] * z[1]).sum(1) / lengths.prod(0) + settings.a * agree
    if settings.directed:
        w = mechanism.w.numpy()
        near += settings.reach * np.tanh(z[1] @ w / np.sqrt((w**2).sum()))
    return float((near >= settings.threshold).mean())


@pytest.mark.parametrize("kind", ["groups", "directed", "three groups"])
@pytest.mark.parametrize("given", ["features", "attribute"])
def test_unknown_variables_are_drawn(kind: str, given: str) -> None:
    graph = sample(KINDS[kind], seed=4)
    mechanism, latent = graph.mechanism, graph.latent
    assert latent is not None
    ends = torch.tensor([[0, 2, 5], [1, 0, 3]])
    draws = 60_000
    for sens in (graph.sens, 1 - graph.sens.clamp(max=1), torch.ones_like(graph.sens)):
        found = link_probability(graph, ends, sens, given=given)
        for pair, exact in zip(ends.T, found.tolist(), strict=True):
            seen = latent[pair][:, mechanism.columns].numpy() if given == "features" else None
            agree = float(sens[pair[0]] == sens[pair[1]])
            share = by_drawing(mechanism, seen, agree, draws)
            spread = max(exact * (1 - exact), 1e-4) ** 0.5 / draws**0.5
            assert abs(share - exact) < 4.5 * spread, (share, exact)


@pytest.mark.parametrize("settings", [PLAIN, replace(PLAIN, directed=True)])
def test_chances_given_features_are_those_of_strangers_on_average(
    settings: SyntheticSettings,
) -> None:
    many = sample(replace(settings, n=1000), seed=0)
    ends = torch.arange(1000).view(2, 500)
    told = link_probability(many, ends, 1, given="features")
    before = link_probability(many, ends, 1, given="attribute")
    error = float(told.std()) / 500**0.5
    assert abs(float(told.mean() - before[0])) < 4 * error
    # And they tell who is linked.
    linked = link_probability(many, ends, 1).bool()
    assert told[linked].mean() > 2 * told[~linked].mean()


@pytest.mark.parametrize("hidden", [4, 5, 25])
@pytest.mark.parametrize("directed", [False, True])
def test_more_points_change_nothing(
    hidden: int, directed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = sample(replace(PLAIN, n=30, d_z=6 + hidden, directed=directed, threshold=0.5), seed=1)
    ends = torch.arange(30).view(2, 15)
    before = link_probability(graph, ends, given="features")
    monkeypatch.setattr("fairgear.links.truth._POINTS", 80)
    monkeypatch.setattr("fairgear.links.truth._WITH_PULL", 40)
    after = link_probability(graph, ends, given="features")
    assert float((before - after).abs().max()) < 2e-3


def test_one_latent_variable_has_two_directions() -> None:
    graph = sample(SyntheticSettings(n=5, d_z=1, d=1, threshold=0.4), seed=0)
    ends = torch.tensor([[0], [1]])
    assert link_probability(graph, ends, given="attribute").tolist() == [0.5]


def test_what_is_not_known_is_refused() -> None:
    pair = torch.tensor([[0], [1]])
    with pytest.raises(FairgearError, match="a graph with known links"):
        link_probability(toy_graph(), pair)
    with pytest.raises(FairgearError, match=r"noise of 0\.7"):
        link_probability(sample(KINDS["noisy"]), pair, given="features")
    with pytest.raises(FairgearError, match="3 hidden variables"):
        link_probability(sample(replace(PLAIN, d=9)), pair, given="features")
    with pytest.raises(FairgearError, match="given: got nothing"):
        link_probability(sample(PLAIN), pair, given="nothing")
    with pytest.raises(FairgearError, match="counterfactual sens"):
        link_probability(sample(PLAIN), pair, Tensor([3.0]))
