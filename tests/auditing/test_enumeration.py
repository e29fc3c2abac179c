"""Eight people, all 256 worlds: estimates against the expectations that they estimate."""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import product
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from fairgear import SensitiveGraph, datasets
from fairgear.auditing import Audit, FlipRow, Worlds
from fairgear.causal import for_graph
from tests.auditing.models import (
    Constant,
    CopiesSens,
    Everything,
    FakeModel,
    Features,
    NeighborSens,
    Unshifted,
    measure,
)

N = 8
DRAWS = 500
MODELS = ["Constant", "CopiesSens", "Features", "NeighborSens", "Everything", "Unshifted"]

Assignment = tuple[int, ...]
Flipped = Mapping[Assignment, NDArray[np.bool_]]


@pytest.fixture(scope="module")
def graph() -> SensitiveGraph:
    """Edges depend on s as much as on the rest, so that every world has its own."""
    graph = datasets.load("synthetic", n=N, seed=6, d_z=3, d=2, a=0.6, threshold=0.8)
    assert 0 < int(graph.sens.sum()) < N
    return graph


@pytest.fixture(scope="module")
def worlds(graph: SensitiveGraph) -> Worlds:
    return Worlds(graph, draws=DRAWS)


@pytest.fixture(scope="module")
def every_world(graph: SensitiveGraph) -> dict[Assignment, SensitiveGraph]:
    truth = for_graph(graph)
    return {
        sens: truth.counterfactual(graph, torch.tensor(sens)) for sens in product((0, 1), repeat=N)
    }


def build(name: str, graph: SensitiveGraph) -> FakeModel:
    known = (Constant, CopiesSens, Features, NeighborSens, Everything)
    return (
        {kind.__name__: kind for kind in known}[name]() if name != "Unshifted" else Unshifted(graph)
    )


@pytest.fixture(scope="module", params=MODELS)
def case(
    request: pytest.FixtureRequest,
    graph: SensitiveGraph,
    worlds: Worlds,
    every_world: dict[Assignment, SensitiveGraph],
) -> tuple[str, Audit, Flipped]:
    """A model, what was estimated of it, and who flips in each of the 256 worlds."""
    model = build(request.param, graph)
    before = labels(model, graph)
    flipped = {sens: labels(model, world) != before for sens, world in every_world.items()}
    return request.param, measure(model, worlds, nodes=torch.arange(N)), flipped


def labels(model: FakeModel, graph: SensitiveGraph) -> NDArray[Any]:
    result: NDArray[Any] = model.predict_proba(graph)[:, 1] > 0.5
    return result


def row(result: Audit, intervention: str) -> FlipRow:
    (found,) = (r for r in result.flips if (r.protocol, r.intervention) == ("strict", intervention))
    return found


def agrees(found: FlipRow, expected: float) -> bool:
    """Within four standard errors; without one, as where no draw differs, to the last digit."""
    return abs(found.rate - expected) <= 4 * (found.error or 0.0) + 1e-12


def rates(flipped: Flipped, ones: int) -> list[float]:
    """The flip rate of every world in which so many have s = 1, all equally likely."""
    return [float(who.mean()) for sens, who in flipped.items() if sum(sens) == ones]


def test_the_worlds_tell_the_models_apart(
    graph: SensitiveGraph, every_world: dict[Assignment, SensitiveGraph]
) -> None:
    edges = {tuple(map(tuple, world.edge_index.tolist())) for world in every_world.values()}
    assert len(edges) > 50
    for model in (Features(), NeighborSens(), Everything()):
        seen = {tuple(labels(model, world).tolist()) for world in every_world.values()}
        assert len(seen) > 10, type(model).__name__
    same = every_world[tuple(graph.sens.tolist())]
    assert torch.equal(same.x, graph.x)
    assert torch.equal(same.edge_index, graph.edge_index)


@pytest.mark.parametrize("rate", [0, 1])
def test_rates_that_leave_no_choice_are_exact(case: tuple[str, Audit, Flipped], rate: int) -> None:
    _, result, flipped = case
    assert row(result, f"rate {rate}").rate == pytest.approx(flipped[(rate,) * N].mean(), abs=1e-12)


def test_half_of_the_people(case: tuple[str, Audit, Flipped]) -> None:
    """Exactly four of eight are set, each choice as likely as another."""
    _, result, flipped = case
    every = rates(flipped, N // 2)
    assert len(every) == math.comb(N, N // 2)
    found = row(result, "rate 0.5")
    assert agrees(found, float(np.mean(every)))
    # The error that is reported is the one that the law of the draws has.
    assert found.error == pytest.approx(np.std(every) / math.sqrt(DRAWS), rel=0.2, abs=1e-12)


def test_the_average_over_rates(case: tuple[str, Audit, Flipped]) -> None:
    _, result, flipped = case
    expected = float(np.mean([np.mean(rates(flipped, ones)) for ones in (0, N // 2, N)]))
    found = row(result, "average over rates")
    assert agrees(found, expected)
    assert found.rate == result.metrics["delta_cf"]


@pytest.mark.parametrize(
    ("intervention", "key", "stays"),
    [("neighbours", "delta_cf_neighbor", True), ("both", "delta_cf_both", False)],
)
def test_neighbours_and_both(
    case: tuple[str, Audit, Flipped],
    graph: SensitiveGraph,
    intervention: str,
    key: str,
    stays: bool,
) -> None:
    """Everyone's s is 0 or 1 by chance; a person's share is that of the worlds that ask it."""
    _, result, flipped = case
    own = graph.sens.tolist()
    shares = [
        np.mean([who[i] for sens, who in flipped.items() if (sens[i] == own[i]) is stays])
        for i in range(N)
    ]
    found = row(result, intervention)
    assert found.people == N
    assert agrees(found, float(np.mean(shares)))
    assert found.rate == result.metrics[key]


def test_self(case: tuple[str, Audit, Flipped], graph: SensitiveGraph) -> None:
    _, result, flipped = case
    own = graph.sens.tolist()
    alone = [flipped[tuple(1 - s if j == i else s for j, s in enumerate(own))][i] for i in range(N)]
    assert row(result, "self").rate == pytest.approx(np.mean(alone), abs=1e-12)


def test_what_is_known_without_counting(case: tuple[str, Audit, Flipped]) -> None:
    name, result, flipped = case
    if name in ("Constant", "Unshifted"):
        assert not any(who.any() for who in flipped.values())
        assert result.metrics["delta_cf"] == 0
    elif name == "CopiesSens":
        assert result.metrics["delta_cf_both"] == 1
        assert np.mean(rates(flipped, N // 2)) == pytest.approx(0.5)
    else:
        assert all(0 < row(result, r).rate < 1 for r in ("rate 0.5", "both"))
        assert (row(result, "neighbours").rate > 0) is (name != "Features")
