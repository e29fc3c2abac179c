"""Estimators over graphs: fairgear's methods, and classes with their interface."""

from __future__ import annotations

from typing import Any, Protocol

from torch import Tensor

from fairgear.auditing.adapters.base import Adapter
from fairgear.auditing.adapters.checks import as_columns
from fairgear.auditing.adapters.copies import own_copy
from fairgear.auditing.world import World
from fairgear.errors import NotFittedError
from fairgear.graph import SensitiveGraph
from fairgear.methods.base import Method
from fairgear.metrics.inputs import Floats


class GraphEstimator(Protocol):
    """What `EstimatorAdapter` calls; beside it stands `threshold_`, which `fit` sets."""

    def predict_proba(self, graph: SensitiveGraph, *, nodes: Tensor | None = None) -> Any:
        """Probabilities (m, 2) of the classes 0 and 1 for the rows `nodes` of `graph`."""


class EstimatorAdapter(Adapter):
    """A fitted estimator with `predict_proba(graph, *, nodes=)` and `threshold_`.

    Args:
        model: every fitted `Method` is one.
        name: the method's, or that of its class, if not given.
        threshold: `threshold_` if not given.
    """

    def __init__(
        self, model: GraphEstimator, *, name: str | None = None, threshold: float | None = None
    ) -> None:
        self.original = self._model = model
        ours = isinstance(model, Method)
        self.kind = "fairgear method" if ours else "graph estimator"
        self.name = name or (model.name if isinstance(model, Method) else type(model).__name__)
        # A method keeps the egos of the last edges: another person costs it little.
        self.usual_self = None if ours else 500
        self.small_steps = ours
        self._copies = not ours
        learned = getattr(model, "threshold_", None)
        if learned is None and (ours or threshold is None):
            raise NotFittedError(
                f"the model {self.name!r}",
                "one whose threshold_ is None",
                "a fitted model",
                "call fit(graph) first, or set threshold_",
            )
        self._choose(learned if threshold is None else threshold)

    def scores(self, world: World, nodes: Tensor) -> Floats:
        """The probability of class 1."""
        graph = world.graph
        with self._asking(world, "see that predict_proba(graph, nodes=nodes) works on its own"):
            given = own_copy(graph) if self._copies else graph
            found = self._model.predict_proba(given, nodes=nodes)
        values = as_columns(self._where(world), found, len(nodes))
        rows = nodes.cpu().numpy()
        step = "return probabilities from predict_proba"
        # Its name says what it gives, whoever chose the threshold.
        return self._finished(world, values[:, -1], rows, probabilities=True, next_step=step)
