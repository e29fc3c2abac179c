"""Boosted trees as a few tensors: grown by scikit-learn, evaluated and saved without it."""

from __future__ import annotations

from typing import Any, Self

import torch
import torch.nn.functional as F
from torch import Tensor, nn

# Pairs of a person and a tree that are evaluated at a time, which bounds memory.
_PAIRS = 2**20


class Trees(nn.Module):
    """The nodes of all trees in one sequence; a leaf is its own left and right child.

    No tree is deeper than `depth`.
    """

    feature: Tensor
    cut: Tensor
    left: Tensor
    right: Tensor
    value: Tensor
    root: Tensor
    start: Tensor

    def __init__(self, nodes: int, trees: int, depth: int) -> None:
        super().__init__()
        self.depth = depth
        for name in ("feature", "left", "right"):
            self.register_buffer(name, torch.zeros(nodes, dtype=torch.int64))
        for name in ("cut", "value"):
            self.register_buffer(name, torch.zeros(nodes, dtype=torch.float64))
        self.register_buffer("root", torch.zeros(trees, dtype=torch.int64))
        self.register_buffer("start", torch.zeros((), dtype=torch.float64))

    @classmethod
    def of(cls, grown: Any, rate: float, count: int) -> Self:
        """The first `count` trees of a fitted GradientBoostingClassifier for two classes.

        It starts from the log-odds of the training labels. Values are stored multiplied by the
        learning rate.
        """
        parts = [tree.tree_ for tree in grown.estimators_[:count, 0]]
        sizes = torch.tensor([part.node_count for part in parts])
        made = cls(int(sizes.sum()), len(parts), int(grown.max_depth))
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
        made.start.fill_(grown.init_.class_prior_[1]).logit_()
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
        """Logits (n,) of features (n, width)."""
        sums = [self._values(rows).sum(dim=1) for rows in self._chunks(x)]
        return self.start + torch.cat(sums)

    def values(self, x: Tensor) -> Tensor:
        """What each tree adds to each logit: (n, trees)."""
        return torch.cat([self._values(rows) for rows in self._chunks(x)])

    def staged_loss(self, x: Tensor, y: Tensor) -> Tensor:
        """The mean log-loss (trees,) of the first tree, the first two, and so on."""
        total = torch.zeros(len(self.root), dtype=torch.float64)
        for rows, labels in zip(self._chunks(x), self._chunks(y), strict=True):
            logits = self.start + self._values(rows).cumsum(dim=1)
            total += (F.softplus(logits) - labels[:, None] * logits).sum(dim=0)
        return total / len(y)

    def _chunks(self, rows: Tensor) -> tuple[Tensor, ...]:
        return torch.split(rows, max(1, _PAIRS // len(self.root)))

    def _values(self, x: Tensor) -> Tensor:
        # scikit-learn compares float32 values with a float64 cut; a value at the cut must go the
        # same way as in training.
        x = x.float().double()
        place = self.root.expand(len(x), -1)
        for _ in range(self.depth):
            low = x.gather(1, self.feature[place]) <= self.cut[place]
            place = torch.where(low, self.left[place], self.right[place])
        return self.value[place]
