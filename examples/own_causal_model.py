# ruff: noqa: T201
"""A causal model of one's own: one column follows the attribute, everything else stays."""

from __future__ import annotations

from typing import Any

import pandas as pd
from torch import Tensor

import fairgear as fg
from fairgear.causal import CAUSAL_MODELS, CausalModel, as_assignment, node_uniform
from fairgear.graph import SensitiveGraph
from fairgear.testing import check_causal_model


class OneColumn(CausalModel):
    """Had somebody been of the other group, one column would be another, and nothing else.

    Args:
        column: its name.
        share: of the people whose value follows the attribute at all. Who they are is noise.
    """

    name = "one column"

    def __init__(self, column: str = "income", share: float = 1.0) -> None:
        self.column, self.share, self.shift = column, share, 0.0

    def _fit(self, graph: SensitiveGraph) -> None:
        values = graph.x[:, graph.feature_names.index(self.column)]
        # A median does not depend on the order of the rows. A mean does, in its last digit.
        self.shift = float(values[graph.sens == 1].median() - values[graph.sens == 0].median())

    def counterfactual(
        self, graph: SensitiveGraph, sens: Tensor | int, *, seed: int = 0
    ) -> SensitiveGraph:
        """The column moved for those who change and whose value follows; edges stay."""
        sens = as_assignment(graph, sens)
        follows = (node_uniform(graph.node_id, seed, self.name) < self.share).to(sens.device)
        moved = (sens != graph.sens) & follows
        x = graph.x.clone()
        x[moved, graph.feature_names.index(self.column)] += self.shift * (sens - graph.sens)[moved]
        if graph.sens_column is not None:
            x[:, graph.sens_column] = sens.to(x.dtype)
        return graph.replace(x=x, sens=sens, mechanism=None)

    @property
    def notes(self) -> tuple[str, ...]:
        """What the model assumes."""
        return (f"{self.column} follows the attribute for {self.share:.0%}; nothing else does.",)

    def _state(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        return {}, {"column": self.column, "share": self.share, "shift": self.shift}

    def _restore(self, tensors: dict[str, Tensor], facts: dict[str, Any]) -> None:
        self.column, self.share, self.shift = facts["column"], facts["share"], facts["shift"]


CAUSAL_MODELS.add(OneColumn.name, OneColumn)

people, friends = pd.read_csv("examples/people.csv"), pd.read_csv("examples/friends.csv")
graph = fg.graph.from_tables(people, friends, label="approved", sensitive="sex")
print(check_causal_model(lambda: OneColumn("income", share=0.9), graph))
model = OneColumn("income", share=0.9).fit(graph)
for effect in model.diagnostics().effects:
    print(effect.intervention, effect.people_moved, effect.edges_added, effect.edges_removed)
