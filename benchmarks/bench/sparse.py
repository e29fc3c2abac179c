"""The same GraphSAGE on PyG's sparse batches, with the weights of a dense encoder."""

from __future__ import annotations

from typing import cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch_geometric.data import Batch, Data
from torch_geometric.nn import SAGEConv
from torch_geometric.utils import dense_to_sparse

from fairgear.nn import EgoEncoder
from fairgear.nn.layers import SageLayer

# How egos become a batch: one Data object each, or one call for all of them.
DATA_LIST, AT_ONCE = "PyG, Data objects", "PyG, dense_to_sparse"
BATCHINGS = (DATA_LIST, AT_ONCE)


def same_conv(layer: nn.Module) -> SAGEConv:
    """PyG's sparse layer with a copy of the weights of a dense one."""
    assert isinstance(layer, SageLayer)
    rel, root = layer.conv.lin_rel, layer.conv.lin_root
    conv = SAGEConv(rel.in_features, rel.out_features).to(rel.weight.device)
    with torch.no_grad():
        conv.lin_l.weight.copy_(rel.weight)
        conv.lin_l.bias.copy_(root.bias)
        conv.lin_r.weight.copy_(root.weight)
    return conv


def sparse_batch(
    x: Tensor, adjacency: Tensor, mask: Tensor, batching: str
) -> tuple[Tensor, Tensor, Tensor]:
    """Members (m, d) without padding, edges among them, and where each ego's centre is."""
    if batching == AT_ONCE:
        edge_index = dense_to_sparse(adjacency, mask)[0]
        size = mask.sum(dim=1)
        return x[mask], edge_index, size.cumsum(0) - size
    egos = [
        Data(x=x[i, : int(size)], edge_index=adjacency[i].nonzero().T)
        for i, size in enumerate(mask.sum(dim=1).tolist())
    ]
    batch = Batch.from_data_list(egos)
    return batch.x, batch.edge_index, batch.ptr[:-1]


class SparseEncoder(EgoEncoder):
    """Replaces a dense GraphSAGE encoder; every layer computes all members."""

    def __init__(self, dense: EgoEncoder, batching: str) -> None:
        nn.Module.__init__(self)
        self.layers = nn.ModuleList(same_conv(layer) for layer in dense.layers)
        self.dropout = dense.dropout
        self.batching = batching

    def forward(self, x: Tensor, adjacency: Tensor, mask: Tensor) -> Tensor:
        """Embeddings (B, width) of the centres."""
        k = x.shape[-2]
        state, edge_index, centres = sparse_batch(
            x.reshape(-1, k, x.shape[-1]),
            adjacency.reshape(-1, k, k),
            mask.reshape(-1, k),
            self.batching,
        )
        z = self.on_batch(state, edge_index)[centres]
        return z.reshape(*x.shape[:-2], z.shape[-1])

    def on_batch(self, state: Tensor, edge_index: Tensor) -> Tensor:
        """Representations of all members of a sparse batch."""
        for place, layer in enumerate(self.layers):
            if place:
                state = F.dropout(F.relu(state), self.dropout, self.training)
            state = layer(state, edge_index)
        return state


class SparseLayer(nn.Module):
    """Replaces a dense GraphSAGE layer on all members."""

    def __init__(self, dense: nn.Module, batching: str) -> None:
        super().__init__()
        self.conv = same_conv(dense)
        self.batching = batching

    def forward(self, x: Tensor, adjacency: Tensor, mask: Tensor) -> Tensor:
        """New features (B, k, out) of all members, zero for padding."""
        state, edge_index, _ = sparse_batch(x, adjacency, mask, self.batching)
        found = cast(Tensor, self.conv(state, edge_index))
        out = found.new_zeros(*mask.shape, found.shape[-1])
        return out.masked_scatter(mask[..., None], found)
