"""Models that take a whole graph: fairgear's methods and their like, and plain functions."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd
from torch import Tensor

from fairgear.auditing.adapters.base import Adapter
from fairgear.auditing.world import World
from fairgear.errors import NotFittedError, ParameterError
from fairgear.graph import SensitiveGraph
from fairgear.graph.targets import Target
from fairgear.methods.base import Method
from fairgear.metrics.inputs import Floats, Integers


class EstimatorAdapter(Adapter):
    """A fitted estimator with `predict_proba(graph, *, nodes=)`, (m, 2), and `threshold_`.

    Args:
        model: such as any fitted `Method`.
        name: the method's, or that of its class, if not given.
        threshold: `threshold_` if not given.
    """

    def __init__(
        self, model: Any, *, name: str | None = None, threshold: float | None = None
    ) -> None:
        self.original = self._model = model
        ours = isinstance(model, Method)
        self.kind = "fairgear method" if ours else "graph estimator"
        self.name = name or (model.name if isinstance(model, Method) else type(model).__name__)
        # A method keeps the egos of the last edges, so that one more person costs little.
        self.default_self_people = None if ours else 500
        self.small_steps = ours
        self._copies = not ours
        learned = getattr(model, "threshold_", None)
        if learned is None and (ours or threshold is None):
            what, got = f"the model {self.name!r}", "one whose threshold_ is None"
            step = "call fit(graph) first, or set threshold_"
            raise NotFittedError(what, got, "a fitted model", step)
        self._set_threshold(learned if threshold is None else threshold)
        self._chosen = threshold is not None
        self.offsets = getattr(model, "offsets_", None)

    def aim(self, target: Target) -> None:
        """See `Adapter`; a method must have been trained for the same kind of label."""
        super().aim(target)
        known: Target | None = getattr(self._model, "target_", None)
        if known is None or (known.kind, known.outputs) == (target.kind, target.outputs):
            return
        got, step = f"labels of {target.words}", "audit it on labels as those of its training"
        raise ParameterError(f"the model {self.name!r}", got, known.words, step)

    def scores(self, world: World, nodes: Tensor) -> Floats:
        """The probability of class 1, or those of several classes; or the number."""
        graph = world.graph
        with self._calling(world, "check that predict_proba(graph, nodes=nodes) works on its own"):
            given = own_copy(graph) if self._copies else graph
            ask = self._model.predict if self.target.is_number else self._model.predict_proba
            found = ask(given, nodes=nodes)
        values = self._kept(self._columns(world, found, len(nodes)))
        rows = nodes.cpu().numpy()
        step = "return probabilities from predict_proba"
        # predict_proba promises probabilities, whatever the threshold.
        return self._checked(world, values, rows, probabilities=True, next_step=step)

    def near(self, worlds: Sequence[World], nodes: Sequence[Tensor]) -> Floats | None:
        """The same, for fairgear's methods."""
        if not isinstance(self._model, Method):
            return None
        with self._calling(worlds[0], "check that predict_near works on its own"):
            found = self._model.predict_near([world.local for world in worlds], nodes)
        count = sum(len(some) for some in nodes)
        return None if found is None else self._kept(self._columns(worlds[0], found, count))


class CallableAdapter(Adapter):
    """Anything that is called with a graph and returns a score for every node.

    Args:
        model: returns (n,), (n, 1), or (n, 2) with the probability of class 1 in the second
            column; (n, classes) for several classes. It gets a copy of the graph, which it may
            change.
        name: the function's own if not given.
        threshold: 0.5, of probabilities, if not given; with one, scores may be any numbers.
    """

    kind = "Python callable"

    def __init__(
        self,
        model: Callable[[SensitiveGraph], object],
        *,
        name: str | None = None,
        threshold: float | None = None,
    ) -> None:
        self.original = self._model = model
        known = getattr(model, "__name__", type(model).__name__)
        self.name = name or ("function" if known == "<lambda>" else known)
        self._set_threshold(threshold)

    def scores(self, world: World, nodes: Tensor) -> Floats:
        """What the function returns for `nodes`."""
        graph = world.graph
        with self._calling(world, "check that it works when it is called with a graph alone"):
            found = self._model(own_copy(graph))
        ids = graph.node_id.cpu().numpy()
        if _is_reordered(found, ids):
            got = "a Series whose index holds the node ids in another order"
            step = "return scores.loc[graph.node_id.numpy()]"
            raise self._refusal(world, got, "scores in the order of the graph", step)
        table = self._columns(world, found, len(ids))
        rows = nodes.cpu().numpy()
        values = self._kept(table[rows])
        if table.shape[1] == 1:
            return self._checked(world, values, rows)
        # The second of two logits means nothing without the first.
        step = "return one column, such as softmax(outputs)[:, 1]"
        return self._checked(world, values, rows, probabilities=True, next_step=step)


def _is_reordered(values: object, ids: Integers) -> bool:
    """Whether they are a Series whose index says that it is not in the order of the graph."""
    if not isinstance(values, pd.Series) or len(values) != len(ids):
        return False
    index = values.index.to_numpy()
    if index.dtype.kind not in "iu" or np.array_equal(index, np.arange(len(ids))):
        return False
    return not np.array_equal(index, ids) and np.array_equal(np.sort(index), np.sort(ids))


def own_copy(graph: SensitiveGraph) -> SensitiveGraph:
    """The same graph with its own tensors: a model may overwrite them, also through NumPy."""
    fresh = copy.copy(graph)
    for key in graph.keys():  # noqa: SIM118  # a PyG Data is no dictionary
        if isinstance(graph[key], Tensor):
            fresh[key] = graph[key].clone()
    return fresh
