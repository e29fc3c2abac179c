"""scikit-learn estimators, which see the features of a person and no edges."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from scipy.special import expit
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError as UnfittedEstimator
from sklearn.utils.validation import check_is_fitted
from torch import Tensor

from fairgear.auditing.adapters.base import Adapter
from fairgear.auditing.adapters.checks import as_columns
from fairgear.auditing.world import World
from fairgear.errors import NotFittedError, ParameterError
from fairgear.graph import SensitiveGraph
from fairgear.graph.convert.spelling import listed
from fairgear.metrics.inputs import Floats

_BLIND = "It is given the features without the sensitive column."
_CALLABLE = "pass a callable such as lambda graph: model.predict_proba(features(graph))[:, 1]"


class TableAdapter(Adapter):
    """A fitted estimator with `predict_proba` or `decision_function`, on node features.

    Columns are found by name where it was fitted with names, else by their number: all features,
    or all but the sensitive one.

    Args:
        model: in the manner of scikit-learn, with the classes 0 and 1.
        name: that of its class if not given.
        threshold: 0.5 if not given; of probabilities, which a decision function is turned into by
            the logistic function.
    """

    kind = "scikit-learn estimator"
    probabilities = True

    def __init__(
        self, model: Any, *, name: str | None = None, threshold: float | None = None
    ) -> None:
        self.original = self._model = model
        self.name = name or type(model).__name__
        self._choose(threshold)
        self._check_fitted()
        self._check_classes()
        self._note("It is given the features alone, never the edges.")

    def scores(self, world: World, nodes: Tensor) -> Floats:
        """The probability of class 1."""
        graph = world.graph
        rows = nodes.cpu()
        features = self._features(graph, rows)
        with self._asking(world, "see that it answers for the features of the graph"):
            if hasattr(self._model, "predict_proba"):
                found = self._model.predict_proba(features)
            else:
                found = expit(self._model.decision_function(features))
        values = as_columns(self._where(world), found, len(rows))[:, -1]
        ids = graph.node_id.cpu()[rows].numpy()
        return self._finished(world, values, ids, next_step="return probabilities")

    def _features(self, graph: SensitiveGraph, rows: Tensor) -> Any:
        """The rows of x that it was fitted for, always a copy."""
        x = graph.x.cpu()[rows].numpy()
        column = graph.sens_column
        wanted = getattr(self._model, "feature_names_in_", None)
        if wanted is not None:
            unknown = [str(name) for name in wanted if name not in graph.feature_names]
            if unknown:
                raise ParameterError(
                    f"features of the model {self.name!r}",
                    got=f"columns that the graph does not have: {listed(unknown)}",
                    allowed=listed(graph.feature_names),
                    next_step=f"fit it on the graph's features, or {_CALLABLE}",
                )
            if column is not None and graph.feature_names[column] not in wanted:
                self._note(_BLIND)
            return pd.DataFrame(x, columns=graph.feature_names)[list(wanted)]
        width = getattr(self._model, "n_features_in_", x.shape[1])
        if width == x.shape[1]:
            return x
        if column is not None and width == x.shape[1] - 1:
            self._note(_BLIND)
            return np.delete(x, column, axis=1)
        blind = "" if column is None else f", or {x.shape[1] - 1} without the sensitive column"
        raise ParameterError(
            f"features of the model {self.name!r}",
            got=f"one that was fitted on {width}",
            allowed=f"{x.shape[1]}{blind}",
            next_step=f"fit it on graph.x, or {_CALLABLE}",
        )

    def _check_fitted(self) -> None:
        try:
            if isinstance(self._model, BaseEstimator):
                check_is_fitted(self._model)
                return
        except UnfittedEstimator as error:
            raise self._unfitted("an estimator that was never fitted", "") from error
        if not hasattr(self._model, "classes_"):
            graphs = "; if it is one over graphs, pass lambda graph: model.predict_proba(graph)"
            raise self._unfitted("an estimator without classes_", graphs)

    def _unfitted(self, got: str, else_step: str) -> NotFittedError:
        return NotFittedError(
            f"the model {self.name!r}",
            got=got,
            allowed="a fitted estimator",
            next_step=f"call fit(x, y) first{else_step}",
        )

    def _check_classes(self) -> None:
        classes = getattr(self._model, "classes_", ())
        # Text that spells 0 and 1 equals no number, and several outputs have a list of classes.
        if [np.ndim(value) for value in classes] == [0, 0] and list(classes) == [0, 1]:
            return
        shown = ", ".join(repr(getattr(value, "tolist", lambda v=value: v)()) for value in classes)
        raise ParameterError(
            f"classes of the model {self.name!r}",
            got=shown or "none",
            allowed="0 and 1, or False and True",
            next_step="fit it on labels 0 and 1",
        )
