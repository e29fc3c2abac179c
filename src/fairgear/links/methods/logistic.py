"""A floor that sees no edges: logistic regression on the features of both people."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Self

import torch
from scipy.special import expit
from torch import Tensor

from fairgear.graph import SensitiveGraph
from fairgear.links.base import LINK_METHODS, Floats
from fairgear.links.methods.base import LinkMethod, SymmetricScorer, without_selves
from fairgear.links.methods.nodes import canonical_pairs
from fairgear.links.pairs import Pairs
from fairgear.links.split import LinkSplit
from fairgear.methods.baselines.tabular import Aware, LinearLogits, Unaware, chosen_regression
from fairgear.methods.features import spread_of
from fairgear.methods.heads import BINARY_HEAD
from fairgear.methods.saved import columns_of
from fairgear.methods.thresholds import HALF, most_accurate, validation_subset
from fairgear.settings import Config, OneOf, Range
from fairgear.tensor_files import damaged
from fairgear.training.checkpoints import load_module, module_tensors

# Training pairs that a regression of so few numbers gains nothing beyond.
_MOST = 50_000
# Pairs whose features are made at a time.
_CHUNK = 2**16


@dataclass(frozen=True)
class LinkLogisticConfig(Config):
    """How a logistic regression on pairs is fitted."""

    C: Annotated[float | None, Range(1e-8, 1e8)] = None
    """Weight of the training losses against the penalty ‖w‖²/2, as in scikit-learn. [of 0.001,
    0.01, 0.1, 1, 10 and 100 the one with the least loss on the validation pairs]"""
    use_sens: bool = True
    """Whether the regression sees the sensitive attribute."""
    threshold: Annotated[str, OneOf("half", "validation")] = "validation"
    """The decision threshold: 0.5 (half), or the most accurate on the validation pairs."""


def pair_features(x: Tensor, ends: Tensor, directed: bool) -> Tensor:
    """|x_i − x_j|, x_i ∘ x_j and x_i + x_j, side by side; with directions, x_i and x_j apart."""
    first, second = x[ends[0]], x[ends[1]]
    alone = [first, second] if directed else [first + second]
    return torch.cat([(first - second).abs(), first * second, *alone], dim=1)


class LogisticScorer(SymmetricScorer):
    """Weights of `pair_features`, and everybody's features.

    Args:
        graph: what the features are of.
        x: features (n, d), by row.
        regression: of pairs.
    """

    def __init__(self, graph: SensitiveGraph, x: Tensor, regression: LinearLogits) -> None:
        super().__init__(graph)
        self.x, self.regression = x, regression

    def pairs(self, ends: Tensor) -> Floats:
        """Probabilities (m,) of links between pairs of rows (2, m)."""
        directed = self.graph.directed
        parts = [
            self.regression(pair_features(self.x, part, directed))
            for part in torch.split(self.ordered(ends), _CHUNK, dim=1)
        ]
        return _probabilities(torch.cat(parts))

    def block(self, rows: Tensor) -> Floats:
        """Probabilities (b, n) of some people with everybody; −∞ with themselves."""
        x, d = self.x, self.x.shape[1]
        own = x[rows]
        apart, product, first, *second = torch.split(self.regression.w, d)
        logits = (own * product) @ x.T + (own @ first)[:, None] + self.regression.b
        logits += x @ (second[0] if second else first)
        for column in range(d):
            logits += apart[column] * (own[:, column, None] - x[:, column]).abs()
        return without_selves(_probabilities(logits), rows)


def _probabilities(logits: Tensor) -> Floats:
    found: Floats = expit(logits.numpy())
    return found


class LinkLogistic(LinkMethod):
    """Logistic regression on what two people's features have in common, and how they differ.

    It sees no edges, and nothing is random.

    Example:
        >>> from fairgear.links import LINK_METHODS, split_links
        >>> from fairgear.testing import toy_graph
        >>> split = split_links(toy_graph())
        >>> model = LINK_METHODS["logistic"](use_sens=False).fit(split)
        >>> model.predict(split.input, split.test.ends)[:4].tolist()
        [1, 1, 1, 1]
    """

    name = "logistic"
    config_type = LinkLogisticConfig
    config: LinkLogisticConfig
    _settings: LinkLogisticConfig
    C_: float | None = None
    directed: bool = False
    _features: Unaware
    _regression: LinearLogits

    def fit(self, split: LinkSplit, *, checkpoint: Path | None = None) -> Self:
        """Learn features from everybody, and the regression from the training pairs."""
        self.threshold_, self._settings = None, self.config
        graph = split.input
        self.groups_ = 0 if graph.continuous else graph.num_groups
        self.directed = graph.directed
        train, val = (canonical_pairs(graph, part) for part in (split.train, split.val))
        order = graph.canonical.rows
        self._features = self._new_features(graph.x.shape[1], graph.sens_column)
        x = self._features.fit(graph, order)(graph)[order]
        kept = validation_subset(torch.arange(len(train)), train.linked, _MOST)
        seen = Pairs(train.ends[:, kept], train.linked[kept])
        self._learn(x, seen, val)
        self.threshold_ = HALF
        if self._settings.threshold == "validation":
            scores = self.score(graph, split.val.ends)
            self.threshold_ = most_accurate(split.val.linked.cpu().numpy(), scores)
        return self

    def _learn(self, x: Tensor, train: Pairs, val: Pairs) -> None:
        own, other = (pair_features(x, of.ends, self.directed) for of in (train, val))
        mean, spread = own.mean(dim=0), spread_of(own)
        labelled = ((own - mean) / spread, train.linked.numpy())
        chosen = ((other - mean) / spread, val.linked)
        self.C_, found = chosen_regression(labelled, chosen, self._settings.C, BINARY_HEAD)
        # As weights of the features before they were scaled.
        found.w /= spread
        found.b -= mean @ found.w
        self._regression = found

    def scorer(self, graph: SensitiveGraph) -> LogisticScorer:
        """Scales everybody's features."""
        self._fitted_threshold()
        return LogisticScorer(graph, self._features(graph), self._regression)

    def _new_features(self, width: int, sens_column: int | None) -> Unaware:
        kind = Aware if self._settings.use_sens else Unaware
        return kind(width, sens_column, self.groups_)

    def _state(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        tensors = module_tensors("features", self._features)
        tensors |= module_tensors("regression", self._regression)
        scaler = self._features.scaler
        facts = {"features": scaler.width, "sens_column": scaler.sens_column}
        return tensors, facts | {"C": self.C_, "directed": self.directed}

    def _restore(self, path: Path, tensors: dict[str, Tensor], facts: dict[str, Any]) -> None:
        self._features = self._new_features(*columns_of(path, facts))
        load_module(path, "features", self._features, tensors)
        if not isinstance(facts.get("C"), float) or not isinstance(facts.get("directed"), bool):
            raise damaged(path)
        self.C_, self.directed = facts["C"], facts["directed"]
        parts = 4 if self.directed else 3
        self._regression = LinearLogits(parts * self._features.outputs)
        load_module(path, "regression", self._regression, tensors)


LINK_METHODS.add(LinkLogistic.name, LinkLogistic)
