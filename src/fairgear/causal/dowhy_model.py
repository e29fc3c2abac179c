"""Features moved by a structural causal model that was fitted with `dowhy.gcm`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from torch import Tensor

from fairgear.causal.diagram import Diagram
from fairgear.causal.features.base import FeatureModel, Floats, Integers, Noise, Values
from fairgear.causal.features.columns import Columns
from fairgear.causal.features.levels import levels_of, set_levels
from fairgear.errors import ParameterError
from fairgear.graph import SensitiveGraph, SimilarityMechanism

# Predictions of one row and of many differ in their last digits, and the world of one person must
# agree with everybody's, so values are rounded to this share of their column's span.
_ROUNDED = 2.0**-30


def frame_of(graph: SensitiveGraph, sensitive: str = "s") -> pd.DataFrame:
    """The people of a graph as `dowhy.gcm` is to be fitted on them, in the units that are moved.

    A category is one column of text. The attribute is 0 or 1, or a number, under its own name if it
    is among the features, else as `sensitive`.

    Example:
        >>> from fairgear.causal import frame_of
        >>> from fairgear.testing import toy_graph
        >>> list(frame_of(toy_graph()).columns)
        ['x2', 'x0', 'x1', 'x3', 'x4']
    """
    table = graph.x if not isinstance(graph.mechanism, SimilarityMechanism) else graph.raw
    assert table is not None, "a graph with a rule has its table"
    values, columns = table.cpu().double().numpy(), Columns.of(graph)
    ends = np.stack([values.min(axis=0), values.max(axis=0)])
    name = sensitive if columns.skip is None else columns.names[columns.skip]
    shown = {name: graph.sens.cpu().numpy().astype(float)}
    shown |= {node: _shown(values, columns, node, ends) for node in columns.nodes}
    return pd.DataFrame(shown)


class DowhyFeatures(FeatureModel):
    """Abduction, action and prediction in a fitted `dowhy.gcm` model.

    The noise of each column that follows from the attribute is estimated by its causal mechanism,
    and the mechanism is evaluated again on the parents' new values. `ClassifierFCM`, which DoWhy
    does not invert, gets one uniform number a person, drawn from the range of probability that
    the observed class covers.

    Args:
        model: an `InvertibleStructuralCausalModel` or `StructuralCausalModel` over the columns of
            `frame_of(graph)`, fitted.
        resolving: columns that keep their values.
        sensitive: the attribute's node, where the table has no column for it.

    Example:
        >>> import networkx as nx
        >>> from dowhy import gcm
        >>> from fairgear.causal import DowhyFeatures, frame_of, with_features
        >>> from fairgear.testing import toy_graph
        >>> graph = toy_graph()
        >>> model = gcm.InvertibleStructuralCausalModel(nx.DiGraph([("x2", "x3")]))
        >>> model.set_causal_mechanism("x2", gcm.EmpiricalDistribution())
        >>> linear = gcm.AdditiveNoiseModel(gcm.ml.create_linear_regressor())
        >>> model.set_causal_mechanism("x3", linear)
        >>> gcm.fit(model, frame_of(graph)[["x2", "x3"]])
        >>> moved = with_features(DowhyFeatures(model), graph).counterfactual(graph, 1 - graph.sens)
        >>> (moved.x != graph.x).any(dim=0).tolist()
        [False, False, True, True, False]
    """

    name = "dowhy"
    how = "by abduction, action and prediction in a DoWhy model"

    def __init__(
        self, model: Any, resolving: Sequence[str] = (), *, sensitive: str | None = None
    ) -> None:
        super().__init__(resolving)
        self.model = model
        self.diagram = Diagram.from_networkx(model.graph, resolving=resolving, sensitive=sensitive)

    def _learn(self, table: Floats, cells: Values) -> dict[str, NDArray[Any]]:
        columns = self.columns
        skip = None if columns.skip is None else columns.names[columns.skip]
        self._attribute = self.diagram.attribute(columns.nodes, skip)
        self._moving: list[str] = []
        for name in self.diagram.order:
            parents = {*self.diagram.parents[name]}
            if name in self.resolving or not parents & {self._attribute, *self._moving}:
                continue
            mechanism = self.model.causal_mechanism(name)
            if not hasattr(mechanism, "estimate_noise") and not _classes(mechanism):
                raise ParameterError(
                    f"mechanism of {name!r} in a DoWhy model",
                    type(mechanism).__name__,
                    "one with estimate_noise, or a ClassifierFCM",
                    "use an InvertibleStructuralCausalModel and fit it",
                )
            self._moving.append(name)
        # What the model does to a few people tells it apart from others.
        few, noise = slice(0, 64), np.full(len(table[:64]), 0.5)
        other = (cells[few] + 1) % self._cells if self._cells else cells[few][::-1]
        probe = self._rows(table[few], cells[few], other, lambda _: noise)
        return {"probe": probe}

    def _rows(self, old: Floats, before: Values, after: Values, noise: Noise) -> Floats:
        from dowhy.graph import get_ordered_predecessors

        nodes, new = self.columns.nodes, old.copy()
        shown = {name: self._shown(old, name) for name in nodes if name in self.diagram.parents}
        given, then = ({self._attribute: cells.astype(float), **shown} for cells in (before, after))
        if not len(old):
            return new
        for name in self._moving:
            mechanism = self.model.causal_mechanism(name)
            order = get_ordered_predecessors(self.model.graph, name)
            parents, others = (np.column_stack([of[str(p)] for p in order]) for of in (given, then))
            classes = _classes(mechanism)
            if classes:
                place = {label: k for k, label in enumerate(classes)}
                observed = np.array([place[label] for label in given[name].tolist()])
                latent = _abducted(mechanism.estimate_probabilities(parents), observed, noise(name))
            else:
                latent = mechanism.estimate_noise(given[name], parents)
            found = np.asarray(mechanism.evaluate(others, latent)).reshape(-1)
            self._write(new, name, found)
            then[name] = self._shown(new, name)
        return new

    def _shown(self, table: Floats, name: str) -> NDArray[Any]:
        values = _shown(table, self.columns, name, self._ends)
        classes = _classes(self.model.causal_mechanism(name))
        if not classes or values.dtype == object:
            return values
        # Numbers that the model takes for classes.
        numbers = np.array([float(label) for label in classes])
        nearest = np.abs(values[:, None] - numbers).argmin(axis=1)
        labels: NDArray[Any] = np.array(classes, dtype=object)[nearest]
        return labels

    def _write(self, table: Floats, name: str, found: NDArray[Any]) -> None:
        columns = self.columns.nodes[name]
        if len(columns) > 1:
            place = {label: k for k, label in enumerate(_levels(self.columns, name))}
            levels = np.array([place[str(label)] for label in found.tolist()], dtype=np.int64)
            set_levels(table, levels, columns, self._ends)
            return
        low, high = self._ends[:, columns[0]]
        unit = (high - low) * _ROUNDED if high > low else 1.0
        values = found.astype(float)
        table[:, columns[0]] = np.round((values - low) / unit) * unit + low

    def state(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        """What tells the model apart; DoWhy's own part is in no file."""
        tensors, facts = super().state()
        return tensors, {**facts, "diagram": self.diagram.to_dict()}


def _classes(mechanism: Any) -> list[Any]:
    """The classes of a `ClassifierFCM`; of any other mechanism none."""
    if not hasattr(mechanism, "estimate_probabilities"):
        return []
    return list(mechanism.classifier_model.classes)


def _abducted(shares: Floats, observed: Integers, noise: Floats) -> Floats:
    """A uniform number from the range of probability that the observed class covers."""
    each, total = np.arange(len(observed)), np.cumsum(shares, axis=1)
    high = total[each, observed]
    # From the upper end down: DoWhy takes the first class whose total reaches the number.
    return high - noise * shares[each, observed]


def _shown(table: Floats, columns: Columns, name: str, ends: Floats) -> NDArray[Any]:
    own = columns.nodes[name]
    if len(own) == 1:
        return table[:, own[0]]
    return np.array(_levels(columns, name), dtype=object)[levels_of(table, own, ends)]


def _levels(columns: Columns, name: str) -> list[str]:
    return [columns.names[k].removeprefix(f"{name}=") for k in columns.nodes[name]]
