"""Sealed people: fixed by their ids, and absent from the open graph."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from fairgear import SensitiveGraph
from fairgear.causal import SyntheticCausalModel
from fairgear.errors import GraphError
from fairgear.graph import SimilarityMechanism, similarity_graph
from fairgear.studies.judging.sealed import open_graph, sealed, sealed_split
from tests.studies.judging import toy

every_kind = pytest.mark.parametrize("kind", toy.KINDS)


def same(one: SensitiveGraph, other: SensitiveGraph) -> bool:
    tensors = ("x", "edge_index", "y", "sens", "node_id", "latent", "raw")
    pairs = [(one.get(key), other.get(key)) for key in tensors]
    return all(
        (a is None and b is None) or (a is not None and b is not None and torch.equal(a, b))
        for a, b in pairs
    )


def test_a_fifth_is_sealed_for_ever() -> None:
    ids = torch.arange(20_000)
    graph = SensitiveGraph(torch.zeros(20_000, 1), torch.zeros(2, 0).long(), sens=ids % 2)
    found = sealed(graph)
    assert float(found.double().mean()) == pytest.approx(0.2, abs=0.01)
    # Another seed or label would open people on whom choices were made.
    assert found.nonzero()[:8, 0].tolist() == [3, 5, 6, 13, 20, 21, 24, 33]


@every_kind
def test_the_open_graph_is_the_same_whatever_the_sealed_people_are(kind: str) -> None:
    graph = toy.KINDS[kind]()
    bad = toy.poisoned(graph)
    assert not torch.equal(bad.x, graph.x)
    assert same(open_graph(graph), open_graph(bad))
    assert not set(open_graph(graph).node_id.tolist()) & set(graph.node_id[sealed(graph)].tolist())


def test_a_table_is_scaled_and_joined_again() -> None:
    graph = toy.table()
    rows = (~sealed(graph)).nonzero()[:, 0]
    assert graph.raw is not None
    raw = graph.raw[rows]
    found = open_graph(graph)
    expected = similarity_graph(
        raw,
        graph.y[rows],
        graph.sens[rows],
        rule=graph.mechanism.rule,
        sens_column=2,
        feature_names=graph.feature_names,
        node_id=graph.node_id[rows],
    )
    assert same(found, expected)
    assert isinstance(found.mechanism, SimilarityMechanism)
    ends = raw[:, 0].min(), raw[:, 0].max()
    np.testing.assert_allclose(
        found.x[:, 0], 2 * (raw[:, 0] - ends[0]) / (ends[1] - ends[0]) - 1, rtol=1e-6
    )


def test_the_synthetic_equations_hold_among_the_open() -> None:
    graph = toy.synthetic()
    found = open_graph(graph)
    # It refuses a graph whose features or edges are not those of its equations.
    model = SyntheticCausalModel().fit(found)
    world = model.counterfactual(found, 1 - found.sens)
    back = model.counterfactual(world, found.sens)
    assert torch.equal(back.y, found.y)
    assert found.mechanism is graph.mechanism
    # By brute force: the label's equation with the open neighbours alone.
    made, latent = graph.mechanism, found.latent
    assert latent is not None
    for person in range(0, len(found.x), 7):
        near = found.edge_index[1, found.edge_index[0] == person]
        mean = found.sens[torch.cat([near, torch.tensor([person])])].double().mean()
        score = (latent[person] * made.w).sum() + made.settings.w_s * mean
        assert int(found.y[person]) == int(score > made.label_threshold)


def test_any_other_graph_is_induced_and_has_no_mechanism() -> None:
    graph = toy.plain().replace(mechanism="some rule")
    found = open_graph(graph)
    closed = set(graph.node_id[sealed(graph)].tolist())
    ids = graph.node_id

    def edges(of: SensitiveGraph) -> set[tuple[int, int]]:
        return {(int(of.node_id[a]), int(of.node_id[b])) for a, b in of.edge_index.T.tolist()}

    expected = {(a, b) for a, b in edges(graph) if a not in closed and b not in closed}
    assert edges(found) == expected
    assert found.mechanism is None
    assert len(found.x) == len(ids) - len(closed)


def test_sealed_people_are_the_test_and_seeds_split_the_open() -> None:
    graph = toy.table()
    first, second = (sealed_split(graph, seed) for seed in (0, 1))
    closed, labelled = sealed(graph), graph.y >= 0
    for found in (first, second):
        assert torch.equal(found.test_mask, closed & labelled)
        assert torch.equal(found.train_mask | found.val_mask, ~closed & labelled)
        assert not (found.train_mask & found.val_mask).any()
        share = int(found.train_mask.sum()) / int((~closed & labelled).sum())
        assert share == pytest.approx(0.75, abs=0.005)
        assert torch.equal(found.edge_index, graph.edge_index)
    assert not torch.equal(first.train_mask, second.train_mask)
    order = torch.randperm(len(graph.x), generator=torch.Generator().manual_seed(0))
    moved = sealed_split(graph.permute(order), 0)
    assert torch.equal(moved.train_mask, first.train_mask[order])


def test_people_without_labels_cannot_be_judged() -> None:
    graph = toy.table()
    hidden = graph.replace(y=torch.where(sealed(graph), -1, graph.y))
    with pytest.raises(GraphError, match="open and 0 sealed ones"):
        sealed_split(hidden, 0)
