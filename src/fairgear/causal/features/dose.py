"""The dose: how much of the groups' difference the attribute causes."""

from __future__ import annotations

import copy
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from fairgear.causal.features.base import FeatureModel, Floats, Mask, Noise, Values
from fairgear.causal.features.columns import Columns
from fairgear.errors import ParameterError


class Dosed(FeatureModel):
    """Another feature model of which only a share ρ is due to the attribute.

    Numbers become x + ρ(x' − x). Categories, and columns of few values, change in full for a share
    ρ of the people, and stay for the others; who changes at a smaller dose changes at a larger one.
    With ρ = 1 this is the model itself, with ρ = 0 the attribute's column alone moves.

    Args:
        model: any feature model; one that is fitted need not be fitted again.
        share: ρ, from 0 to 1.

    Example:
        >>> from fairgear.causal import Dosed, feature_model, with_features
        >>> from fairgear.testing import toy_graph
        >>> graph = toy_graph()
        >>> half = with_features(Dosed(feature_model("shift"), 0.5), graph)
        >>> full = with_features("shift", graph)
        >>> others = 1 - graph.sens
        >>> moved = [model.counterfactual(graph, others).x - graph.x for model in (half, full)]
        >>> bool((2 * moved[0][:, 0] - moved[1][:, 0]).abs().max() < 1e-5)
        True
    """

    def __init__(self, model: FeatureModel, share: float) -> None:
        if not 0 <= share <= 1:
            what, step = "share of the difference", "give the share that the attribute causes"
            raise ParameterError(what, share, "0 to 1", step)
        super().__init__(model.resolving)
        self.model, self.share = model, float(share)
        self.name = f"{model.name} at {share:g}"
        self.how = self._how()
        if model.fitted:
            self._columns, self._kept, self._cells = model._columns, model._kept, model._cells
            self._ends, self._few = model._ends, model._few

    def _how(self) -> str:
        return f"{self.model.how}, {self.share:.0%} of it taken to be due to the attribute"

    @property
    def notes(self) -> tuple[str, ...]:
        """Those of the model."""
        return self.model.notes

    def fit(
        self, table: Floats, sens: Values, columns: Columns, people: Mask | None = None
    ) -> Self:
        """Fit the model again."""
        self.model = copy.copy(self.model).fit(table, sens, columns, people)
        self.how = self._how()
        return super().fit(table, sens, columns, people)

    def _learn(self, table: Floats, cells: Values) -> dict[str, NDArray[Any]]:
        # The model has learned all there is.
        return {}

    def _rows(self, old: Floats, before: Values, after: Values, noise: Noise) -> Floats:
        full = self.model._rows(old, before, after, noise)
        if self.share == 1:
            return full
        whole = sorted({*self._few, *(k for group in self.columns.categories for k in group)})
        new: Floats = old + self.share * (full - old)
        changes = noise("dose") < self.share
        new[:, whole] = np.where(changes[:, None], full[:, whole], old[:, whole])
        return new

    def state(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        """The model's, and the share."""
        tensors, facts = self.model.state()
        return tensors, {"features": "dosed", "share": self.share, "of": facts}
