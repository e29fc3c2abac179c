"""The subgraph encoders φ: from an ego to the embedding of its centre."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from fairgear.nn.heads import dropout, keep_mask
from fairgear.nn.layers import EgoLayer, GcnLayer, GinLayer, SageLayer
from fairgear.registry import Registry

# Hidden values that are computed at a time: two megabytes, which fit into a core's cache.
_BLOCK = 2**19


class EgoEncoder(nn.Module):
    """A stack of layers with dropout between them; the last is computed for the centre alone.

    Example:
        >>> import torch
        >>> from fairgear.egos import EgoIndex
        >>> from fairgear.nn import ENCODERS
        >>> from fairgear.testing import toy_graph
        >>> graph = toy_graph()
        >>> batch = EgoIndex.build(graph, k=5).batch(torch.tensor([0, 7]), graph.x)
        >>> encoder = ENCODERS["graphsage"](graph.x.shape[1], 16, 2, 0.0)
        >>> tuple(encoder(batch.x, batch.adjacency, batch.mask).shape)
        (2, 16)
    """

    layer: ClassVar[type[EgoLayer]]

    def __init__(self, width_in: int, width: int, layers: int, dropout: float) -> None:
        super().__init__()
        widths = [width_in] + [width] * layers
        self.layers = nn.ModuleList(self.layer(before, after) for before, after in pairwise(widths))
        self.dropout = dropout

    def forward(self, x: Tensor, adjacency: Tensor, mask: Tensor) -> Tensor:
        """Embeddings (B, width) of the centres."""
        return self.centres(x, adjacency)[-1]

    def auxiliary_loss(self, x: Tensor, adjacency: Tensor, mask: Tensor) -> Tensor | None:
        """A term that the encoder adds to the objective; most add none."""
        return None

    def hidden(self, x: Tensor, adjacency: Tensor) -> list[Tensor]:
        """All members before the first layer and after each but the last; padding is arbitrary."""
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


class GcnEncoder(EgoEncoder):
    """GCN layers."""

    layer = GcnLayer


class GinEncoder(EgoEncoder):
    """GIN layers."""

    layer = GinLayer


class SageEncoder(EgoEncoder):
    """GraphSAGE layers; on a CPU, two layers run as one blocked operation."""

    layer = SageLayer

    def forward(self, x: Tensor, adjacency: Tensor, mask: Tensor) -> Tensor:
        """Embeddings (B, width) of the centres."""
        if len(self.layers) != 2 or x.requires_grad or x.is_cuda:
            return super().forward(x, adjacency, mask)
        first, last = self.layers
        assert isinstance(first, SageLayer)
        assert isinstance(last, SageLayer)
        p = self.dropout if self.training else 0.0
        inputs, weight = first.product(x, adjacency)
        return last.from_rows(blocked_hidden(inputs, weight, last.rows(adjacency), p))


class JumpingKnowledge(GcnEncoder):
    """GCN layers whose outputs are concatenated and mixed by one linear map."""

    def __init__(self, width_in: int, width: int, layers: int, dropout: float) -> None:
        super().__init__(width_in, width, layers, dropout)
        self.mix = nn.Linear(layers * width, width)

    def forward(self, x: Tensor, adjacency: Tensor, mask: Tensor) -> Tensor:
        """Embeddings (B, width) of the centres."""
        mixed: Tensor = self.mix(torch.cat(self.centres(x, adjacency), dim=1))
        return mixed


class Infomax(GcnEncoder):
    """GCN layers that are also trained to tell an ego's own centre from that of a shuffled ego.

    The auxiliary loss is the binary cross-entropy of Deep Graph Infomax: the summary of an ego is
    the sigmoid of its members' mean embedding, and a bilinear form scores centre and summary.
    """

    def __init__(self, width_in: int, width: int, layers: int, dropout: float) -> None:
        super().__init__(width_in, width, layers, dropout)
        self.bilinear = nn.Parameter(torch.empty(width, width))
        nn.init.xavier_uniform_(self.bilinear)

    def auxiliary_loss(self, x: Tensor, adjacency: Tensor, mask: Tensor) -> Tensor:
        """The cross-entropy of own against shuffled centres."""
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


def blocked_hidden(inputs: Tensor, weight: Tensor, rows: Tensor, p: float) -> Tensor:
    """rows @ dropout(relu(inputs @ weightᵀ)), as (B, m, out), without storing the hidden layer.

    At width 1,024 the hidden layer of a batch takes some forty megabytes, and relu, dropout, the
    mean over neighbours and their gradients pass over it a dozen times. A block of it fits a cache.

    Args:
        inputs: (B, k, in), without gradients.
        weight: (out, in).
        rows: (B, m, k), the weight with which each member is read, without gradients.
        p: dropout probability of the hidden layer.
    """
    found: Tensor = _BlockedHidden.apply(inputs, weight, rows, p)  # type: ignore[no-untyped-call]  # torch has no type
    return found


class _BlockedHidden(torch.autograd.Function):
    """Block after block of egos; of the hidden layer, only the mask of nonzeros is kept."""

    @staticmethod
    def forward(ctx: Any, inputs: Tensor, weight: Tensor, rows: Tensor, p: float) -> Tensor:
        egos, members, _ = inputs.shape
        width = len(weight)
        kept = torch.empty(egos, members, width, dtype=torch.bool)
        out = inputs.new_empty(egos, rows.shape[1], width)
        rounded = 0.0
        for part in _blocks(egos, members * width):
            hidden = inputs[part].flatten(0, 1) @ weight.t()
            here = torch.gt(hidden, 0, out=kept[part].view(-1, width))
            if p > 0:
                stays, rounded = keep_mask(hidden.shape, p)
                here &= stays
            hidden *= here
            torch.bmm(rows[part], hidden.view(-1, members, width), out=out[part])
        ctx.save_for_backward(inputs, rows, kept)
        ctx.scale = 1 / (1 - rounded)
        return out.mul_(ctx.scale)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        inputs, rows, kept = ctx.saved_tensors
        egos, members, width = kept.shape
        gradient = gradients[0] * ctx.scale
        total = gradient.new_zeros(width, inputs.shape[2])
        for part in _blocks(egos, members * width):
            moved = torch.bmm(rows[part].transpose(1, 2), gradient[part]).mul_(kept[part])
            total.addmm_(moved.flatten(0, 1).t(), inputs[part].flatten(0, 1))
        return None, total, None, None


def _blocks(egos: int, size: int) -> list[slice]:
    step = max(1, _BLOCK // size)
    return [slice(begin, min(begin + step, egos)) for begin in range(0, egos, step)]


ENCODERS: Registry[type[EgoEncoder]] = Registry("encoder")
ENCODERS.add("gcn", GcnEncoder)
ENCODERS.add("graphsage", SageEncoder)
ENCODERS.add("gin", GinEncoder)
ENCODERS.add("jk", JumpingKnowledge)
ENCODERS.add("infomax", Infomax)
