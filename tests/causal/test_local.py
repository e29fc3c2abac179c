"""Local worlds: the whole counterfactual graph, from what differs around few people."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from fairgear.causal import (
    CausalModel,
    FittedCausalModel,
    LocalWorld,
    SimilarityCausalModel,
    Surroundings,
    SyntheticCausalModel,
    SyntheticSettings,
    as_assignment,
    sample,
)
from fairgear.causal.edges.candidates import Candidates
from fairgear.causal.edges.model import World
from fairgear.errors import GraphError
from fairgear.graph import SensitiveGraph
from tests.causal.test_laws import table_graph
from tests.graphs import random_graph


class OneColumn(CausalModel):
    """A user's own: a column follows the attribute, a friend is lost, and a label changes."""

    name = "one column of a test"

    def _fit(self, graph: SensitiveGraph) -> None:
        return None

    def counterfactual(
        self, graph: SensitiveGraph, sens: Tensor | int, *, seed: int = 0
    ) -> SensitiveGraph:
        sens = as_assignment(graph, sens)
        moved = sens != graph.sens
        x, y = graph.x.clone(), torch.where(moved & (graph.y >= 0), 1 - graph.y, graph.y)
        x[moved, 0] += 1
        if graph.sens_column is not None:
            x[:, graph.sens_column] = sens.to(x.dtype)
        kept = ~moved[graph.edge_index].any(dim=0)
        return graph.replace(x=x, y=y, sens=sens, edge_index=graph.edge_index[:, kept])


def fitted(edges: str, graph: SensitiveGraph, **settings: Any) -> CausalModel:
    return FittedCausalModel("quantile", edges, gate=False, **settings).fit(graph)


def community_graph(n: int = 200) -> SensitiveGraph:
    """Rows in another order than the ids, some people alone."""
    graph = random_graph(n, 4 * n, d=5)
    graph = graph.replace(node_id=torch.arange(n) * 7 - 300)
    return graph.permute(torch.from_numpy(np.random.default_rng(1).permutation(n)))


def synthetic_graph(**more: Any) -> SensitiveGraph:
    graph = sample(SyntheticSettings(n=150, d_z=6, d=4, a=0.15, threshold=0.7, **more))
    hidden = graph.y.clone()
    hidden[::5] = -1
    return graph.replace(y=hidden)


@cache
def models() -> dict[str, tuple[CausalModel, SensitiveGraph]]:
    table, drawn, given_edges = table_graph(300), synthetic_graph(), community_graph()
    nearest = table_graph(120, neighbors=4)
    around = synthetic_graph(w_n=2.0, noise=0.5, shape=0.5)
    return {
        "similarity": (SimilarityCausalModel("shift").fit(table), table),
        "similarity by quantiles": (SimilarityCausalModel("quantile").fit(table), table),
        "similarity of the nearest": (SimilarityCausalModel().fit(nearest), nearest),
        "synthetic": (SyntheticCausalModel().fit(drawn), drawn),
        "synthetic neighbours": (SyntheticCausalModel().fit(around), around),
        "fitted": (fitted("distance", given_edges), given_edges),
        "fitted cosine": (fitted("cosine", given_edges), given_edges),
        "fitted candidates": (fitted("distance", given_edges, exact_up_to=10), given_edges),
        "fixed": (fitted("fixed", given_edges), given_edges),
        "own": (OneColumn().fit(given_edges), given_edges),
    }


def same(first: SensitiveGraph, second: SensitiveGraph) -> bool:
    tensors = ("x", "edge_index", "sens", "y", "node_id", "train_mask", "test_mask")
    equal = all(torch.equal(first[key], second[key]) for key in tensors)
    return equal and first.mechanism is second.mechanism and first.raw is second.raw


@pytest.mark.parametrize(
    "name",
    [
        "similarity",
        "similarity by quantiles",
        "similarity of the nearest",
        "synthetic",
        "synthetic neighbours",
        "fitted",
        "fitted cosine",
        "fitted candidates",
        "fixed",
        "own",
    ],
)
def test_a_local_world_is_the_whole_one_to_the_bit(name: str) -> None:
    model, graph = models()[name]
    n = len(graph.x)
    rng = np.random.default_rng(0)
    moved = 0
    for trial in range(40):
        count = 1 if trial % 2 else int(rng.integers(1, 6))
        rows = torch.from_numpy(rng.choice(n, count, replace=False))
        values = 1 - graph.sens[rows] if trial % 3 else torch.from_numpy(rng.integers(0, 2, count))
        sens = graph.sens.clone()
        sens[rows] = values
        local = model.local(graph, rows, values, seed=trial % 2)
        world = model.counterfactual(graph, sens, seed=trial % 2)
        assert same(local.graph(), world)
        moved += local.removed.shape[1] + local.added.shape[1]
    assert moved > 0 or name == "fixed"


