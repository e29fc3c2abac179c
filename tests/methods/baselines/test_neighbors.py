"""Parts of a graph, and sums over neighbours, against the whole graph and a loop over its edges."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from fairgear.graph.canonical import Canonical
from fairgear.methods.baselines.layers import GcnLayer, GinLayer, LayeredEncoder, SageLayer
from fairgear.methods.baselines.neighbors import Links, Neighbors, NodeBatch
from fairgear.methods.gear.config import GearConfig
from tests.graphs import random_graph


def links(n: int = 60, edges: int = 90, seed: int = 0) -> Links:
    return Links.of(random_graph(n=n, edges=edges, seed=seed).canonical)


def neighbors_of(links: Links, row: int) -> set[int]:
    return set(links.index[links.ptr[row] : links.ptr[row + 1]].tolist())


def within(links: Links, people: list[int], hops: int) -> set[int]:
    """Everyone up to that many steps away, one person after the other."""
    reached = set(people)
    for _ in range(hops):
        reached |= {other for person in reached for other in neighbors_of(links, person)}
    return reached


def dense(neighbors: Neighbors) -> Tensor:
    return neighbors.matrix.to_dense()


@given(
    seed=st.integers(0, 20),
    edges=st.integers(0, 120),
    hops=st.integers(1, 3),
    people=st.lists(st.integers(0, 39), max_size=6),
)
@settings(max_examples=30, deadline=None)
def test_a_batch_holds_all_that_the_layers_read_and_no_more(
    seed: int, edges: int, hops: int, people: list[int]
) -> None:
    whole = links(40, edges, seed)
    batch = whole.around(torch.tensor(people, dtype=torch.int64), hops)
    assert batch.rows is not None
    assert batch.targets is not None
    rows = batch.rows.tolist()
    assert rows == sorted(within(whole, people, hops))
    assert batch.rows[batch.targets].tolist() == people
    inner = within(whole, people, hops - 1)
    matrix = dense(batch.neighbors)
    for place, row in enumerate(rows):
        found = {rows[column] for column in matrix[place].nonzero()[:, 0].tolist()}
        assert found == (neighbors_of(whole, row) if row in inner else set())
    assert bool(((matrix == 0) | (matrix == 1)).all())
    assert torch.equal(batch.neighbors.degree[:, 0], whole.degree[batch.rows].float())
    assert torch.equal(batch.neighbors.transpose.to_dense(), matrix.T)


def test_the_whole_graph_has_its_edges() -> None:
    graph = random_graph(n=60, edges=90)
    neighbors = Links.of(graph.canonical).everyone.neighbors
    expected = torch.zeros(60, 60)
    expected[graph.edge_index[0], graph.edge_index[1]] = 1
    assert torch.equal(dense(neighbors), expected)
    assert torch.equal(neighbors.transpose.to_dense(), expected.T)


def test_sums_over_neighbours_are_those_of_a_dense_matrix() -> None:
    whole = links()
    adjacency = dense(whole.everyone.neighbors).double()
    x = torch.randn(60, 5, generator=torch.Generator().manual_seed(0))
    count = adjacency.sum(dim=1)
    assert int((count == 0).sum()) > 0, "some people have no neighbour"
    around = whole.everyone.neighbors
    torch.testing.assert_close(around.sum(x), (adjacency @ x.double()).float())
    mean = (adjacency @ x.double()) / count.clamp(min=1)[:, None]
    torch.testing.assert_close(around.mean(x), mean.float())
    looped = adjacency + torch.eye(60)
    root = torch.diag(looped.sum(dim=1).pow(-0.5))
    expected = root @ looped @ root @ x.double()
    torch.testing.assert_close(around.normalized(x), expected.float())


@pytest.mark.parametrize("fanout", [0, 2])
def test_gradients_go_back_along_the_edges(fanout: int) -> None:
    batch = links().around(torch.arange(10), 2, fanout)
    matrix = dense(batch.neighbors)
    x = torch.randn(len(matrix), 3, requires_grad=True)
    pull = torch.randn(len(matrix), 3)
    (batch.neighbors.sum(x) * pull).sum().backward()  # type: ignore[no-untyped-call]  # torch's
    assert x.grad is not None
    torch.testing.assert_close(x.grad, matrix.T @ pull)


def test_a_graph_without_edges_has_sums_of_zero() -> None:
    empty = Links.of(Canonical(torch.arange(4), torch.empty(2, 0, dtype=torch.int64)))
    x = torch.ones(4, 2)
    for batch in (empty.everyone, empty.around(torch.tensor([2, 0]), 2)):
        values = batch.inputs(x)
        assert torch.equal(batch.neighbors.sum(values), 0 * values)
        assert torch.equal(batch.neighbors.mean(values), 0 * values)
        assert torch.equal(batch.neighbors.normalized(values), values)


def test_a_fanout_draws_that_many_neighbours_each_standing_for_its_share() -> None:
    whole = links(60, 500)
    torch.manual_seed(0)
    batch = whole.around(torch.arange(60), 1, fanout=4)
    matrix = dense(batch.neighbors)
    kept, degree = (matrix > 0).sum(dim=1), whole.degree
    assert int(degree.max()) > 8
    assert torch.equal(kept, degree.clamp(max=4))
    torch.testing.assert_close(matrix.sum(dim=1), degree.float())
    assert bool(((matrix > 0) <= (dense(whole.everyone.neighbors) > 0)).all())
    torch.manual_seed(0)
    assert torch.equal(dense(whole.around(torch.arange(60), 1, fanout=4).neighbors), matrix)
    assert not torch.equal(dense(whole.around(torch.arange(60), 1, fanout=4).neighbors), matrix)


def test_every_neighbour_is_as_likely_to_be_drawn() -> None:
    whole = links(30, 200)
    person = int(whole.degree.argmax())
    torch.manual_seed(0)
    counts = torch.zeros(30)
    for _ in range(600):
        batch = whole.around(torch.tensor([person]), 1, fanout=3)
        assert batch.rows is not None
        counts[batch.rows] += 1
    others = counts[sorted(neighbors_of(whole, person))]
    expected = 600 * 3 / len(others)
    # Six standard deviations of a binomial count.
    assert float((others - expected).abs().max()) < 6 * expected**0.5


def test_a_fanout_as_large_as_any_degree_is_none() -> None:
    whole = links()
    people = torch.arange(0, 60, 7)
    one, other = (whole.around(people, 2, fanout) for fanout in (0, 1000))
    assert torch.equal(dense(one.neighbors), dense(other.neighbors))


def test_values_are_taken_for_those_who_take_part_and_given_for_those_asked_about() -> None:
    whole = links()
    values = torch.arange(60.0)
    people = torch.tensor([7, 3, 7])
    batch = whole.around(people, 2).to(torch.device("cpu"))
    assert torch.equal(batch.outputs(batch.inputs(values)), values[people])
    everyone: NodeBatch = whole.everyone
    assert torch.equal(everyone.outputs(everyone.inputs(values)), values)


@pytest.mark.parametrize("layer", [SageLayer, GcnLayer, GinLayer])
@pytest.mark.parametrize("layers", [1, 2, 3])
def test_layers_for_inner_people_give_them_what_the_whole_graph_gives(
    layer: type[nn.Module], layers: int
) -> None:
    known, people = links(edges=70), [3, 17]
    order = sorted(within(known, people, layers))
    nearer = within(known, people, layers - 1)
    edges = [
        (order.index(other), order.index(one))
        for one in nearer
        for other in neighbors_of(known, one)
    ]
    inner = torch.tensor([place for place, row in enumerate(order) if row in nearer])
    around = Neighbors.around(
        torch.tensor(edges).reshape(-1, 2).T, known.ptr.diff()[torch.tensor(order)], inner
    )
    torch.manual_seed(0)
    x = torch.randn(60, 5)
    encoder = LayeredEncoder(layer, 5, GearConfig(layers=layers, dim=8)).eval()
    whole = encoder(x, known.everyone.neighbors)
    found = encoder(x[torch.tensor(order)], around)
    assert found.shape == (len(nearer), 8)
    for person in people:
        place = sorted(nearer).index(person)
        torch.testing.assert_close(found[place], whole[person], rtol=1e-5, atol=1e-6)
