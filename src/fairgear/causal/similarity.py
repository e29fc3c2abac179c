"""The causal model of graphs built from a table: the rule that made the edges, run again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from fairgear.causal.base import CAUSAL_MODELS, FeatureCausalModel
from fairgear.causal.features import Columns, FeatureModel, feature_model
from fairgear.causal.features.base import Floats, Integers
from fairgear.causal.interventions import as_assignment
from fairgear.causal.local import LocalWorld, Snapshot, changing
from fairgear.errors import GraphError
from fairgear.graph import SensitiveGraph, SimilarityMechanism
from fairgear.graph.canonical import Canonical
from fairgear.graph.similarity import SimilarityEdges


class SimilarityCausalModel(FeatureCausalModel):
    """Counterfactuals of a graph built from a table.

    The raw features move with the attribute (`features`), and the rule that built the edges is
    run again on the new table. The scaling to [−1, 1] stays the factual one. Labels stay: how
    they come about is not known. A world depends on the factual table and the new attribute
    alone, so a counterfactual of a counterfactual leads back.

    The edges are exact, since their rule is known. The features are a model.

    Args:
        features: a feature model, or the name of one: "shift" (difference of the groups' means),
            "quantile" or another of `FEATURE_MODELS`.

    Example:
        >>> import torch
        >>> from fairgear.causal import for_graph
        >>> from fairgear.graph import SimilarityRule, similarity_graph
        >>> rows = torch.arange(40, dtype=torch.float64)
        >>> raw = torch.stack([rows % 7, rows % 2], dim=1)
        >>> graph = similarity_graph(
        ...     raw,
        ...     None,
        ...     raw[:, 1].long(),
        ...     rule=SimilarityRule(0.7),
        ...     sens_column=1,
        ...     feature_names=["income", "sex"],
        ... )
        >>> model = for_graph(graph)
        >>> model.name
        'similarity'
        >>> model.counterfactual(graph, 1 - graph.sens).num_nodes
        40
    """

    name = "similarity"

    def __init__(self, features: str | FeatureModel = "shift") -> None:
        self.feature_model = feature_model(features)
        self._factual: _Factual | None = None
        self._seen: tuple[_Factual, Snapshot] | None = None

    def _fit(self, graph: SensitiveGraph) -> None:
        factual, rows = _Factual.of(graph), graph.canonical.rows.numpy()
        people = None if self._people is None else self._people.numpy()[rows]
        self.feature_model = feature_model(self.feature_model).fit(
            factual.table[rows], factual.sens[rows], Columns.of(graph), people
        )
        self._factual = factual

    def counterfactual(
        self, graph: SensitiveGraph, sens: Tensor | int, *, seed: int = 0
    ) -> SensitiveGraph:
        """Raw features moved, the rule run again; `seed` is that of the noise of features."""
        if not self.feature_model.fitted:
            raise self._not_fitted()
        if self._factual is None or not self._factual.belongs_to(graph):
            self._factual = _Factual.of(graph)
        factual = self._factual
        sens = as_assignment(graph, sens)
        after = sens.cpu().numpy()
        table = self.feature_model.moved(
            factual.table, factual.sens, after, factual.node_id, seed=seed
        )
        rows = np.flatnonzero(factual.sens != after)
        x = factual.x.clone()
        x[rows] = factual.mechanism.scale(torch.from_numpy(table[rows]))
        device = graph.x.device
        return graph.replace(
            x=x.to(device), edge_index=factual.edges(table, rows).to(device), sens=sens
        )

    def local(
        self, graph: SensitiveGraph, rows: Tensor, sens: Tensor, *, seed: int = 0
    ) -> LocalWorld:
        """The few rows moved, and the edges that the rule gives and takes for them."""
        if self.feature_model is None:
            raise self._not_fitted()
        people, after = changing(graph, rows, sens)
        factual, changes = self._factual, None
        if factual is not None and self._is_factual(factual, graph):
            table = self.feature_model.moved(
                factual.table[people],
                factual.sens[people],
                after,
                factual.node_id[torch.from_numpy(people)],
                seed=seed,
            )
            numbers = factual.canonical.numbers.numpy()[people]
            changes = factual.built.changes(numbers, table)
        if factual is None or changes is None:
            return super().local(graph, rows, sens, seed=seed)
        removed, added = (factual.canonical.rows[torch.from_numpy(part)] for part in changes)
        x = factual.mechanism.scale(torch.from_numpy(table))
        values = torch.from_numpy(after)
        return LocalWorld(graph, torch.from_numpy(people), values, x, removed, added)

    def _is_factual(self, factual: _Factual, graph: SensitiveGraph) -> bool:
        """Whether the graph is the factual one itself; remembered until it changes."""
        if self._seen is None or self._seen[0] is not factual or not self._seen[1].holds(graph):
            same = factual.belongs_to(graph) and torch.equal(graph.x.cpu(), factual.x)
            same = same and np.array_equal(graph.sens.cpu().numpy(), factual.sens)
            edges = graph.canonical.edge_index
            if not same or not torch.equal(edges, factual.built.edge_index):
                return False
            self._seen = (factual, Snapshot(graph))
        return True

    def table(self, graph: SensitiveGraph) -> tuple[Floats, Integers]:
        """The raw table that the graph was built from."""
        assert graph.raw is not None, "fit has checked that"
        rows = graph.canonical.rows
        return graph.raw.cpu()[rows].numpy(), graph.sens.cpu()[rows].numpy()

    @property
    def notes(self) -> tuple[str, ...]:
        """How features and edges are moved."""
        how = self.feature_model.how
        return (
            f"Features are moved {how}, a model; edges follow by the rule that built the graph.",
            *self.feature_model.notes,
        )

    def _state(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        return self.feature_model.state() if self.feature_model.fitted else ({}, {})

    def _restore(self, tensors: dict[str, Tensor], facts: dict[str, Any]) -> None:
        self.feature_model = FeatureModel.from_state(tensors, facts)


@dataclass(frozen=True, eq=False)
class _Factual:
    """The factual table, in the order of its graph, and the edges that the rule gives it."""

    mechanism: SimilarityMechanism
    raw: Tensor
    node_id: Tensor
    canonical: Canonical
    x: Tensor
    table: Floats
    sens: Integers
    built: SimilarityEdges

    @classmethod
    def of(cls, graph: SensitiveGraph) -> _Factual:
        mechanism, raw, what = graph.mechanism, graph.raw, "a graph for the similarity model"
        if not isinstance(mechanism, SimilarityMechanism) or raw is None:
            raise GraphError(
                what,
                "a graph that does not carry the table it was built from",
                "a graph that fairgear built from a table",
                "build it with fairgear.graph.similarity_graph, or use the fitted model",
            )
        raw, node_id, x = raw.cpu(), graph.node_id.cpu(), graph.x.cpu()
        canonical, table = graph.canonical, np.ascontiguousarray(raw.numpy())
        # In the nearest-neighbours mode the rule depends on the order of the rows.
        built = mechanism.rule.build(table[canonical.rows.numpy()])
        same_x = torch.equal(mechanism.scale(raw), x)
        sens = graph.sens.cpu().numpy()
        factual = cls(mechanism, raw, node_id, canonical, x, table, sens, built)
        if not same_x or not torch.equal(built.edge_index, canonical.edge_index):
            raise GraphError(
                what,
                f"{'edges' if same_x else 'features'} that differ from those of its table",
                "the factual graph as it was built from its table; for a counterfactual one, "
                "use the model that made it",
                "scale features inside the model, or drop the mechanism "
                "(graph.replace(mechanism=None, raw=None)) and fit a causal model",
            )
        return factual

    def belongs_to(self, graph: SensitiveGraph) -> bool:
        """Whether `graph` is the factual one or a world of it."""
        if graph.mechanism is not self.mechanism or graph.raw is None:
            return False
        same = graph.raw is self.raw or torch.equal(graph.raw.cpu(), self.raw)
        return same and torch.equal(graph.node_id.cpu(), self.node_id)

    def edges(self, table: Floats, rows: Integers) -> Tensor:
        """The edges of a table that differs only in `rows`."""
        order, numbers = self.canonical.rows.numpy(), self.canonical.numbers.numpy()
        return self.canonical.in_rows(self.built.after(table[order], numbers[rows]))


CAUSAL_MODELS.add("similarity", SimilarityCausalModel)
