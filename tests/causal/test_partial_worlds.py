"""Parts of a counterfactual: each changes what it is named after, and nothing else."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from fairgear import SensitiveGraph
from fairgear.causal import (
    CausalModel,
    attribute_only,
    features_only,
    for_graph,
    structure_only,
    structure_with,
)
from fairgear.graph.sensitive_graph import MASKS
from tests.auditing.models import small_graph
from tests.graphs import random_graph

GRAPH = small_graph(60)
MODEL: CausalModel = for_graph(GRAPH)
assignments = st.lists(st.integers(0, 1), min_size=60, max_size=60).map(torch.tensor)


def changed(one: SensitiveGraph, other: SensitiveGraph) -> set[str]:
    """The fields in which two graphs differ; the column of the attribute is one of its own."""
    column = one.sens_column
    assert column is not None
    rest = [i for i in range(one.x.shape[1]) if i != column]
    found = {
        key
        for key in ("edge_index", "y", "sens", "node_id", *MASKS)
        if not torch.equal(one[key], other[key])
    }
    if not torch.equal(one.x[:, rest], other.x[:, rest]):
        found.add("features")
    if not torch.equal(one.x[:, column], other.x[:, column]):
        found.add("column")
    return found


@settings(max_examples=25)
@given(assignments)
def test_each_part_changes_just_that(sens: Tensor) -> None:
    world = MODEL.counterfactual(GRAPH, sens)
    parts = {
        "attribute": (attribute_only(GRAPH, sens), {"sens", "column"}),
        "features": (features_only(GRAPH, world), {"sens", "column", "features"}),
        "structure": (structure_only(GRAPH, world), {"sens", "column", "edge_index"}),
    }
    for part, may in parts.values():
        assert changed(GRAPH, part) == changed(GRAPH, world) & may
        assert changed(world, part) == changed(GRAPH, world) - may
        # Nobody may ask for counterfactuals of it by the equations of another graph.
        assert part.mechanism is None


@settings(max_examples=25)
@given(assignments)
def test_the_parts_make_up_the_whole(sens: Tensor) -> None:
    world = MODEL.counterfactual(GRAPH, sens)
    moved = features_only(GRAPH, world)
    assert structure_only(moved, world).fingerprint("x", "edge_index", "sens") == (
        world.fingerprint("x", "edge_index", "sens")
    )
    rewired = structure_only(GRAPH, world)
    assert changed(structure_with(rewired, world.x), world) <= {"y"}


def test_where_nothing_is_set_every_part_is_the_graph() -> None:
    world = MODEL.counterfactual(GRAPH, GRAPH.sens)
    for part in (
        attribute_only(GRAPH, GRAPH.sens),
        features_only(GRAPH, world),
        structure_only(GRAPH, world),
        structure_with(GRAPH, GRAPH.x),
    ):
        assert part.fingerprint() == GRAPH.fingerprint()


def test_other_features_leave_the_column_to_the_world() -> None:
    world = MODEL.counterfactual(GRAPH, 1)
    got = structure_with(world, torch.full_like(GRAPH.x, 7.0))
    assert set(got.x[:, 0].tolist()) == {1.0}
    assert set(got.x[:, 1:].flatten().tolist()) == {7.0}
    assert torch.equal(got.edge_index, world.edge_index)


def test_a_graph_without_a_column_of_the_attribute() -> None:
    graph = random_graph().replace(sens_column=None)
    got = attribute_only(graph, 1 - graph.sens)
    assert torch.equal(got.x, graph.x)
    assert torch.equal(got.sens, 1 - graph.sens)


@pytest.mark.parametrize("column", [0, None])
def test_the_graph_stays_as_it_is(column: int | None) -> None:
    graph = GRAPH.replace(sens_column=column)
    before = graph.fingerprint()
    for part in (attribute_only(graph, 1 - graph.sens), structure_with(graph, graph.x)):
        part.x.zero_()
    assert graph.fingerprint() == before
