"""The subgraph encoders φ: from an ego to the embedding of its centre."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from fairgear.nn import fused
from fairgear.nn.dropout import dropout
from fairgear.nn.layers import EgoLayer, GcnLayer, GinLayer, SageLayer
from fairgear.registry import Registry

LayerType = Callable[[int, int], EgoLayer]


class EgoEncoder(nn.Module):
    """A stack of layers; the last one is computed for the centre alone.

    Args:
        layer: the kind of layer.
        width_in: features a member.
        width: size of every layer's output.
        layers: how many.
        dropout: between layers.
    """

    def __init__(
        self, layer: LayerType, width_in: int, width: int, layers: int, dropout: float
    ) -> None:
        super().__init__()
        widths = [width_in] + [width] * layers
        self.layers = nn.ModuleList(layer(before, after) for before, after in pairwise(widths))
        self.dropout = dropout

    def forward(self, x: Tensor, adjacency: Tensor, mask: Tensor) -> Tensor:
        """Embeddings (B, width) of the centres."""
        return self.centres(x, adjacency)[-1]

    def auxiliary_loss(self, x: Tensor, adjacency: Tensor, mask: Tensor) -> Tensor | None:
        """A term of the encoder's own, added to the objective; most have none."""
        return None

    def hidden(self, x: Tensor, adjacency: Tensor) -> list[Tensor]:
        """All members before the first layer, and after each but the last; padding is anything."""
        states = [x]
        for layer in list(self.layers)[:-1]:
            after = F.relu(layer(states[-1], adjacency))
            states.append(dropout(after, self.dropout, self.training))
        return states

    def centres(self, x: Tensor, adjacency: Tensor) -> list[Tensor]:
        """The centre after each layer."""
        states = self.hidden(x, adjacency)
        last = self.layers[-1]
        assert isinstance(last, EgoLayer)
        return [state[:, 0] for state in states[1:]] + [last.centre(states[-1], adjacency)]


class SageEncoder(EgoEncoder):
    """GraphSAGE layers; two of them run as one kernel where there is one."""

    def __init__(self, width_in: int, width: int, layers: int, dropout: float) -> None:
        super().__init__(SageLayer, width_in, width, layers, dropout)

    def forward(self, x: Tensor, adjacency: Tensor, mask: Tensor) -> Tensor:
        """Embeddings (B, width) of the centres."""
        if len(self.layers) != 2 or not fused.available(x):
            return super().forward(x, adjacency, mask)
        first, last = self.layers
        assert isinstance(first, SageLayer)
        assert isinstance(last, SageLayer)
        share = self.dropout if self.training else 0.0
        read = fused.read_hidden(*first.product(x, adjacency), last.reading(adjacency), share)
        return last.of_reading(read)


class JumpingKnowledge(EgoEncoder):
    """GCN layers whose outputs are all concatenated and mixed by one linear map."""

    def __init__(self, width_in: int, width: int, layers: int, dropout: float) -> None:
        super().__init__(GcnLayer, width_in, width, layers, dropout)
        self.mix = nn.Linear(layers * width, width)

    def forward(self, x: Tensor, adjacency: Tensor, mask: Tensor) -> Tensor:
        """Embeddings (B, width) of the centres."""
        mixed: Tensor = self.mix(torch.cat(self.centres(x, adjacency), dim=1))
        return mixed


class Infomax(EgoEncoder):
    """GCN layers trained also to tell an ego's own centre from that of a shuffled ego.

    The auxiliary loss is the binary cross-entropy of Deep Graph Infomax: the summary of an ego is
    the sigmoid of its members' mean embedding, and a bilinear form scores centre and summary.
    """

    def __init__(self, width_in: int, width: int, layers: int, dropout: float) -> None:
        super().__init__(GcnLayer, width_in, width, layers, dropout)
        self.bilinear = nn.Parameter(torch.empty(width, width))
        nn.init.xavier_uniform_(self.bilinear)

    def auxiliary_loss(self, x: Tensor, adjacency: Tensor, mask: Tensor) -> Tensor:
        """How badly the bilinear form tells own centres from shuffled ones."""
        members: Tensor = self.layers[-1](self.hidden(x, adjacency)[-1], adjacency, mask)
        count = mask.sum(dim=1, keepdim=True).to(x.dtype)
        summary = torch.sigmoid(members.sum(dim=1) / count)
        shuffled = x.clone()
        real = x[mask]
        shuffled[mask] = real[torch.randperm(len(real), device=x.device)]
        wrong = self(shuffled, adjacency, mask)
        projected = summary @ self.bilinear.T
        right_score = (members[:, 0] * projected).sum(dim=1)
        wrong_score = (wrong * projected).sum(dim=1)
        return F.softplus(-right_score).mean() + F.softplus(wrong_score).mean()


def _stack(layer: LayerType) -> Callable[[int, int, int, float], EgoEncoder]:
    def build(width_in: int, width: int, layers: int, dropout: float) -> EgoEncoder:
        return EgoEncoder(layer, width_in, width, layers, dropout)

    return build


ENCODERS: Registry[Callable[[int, int, int, float], EgoEncoder]] = Registry("encoder")
ENCODERS.add("gcn", _stack(GcnLayer))
ENCODERS.add("graphsage", SageEncoder)
ENCODERS.add("gin", _stack(GinLayer))
ENCODERS.add("jk", JumpingKnowledge)
ENCODERS.add("infomax", Infomax)
