"""Lists of the best-scored people, against sorting everybody."""

from __future__ import annotations

from unittest.mock import patch

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.special import expit
from torch import Tensor, nn

from fairgear.errors import FairgearError
from fairgear.graph import SensitiveGraph
from fairgear.hashing import pair_uniform
from fairgear.links import PairScorer, lists, search, top_lists
from fairgear.links.methods.heads import HEADS, PairNetwork
from fairgear.links.methods.network import NetworkScorer
from fairgear.links.methods.regression import PairRegression, RegressionScorer
from fairgear.links.methods.shared import SharedNeighbours
from tests.graphs import linked_graph, random_graph


class Rounded(PairScorer):
    """Nearness of two people's features in coarse steps, so that many scores are equal."""

    def __init__(self, graph: SensitiveGraph, steps: float = 1.0) -> None:
        super().__init__(graph)
        self.steps = steps

    def pairs(self, ends: Tensor) -> NDArray[np.float64]:
        one, other = self.graph.x[ends].double()
        # The first end counts more: lists must not mix up who is asked and who is listed.
        near: NDArray[np.float64] = (2 * one[:, 0] - other[:, 0] + one[:, 1] * other[:, 1]).numpy()
        return np.round(near * self.steps) / self.steps


def by_sorting(scorer: PairScorer, row: int, k: int, exclude: SensitiveGraph | None) -> list[int]:
    """One pair after the other, in plain Python."""
    graph = scorer.graph
    linked = set()
    if exclude is not None:
        linked = {j for i, j in exclude.edge_index.T.tolist() if i == row}
    ranked = []
    for other in range(len(graph.x)):
        if other != row and other not in linked:
            score = float(scorer.pairs(torch.tensor([[row], [other]]))[0])
            ids = graph.node_id[[row, other]].numpy()
            ranked.append((-score, float(pair_uniform(ids[:1], ids[1:], 0, "lists")[0]), other))
    best = [other for _, _, other in sorted(ranked)][:k]
    return best + [-1] * (k - len(best))


