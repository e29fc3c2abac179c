"""scikit-learn estimators, which read a person's features and no edges."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import pandas as pd
import torch
from scipy.special import expit
from sklearn.base import BaseEstimator, is_regressor
from sklearn.exceptions import NotFittedError as UnfittedEstimator
from sklearn.model_selection import FixedThresholdClassifier, TunedThresholdClassifierCV
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted
from torch import Tensor

from fairgear.auditing.adapters.base import Adapter
from fairgear.auditing.world import World
from fairgear.auditing.worlds import Worlds
from fairgear.causal import Surroundings
from fairgear.column_names import listed
from fairgear.errors import NotFittedError, ParameterError
from fairgear.graph import SensitiveGraph
from fairgear.graph.targets import Target
from fairgear.metrics.inputs import Floats

_BLIND = "It is given the features without the sensitive column."
_CALLABLE = "pass a callable such as lambda graph: model.predict_proba(features(graph))[:, 1]"
Method = Literal["predict_proba", "decision_function", "predict"]
_METHODS: tuple[Method, ...] = ("predict_proba", "decision_function")


@dataclass(frozen=True)
class Cut:
    """Label 1 is given to scores above the threshold.

    Attributes:
        method: what gives the scores; a decision function is turned into probabilities by the
            logistic function.
        threshold: of probabilities.
        note: how the model was read, where that needs to be said.
    """

    method: Method
    threshold: float = 0.5
    note: str = ""


class TableAdapter(Adapter):
    """A fitted estimator with `predict_proba` or `decision_function`, on node features.

    A regressor with `predict`, where labels are numbers.

    Columns are found by name where it was fitted with names, else by their number: all features,
    or all but the sensitive one.

    Args:
        model: in the manner of scikit-learn, with the classes 0 and 1; or with the numbers or the
            names of the graph's classes, where there are several.
        name: that of its class if not given.
        threshold: the model's own, or 0.5, if not given; a probability. A decision function is
            turned into probabilities by the logistic function.

    Without a threshold, the labels should be those of its `predict`: `check` finds the scores and
    the cut that reproduce them on the factual graph, and adds a note if there are none.
    """

    kind = "scikit-learn estimator"
    probabilities = True
    _cut = Cut("predict_proba")
    _order: Sequence[int] = ()

    def __init__(
        self, model: Any, *, name: str | None = None, threshold: float | None = None
    ) -> None:
        self.original = self._model = model
        self.name = name or type(model).__name__
        self._check_fitted()
        if len(getattr(model, "classes_", ())) <= 2 and not _predicts_numbers(model):
            self._check_classes()
        self._note("It is given the features alone, never the edges.")
        self._read(possible_cuts(model)[0])
        self._set_threshold(threshold)

    def aim(self, target: Target) -> None:
        """See `Adapter`; its classes must be those of the graph."""
        super().aim(target)
        if target.is_number != _predicts_numbers(self._model):
            got = "a classifier" if target.is_number else "a regressor"
            allowed = f"a {'regressor' if target.is_number else 'classifier'} for {target.words}"
            raise self._error("kind", got, allowed, "fit it on the graph's labels")
        if target.is_number:
            self._read(Cut("predict"))
        elif target.is_binary:
            self._check_classes()
        else:
            self._order = self._class_order(target)

    def _class_order(self, target: Target) -> list[int]:
        """Where the graph's classes are among the model's, which are numbers or names."""
        own = [str(value) for value in self._model.classes_]
        for names in (target.classes, tuple(map(str, range(len(target.classes))))):
            if sorted(own) == sorted(names) and hasattr(self._model, "predict_proba"):
                return [own.index(name) for name in names]
        allowed = f"predict_proba of the classes {listed(target.classes)}"
        raise self._error("classes", listed(own), allowed, "fit it on the graph's labels")

    def check(self, worlds: Worlds) -> None:
        """Find out how its `predict` decides, unless the user chose a threshold."""
        if not self.target.is_binary:
            return
        if self._any_numbers or not hasattr(self._model, "predict"):
            return
        world, everyone = worlds.factual, torch.arange(len(worlds.graph.x))
        with self._calling(world, "check that its predict answers for the features of the graph"):
            answers = self._model.predict(self._features(world.graph, everyone))
        expected = self._columns(world, answers, len(everyone))[:, -1] == 1
        cuts, differing = possible_cuts(self._model), []
        for cut in cuts:
            labels = self._call(world, everyone, cut.method) > cut.threshold
            differing.append(int((labels != expected).sum()))
            if differing[-1] == 0:
                self._read(cut)
                return
        threshold = f"{cuts[0].threshold:g}"
        note = (
            f"Its predict and its scores cut at {threshold} differ for {differing[0]} of "
            f"{len(everyone)} people: this audit uses the scores cut at {threshold}."
        )
        self._read(replace(cuts[0], note=note))

    def scores(self, world: World, nodes: Tensor) -> Floats:
        """The probability of class 1."""
        rows = nodes.cpu()
        values = self._call(world, rows, self._cut.method)
        return self._checked(world, values, rows.numpy(), next_step="return probabilities")

    def near(self, worlds: Sequence[World], nodes: Sequence[Tensor]) -> Floats:
        """The same from their rows alone."""
        around = Surroundings.of([world.local for world in worlds], nodes, 0)
        people = around.people()
        world = World(worlds[0].protocol, worlds[0].intervention, 0, people.sens, lambda: people)
        return self._call(world, torch.from_numpy(around.targets), self._cut.method)

    def _call(self, world: World, rows: Tensor, method: Method) -> Floats:
        features = self._features(world.graph, rows)
        with self._calling(world, "check that it answers for the features of the graph"):
            found = getattr(self._model, method)(features)
            if method == "decision_function":
                found = expit(found)
        kept = self._kept(self._columns(world, found, len(rows)))
        return kept if kept.ndim == 1 else kept[:, self._order]

    def _set_threshold(self, threshold: float | None) -> None:
        super()._set_threshold(threshold)
        if threshold is not None:
            has_probabilities = hasattr(self._model, "predict_proba")
            method = "predict_proba" if has_probabilities else self._cut.method
            self._read(Cut(method, self.threshold))

    def _read(self, cut: Cut) -> None:
        """Read the model in this way, and drop the note on any other."""
        self.notes = tuple(note for note in self.notes if note != self._cut.note)
        self._cut, self.threshold = cut, cut.threshold
        if cut.note:
            self._note(cut.note)

    def _features(self, graph: SensitiveGraph, rows: Tensor) -> Any:
        """The rows of x, with the columns that it was fitted on; always a copy."""
        x = graph.x.cpu()[rows].numpy()
        column = graph.sens_column
        wanted = getattr(self._model, "feature_names_in_", None)
        if wanted is not None:
            unknown = [str(name) for name in wanted if name not in graph.feature_names]
            if unknown:
                got = f"columns that the graph does not have: {listed(unknown)}"
                step = f"fit it on the graph's features, or {_CALLABLE}"
                raise self._error("features", got, listed(graph.feature_names), step)
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
        got, step = f"one that was fitted on {width}", f"fit it on graph.x, or {_CALLABLE}"
        raise self._error("features", got, f"{x.shape[1]}{blind}", step)

    def _check_fitted(self) -> None:
        got, step = "", "call fit(x, y) first"
        if isinstance(self._model, BaseEstimator):
            try:
                check_is_fitted(self._model)
            except UnfittedEstimator:
                got = "an estimator that was not fitted"
        elif not hasattr(self._model, "classes_"):
            got = "an estimator without classes_"
            step += "; if it is one over graphs, pass lambda graph: model.predict_proba(graph)"
        if got:
            raise NotFittedError(f"the model {self.name!r}", got, "a fitted estimator", step)

    def _check_classes(self) -> None:
        classes = getattr(self._model, "classes_", ())
        # "0" and "1" as text do not equal numbers; several outputs have a list of classes each.
        if [np.ndim(value) for value in classes] == [0, 0] and list(classes) == [0, 1]:
            return
        shown = ", ".join(repr(getattr(value, "tolist", lambda v=value: v)()) for value in classes)
        allowed, step = "0 and 1, or False and True", "fit it on labels 0 and 1"
        raise self._error("classes", shown or "none", allowed, step)

    def _error(self, part: str, got: str, allowed: str, next_step: str) -> ParameterError:
        return ParameterError(f"{part} of the model {self.name!r}", got, allowed, next_step)


def _predicts_numbers(model: Any) -> bool:
    return isinstance(model, BaseEstimator) and is_regressor(model)


def possible_cuts(model: Any) -> list[Cut]:
    """The ways in which its `predict` may decide, the likeliest first."""
    chosen = _thresholded(model)
    if chosen is not None:
        return _own_cuts(chosen)
    # A model with neither is called anyway, and the error says so.
    found = [Cut(method) for method in _METHODS if hasattr(model, method)] or [Cut(_METHODS[0])]
    note = (
        "Its predict uses its decision_function, not its predict_proba: so does this audit, with "
        "the logistic function of it cut at 0.5."
    )
    return [*found[:1], *(Cut(cut.method, note=note) for cut in found[1:])]


def _thresholded(model: Any) -> Any:
    """The part of the model that has a threshold of its own; None where there is none."""
    while True:
        if isinstance(model, FixedThresholdClassifier | TunedThresholdClassifierCV):
            return model
        if isinstance(model, Pipeline):
            model = model.steps[-1][1]
        elif hasattr(model, "best_estimator_"):
            model = model.best_estimator_
        else:
            return None


def _own_cuts(model: Any) -> list[Cut]:
    """The threshold as it is, and reversed: it may be a threshold of class 0."""
    method: Method = model.response_method
    if model.response_method == "auto":
        method = next(known for known in _METHODS if hasattr(model, known))
    by_odds = method == "decision_function"
    known = model.threshold if hasattr(model, "threshold") else model.best_threshold_
    threshold = (0.0 if by_odds else 0.5) if known == "auto" else float(known)
    note = f"Its own threshold is used: {threshold:g} of its {method}"
    note += ", by the logistic function." if by_odds else "."
    # It gives class 1 at the threshold or above; here label 1 is strictly above it.
    upward = float(expit(threshold)) if by_odds else threshold
    downward = float(expit(-threshold)) if by_odds else 1 - threshold
    return [
        Cut(method, math.nextafter(upward, -math.inf), note),
        Cut(method, downward, note),
    ]
