"""Completions of graphs in which some people's attribute is unknown."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from scipy.special import expit
from torch import Tensor

from fairgear.graph import Attributes, SensitiveGraph, complete, undirected_edges
from fairgear.graph.unknown import Unknown, _calibration_error

PEOPLE = 600


def kinds() -> dict[str, dict[str, Any]]:
    """What the attribute is drawn from, by its kind: a signal in the second feature."""
    noise = torch.from_numpy(np.random.default_rng(3).normal(size=PEOPLE))
    signal = torch.linspace(-2, 2, PEOPLE, dtype=torch.float64)[torch.randperm(PEOPLE)] + noise
    number = Attributes.number("age")
    return {
        "binary": {"sens": (signal > 0.4).long()},
        "categorical": {
            "sens": (signal > -0.8).long() + (signal > 0.9).long(),
            "sens_kind": "categorical",
        },
        "continuous": {
            "sens": 40 + 10 * signal,
            "sens_kind": "continuous",
            "attributes": number,
        },
    }


def made(kind: str, *, hide: float = 0.4, **changes: Any) -> SensitiveGraph:
    torch.manual_seed(1)
    given = kinds()[kind]
    sens = given["sens"].double()
    x = torch.randn(PEOPLE, 3, dtype=torch.float64)
    x[:, 1] += 1.5 * (sens - sens.mean()) / sens.std()
    if kind != "categorical":
        x[:, 2] = sens
    edges = undirected_edges(torch.randint(PEOPLE, (2, 900)), PEOPLE)
    known = torch.rand(PEOPLE) >= hide
    column = None if kind == "categorical" else 2
    fields = {"sens_known": known, "sens_column": column, **given, **changes}
    return SensitiveGraph(x, edges, node_id=7 * torch.randperm(PEOPLE) + 5, **fields)


def spoiled(graph: SensitiveGraph) -> SensitiveGraph:
    """The same with one value for everybody who did not tell."""
    known = graph.sens_known
    assert known is not None
    sens, x = torch.where(known, graph.sens, graph.sens[known][0]), graph.x.clone()
    if graph.sens_column is not None:
        x[:, graph.sens_column] = sens.to(x.dtype)
    return graph.replace(sens=sens, x=x)


@pytest.fixture(params=["binary", "categorical", "continuous"])
def graph(request: pytest.FixtureRequest) -> SensitiveGraph:
    return made(request.param)


def unknown_of(graph: SensitiveGraph) -> Tensor:
    assert graph.sens_known is not None
    return ~graph.sens_known


def test_those_who_told_keep_their_value(graph: SensitiveGraph) -> None:
    found = complete(graph)
    known = ~unknown_of(graph)
    assert torch.equal(found.sens[known], graph.sens[known])
    assert torch.equal(unknown_of(found), unknown_of(graph))
    assert torch.equal(found.x[:, :2], graph.x[:, :2])
    if graph.sens_column is not None:
        assert torch.equal(found.x[:, graph.sens_column], found.sens.to(graph.x.dtype))


def test_nothing_depends_on_the_placeholder(graph: SensitiveGraph) -> None:
    found = complete(spoiled(graph), 1)
    assert torch.equal(found.sens, complete(graph, 1).sens)
    assert torch.equal(complete(found, 1).sens, found.sens)


def test_row_order_is_irrelevant(graph: SensitiveGraph) -> None:
    order = torch.randperm(PEOPLE, generator=torch.Generator().manual_seed(2))
    assert torch.equal(complete(graph.permute(order), 2).sens, complete(graph, 2).sens[order])
    moved, law = Unknown(graph.permute(order)), Unknown(graph)
    assert np.array_equal(moved.chances, law.chances[order.numpy()])


def test_draws_and_seeds_differ(graph: SensitiveGraph) -> None:
    values = [complete(graph, draw).sens for draw in (0, 0, 1)] + [complete(graph, seed=1).sens]
    assert torch.equal(values[0], values[1])
    assert not torch.equal(values[0], values[2])
    assert not torch.equal(values[0], values[3])


def test_labels_are_not_read(graph: SensitiveGraph) -> None:
    labelled = graph.replace(y=(graph.x[:, 0] > 0).long())
    assert torch.equal(complete(labelled).sens, complete(graph).sens)


def test_all_known(graph: SensitiveGraph) -> None:
    known = graph.replace(sens_known=None)
    assert complete(known) is known
    told = graph.replace(sens_known=torch.ones(PEOPLE, dtype=torch.bool))
    assert complete(told) is told


def test_guesses_are_better_than_the_base_and_calibrated() -> None:
    for kind in ("binary", "categorical"):
        found = Unknown(made(kind)).quality
        assert found.right > found.base + 0.1
        assert found.calibration_error < 0.06
    assert Unknown(made("continuous")).quality.right > 0.5


def test_chances_are_those_of_the_law() -> None:
    # s | x is logistic: log odds 1.2·x₀ − 0.5, whatever the other feature and the neighbours are.
    draw = np.random.default_rng(0)
    n = 8000
    x = draw.normal(size=(n, 2))
    true = expit(1.2 * x[:, 0] - 0.5)
    sens = torch.from_numpy((draw.random(n) < true).astype(np.int64))
    known = torch.from_numpy(draw.random(n) < expit(x[:, 0]))
    edges = undirected_edges(torch.from_numpy(draw.integers(n, size=(2, n))), n)
    graph = SensitiveGraph(torch.from_numpy(x), edges, sens=sens, sens_known=known)
    law = Unknown(graph)
    hidden = ~known.numpy()
    assert np.abs(law.chances[hidden, 1] - true[hidden]).mean() < 0.03
    assert np.array_equal(law.chances[~hidden, 1], sens.numpy()[~hidden])
    # Those of a completion are draws of it.
    share = law.completed().sens.numpy()[hidden].mean()
    assert share == pytest.approx(true[hidden].mean(), abs=0.03)


def test_neighbours_who_told_are_read() -> None:
    # Features say nothing; links are within groups.
    torch.manual_seed(0)
    sens = torch.arange(PEOPLE) % 2
    ends = torch.randint(PEOPLE // 2, (2, 4 * PEOPLE)) * 2
    edges = undirected_edges(ends + torch.randint(2, (4 * PEOPLE,)), PEOPLE)
    graph = SensitiveGraph(
        torch.randn(PEOPLE, 2), edges, sens=sens, sens_known=torch.rand(PEOPLE) > 0.4
    )
    hidden = unknown_of(graph)
    assert (complete(graph).sens == sens)[hidden].float().mean() > 0.95


def test_numbers_stay_within_those_told_and_keep_their_spread() -> None:
    graph = made("continuous")
    hidden = unknown_of(graph)
    found, told = complete(graph).sens[hidden], graph.sens[~hidden]
    assert told.min() <= found.min()
    assert found.max() <= told.max()
    assert float(found.std() / graph.sens[hidden].std()) == pytest.approx(1, abs=0.15)


def test_one_group_told() -> None:
    graph = made("binary")
    known = unknown_of(graph).logical_not() & (graph.sens == 1)
    assert bool((complete(graph.replace(sens_known=known)).sens == 1).all())


def test_few_who_told() -> None:
    graph = made("categorical")
    known = torch.zeros(PEOPLE, dtype=torch.bool)
    for group in range(3):
        known[(graph.sens == group).nonzero()[0]] = True
    few = graph.replace(sens_known=known)
    found = Unknown(few)
    assert np.isfinite(found.chances).all()
    assert found.chances.sum(axis=1) == pytest.approx(1)
    assert set(found.completed().sens.tolist()) <= {0, 1, 2}


def test_calibration_error_by_hand() -> None:
    # Bins of two: five in which nobody is hit, five in which one of two is.
    chance = np.repeat([0.1, 0.8], 10)
    hit = np.array([0.0] * 10 + [1.0, 0.0] * 5)
    assert _calibration_error(chance, hit) == pytest.approx(0.5 * 0.1 + 0.5 * 0.3)


def test_the_base_is_the_largest_group_of_those_who_told() -> None:
    graph = made("binary")
    told = float(graph.sens[~unknown_of(graph)].double().mean())
    assert Unknown(graph).quality.base == pytest.approx(max(told, 1 - told))
