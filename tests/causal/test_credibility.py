"""Credibility: moved people against real ones, orders of columns, and how sure maps are."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from fairgear import SensitiveGraph
from fairgear.causal import (
    Credibility,
    Diagram,
    FeatureSequential,
    FittedCausalModel,
    credibility,
    unsteadiness,
)
from fairgear.causal.credibility import CREDIBLE, Support
from fairgear.hashing import node_uniform


def people(n: int = 1200, salt: str = "") -> SensitiveGraph:
    """Two bills, the second never below the first, and a number of children; groups differ."""
    ids = torch.arange(n)
    u = [node_uniform(ids, 0, salt + stream) for stream in "sabc"]
    sens = (u[0] < 0.5).long()
    low = -torch.log1p(-u[1]) * (1 + sens)
    high = low - torch.log1p(-u[2]) * (1 + 2 * sens)
    children = (u[3] * (3 + sens)).floor()
    x = torch.stack([sens, low, high, children], dim=1).float()
    return SensitiveGraph(
        x,
        torch.empty(2, 0, dtype=torch.int64),
        None,
        sens,
        sens_column=0,
        feature_names=["s", "low", "high", "children"],
    )


def worlds(graph: SensitiveGraph, features: str) -> dict[int, SensitiveGraph]:
    model = FittedCausalModel(features, "fixed").fit(graph)
    return {group: model.counterfactual(graph, group) for group in (0, 1)}


def test_real_people_of_the_other_group_pass_and_obvious_strangers_do_not() -> None:
    graph = people()
    # Other people of the same laws cannot be told from them.
    others, swapped = people(salt="another "), {}
    for group in (0, 1):
        x, there = graph.x.clone(), others.x[others.sens == group]
        moved = (graph.sens != group).nonzero()[:, 0][: len(there)]
        x[moved] = there[: len(moved)]
        sens = torch.where(torch.isin(torch.arange(len(x)), moved), group, graph.sens)
        x[:, 0] = sens
        swapped[group] = graph.replace(x=x, sens=sens)
    alike = credibility(graph, swapped)
    assert alike.auroc == pytest.approx(0.5, abs=0.05)
    assert alike.credible
    assert alike.verdict.startswith("Moved people look like real ones")
    still = {g: graph.replace(x=_with_sens(graph, g), sens=graph.sens * 0 + g) for g in (0, 1)}
    strange = credibility(graph, still)
    assert strange.auroc > 0.7
    assert not strange.credible
    assert "tells moved people from real ones" in strange.verdict


def _with_sens(graph: SensitiveGraph, group: int) -> torch.Tensor:
    x = graph.x.clone()
    x[:, 0] = group
    return x


def test_a_fraction_of_a_child_gives_nobody_away() -> None:
    graph = people()
    support = Support.of(graph)
    x = graph.x.numpy().copy()
    x[:, 3] += 0.3
    np.testing.assert_array_equal(support.rounded(x), support.rounded(graph.x.numpy()))
    x[:, 3] = 1e6
    assert (support.rounded(x)[:, 2] == len(support.values[2]) - 1).all()


def test_orders_that_everybody_keeps_are_found_and_broken_ones_counted() -> None:
    graph = people()
    support = Support.of(graph)
    assert [(support.names[a], support.names[b]) for a, b in support.orders] == [("low", "high")]
    # In its own columns the shift moves the lower bill of some people above the higher.
    shifted = credibility(graph, worlds(graph, "shift"))
    quantile = credibility(graph, worlds(graph, "quantile"))
    assert shifted.order == quantile.order == "high below low"
    by_hand = []
    for group, world in worlds(graph, "shift").items():
        low, high = (
            values[(values[:, None] - world.x[graph.sens != group, k]).abs().argmin(dim=0)]
            for k, values in ((1, graph.x[:, 1]), (2, graph.x[:, 2]))
        )
        by_hand.append(high < low)
    assert shifted.broken == pytest.approx(torch.cat(by_hand).double().mean().item(), abs=0.002)
    assert shifted.broken > 0.05
    assert "are impossible, most often with high below low" in shifted.verdict


def test_quantiles_are_more_credible_than_a_shift_where_shapes_differ() -> None:
    graph = people()
    assert credibility(graph, worlds(graph, "quantile")).auroc < (
        credibility(graph, worlds(graph, "shift")).auroc
    )


def test_too_few_people_to_tell() -> None:
    found = credibility(people(40), worlds(people(40), "shift"))
    assert math.isnan(found.auroc)
    assert found.credible
    assert found.verdict.startswith("There are too few people to tell")


def test_the_order_of_rows_does_not_matter() -> None:
    graph = people(400)
    order = torch.randperm(400, generator=torch.Generator().manual_seed(1))
    other = graph.permute(order)
    assert credibility(graph, worlds(graph, "shift")) == credibility(other, worlds(other, "shift"))


def test_unsteadiness_by_hand() -> None:
    table = np.array([[0.0, 5.0], [2.0, 5.0]])
    moved, one, other = (table + np.array([by, 0.0]) for by in (1, 1.5, 0.5))
    # Halves differ by 1 where the map moves by 1; the constant column says nothing.
    assert unsteadiness(one, other, moved, table) == pytest.approx(0.5)
    assert math.isnan(unsteadiness(table, table, table, table))


def test_the_threshold_is_that_of_the_verdict() -> None:
    assert Credibility(CREDIBLE, 0.0, "").credible
    assert not Credibility(CREDIBLE + 1e-9, 0.0, "").credible
    unsure = Credibility(0.5, 0.001, "b below a", 0.8)
    assert "A few of them are impossible, with b below a." in unsure.verdict
    assert "differ by about 80% of what they move" in unsure.verdict


def along(parents: dict[str, list[str]]) -> Credibility:
    """People whose second column follows closely from the first, moved along a diagram."""
    ids = torch.arange(1500)
    u = [torch.special.ndtri(node_uniform(ids, 1, k).clamp(1e-6, 1 - 1e-6)) for k in "abc"]
    sens = (u[2] > 0).long()
    first = u[0] + 1.5 * sens
    second = 2 * first + 0.3 * u[1]
    x = torch.stack([sens, first, second], dim=1).float()
    none = torch.empty(2, 0, dtype=torch.int64)
    names = ["s", "first", "second"]
    graph = SensitiveGraph(x, none, None, sens, sens_column=0, feature_names=names)
    features = FeatureSequential(diagram=Diagram(parents))
    model = FittedCausalModel(features, "fixed").fit(graph)
    return credibility(graph, {g: model.counterfactual(graph, g) for g in (0, 1)})


def test_a_diagram_with_a_parent_missing_is_objected_to() -> None:
    right = along({"first": ["s"], "second": ["first"]})
    assert right.credible
    # Its cause moves, and it stays behind.
    wrong = along({"first": ["s"], "second": []})
    assert not wrong.credible
    assert wrong.auroc > 0.9
