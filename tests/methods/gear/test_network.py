"""The network against one that is written out, person by person."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from fairgear.methods.baselines.layers import SageLayer
from fairgear.methods.baselines.neighbors import Neighbors
from fairgear.methods.gear.config import GearConfig
from fairgear.methods.gear.network import GearNetwork
from tests.graphs import random_graph


def some_people() -> tuple[Tensor, Neighbors]:
    """Random people (30, 5), of whom the first is alone, and their neighbours."""
    x = torch.randn(30, 5, generator=torch.Generator().manual_seed(0))
    edges = random_graph(n=30, edges=60, seed=0).edge_index
    edges = edges[:, (edges != 0).all(dim=0)]
    degree = torch.bincount(edges[1], minlength=30)
    return x, Neighbors.of_edges(edges, torch.ones(edges.shape[1]), degree)


def network_of(encoder: str, dropout: float = 0.0) -> GearNetwork:
    torch.manual_seed(3)
    return GearNetwork(5, GearConfig(encoder=encoder, dim=6, dropout=dropout)).eval()


def affine(layer: nn.Module, x: Tensor) -> Tensor:
    assert isinstance(layer, nn.Linear)
    found = layer.weight @ x
    return found if layer.bias is None else found + layer.bias


def sage_by_hand(layer: nn.Module, states: list[Tensor], edges: Tensor, i: int) -> Tensor:
    assert isinstance(layer, SageLayer)
    near = [state for state, edge in zip(states, edges[i], strict=True) if edge > 0]
    mean = torch.stack(near).mean(dim=0) if near else torch.zeros_like(states[i])
    return affine(layer.around, mean) + affine(layer.own, states[i])


def by_hand(
    network: GearNetwork, x: Tensor, neighbors: Neighbors, encoder: str
) -> list[tuple[Tensor, Tensor]]:
    """The representation and the logit of everybody."""
    states = [affine(network.embed, one) for one in x]
    if encoder == "linear":
        return [(one, one[0]) for one in states]
    states = [one.clamp(min=0) for one in states]
    if encoder == "mlp":
        found = [affine(network.encoder, one) for one in states]
    else:
        first, last = network.encoder.layers  # type: ignore[misc]  # a module list
        edges, people = neighbors.matrix.to_dense(), range(len(x))
        hidden = [sage_by_hand(first, states, edges, i).clamp(min=0) for i in people]
        found = [sage_by_hand(last, hidden, edges, i) for i in people]
    return [(z, affine(network.out, z.clamp(min=0))[0]) for z in found]


@pytest.mark.parametrize("encoder", ["graphsage", "mlp", "linear"])
def test_answers_are_those_of_a_network_in_loops(encoder: str) -> None:
    network, (x, neighbors) = network_of(encoder), some_people()
    with torch.no_grad():
        z, logits = network(x, neighbors)
        assert logits.shape == (30,)
        for i, (own_z, own_logit) in enumerate(by_hand(network, x, neighbors, encoder)):
            torch.testing.assert_close(z[i], own_z, atol=1e-5, rtol=1e-4)
            torch.testing.assert_close(logits[i], own_logit, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("encoder", ["graphsage", "gcn", "gin", "mlp", "linear"])
def test_edges_and_neighbours_are_read_by_graph_encoders_alone(encoder: str) -> None:
    network, (x, neighbors) = network_of(encoder), some_people()
    reads = encoder not in ("mlp", "linear")
    assert network.reads_graph == reads
    none = torch.zeros(2, 0, dtype=torch.long)
    without = Neighbors.of_edges(none, torch.zeros(0), torch.zeros(30))
    near = neighbors.matrix.to_dense()[5].nonzero()[0, 0]
    assert near != 5
    moved = x.clone()
    moved[near] += 1
    with torch.no_grad():
        expected = network(x, neighbors)[1]
        for found in (network(moved, neighbors)[1], network(x, without)[1]):
            assert torch.equal(found[5], expected[5]) != reads
            # Whoever is alone has nobody to read.
            torch.testing.assert_close(found[0], expected[0])


@pytest.mark.parametrize("encoder", ["graphsage", "mlp"])
def test_dropout_is_for_training(encoder: str) -> None:
    network, (x, neighbors) = network_of(encoder, dropout=0.5), some_people()
    with torch.no_grad():
        still = network(x, neighbors)[1]
        assert torch.equal(network(x, neighbors)[1], still)
        network.train()
        draws = torch.stack([network(x, neighbors)[1] for _ in range(2)])
    assert not torch.equal(draws[0], draws[1])
    assert torch.equal(network_of(encoder)(x, neighbors)[1].detach(), still)
