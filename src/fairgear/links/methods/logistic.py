"""A floor that sees no edges: logistic regression on the features of both people."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Self

from torch import Tensor

from fairgear.graph import SensitiveGraph
from fairgear.links.base import LINK_METHODS, PairScorer
from fairgear.links.methods.base import LinkMethod
from fairgear.links.methods.nodes import canonical_pairs
from fairgear.links.methods.regression import PairRegression, RegressionScorer
from fairgear.links.origin import SplitOrigin
from fairgear.links.split import LinkSplit
from fairgear.methods.baselines.tabular import Aware, Unaware
from fairgear.methods.saved import columns_of
from fairgear.methods.thresholds import HALF, most_accurate
from fairgear.settings import Config, OneOf, Range
from fairgear.tensor_files import damaged
from fairgear.training.checkpoints import load_module, module_tensors


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
    _regression: PairRegression

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
        self._regression = self._new_regression()
        self.C_ = self._regression.fit(x, train, val, self._settings.C)
        self.threshold_ = HALF
        if self._settings.threshold == "validation":
            scores = self.score(graph, split.val.ends)
            self.threshold_ = most_accurate(split.val.linked.cpu().numpy(), scores)
        self.origin_ = SplitOrigin.of(split)
        return self

    def scorer(self, graph: SensitiveGraph) -> PairScorer:
        """Scales everybody's features."""
        self._fitted_threshold()
        x = self._features(graph)[graph.canonical.rows]
        return RegressionScorer(graph, x, self._regression)

    def _new_regression(self) -> PairRegression:
        alone = ("first", "second") if self.directed else ("sum",)
        return PairRegression(("distance", "product", *alone), self._features.outputs)

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
        self._regression = self._new_regression()
        load_module(path, "regression", self._regression, tensors)


LINK_METHODS.add(LinkLogistic.name, LinkLogistic)