def test_own_forms_do_not_build_the_whole_graph(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("similarity", "synthetic", "synthetic neighbours", "fitted", "fitted candidates"):
        model, graph = models()[name]
        rows = torch.tensor([3])
        model.local(graph, rows, 1 - graph.sens[rows])
        with monkeypatch.context() as patched:
            patched.setattr(SensitiveGraph, "replace", None)
            patched.setattr(type(model), "counterfactual", None)
            model.local(graph, rows, 1 - graph.sens[rows])


@pytest.mark.parametrize("name", ["similarity", "synthetic", "fitted", "own"])
def test_a_graph_that_changed_is_read_again(name: str) -> None:
    model, graph = models()[name]
    rows = torch.tensor([5])
    flip = 1 - graph.sens
    # A world of the graph: its own differences, not those of the factual one.
    other = model.local(graph, torch.tensor([7]), flip[[7]]).graph()
    if name == "synthetic":
        assert other.latent is graph.latent
    local = model.local(other, rows, flip[rows])
    sens = other.sens.clone()
    sens[rows] = flip[rows]
    assert same(local.graph(), model.counterfactual(other, sens))


def test_few_candidates_are_those_of_the_tree_of_the_world() -> None:
    """On columns without ties, where the nearest are the same whichever tree finds them."""
    model, graph = models()["fitted candidates"]
    assert isinstance(model, FittedCausalModel)
    factual, law = model._factual(graph), model._edges
    assert law is not None
    assert law.model is not None
    changed = 0
    for row in range(0, 200, 7):
        sens = factual.sens.copy()
        sens[row] = 1 - sens[row]
        world = model._world(factual, sens, seed=3)
        assert isinstance(world, World)
        pairs = Candidates(law.model, world).edges(3)
        whole = model.counterfactual(
            graph, torch.from_numpy(sens[np.argsort(factual.order)]), seed=3
        )
        assert torch.equal(whole.edge_index, factual.edge_index(pairs))
        changed += not torch.equal(whole.edge_index, graph.edge_index)
    assert changed > 0


def test_wrong_people_are_refused() -> None:
    model, graph = models()["similarity"]
    for rows, sens in (([1, 1], [0, 1]), ([1], [2]), ([1, 2], [0]), ([999], [0])):
        with pytest.raises(GraphError, match="local world"):
            model.local(graph, torch.tensor(rows), torch.tensor(sens))


@settings(max_examples=40)
@given(st.integers(0, 10_000), st.integers(0, 3))
def test_surroundings_are_those_of_the_whole_graphs(seed: int, hops: int) -> None:
    rng = np.random.default_rng(seed)
    graph = community_graph(40)
    n = len(graph.x)
    edges = {(i, j) for i, j in graph.edge_index.t().tolist() if i < j}
    apart = [(i, j) for i in range(n) for j in range(i + 1, n) if (i, j) not in edges]
    worlds, nodes = [], []
    for _ in range(3):
        gone = rng.choice(sorted(edges), rng.integers(0, 4), replace=False)
        fresh = rng.choice(apart, rng.integers(0, 4), replace=False)
        rows = torch.from_numpy(np.sort(rng.choice(n, 2, replace=False)))
        removed, added = (torch.from_numpy(part.reshape(-1, 2).T.copy()) for part in (gone, fresh))
        x = torch.randn(2, graph.x.shape[1])
        x[:, 1] = (1 - graph.sens[rows]).float()
        worlds.append(LocalWorld(graph, rows, 1 - graph.sens[rows], x, removed, added))
        nodes.append(torch.from_numpy(rng.integers(0, n, 2)))
    found = Surroundings.of(worlds, nodes, hops)
    place = 0
    for at, (world, wanted) in enumerate(zip(worlds, nodes, strict=True)):
        whole = world.graph()
        matrix = torch.zeros(n, n, dtype=torch.int64)
        matrix[whole.edge_index[0], whole.edge_index[1]] = 1
        near = set(wanted.tolist())
        inner: set[int] = set()
        for _ in range(hops):
            inner |= near
            near |= {int(j) for i in near for j in matrix[i].nonzero()[:, 0]}
        mine = np.flatnonzero(found.world == at)
        rows = found.rows[torch.from_numpy(mine)]
        assert set(rows.tolist()) == near
        assert bool((graph.canonical.numbers[rows].diff() > 0).all())
        assert torch.equal(found.x[torch.from_numpy(mine)], whole.x[rows])
        assert torch.equal(found.sens[torch.from_numpy(mine)], whole.sens[rows])
        assert found.degree[mine].tolist() == matrix[rows].sum(dim=1).tolist()
        assert set(found.rows[torch.from_numpy(mine[found.inner[mine]])].tolist()) == inner
        here = found.edges[:, np.isin(found.edges[1], mine)]
        ends = found.rows[torch.from_numpy(here)]
        expected = {(int(j), i) for i in inner for j in matrix[i].nonzero()[:, 0]}
        assert sorted(map(tuple, ends.t().tolist())) == sorted(expected)
        for row in wanted.tolist():
            assert int(found.rows[found.targets[place]]) == row
            place += 1
    members, missing = found.rim
    full = (
        found.degree[~found.inner].sum()
        - np.isin(found.edges[0], np.flatnonzero(~found.inner)).sum()
    )
    assert missing.sum() == full
    assert not found.inner[members].any()
