"""Logistic regression on what is made of two people's vectors."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from fairgear.graph import SensitiveGraph
from fairgear.links.methods.base import LogitScorer
from fairgear.links.pairs import Pairs
from fairgear.methods.baselines.linear import LinearLogits, chosen_regression
from fairgear.methods.features import spread_of
from fairgear.methods.heads import BINARY_HEAD
from fairgear.methods.thresholds import validation_subset

# Training pairs that a regression of so few numbers gains nothing beyond.
_MOST = 50_000
# Pairs whose features are made at a time.
_CHUNK = 2**16
# What becomes of two vectors, element by element.
_OPERATORS = {
    "distance": lambda one, other: (one - other).abs(),
    "product": lambda one, other: one * other,
    "sum": lambda one, other: one + other,
    "first": lambda one, other: one,
    "second": lambda one, other: other,
}


class PairRegression(nn.Module):
    """Logits from features of pairs, made of two vectors by operators.

    Args:
        operators: of distance |a − b|, product a ∘ b, sum a + b, first a and second b.
        width: of the vectors.
    """

    def __init__(self, operators: Sequence[str], width: int) -> None:
        super().__init__()
        self.operators, self.width = tuple(operators), width
        self.linear = LinearLogits(len(self.operators) * width)

    def fit(self, x: Tensor, train: Pairs, val: Pairs, weight: float | None) -> float:
        """Learn from pairs of rows of x (n, width); returns C, chosen on `val` if not given."""
        kept = validation_subset(torch.arange(len(train)), train.linked, _MOST)
        own, other = (self.features(x, ends) for ends in (train.ends[:, kept], val.ends))
        mean, spread = own.mean(dim=0), spread_of(own)
        labelled = ((own - mean) / spread, train.linked[kept].numpy())
        chosen = ((other - mean) / spread, val.linked)
        found, self.linear = chosen_regression(labelled, chosen, weight, BINARY_HEAD)
        # As weights of the features before they were scaled.
        self.linear.w /= spread
        self.linear.b -= mean @ self.linear.w
        return found

    def features(self, x: Tensor, ends: Tensor) -> Tensor:
        """Of pairs of rows (2, m): (m, operators · width)."""
        first, second = x[ends[0]], x[ends[1]]
        parts = [_OPERATORS[name](first, second) for name in self.operators]
        return torch.cat(parts, dim=1)

    def forward(self, x: Tensor, ends: Tensor) -> Tensor:
        """Logits (m,) of pairs of rows (2, m)."""
        parts = torch.split(ends, _CHUNK, dim=1)
        return torch.cat([self.linear(self.features(x, part)) for part in parts])

    def block(self, x: Tensor, rows: Tensor) -> Tensor:
        """Logits (b, n) of some rows with all."""
        own = x[rows]
        logits = self.linear.b.expand(len(own), len(x)).clone()
        parts = torch.split(self.linear.w, self.width)
        for name, weight in zip(self.operators, parts, strict=True):
            if name == "product":
                logits += (own * weight) @ x.T
            if name in ("sum", "first"):
                logits += (own @ weight)[:, None]
            if name in ("sum", "second"):
                logits += x @ weight
            if name == "distance":
                for column in range(self.width):
                    apart = (own[:, column, None] - x[:, column]).abs()
                    logits += weight[column] * apart
        return logits


class RegressionScorer(LogitScorer):
    """Everybody's vectors, and a regression of pairs of them: scores are probabilities.

    Args:
        graph: what the vectors are of.
        x: (n, width), float64, in canonical order.
        regression: of pairs.
    """

    def __init__(self, graph: SensitiveGraph, x: Tensor, regression: PairRegression) -> None:
        super().__init__(graph)
        self.x, self.regression = x, regression

    def pair_logits(self, ends: Tensor) -> Tensor:
        """See the base class."""
        found: Tensor = self.regression(self.x, ends)
        return found

    def block_logits(self, people: Tensor) -> Tensor:
        """See the base class."""
        return self.regression.block(self.x, people)
