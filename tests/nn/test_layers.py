from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch_geometric.nn import GCNConv, GINConv, SAGEConv
from torch_geometric.utils import dense_to_sparse

from fairgear.methods.egos import Ego
from fairgear.nn.layers import EgoLayer, GcnLayer, GinLayer, SageLayer
from tests.nn.ego_batches import centre_first_order, padded, random_egos, reordered

LAYERS: list[Callable[[int, int], EgoLayer]] = [SageLayer, GcnLayer, GinLayer]


def made(kind: Callable[[int, int], EgoLayer], seed: int = 0) -> EgoLayer:
    """A layer whose every parameter, biases and ε too, is a random number."""
    layer = kind(5, 7)
    draw = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in layer.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=draw))
    return layer


def parameters_of(layer: EgoLayer) -> dict[str, np.ndarray[tuple[int, ...], np.dtype[np.float64]]]:
    return {name: value.detach().double().numpy() for name, value in layer.named_parameters()}


def by_loop(
    layer: EgoLayer, ego: Ego, row: int
) -> list[np.ndarray[tuple[int, ...], np.dtype[np.float64]]]:
    """New features of the real members of one ego, member by member."""
    own = parameters_of(layer)
    x = ego.x[row].double().numpy()
    adjacency = ego.adjacency[row].numpy()
    out = []
    for i in range(int(ego.mask[row].sum())):
        neighbours = [j for j in range(len(x)) if adjacency[i, j]]
        if isinstance(layer, SageLayer):
            mean = np.mean([x[j] for j in neighbours], axis=0) if neighbours else 0 * x[i]
            value = own["conv.lin_rel.weight"] @ mean + own["conv.lin_root.weight"] @ x[i]
            value = value + own.get("conv.lin_rel.bias", 0) + own.get("conv.lin_root.bias", 0)
        elif isinstance(layer, GcnLayer):
            degree = adjacency.sum(axis=1) + 1
            total = sum(
                own["conv.lin.weight"] @ x[j] / np.sqrt(degree[i] * degree[j])
                for j in [i, *neighbours]
            )
            value = total + own["conv.bias"]
        else:
            total = (1 + own["conv.eps"]) * x[i] + sum((x[j] for j in neighbours), 0 * x[i])
            first = own["conv.nn.0.weight"] @ total + own["conv.nn.0.bias"]
            normal = (first - first.mean()) / np.sqrt(first.var() + 1e-5)
            normal = normal * own["conv.nn.1.weight"] + own["conv.nn.1.bias"]
            value = own["conv.nn.3.weight"] @ np.maximum(normal, 0) + own["conv.nn.3.bias"]
        out.append(value)
    return out


@pytest.mark.parametrize("kind", LAYERS)
def test_the_centre_alone_is_row_zero_of_all_members(
    kind: Callable[[int, int], EgoLayer],
) -> None:
    ego, layer = random_egos(), made(kind)
    whole = layer(ego.x, ego.adjacency, ego.mask)
    assert torch.allclose(layer.centre(ego.x, ego.adjacency), whole[:, 0], atol=1e-5)


@pytest.mark.parametrize("kind", LAYERS)
def test_a_plain_loop_gives_the_same(kind: Callable[[int, int], EgoLayer]) -> None:
    ego, layer = random_egos(), made(kind)
    whole = layer(ego.x, ego.adjacency, ego.mask).detach().numpy()
    for row in range(len(ego)):
        expected = by_loop(layer, ego, row)
        np.testing.assert_allclose(whole[row, : len(expected)], expected, atol=1e-4)


def sparse_twin(layer: EgoLayer) -> nn.Module:
    """PyG's sparse layer with the same weights."""
    twin: nn.Module
    if isinstance(layer, SageLayer):
        sage = SAGEConv(5, 7)
        sage.lin_l.weight.data = layer.conv.lin_rel.weight.data
        sage.lin_l.bias.data = layer.conv.lin_root.bias.data
        sage.lin_r.weight.data = layer.conv.lin_root.weight.data
        twin = sage
    elif isinstance(layer, GcnLayer):
        gcn = GCNConv(5, 7)
        gcn.lin.weight.data = layer.conv.lin.weight.data
        gcn.bias.data = layer.conv.bias.data
        twin = gcn
    else:
        assert isinstance(layer, GinLayer)
        twin = GINConv(layer.conv.nn, eps=layer.conv.eps.item())
    return twin


@pytest.mark.parametrize("kind", LAYERS)
def test_pygs_sparse_layers_give_the_same(kind: Callable[[int, int], EgoLayer]) -> None:
    ego, layer = random_egos(seed=4), made(kind)
    twin = sparse_twin(layer)
    whole = layer(ego.x, ego.adjacency, ego.mask)
    for row in range(len(ego)):
        size = int(ego.mask[row].sum())
        edge_index, _ = dense_to_sparse(ego.adjacency[row, :size, :size])
        expected = twin(ego.x[row, :size], edge_index)
        assert torch.allclose(whole[row, :size], expected, atol=1e-4)


@pytest.mark.parametrize("kind", LAYERS)
def test_padding_leaves_as_zeros_and_more_of_it_changes_nothing(
    kind: Callable[[int, int], EgoLayer],
) -> None:
    ego, layer = random_egos(), made(kind)
    more = padded(ego)
    whole, again = (layer(e.x, e.adjacency, e.mask) for e in (ego, more))
    assert bool((again[~more.mask] == 0).all())
    assert torch.allclose(again[:, :8], whole, atol=1e-6)
    centres = [layer.centre(e.x, e.adjacency) for e in (ego, more)]
    assert torch.allclose(centres[0], centres[1], atol=1e-6)


@pytest.mark.parametrize("kind", LAYERS)
def test_reordered_members_are_reordered_and_nothing_else(
    kind: Callable[[int, int], EgoLayer],
) -> None:
    ego, layer = random_egos(), made(kind)
    order = centre_first_order(8)
    other = reordered(ego, order)
    whole: Tensor = layer(ego.x, ego.adjacency, ego.mask)
    moved: Tensor = layer(other.x, other.adjacency, other.mask)
    assert torch.allclose(moved, whole[:, order], atol=1e-5)
    assert not torch.allclose(moved[:, 1:], whole[:, 1:], atol=1e-2)
