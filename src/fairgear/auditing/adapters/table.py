"""scikit-learn estimators, which see the features of a person and no edges."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import torch
from scipy.special import expit
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError as UnfittedEstimator
from sklearn.utils.validation import check_is_fitted
from torch import Tensor

from fairgear.auditing.adapters.base import Adapter
from fairgear.auditing.adapters.checks import as_columns
from fairgear.auditing.adapters.cuts import Cut, Method, possible_cuts
from fairgear.auditing.world import World
from fairgear.auditing.worlds import Worlds
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
        threshold: the model's own, or 0.5, if not given; of probabilities, which a decision
            function is turned into by the logistic function.

    Where no threshold is given, the labels are meant to be those of its `predict`: `check` picks
    the numbers that give them on the factual graph, and notes it where none do.
    """

    kind = "scikit-learn estimator"
    probabilities = True
    _cut = Cut("predict_proba")

    def __init__(
        self, model: Any, *, name: str | None = None, threshold: float | None = None
    ) -> None:
        self.original = self._model = model
        self.name = name or type(model).__name__
        self._check_fitted()
        self._check_classes()
        self._note("It is given the features alone, never the edges.")
        self._read(possible_cuts(model)[0])
        self._choose(threshold)

    def check(self, worlds: Worlds) -> None:
        """Find out how its `predict` decides, unless somebody chose a threshold."""
        if self._any_numbers or not hasattr(self._model, "predict"):
            return
        world, everyone = worlds.factual, torch.arange(len(worlds.graph.x))
        with self._asking(world, "see that its predict answers for the features of the graph"):
            answers = self._model.predict(self._features(world.graph, everyone))
        expected = as_columns(self._where(world), answers, len(everyone))[:, -1] == 1
        cuts, differing = possible_cuts(self._model), []
        for cut in cuts:
            labels = self._asked(world, everyone, cut.method) > cut.threshold
            differing.append(int((labels != expected).sum()))
            if differing[-1] == 0:
                self._read(cut)
                return
        threshold = f"{cuts[0].threshold:g}"
        note = (
            f"Its predict gives another label than its scores at {threshold} for {differing[0]} of "
            f"{len(everyone)} people: this audits the scores cut at {threshold}."
        )
        self._read(replace(cuts[0], note=note))

    def scores(self, world: World, nodes: Tensor) -> Floats:
        """The probability of class 1."""
        rows = nodes.cpu()
        values = self._asked(world, rows, self._cut.method)
        return self._finished(world, values, rows.numpy(), next_step="return probabilities")

    def _asked(self, world: World, rows: Tensor, method: Method) -> Floats:
        features = self._features(world.graph, rows)
        with self._asking(world, "see that it answers for the features of the graph"):
            found = getattr(self._model, method)(features)
            if method == "decision_function":
                found = expit(found)
        return as_columns(self._where(world), found, len(rows))[:, -1]

    def _choose(self, threshold: float | None) -> None:
        super()._choose(threshold)
        if threshold is not None:
            usual = "predict_proba" if hasattr(self._model, "predict_proba") else self._cut.method
            self._read(Cut(usual, self.threshold))

    def _read(self, cut: Cut) -> None:
        """Read the model in this way, and forget what was said on any other."""
        self.notes = tuple(note for note in self.notes if note != self._cut.note)
        self._cut, self.threshold = cut, cut.threshold
        if cut.note:
            self._note(cut.note)

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
                    f"columns that the graph does not have: {listed(unknown)}",
                    listed(graph.feature_names),
                    f"fit it on the graph's features, or {_CALLABLE}",
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
            f"one that was fitted on {width}",
            f"{x.shape[1]}{blind}",
            f"fit it on graph.x, or {_CALLABLE}",
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
            got,
            "a fitted estimator",
            f"call fit(x, y) first{else_step}",
        )

    def _check_classes(self) -> None:
        classes = getattr(self._model, "classes_", ())
        # Text that spells 0 and 1 equals no number, and several outputs have a list of classes.
        if [np.ndim(value) for value in classes] == [0, 0] and list(classes) == [0, 1]:
            return
        shown = ", ".join(repr(getattr(value, "tolist", lambda v=value: v)()) for value in classes)
        raise ParameterError(
            f"classes of the model {self.name!r}",
            shown or "none",
            "0 and 1, or False and True",
            "fit it on labels 0 and 1",
        )
