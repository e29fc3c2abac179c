"""Boosted trees as a few tensors: grown by scikit-learn, evaluated and saved without it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import torch
import torch.nn.functional as F
from torch import Tensor, nn

# A loss of logits and labels, averaged.
Loss = Callable[[Tensor, Tensor], Tensor]
# Pairs of a person and a tree that are evaluated at a time, which bounds memory.
_PAIRS = 2**20


class Trees(nn.Module):
    """The nodes of all trees in one sequence; a leaf is its own left and right child.

    No tree is deeper than `depth`. With several `outputs`, as many successive trees are a stage.
    """

    feature: Tensor
    cut: Tensor
    left: Tensor
    right: Tensor
    value: Tensor
    root: Tensor
    start: Tensor

    def __init__(self, nodes: int, trees: int, depth: int, outputs: int = 1) -> None:
        super().__init__()
        self.depth, self.outputs = depth, outputs
        for name in ("feature", "left", "right"):
            self.register_buffer(name, torch.zeros(nodes, dtype=torch.int64))
        for name in ("cut", "value"):
            self.register_buffer(name, torch.zeros(nodes, dtype=torch.float64))
        self.register_buffer("root", torch.zeros(trees, dtype=torch.int64))
        more = () if outputs == 1 else (outputs,)
        self.register_buffer("start", torch.zeros(more, dtype=torch.float64))

    @property
    def stages(self) -> int:
        """Trees for each output."""
        return len(self.root) // self.outputs

    @classmethod
    def of(cls, grown: Any, rate: float, count: int) -> Self:
        """The first `count` stages of a fitted gradient boosting model of scikit-learn.

        It starts from the log-odds of the training labels, the logarithms of the classes' shares,
        or the mean of numbers. Values are stored multiplied by the learning rate.
        """
        parts = [tree.tree_ for stage in grown.estimators_[:count] for tree in stage]
        sizes = torch.tensor([part.node_count for part in parts])
        outputs = grown.estimators_.shape[1]
        made = cls(int(sizes.sum()), len(parts), int(grown.max_depth), outputs)
        made.root.copy_(sizes.cumsum(0) - sizes)
        here = torch.arange(len(made.value))
        offset = made.root.repeat_interleave(sizes)

        def concatenated(name: str) -> Tensor:
            return torch.cat([torch.from_numpy(getattr(part, name).ravel()) for part in parts])

        leaf = concatenated("children_left") < 0
        made.left.copy_(torch.where(leaf, here, concatenated("children_left") + offset))
        made.right.copy_(torch.where(leaf, here, concatenated("children_right") + offset))
        # scikit-learn marks leaves by the feature −2; any is fine, since both children are itself.
        made.feature.copy_(concatenated("feature").clamp(min=0))
        made.cut.copy_(concatenated("threshold"))
        made.value.copy_(rate * concatenated("value"))
        shares = getattr(grown.init_, "class_prior_", None)
        if shares is None:
            made.start.fill_(float(grown.init_.constant_.item()))
        elif outputs == 1:
            made.start.fill_(shares[1]).logit_()
        else:
            made.start.copy_(torch.from_numpy(shares).log())
        return made

    def is_valid(self, width: int) -> bool:
        """Whether children are nodes and features are among `width` columns."""
        nodes = len(self.value)
        bounds = ((self.feature, width), (self.left, nodes), (self.right, nodes))
        return len(self.root) > 0 and all(
            int(index.min()) >= 0 and int(index.max()) < end
            for index, end in (*bounds, (self.root, nodes))
        )

    def forward(self, x: Tensor) -> Tensor:
        """Logits (n,), or (n, outputs), of features (n, width)."""
        sums = [self._staged(rows).sum(dim=1) for rows in self._chunks(x)]
        return self.start + torch.cat(sums)

    def values(self, x: Tensor) -> Tensor:
        """What each tree adds to its logit: (n, trees)."""
        return torch.cat([self._values(rows) for rows in self._chunks(x)])

    def staged_loss(self, x: Tensor, y: Tensor, loss: Loss) -> Tensor:
        """The mean loss (stages,) of the first stage, the first two, and so on."""
        total = torch.zeros(self.stages, dtype=torch.float64)
        for rows, labels in zip(self._chunks(x), self._chunks(y), strict=True):
            logits = self.start + self._staged(rows).cumsum(dim=1)
            if self.outputs == 1 and not labels.is_floating_point():
                total += (F.softplus(logits) - labels[:, None] * logits).sum(dim=0)
            else:
                each = [loss(logits[:, stage], labels) for stage in range(self.stages)]
                total += len(labels) * torch.stack(each)
        return total / len(y)

    def _chunks(self, rows: Tensor) -> tuple[Tensor, ...]:
        return torch.split(rows, max(1, _PAIRS // len(self.root)))

    def _staged(self, x: Tensor) -> Tensor:
        """The same as (n, stages), or (n, stages, outputs)."""
        values = self._values(x)
        return values if self.outputs == 1 else values.reshape(len(x), self.stages, self.outputs)

    def _values(self, x: Tensor) -> Tensor:
        # scikit-learn compares float32 values with a float64 cut; a value at the cut must go the
        # same way as in training.
        x = x.float().double()
        place = self.root.expand(len(x), -1)
        for _ in range(self.depth):
            low = x.gather(1, self.feature[place]) <= self.cut[place]
            place = torch.where(low, self.left[place], self.right[place])
        return self.value[place]
