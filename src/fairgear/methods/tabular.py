"""Floors: classifiers that see a person's own features and no graph.

What a method gains from the graph, it gains over these.
"""

from __future__ import annotations

from abc import abstractmethod
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from torch import Tensor, nn

from fairgear.graph import SensitiveGraph, rows_of
from fairgear.methods.base import METHODS, Method, Scores, check_trainable
from fairgear.methods.fit_files import columns_of
from fairgear.methods.tabular_config import C_TRIED, MOST_TREES, BoostingConfig, LogisticConfig
from fairgear.methods.tabular_features import Aware, Projected, Residual, Unaware
from fairgear.methods.thresholds import most_accurate
from fairgear.methods.trees import Trees
from fairgear.progress import bar
from fairgear.settings import Config
from fairgear.tensor_files import damaged
from fairgear.training.checkpoints import load_module, module_tensors

# Features and labels of some people.
Labelled = tuple[Tensor, Tensor]


class Tabular(Method):
    """Features of each person by themselves, and a classifier of these.

    Nothing is drawn: all seeds give the same model. The work is done on the CPU whatever the
    device, and takes seconds: there is nothing to go on from, and `checkpoint` is left alone.
    """

    reads_graph = False
    features_type: ClassVar[type[Unaware]]
    config: LogisticConfig | BoostingConfig
    _features: Unaware
    _classifier: nn.Module

    def fit(self, graph: SensitiveGraph, *, checkpoint: Path | None = None) -> Self:
        """Learn features from all people without labels, the classifier from training nodes.

        Args:
            graph: see `Method.fit`.
            checkpoint: not used.
        """
        check_trainable(graph)
        self.torch_device()  # an impossible one is refused all the same
        self.threshold_, self._settings = None, self.config
        # Summed and learned in the order of ids: reordering the rows changes nothing.
        order = graph.node_id.cpu().argsort()
        self._features = self.features_type(graph.x.shape[1], graph.sens_column)
        x = self._features.fit(graph, order)(graph)
        y, rows = graph.y.cpu(), (graph.train_mask.cpu()[order], graph.val_mask.cpu()[order])
        train, val = ((x[order[mask]], y[order[mask]]) for mask in rows)
        self._learn(train, val)
        self.threshold_ = 0.5
        if self.config.threshold == "validation":
            self.threshold_ = most_accurate(val[1].numpy(), self._scores(val[0]))
        return self

    def predict_proba(self, graph: SensitiveGraph, *, nodes: Tensor | None = None) -> Scores:
        """Probabilities (m, 2); the graph may be another than the one in `fit`."""
        positive = self._scores(self._seen(graph, nodes))
        return np.stack([1 - positive, positive], axis=1)

    @abstractmethod
    def _learn(self, train: Labelled, val: Labelled) -> None:
        """Make `_classifier`, which gives logits (m,) of features (m, d), from training people.

        Validation people settle what the settings leave open, and nothing else.
        """

    def _seen(self, graph: SensitiveGraph, nodes: Tensor | None) -> Tensor:
        """What the classifier sees of `nodes`."""
        self._fitted_threshold()
        seen: Tensor = self._features(graph)[rows_of(graph, nodes)]
        return seen

    def _scores(self, x: Tensor) -> NDArray[np.float64]:
        scores: NDArray[np.float64] = torch.sigmoid(self._classifier(x)).numpy()
        return scores

    def _fitted_settings(self) -> Config:
        return self._settings

    def _state(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        tensors = module_tensors("features", self._features)
        tensors |= module_tensors("classifier", self._classifier)
        column = self._features.scaler.sens_column
        width = len(self._features.scaler.mean) + (column is not None)
        return tensors, {"features": width, "sens_column": column}

    def _restore(self, path: Path, tensors: dict[str, Tensor], facts: dict[str, Any]) -> None:
        self.torch_device()
        self._settings = self.config
        self._features = self.features_type(*columns_of(path, facts))
        load_module(path, "features", self._features, tensors)


class LinearLogits(nn.Module):
    """x·w + b, for features of `width` columns."""

    w: Tensor
    b: Tensor

    def __init__(self, width: int) -> None:
        super().__init__()
        self.register_buffer("w", torch.zeros(width, dtype=torch.float64))
        self.register_buffer("b", torch.zeros((), dtype=torch.float64))

    @classmethod
    def of(cls, train: Labelled, weight: float) -> Self:
        """The logistic regression whose penalty ‖w‖²/2 stands against `weight` times the losses."""
        x, y = (part.numpy() for part in train)
        # A closer solution than by default: models of the same people then agree to many digits.
        solved = LogisticRegression(C=weight, tol=1e-6, max_iter=10_000).fit(x, y)
        made = cls(x.shape[1])
        made.w.copy_(torch.from_numpy(solved.coef_[0]))
        made.b.copy_(torch.from_numpy(solved.intercept_)[0])
        return made

    def forward(self, x: Tensor) -> Tensor:
        """Logits (m,)."""
        return x @ self.w + self.b


class Logistic(Tabular):
    """Logistic regression on a person's own features, the sensitive column among them.

    After `fit`: `C_` (the weight of the losses that was given or chosen) and `threshold_`.
    """

    name = "logistic"
    config_type = LogisticConfig
    config: LogisticConfig
    features_type: ClassVar[type[Unaware]] = Aware
    _classifier: LinearLogits

    def __init__(self, *, seed: int = 0, device: str = "auto", **settings: Any) -> None:
        super().__init__(seed=seed, device=device, **settings)
        self.C_: float | None = None

    def embed(self, graph: SensitiveGraph, *, nodes: Tensor | None = None) -> NDArray[np.float32]:
        """The features (m, d) that the regression sees."""
        return np.asarray(self._seen(graph, nodes).float().numpy())

    def _learn(self, train: Labelled, val: Labelled) -> None:
        def loss(weight: float) -> float:
            logits = fitted[weight](val[0])
            return float(F.binary_cross_entropy_with_logits(logits, val[1].double()))

        tried = C_TRIED if self.config.C is None else (float(self.config.C),)
        fitted = {weight: LinearLogits.of(train, weight) for weight in tried}
        # Of equals the first, which is penalised the most.
        self.C_ = min(tried, key=loss)
        self._classifier = fitted[self.C_]

    def _state(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        tensors, facts = super()._state()
        return tensors, facts | {"C": self.C_}

    def _restore(self, path: Path, tensors: dict[str, Tensor], facts: dict[str, Any]) -> None:
        super()._restore(path, tensors, facts)
        self._classifier = LinearLogits(self._features.outputs)
        load_module(path, "classifier", self._classifier, tensors)
        if not isinstance(facts.get("C"), float):
            raise damaged(path)
        self.C_ = facts["C"]


class LogisticUnaware(Logistic):
    """Logistic regression on a person's own features without the sensitive column."""

    name = "logistic-unaware"
    features_type = Unaware


class LogisticResidual(Logistic):
    """Logistic regression on what least squares on s leaves of a person's own features."""

    name = "logistic-residual"
    features_type = Residual
    # An evaluation says so where its causal model moves features along the same direction.
    erases_means_ = True


class LogisticProjected(Logistic):
    """Logistic regression on own features without the direction in which the groups differ."""

    name = "logistic-projected"
    features_type = Projected
    erases_means_ = True


class Boosting(Tabular):
    """Gradient boosted trees on a person's own features, the sensitive column among them.

    After `fit`: `trees_` (how many were given or chosen) and `threshold_`.
    """

    name = "boosting"
    config_type = BoostingConfig
    config: BoostingConfig
    features_type = Aware
    _classifier: Trees

    def __init__(self, *, seed: int = 0, device: str = "auto", **settings: Any) -> None:
        super().__init__(seed=seed, device=device, **settings)
        self.trees_: int | None = None

    def embed(self, graph: SensitiveGraph, *, nodes: Tensor | None = None) -> NDArray[np.float32]:
        """What each tree adds to a person's logit (m, trees)."""
        seen = self._seen(graph, nodes)
        return np.asarray(self._classifier.answers(seen).float().numpy())

    def _learn(self, train: Labelled, val: Labelled) -> None:
        total = self.config.trees or MOST_TREES
        # Of several equally good questions scikit-learn draws one: always the same.
        grower = GradientBoostingClassifier(
            n_estimators=total,
            max_depth=self.config.depth,
            learning_rate=self.config.learning_rate,
            random_state=0,
        )
        with bar("growing trees", total=total) as progress:
            grower.fit(*(part.numpy() for part in train), monitor=lambda *_: progress.advance())
        trees = Trees.of(grower, self.config.learning_rate)
        if self.config.trees is None:
            trees = trees.first(1 + int(trees.staged_loss(*val).argmin()))
        self._classifier, self.trees_ = trees, len(trees.root)

    def _restore(self, path: Path, tensors: dict[str, Tensor], facts: dict[str, Any]) -> None:
        super()._restore(path, tensors, facts)
        value, root = (tensors.get(f"classifier.{name}") for name in ("value", "root"))
        if value is None or root is None or value.dim() != 1 or root.dim() != 1:
            raise damaged(path)
        self._classifier = Trees(len(value), len(root), self.config.depth)
        load_module(path, "classifier", self._classifier, tensors)
        if not self._classifier.sound(self._features.outputs):
            raise damaged(path)
        self.trees_ = len(root)


for _method in (Logistic, LogisticUnaware, LogisticResidual, LogisticProjected, Boosting):
    METHODS.add(_method.name, _method)
