"""Classifiers and regressions that see a person's own features and no graph.

They are floors: what a graph method gains from the graph, it gains over these.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar, Self

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.ensemble import GradientBoostingClassifier, GradientBoostingRegressor
from torch import Tensor, nn

from fairgear.causal import LocalWorld, Surroundings
from fairgear.errors import GraphError
from fairgear.graph import SensitiveGraph, rows_of
from fairgear.graph.targets import KINDS
from fairgear.methods.base import METHODS, Method, Scores
from fairgear.methods.baselines.linear import Labelled, LinearLogits, chosen_regression
from fairgear.methods.baselines.trees import Trees
from fairgear.methods.features import Erasure, FeatureScaler
from fairgear.methods.heads import Head
from fairgear.methods.ranks import RankScores
from fairgear.methods.saved import columns_of
from fairgear.methods.thresholds import HALF, most_accurate, most_accurate_offsets
from fairgear.nn.sens_code import SensCode
from fairgear.progress import bar
from fairgear.settings import Config, OneOf, Range
from fairgear.tensor_files import damaged
from fairgear.training.checkpoints import load_module, module_tensors

# Trees to choose from.
MOST_TREES = 300


class Unaware(nn.Module):
    """The columns of x except the sensitive one, each at zero mean and unit variance.

    Like the other inputs below, learned from all people, in the order of their ids, without
    labels. They are modules, so that what they learned is saved with the classifier. Arguments are
    those of `FeatureScaler`.
    """

    def __init__(self, width: int, sens_column: int | None, groups: int = 2) -> None:
        super().__init__()
        self.groups = groups
        self.scaler = FeatureScaler(width, sens_column)
        self.outputs = len(self.scaler.mean)
        self.ranks: RankScores | None = None

    def with_ranks(self) -> Self:
        """Append the ranks of the features, s aside; before the fit."""
        own = len(self.scaler.mean)
        self.ranks = RankScores(own).double()
        self.outputs += own
        return self

    def fit(self, graph: SensitiveGraph, order: Tensor) -> Self:
        """Learn from all people, summed in `order`."""
        if len(self.scaler.mean) == 0:
            raise GraphError(
                "features to learn from",
                "none but the sensitive column",
                "at least one other column",
                "add features",
            )
        self.scaler.fit(graph, order)
        x, sens = self._scaled(graph)
        self._learn(x[order], sens[order])
        if self.ranks is not None:
            self.ranks.fit(self._own(self._changed(x[order], sens[order])))
        return self

    def forward(self, graph: SensitiveGraph) -> Tensor:
        """Features (n, outputs), float64: rounding would bring back what a residual removes."""
        seen = self._changed(*self._scaled(graph))
        if self.ranks is None:
            return seen
        return torch.cat([seen, self.ranks(self._own(seen))], dim=1)

    def _own(self, seen: Tensor) -> Tensor:
        """The features without s, which is behind them."""
        return seen[:, : len(self.scaler.mean)]

    def _scaled(self, graph: SensitiveGraph) -> tuple[Tensor, Tensor]:
        self.scaler.check(graph)
        x = (self.scaler.columns(graph.x) - self.scaler.mean) / self.scaler.scale
        return x, graph.sens.cpu().double()

    def _learn(self, x: Tensor, sens: Tensor) -> None:
        """Learn more from scaled features and s."""

    def _changed(self, x: Tensor, sens: Tensor) -> Tensor:
        """What becomes of scaled features and s."""
        return x


class Aware(Unaware):
    """All columns of x at zero mean and unit variance, the sensitive one last if x has it.

    Several groups are indicators of all but the first. These and a number are seen whether or not
    x has them: a column of x cannot hold groups.
    """

    sens_mean: Tensor
    sens_scale: Tensor

    def __init__(self, width: int, sens_column: int | None, groups: int = 2) -> None:
        super().__init__(width, sens_column, groups)
        self.sees_s = groups != 2 or sens_column is not None
        values = SensCode(groups).width
        self.outputs += values * self.sees_s
        shape = () if values == 1 else (values,)
        self.register_buffer("sens_mean", torch.zeros(shape, dtype=torch.float64))
        self.register_buffer("sens_scale", torch.ones(shape, dtype=torch.float64))

    def _learn(self, x: Tensor, sens: Tensor) -> None:
        code = self._code(sens)
        self.sens_mean.copy_(code.mean(dim=0))
        self.sens_scale.copy_(code.std(dim=0, correction=0))

    def _changed(self, x: Tensor, sens: Tensor) -> Tensor:
        if not self.sees_s:
            return x
        code = (self._code(sens) - self.sens_mean) / self.sens_scale
        return torch.cat([x, code if self.groups > 2 else code[:, None]], dim=1)

    def _code(self, sens: Tensor) -> Tensor:
        """s (n,), or indicators (n, groups − 1) of several groups."""
        return SensCode(self.groups)(sens).double() if self.groups > 2 else sens


class Residual(Unaware):
    """x − (s − s̄)·v: the residual of least squares of each column on s.

    v is the slope, which for two groups is the difference of their means. s is that of the graph
    at hand: where s' moves the features by (s' − s)·v, the new s' removes that again. Of several
    groups, x less the mean of the person's group and plus that of everybody.
    """

    v: Tensor
    sens_mean: Tensor

    def __init__(self, width: int, sens_column: int | None, groups: int = 2) -> None:
        super().__init__(width, sens_column, groups)
        shape = (groups, self.outputs) if groups > 2 else (self.outputs,)
        self.register_buffer("v", torch.zeros(shape, dtype=torch.float64))
        self.register_buffer("sens_mean", torch.zeros((), dtype=torch.float64))

    def _learn(self, x: Tensor, sens: Tensor) -> None:
        if self.groups > 2:
            means = [x[sens == group].mean(dim=0) for group in range(self.groups)]
            self.v.copy_(torch.stack(means) - x.mean(dim=0))
            return
        self.sens_mean.copy_(sens.mean())
        s = sens - self.sens_mean
        self.v.copy_(s @ x / (s @ s))

    def _changed(self, x: Tensor, sens: Tensor) -> Tensor:
        if self.groups > 2:
            return x - self.v[sens.long()]
        return x - (sens - self.sens_mean)[:, None] * self.v


class Projected(Unaware):
    """x − (x U) Vᵀ: without the directions V in which s moves the mean, see `Erasure`.

    s is used in the fit only.
    """

    def __init__(self, width: int, sens_column: int | None, groups: int = 2) -> None:
        super().__init__(width, sens_column, groups)
        self.erasure = Erasure(self.outputs, 1.0, groups).double()

    def _learn(self, x: Tensor, sens: Tensor) -> None:
        self.erasure.fit(x, sens)

    def _changed(self, x: Tensor, sens: Tensor) -> Tensor:
        erased: Tensor = self.erasure(x, sens)
        return erased


@dataclass(frozen=True)
class LogisticConfig(Config):
    """How a logistic regression is fitted."""

    C: Annotated[float | None, Range(1e-8, 1e8)] = None
    """Weight of the training losses against the penalty ‖w‖²/2, as in scikit-learn. [of 0.001,
    0.01, 0.1, 1, 10 and 100 the one with the least loss on the validation set]"""
    ranks: bool = False
    """Whether the regression also sees the rank of each feature."""
    threshold: Annotated[str, OneOf("half", "validation")] = "half"
    """The decision threshold: 0.5 (half), or the most accurate on the validation set."""


@dataclass(frozen=True)
class BoostingConfig(Config):
    """How boosted trees are grown."""

    trees: Annotated[int | None, Range(1, 10_000)] = None
    """How many. [of 300 trees, the first ones with the least loss on the validation set]"""
    depth: Annotated[int, Range(1, 32)] = 3
    """Largest depth of a tree."""
    learning_rate: Annotated[float, Range(1e-6, 1.0)] = 0.1
    """Factor of each tree's values."""
    ranks: bool = False
    """Whether the trees also see the rank of each feature."""
    threshold: Annotated[str, OneOf("half", "validation")] = "half"
    """The decision threshold: 0.5 (half), or the most accurate on the validation set."""


