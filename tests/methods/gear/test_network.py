"""The network against one that is written out, member by member and view by view."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch import Tensor, nn

from fairgear.methods.egos import Ego
from fairgear.methods.gear.config import GearConfig
from fairgear.methods.gear.network import GearNetwork
from fairgear.nn.layers import SageLayer
from tests.methods.gear.views import viewed


def network_of(encoder: str, views: int = 3, dropout: float = 0.0) -> GearNetwork:
    torch.manual_seed(3)
    return GearNetwork(5, views, GearConfig(encoder=encoder, dim=6, dropout=dropout)).eval()


def affine(layer: nn.Module, x: Tensor) -> Tensor:
    assert isinstance(layer, nn.Linear)
    found = layer.weight @ x
    return found if layer.bias is None else found + layer.bias


def shares(views: int) -> list[float]:
    """What a view counts: one half as it is, one half for all others together."""
    return [1.0] if views == 1 else [0.5] + [0.5 / (views - 1)] * (views - 1)


def member_by_hand(network: GearNetwork, ego: Ego, b: int, i: int) -> Tensor:
    s = float(ego.sens[b, i])
    total = torch.zeros(network.embed.out_features)
    for view, share in enumerate(shares(ego.x.shape[2])):
        group = torch.tensor([s if view == 0 else 1 - s])
        value = affine(network.embed, ego.x[b, i, view]) + affine(network.group, group)
        total = total + share * (value if network.linear else value.clamp(min=0))
    return total


def sage_by_hand(layer: nn.Module, states: dict[int, Tensor], edges: Tensor, i: int) -> Tensor:
    assert isinstance(layer, SageLayer)
    near = [states[j] for j in states if edges[i, j] > 0]
    mean = torch.stack(near).mean(dim=0) if near else torch.zeros_like(states[i])
    return affine(layer.conv.lin_rel, mean) + affine(layer.conv.lin_root, states[i])


def by_hand(network: GearNetwork, ego: Ego, b: int, encoder: str) -> tuple[Tensor, Tensor]:
    """The representation and the logit of one centre."""
    states = {
        i: member_by_hand(network, ego, b, i) for i in range(ego.mask.shape[1]) if ego.mask[b, i]
    }
    if encoder == "linear":
        return states[0], states[0][0]
    if encoder == "mlp":
        z = affine(network.encoder, states[0])
    else:
        first, last = network.encoder.layers  # type: ignore[misc]  # a module list
        edges = ego.adjacency[b]
        hidden = {i: sage_by_hand(first, states, edges, i).clamp(min=0) for i in states}
        z = sage_by_hand(last, hidden, edges, 0)
    return z, affine(network.out, z.clamp(min=0))[0]


@pytest.mark.parametrize("views", [1, 2, 4])
@pytest.mark.parametrize("encoder", ["graphsage", "mlp", "linear"])
def test_answers_are_those_of_a_network_in_loops(encoder: str, views: int) -> None:
    network, ego = network_of(encoder, views), viewed(views)
    with torch.no_grad():
        z, logits = network(ego)
        assert logits.shape == (6,)
        for b in range(6):
            own_z, own_logit = by_hand(network, ego, b, encoder)
            torch.testing.assert_close(z[b], own_z, atol=1e-5, rtol=1e-4)
            torch.testing.assert_close(logits[b], own_logit, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("encoder", ["graphsage", "gcn", "gin", "mlp", "linear"])
def test_padded_members_play_no_part(encoder: str) -> None:
    network, ego = network_of(encoder), viewed()
    absent = ~ego.mask
    assert bool(absent.any())
    noise = torch.where(absent[..., None, None], 100.0, ego.x)
    other = replace(ego, x=noise, sens=torch.where(absent, 1, ego.sens))
    with torch.no_grad():
        for found, expected in zip(network(other), network(ego), strict=True):
            assert torch.equal(found, expected)
        if network.reads_graph:
            assert bool((network.members(other)[absent] == 0).all())


@pytest.mark.parametrize("encoder", ["graphsage", "gcn", "gin", "mlp", "linear"])
def test_edges_and_neighbours_are_read_by_graph_encoders_alone(encoder: str) -> None:
    network, ego = network_of(encoder), viewed()
    x, sens = ego.x.clone(), ego.sens.clone()
    x[:, 1:] += ego.mask[:, 1:, None, None]
    sens[:, 1:] = (1 - sens[:, 1:]) * ego.mask[:, 1:]
    without = torch.zeros_like(ego.adjacency)
    reads = encoder not in ("mlp", "linear")
    assert network.reads_graph == reads
    with torch.no_grad():
        expected = network(ego)[1]
        for other in (replace(ego, x=x), replace(ego, sens=sens), replace(ego, adjacency=without)):
            found = network(other)[1]
            assert torch.equal(found, expected) != reads
            # Whoever is alone has nobody to read.
            assert torch.equal(found[0], expected[0])


@pytest.mark.parametrize("encoder", ["graphsage", "mlp"])
def test_dropout_is_for_training(encoder: str) -> None:
    network, ego = network_of(encoder, dropout=0.5), viewed(batch=50)
    with torch.no_grad():
        still = network(ego)[1]
        assert torch.equal(network(ego)[1], still)
        network.train()
        draws = torch.stack([network(ego)[1] for _ in range(2)])
    assert not torch.equal(draws[0], draws[1])
    assert torch.equal(network_of(encoder)(ego)[1].detach(), still)