@pytest.mark.parametrize("links", ["undirected", "directed", "weighted"])
@pytest.mark.parametrize("excluding", [True, False])
@pytest.mark.parametrize("k", [1, 7, 60])
def test_lists_are_those_of_sorting_everybody(
    links: str, excluding: bool, k: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = linked_graph(directed=links == "directed", weighted=links == "weighted")
    graph = graph.permute(torch.randperm(len(graph.x), generator=torch.Generator().manual_seed(3)))
    monkeypatch.setattr(lists, "_CELLS", 4 * len(graph.x))  # several blocks, the last a part
    scorer, exclude = Rounded(graph), graph if excluding else None
    rows = torch.tensor([5, 0, 29, 5, 12, 1, 2])
    found = top_lists(scorer, rows, k, exclude=exclude)
    assert found.tolist() == [by_sorting(scorer, int(row), k, exclude) for row in rows]


@given(seed=st.integers(0, 10_000), k=st.integers(1, 31), steps=st.sampled_from([0.3, 1.0, 1e3]))
def test_the_order_of_rows_does_not_matter(seed: int, k: int, steps: float) -> None:
    graph = random_graph(seed=seed % 7)
    order = torch.randperm(len(graph.x), generator=torch.Generator().manual_seed(seed))
    moved = graph.permute(order)
    lists_of = [
        top_lists(Rounded(one, steps), torch.arange(len(one.x)), k, exclude=one)
        for one in (graph, moved)
    ]
    # In ids, −1 for nobody, one's own list at the place of one's id.
    by_id = []
    for one, found in zip((graph, moved), lists_of, strict=True):
        named = torch.where(found < 0, -1, one.node_id[found.clamp(min=0)])
        by_id.append(named[one.node_id.argsort()])
    assert torch.equal(*by_id)


def test_people_scored_minus_infinity_are_in_no_list() -> None:
    class Some(Rounded):
        def pairs(self, ends: Tensor) -> NDArray[np.float64]:
            return np.where(ends[1].numpy() < 3, 1.0, -np.inf)

    found = top_lists(Some(random_graph()), torch.tensor([9, 1]), 4)
    assert [set(of) for of in found.tolist()] == [{0, 1, 2, -1}, {0, 2, -1}]
    assert found[:, -1].tolist() == [-1, -1]


def test_nobody_is_preferred_for_an_early_id() -> None:
    class Same(Rounded):
        def pairs(self, ends: Tensor) -> NDArray[np.float64]:
            return np.zeros(ends.shape[1])

    graph = random_graph(n=200)
    found = top_lists(Same(graph), torch.arange(200), 10)
    early = (graph.node_id[found] < graph.node_id.median()).double().mean()
    # 2,000 places, half of them: five standard errors.
    assert abs(float(early) - 0.5) < 5 * 0.5 / 2000**0.5


def test_nobody_has_an_empty_table_of_lists() -> None:
    scorer = Rounded(random_graph())
    assert top_lists(scorer, torch.arange(0), 4).shape == (0, 4)
    assert top_lists(scorer, scorer.graph.sens == 1, 2).shape == (int(scorer.graph.sens.sum()), 2)


def test_what_cannot_be_ranked_is_refused() -> None:
    class Unknown(Rounded):
        def pairs(self, ends: Tensor) -> NDArray[np.float64]:
            return np.full(ends.shape[1], np.nan)

    graph = random_graph()
    with pytest.raises(FairgearError, match="not numbers"):
        top_lists(Unknown(graph), torch.tensor([0]), 3)
    with pytest.raises(FairgearError, match="length of lists: got 0"):
        top_lists(Rounded(graph), torch.tensor([0]), 0)
    with pytest.raises(FairgearError, match="people with lists: got 30"):
        top_lists(Rounded(graph), torch.tensor([30]), 3)
    with pytest.raises(FairgearError, match="not those of the model's graph"):
        top_lists(Rounded(graph), torch.tensor([0]), 3, exclude=random_graph(n=31))


class Dots(Rounded):
    """Scores that are products of vectors, of which some are equal."""

    def __init__(self, graph: SensitiveGraph, *, equal: bool = False, one: bool = False) -> None:
        super().__init__(graph)
        names = graph.node_id % 5 if equal else graph.node_id
        generator = torch.Generator().manual_seed(1)
        table = torch.randn(2, int(graph.node_id.max()) + 1, 6, generator=generator).double()
        self.first, self.second = table[0, names], table[0 if one else 1, names]

    def pairs(self, ends: Tensor) -> NDArray[np.float64]:
        products = (self.first[ends[0]] * self.second[ends[1]]).numpy()
        found: NDArray[np.float64] = np.tanh(products.sum(axis=1))
        return found

    def vectors(self) -> tuple[Tensor, Tensor] | None:
        return self.first, self.second


@given(
    seed=st.integers(0, 1000),
    k=st.integers(1, 35),
    equal=st.booleans(),
    one=st.booleans(),
    columns=st.sampled_from([7, 8, 100]),
)
def test_lists_by_products_are_those_of_sorting_everybody(
    seed: int, k: int, equal: bool, one: bool, columns: int
) -> None:
    graph = linked_graph(seed=seed % 5, directed=seed % 2 == 0, weighted=False)
    graph = graph.permute(torch.randperm(30, generator=torch.Generator().manual_seed(seed)))
    scorer = Dots(graph, equal=equal, one=one)
    rows = torch.tensor([4, 29, 0, 11, 4])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(search, "_COLUMNS", columns)
        patch.setattr(search, "_LEAST", 4 if seed % 3 else 64)
        found = top_lists(scorer, rows, k, exclude=graph)
    assert found.tolist() == [by_sorting(scorer, int(row), k, graph) for row in rows]


def test_products_are_asked_for_few_pairs_and_crowds_are_all_compared() -> None:
    asked = []

    class Counting(Dots):
        def pairs(self, ends: Tensor) -> NDArray[np.float64]:
            asked.append(ends.shape[1])
            return super().pairs(ends)

    graph = random_graph(3000, 6000)
    rows = torch.arange(0, 3000, 100)
    scorer = Counting(graph)
    found = top_lists(scorer, rows, 5)
    assert sum(asked) < 0.05 * len(rows) * 3000
    whole = top_lists(Whole(graph), rows, 5)
    assert torch.equal(found, whole)
    asked.clear()
    # Five kinds of people: 600 share each score.
    crowd = Counting(graph, equal=True)
    assert torch.equal(top_lists(crowd, rows, 5), top_lists(Whole(graph, equal=True), rows, 5))
    assert sum(asked) == len(rows) * 2999


class Whole(Dots):
    def vectors(self) -> None:
        return None


def test_products_that_rounding_cannot_tell_apart_are_told_by_the_model() -> None:
    class Close(PairScorer):
        def __init__(self, graph: SensitiveGraph) -> None:
            super().__init__(graph)
            # Differences far below the last digit of float32.
            self.z = torch.ones(30, 2, dtype=torch.float64)
            self.z[:, 1] += 1e-12 * torch.arange(30)

        def pairs(self, ends: Tensor) -> NDArray[np.float64]:
            found: NDArray[np.float64] = (self.z[ends[0]] * self.z[ends[1]]).sum(dim=1).numpy()
            return found

        def vectors(self) -> tuple[Tensor, Tensor]:
            return self.z, self.z

    found = top_lists(Close(random_graph()), torch.tensor([0, 29]), 3)
    assert found.tolist() == [[29, 28, 27], [28, 27, 26]]


def test_vectors_that_are_not_finite_are_refused() -> None:
    scorer = Dots(random_graph())
    scorer.second[3, 2] = torch.inf
    with pytest.raises(FairgearError, match="vectors of people"):
        top_lists(scorer, torch.tensor([0]), 3)


@pytest.mark.parametrize("head", ["dot", "bilinear", "mlp"])
@pytest.mark.parametrize("links", ["undirected", "directed", "weighted"])
@pytest.mark.parametrize("scale", [1.0, 20.0])
@pytest.mark.parametrize("weights", [None, [1.5, -0.4], [-1.5, 0.4]])
def test_networks_put_the_same_people_first_by_their_vectors(
    head: str, links: str, scale: float, weights: list[float] | None
) -> None:
    graph = linked_graph(directed=links == "directed", weighted=links == "weighted")
    graph = graph.permute(torch.randperm(len(graph.x), generator=torch.Generator().manual_seed(3)))
    torch.manual_seed(0)
    network = PairNetwork(nn.Identity(), HEADS[head](6, graph.directed), len(weights or []))
    shared = None
    if network.shared is not None:
        network.shared.data = scale * torch.tensor(weights)
        shared = SharedNeighbours(graph)
    scorer = NetworkScorer(graph, scale * torch.randn(30, 6), network, shared)
    if scale > 1 and head == "dot":
        # Probabilities of several people are all alike.
        assert np.sort(scorer.block(torch.tensor([4]))[0])[-2] == 1
    rows = torch.tensor([4, 17])
    ranking = scorer.ranking()
    for excluded in (graph, None):
        found = top_lists(scorer, rows, 8, exclude=excluded)
        assert found.tolist() == [by_sorting(ranking, int(row), 8, excluded) for row in rows]
    assert (scorer.vectors() is None) == (head == "mlp")
    ends = torch.tensor([[4, 17, 2], [5, 3, 9]])
    np.testing.assert_allclose(expit(ranking.pairs(ends)), scorer.pairs(ends))


def test_regressions_are_ranked_by_logits() -> None:
    graph = random_graph()
    regression = PairRegression(("product", "sum"), 2)
    regression.linear.w += torch.tensor([300.0, 200.0, 90.0, 80.0])
    scorer = RegressionScorer(graph, torch.randn(30, 2).double(), regression)
    rows = torch.arange(30)
    assert (scorer.block(rows) == 1).sum() > 60
    assert scorer.ranking().block(rows).max() > 40
    expected = [by_sorting(scorer.ranking(), int(row), 6, None) for row in rows]
    assert top_lists(scorer, rows, 6).tolist() == expected


@given(seed=st.integers(0, 10_000), k=st.integers(1, 20))
def test_scores_that_are_no_products_are_exceptions(seed: int, k: int) -> None:
    rng = np.random.default_rng(seed)
    apart = np.triu(rng.random((30, 30)) < rng.random(), 1)
    more = np.where(apart | apart.T, np.round(2 * rng.normal(size=(30, 30))), 0)

    class Some(Dots):
        def pairs(self, ends: Tensor) -> NDArray[np.float64]:
            found: NDArray[np.float64] = super().pairs(ends) + more[tuple(ends.numpy())]
            return found

        def exceptions(self, rows: Tensor) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
            places, others = np.nonzero(more[rows.numpy()])
            return places, others

        def most_exceptions(self, rows: Tensor) -> NDArray[np.int64]:
            known: NDArray[np.int64] = (more[rows.numpy()] != 0).sum(axis=1) + rows.numpy() % 2
            return known

    graph = random_graph(seed=seed % 5)
    scorer, rows = Some(graph), torch.arange(30)
    with patch.object(lists, "_MANY", 0.4), patch.object(lists, "_CELLS", 40):
        found = top_lists(scorer, rows, k, exclude=graph)
    assert found.tolist() == [by_sorting(scorer, int(row), k, graph) for row in rows]