class Tabular(Method):
    """A classifier of each person's own features, or a regression on them.

    Nothing is random: all seeds give the same model. The work is done on the CPU whatever the
    device, and takes seconds, so there are no checkpoints.
    """

    reads_graph = False
    targets = KINDS
    several_groups = True
    number_of_s = True
    features_type: ClassVar[type[Unaware]]
    config: LogisticConfig | BoostingConfig
    _settings: LogisticConfig | BoostingConfig
    _features: Unaware
    _classifier: nn.Module

    def fit(self, graph: SensitiveGraph, *, checkpoint: Path | None = None) -> Self:
        """Learn features from all people without labels, the classifier from training nodes."""
        self._aim(graph)
        self.torch_device()  # refuses an unknown device
        self.threshold_, self._settings = None, self.config
        # In the order of ids, so that reordering the rows changes nothing.
        order = graph.canonical.rows
        self._features = self._new_features(graph.x.shape[1], graph.sens_column)
        x = self._features.fit(graph, order)(graph)
        y, rows = graph.y.cpu(), (graph.train_mask.cpu()[order], graph.val_mask.cpu()[order])
        train, val = ((x[order[mask]], y[order[mask]]) for mask in rows)
        self._learn(train, val)
        self.threshold_ = HALF
        if self.config.threshold == "validation" and self.target_.is_binary:
            self.threshold_ = most_accurate(val[1].numpy(), self._answers(val[0])[:, 1])
        elif self.config.threshold == "validation" and not self.target_.is_number:
            self.offsets_ = most_accurate_offsets(val[1].numpy(), self._answers(val[0]))
        return self

    def predict_proba(self, graph: SensitiveGraph, *, nodes: Tensor | None = None) -> Scores:
        """Probabilities (m, classes); the graph may differ from the one in `fit`."""
        self._refuse_numbers()
        return self.scores(graph, nodes=nodes)

    def scores(self, graph: SensitiveGraph, *, nodes: Tensor | None = None) -> Scores:
        """Probabilities (m, classes), or numbers (m, 1)."""
        return self._answers(self._inputs(graph, nodes))

    def predict_near(self, worlds: Sequence[LocalWorld], nodes: Sequence[Tensor]) -> Scores:
        """The same from their rows alone."""
        around = Surroundings.of(worlds, nodes, 0)
        return self.scores(around.people(), nodes=torch.from_numpy(around.targets))

    @abstractmethod
    def _learn(self, train: Labelled, val: Labelled) -> None:
        """Set `_classifier`, from features (m, d) to logits; `val` chooses open settings.

        Numbers are learned as `Head` has them, at mean 0 and standard deviation 1.
        """

    @property
    def _head(self) -> Head:
        return Head(self.target_)

    def _labels(self, part: Labelled) -> NDArray[Any]:
        """What is fitted: classes, or standardised numbers."""
        y = self._head.standardised(part[1]) if self.target_.is_number else part[1]
        return np.asarray(y.numpy())

    def _new_features(self, width: int, sens_column: int | None) -> Unaware:
        made = self.features_type(width, sens_column, self.groups_)
        return made.with_ranks() if self._settings.ranks else made

    def _inputs(self, graph: SensitiveGraph, nodes: Tensor | None) -> Tensor:
        """What the classifier sees of `nodes`."""
        self._fitted_threshold()
        self._check_attribute(graph)
        seen: Tensor = self._features(graph)[rows_of(graph, nodes)]
        return seen

    def _answers(self, x: Tensor) -> Scores:
        logits = self._classifier(x)
        if not self.target_.is_binary:
            return self._head.answers(logits)
        positive: Scores = torch.sigmoid(logits).numpy()
        return np.stack([1 - positive, positive], axis=1)

    def _state(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        tensors = module_tensors("features", self._features)
        tensors |= module_tensors("classifier", self._classifier)
        scaler = self._features.scaler
        return tensors, {"features": scaler.width, "sens_column": scaler.sens_column}

    def _restore(self, path: Path, tensors: dict[str, Tensor], facts: dict[str, Any]) -> None:
        self.torch_device()
        self._features = self._new_features(*columns_of(path, facts))
        load_module(path, "features", self._features, tensors)


class Logistic(Tabular):
    """Logistic regression on a person's own features, including the sensitive column.

    After `fit`: `C_` (the weight of the losses that was given or chosen) and `threshold_`.
    """

    name = "logistic"
    config_type = LogisticConfig
    config: LogisticConfig
    features_type: ClassVar[type[Unaware]] = Aware
    C_: float | None = None
    _classifier: LinearLogits

    def embed(self, graph: SensitiveGraph, *, nodes: Tensor | None = None) -> NDArray[np.float32]:
        """The features (m, d) that the regression sees."""
        return np.asarray(self._inputs(graph, nodes).float().numpy())

    def _learn(self, train: Labelled, val: Labelled) -> None:
        labelled = (train[0], self._labels(train))
        self.C_, self._classifier = chosen_regression(labelled, val, self.config.C, self._head)

    def _state(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        tensors, facts = super()._state()
        return tensors, facts | {"C": self.C_}

    def _restore(self, path: Path, tensors: dict[str, Tensor], facts: dict[str, Any]) -> None:
        super()._restore(path, tensors, facts)
        self._classifier = LinearLogits(self._features.outputs, self.target_.outputs)
        load_module(path, "classifier", self._classifier, tensors)
        if not isinstance(facts.get("C"), float):
            raise damaged(path)
        self.C_ = facts["C"]


class LogisticUnaware(Logistic):
    """Logistic regression on a person's own features without the sensitive column."""

    name = "logistic-unaware"
    features_type = Unaware


class LogisticResidual(Logistic):
    """Logistic regression on the residuals of a person's own features after regression on s."""

    name = "logistic-residual"
    features_type = Residual
    # An audit mentions it if its causal model moves features along the same direction.
    trained_for_ = ("shift",)


class LogisticProjected(Logistic):
    """Logistic regression on features without the directions in which the groups differ."""

    name = "logistic-projected"
    features_type = Projected
    trained_for_ = ("shift",)


class Boosting(Tabular):
    """Gradient boosted trees on a person's own features, including the sensitive column.

    After `fit`: `trees_` (how many were given or chosen) and `threshold_`.
    """

    name = "boosting"
    config_type = BoostingConfig
    config: BoostingConfig
    features_type = Aware
    trees_: int | None = None
    _classifier: Trees

    def embed(self, graph: SensitiveGraph, *, nodes: Tensor | None = None) -> NDArray[np.float32]:
        """What each tree adds to a person's logit (m, trees)."""
        inputs = self._inputs(graph, nodes)
        return np.asarray(self._classifier.values(inputs).float().numpy())

    def _learn(self, train: Labelled, val: Labelled) -> None:
        total = self.config.trees or MOST_TREES
        # scikit-learn breaks ties between splits at random; the seed is fixed.
        kind = GradientBoostingRegressor if self.target_.is_number else GradientBoostingClassifier
        grower = kind(
            n_estimators=total,
            max_depth=self.config.depth,
            learning_rate=self.config.learning_rate,
            random_state=0,
        )
        with bar("growing trees", total=total) as progress:
            grower.fit(train[0].numpy(), self._labels(train), monitor=lambda *_: progress.advance())
        trees = Trees.of(grower, self.config.learning_rate, total)
        if self.config.trees is None:
            best = 1 + int(trees.staged_loss(*val, self._head.loss).argmin())
            trees = Trees.of(grower, self.config.learning_rate, best)
        self._classifier, self.trees_ = trees, trees.stages

    def _restore(self, path: Path, tensors: dict[str, Tensor], facts: dict[str, Any]) -> None:
        super()._restore(path, tensors, facts)
        value, root = (tensors.get(f"classifier.{name}") for name in ("value", "root"))
        if value is None or root is None or value.dim() != 1 or root.dim() != 1:
            raise damaged(path)
        outputs = self.target_.outputs
        self._classifier = Trees(len(value), len(root), self.config.depth, outputs)
        load_module(path, "classifier", self._classifier, tensors)
        if not self._classifier.is_valid(self._features.outputs):
            raise damaged(path)
        self.trees_ = len(root) // outputs


for _method in (Logistic, LogisticUnaware, LogisticResidual, LogisticProjected, Boosting):
    METHODS.add(_method.name, _method)
