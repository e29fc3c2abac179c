"""The causal model of graphs whose edges nobody can explain: a fitted one, if it fits."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from fairgear.causal.base import CAUSAL_MODELS, CausalModel, as_assignment
from fairgear.causal.edge_kernel import Integers
from fairgear.causal.edge_model import World
from fairgear.causal.edge_people import People
from fairgear.causal.features import FEATURE_MODELS, FeatureModel
from fairgear.causal.fitted_edges import FittedEdges
from fairgear.errors import GraphError, NotFittedError, ParameterError
from fairgear.graph import SensitiveGraph
from fairgear.seeds import check_seed

EDGES = ("distance", "cosine", "fixed")


class FittedCausalModel(CausalModel):
    """Counterfactuals of a graph with edges of its own.

    Features move with the attribute (`features`); edges by a fitted probability of each pair
    (`edges`), with noise of their own that every world shares. Labels stay: nothing is known of
    how they come about. The graph given to `counterfactual` is taken as the factual one, so that
    a counterfactual of a counterfactual need not lead back.

    Args:
        features: "shift" (difference of the groups' means) or "quantile".
        edges: "distance" (likeness, degrees and groups), "cosine" (the paper's) or "fixed".
        gate: whether edges are held fixed where the edge model foretells held-out pairs poorly.
        exact_up_to: people up to whom every pair is looked at for a new edge; beyond, only pairs
            two steps apart or near each other.
        seed: which non-edges of a large graph are fitted on, and which pairs are held out.
    """

    name = "fitted"

    def __init__(
        self,
        features: str = "shift",
        edges: str = "distance",
        *,
        gate: bool = True,
        exact_up_to: int = 50_000,
        seed: int = 0,
    ) -> None:
        FEATURE_MODELS[features]
        if edges not in EDGES:
            raise ParameterError(
                "edges of a fitted model", repr(edges), ", ".join(EDGES), "choose one of them"
            )
        self.features = features
        self.edges = edges
        self.gate = gate
        self.exact_up_to = exact_up_to
        self.seed = check_seed("seed of a fitted model", seed)
        self._feature_model: FeatureModel | None = None
        self._edges: FittedEdges | None = None
        self._columns: list[str] = []
        self._sens_column: int | None = None
        self._kept: tuple[str, People] | None = None

    def _fit(self, graph: SensitiveGraph) -> None:
        people = People.of(graph)
        self._kept = None
        self._columns, self._sens_column = list(graph.feature_names), graph.sens_column
        self._feature_model = FEATURE_MODELS[self.features]().fit(
            people.table, people.sens, people.ids, graph.sens_column
        )
        self._edges = None
        if self.edges != "fixed":
            self._edges = FittedEdges.of(
                self.edges, people, graph.sens_column, gate=self.gate, seed=self.seed
            )
            if people.count > self.exact_up_to:
                worlds = {
                    name: self._world(people, sens, seed=0)
                    for name, sens in _whole_graph(people).items()
                }
                self._edges = self._edges.with_missed(worlds)

    def counterfactual(
        self, graph: SensitiveGraph, sens: Tensor | int, *, seed: int = 0
    ) -> SensitiveGraph:
        """Features moved, edges kept, lost and won; `seed` is of the noise of the edges."""
        check_seed("seed", seed)
        people = self._people(graph)
        sens = as_assignment(graph, sens)
        world = self._world(people, sens.cpu().numpy()[people.order], seed)
        changed = world.changed
        if not changed.any():
            return graph.replace(sens=sens)
        x = graph.x.clone()
        rows = torch.from_numpy(people.order[changed])
        x[rows.to(x.device)] = torch.from_numpy(world.table[changed]).to(x)
        edge_index = graph.edge_index
        if self._edges is not None and self._edges.open:
            pairs = self._edges.pairs(world, seed, exact=people.count <= self.exact_up_to)
            edge_index = people.edge_index(pairs).to(edge_index.device)
        # What made the factual graph did not make this one.
        return graph.replace(x=x, edge_index=edge_index, sens=sens, mechanism=None)

    def _world(self, people: People, sens: Integers, seed: int) -> World:
        assert self._feature_model is not None
        table = self._feature_model.moved(
            people.table, people.sens, sens, torch.from_numpy(people.ids), seed=seed
        )
        return World(people, table, sens)

    def _people(self, graph: SensitiveGraph) -> People:
        """The people of a graph that this model can speak of; kept between calls."""
        if self._feature_model is None:
            raise NotFittedError(
                "a fitted causal model that was never fitted",
                "a call that needs a fitted model",
                "calls after fit",
                "call fit(graph) first, or use fairgear.causal.for_graph",
            )
        if graph.feature_names != self._columns or graph.sens_column != self._sens_column:
            raise GraphError(
                "a graph for this fitted model",
                _difference(graph, self._columns, self._sens_column),
                "the columns that the model was fitted on, in their order",
                "fit a model on this graph",
            )
        content = graph.fingerprint("x", "edge_index", "sens", "node_id")
        if self._kept is None or self._kept[0] != content:
            self._kept = (content, People.of(graph))
        return self._kept[1]

    def _quality(self) -> dict[str, Any]:
        return {} if self._edges is None else self._edges.quality()

    def _notes(self) -> tuple[str, ...]:
        moved = f"Features are moved {FEATURE_MODELS[self.features].how}, a model."
        if self._edges is None:
            return moved, "Edges are held fixed, as was asked for."
        return moved, *self._edges.notes()

    def _state(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        if self._feature_model is None:
            return {}, {}
        tensors, features = self._feature_model.state()
        facts: dict[str, Any] = {
            "features": features,
            "edges": self.edges,
            "gate": self.gate,
            "exact_up_to": self.exact_up_to,
            "seed": self.seed,
            "columns": self._columns,
            "sens_column": self._sens_column,
        }
        tensors = {f"features.{key}": value for key, value in tensors.items()}
        if self._edges is not None:
            edge_tensors, facts["fitted_edges"] = self._edges.state()
            tensors |= {f"edges.{key}": value for key, value in edge_tensors.items()}
        return tensors, facts

    def _restore(self, tensors: dict[str, Tensor], facts: dict[str, Any]) -> None:
        if not facts:
            return
        for key in ("edges", "gate", "exact_up_to", "seed"):
            setattr(self, key, facts[key])
        self._columns, self._sens_column = list(facts["columns"]), facts["sens_column"]
        self._feature_model = FeatureModel.from_state(
            _under("features.", tensors), dict(facts["features"])
        )
        self.features = self._feature_model.name
        if "fitted_edges" in facts:
            self._edges = FittedEdges.from_state(_under("edges.", tensors), facts["fitted_edges"])


def _whole_graph(people: People) -> dict[str, Integers]:
    return {"all 0": np.zeros_like(people.sens), "all 1": np.ones_like(people.sens)}


def _difference(graph: SensitiveGraph, columns: list[str], sens_column: int | None) -> str:
    if len(graph.feature_names) != len(columns):
        return f"{len(graph.feature_names)} columns, not {len(columns)}"
    for at, (got, known) in enumerate(zip(graph.feature_names, columns, strict=True)):
        if got != known:
            return f"{got!r} as column {at}, not {known!r}"
    return f"the sensitive attribute in column {graph.sens_column}, not {sens_column}"


def _under(prefix: str, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    return {key[len(prefix) :]: t for key, t in tensors.items() if key.startswith(prefix)}


CAUSAL_MODELS.add("fitted", FittedCausalModel)
