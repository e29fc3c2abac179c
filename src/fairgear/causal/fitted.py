"""The causal model of graphs whose edges have no known rule: a fitted one, if it fits."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from fairgear.causal.base import CAUSAL_MODELS, FeatureCausalModel
from fairgear.causal.edges import EdgeLaw, Factual, LinkLaw, NearbyEdges, NearLists, World
from fairgear.causal.features import Columns, FeatureModel, feature_model
from fairgear.causal.features.base import Floats, Integers
from fairgear.causal.interventions import as_assignment
from fairgear.causal.local import LocalWorld, Snapshot, changing
from fairgear.errors import GraphError, ParameterError
from fairgear.graph import SensitiveGraph
from fairgear.graph.attributes import LEVELS, largest_groups, quantile_levels
from fairgear.settings import check_seed

EDGES = ("distance", "cosine", "fixed")
# Where not every pair is considered, the edges of so few people are found from their own pairs: of
# equally near people a tree may find others in each world.
_FEW = 8


class FittedCausalModel(FeatureCausalModel):
    """Counterfactuals of a graph with given edges.

    Features move with the attribute (`features`), edges by a fitted probability per pair
    (`edges`), with noise that every world shares. Labels stay: how they come about is not known.
    `counterfactual` takes its graph as the factual one, so a counterfactual of a counterfactual
    need not lead back.

    Edges with directions follow a law of dyads, those with weights also one of their logarithms
    (see `causal.edges.dyads` and `causal.edges.weights`), in graphs of up to 5,000 people.

    Args:
        features: a feature model, or the name of one: "shift" (difference of the groups' means),
            "quantile" or another of `FEATURE_MODELS`.
        edges: "distance" (likeness, degrees and groups), "cosine" (the paper's) or "fixed".
        gate: whether edges stay fixed if the edge model predicts held-out pairs poorly.
        exact_up_to: up to this many people, every pair is considered for a new edge; beyond, only
            pairs two steps apart or near each other.
        seed: which non-edges of a large graph are used to fit, and which pairs are held out.

    Example:
        >>> from fairgear.causal import FittedCausalModel
        >>> from fairgear.testing import toy_graph
        >>> graph = toy_graph()
        >>> model = FittedCausalModel(features="quantile").fit(graph)
        >>> world = model.counterfactual(graph, 1 - graph.sens)
        >>> world.num_nodes == graph.num_nodes
        True
    """

    name = "fitted"

    def __init__(
        self,
        features: str | FeatureModel = "shift",
        edges: str = "distance",
        *,
        gate: bool = True,
        exact_up_to: int = 50_000,
        seed: int = 0,
    ) -> None:
        self.feature_model = feature_model(features)
        if edges not in EDGES:
            what, allowed = "edges of a fitted model", ", ".join(EDGES)
            raise ParameterError(what, repr(edges), allowed, "choose one of them")
        self.edges = edges
        self.gate = gate
        self.exact_up_to = exact_up_to
        self.seed = check_seed("seed of a fitted model", seed)
        self._edges: EdgeLaw | None = None
        self._links: LinkLaw | None = None
        # What edges have besides their ends: "directed", "weighted", both or nothing.
        self._linked = ""
        self._columns: list[str] = []
        self._sens_column: int | None = None
        self._cached: tuple[str, Factual] | None = None
        self._local: tuple[Snapshot, Factual, NearbyEdges | None] | None = None
        self._own_features = self.feature_model
        self._near: list[tuple[Factual, NearLists | None]] = []

    def _fit(self, graph: SensitiveGraph) -> None:
        factual = Factual.of(graph)
        self._cached = self._local = None
        self._near = []
        self._columns, self._sens_column = list(graph.feature_names), graph.sens_column
        people = None if self._people is None else self._people.numpy()[factual.order]
        self.feature_model = feature_model(self.feature_model).fit(
            factual.table, factual.sens, Columns.of(graph), people
        )
        self._own_features = self.feature_model
        self._edges, self._links, self._linked = None, None, _kind_of(graph)
        if self.edges == "fixed":
            return
        if self._linked:
            if self.edges != "distance":
                what, step = f"edges={self.edges!r}", "use edges='distance' or edges='fixed'"
                raise GraphError(what, f"{self._linked} edges", "undirected, unweighted ones", step)
            self._links = LinkLaw.of(graph, gate=self.gate, seed=self.seed)
            return
        law = EdgeLaw.of(self.edges, factual, graph.sens_column, gate=self.gate, seed=self.seed)
        if factual.n > self.exact_up_to:
            if factual.groups:
                groups = largest_groups(factual.sens, factual.groups)
                values = {f"all {group}": np.full_like(factual.sens, group) for group in groups}
            else:
                levels = zip(LEVELS, quantile_levels(factual.sens), strict=True)
                values = {f"quantile {at:g}": np.full_like(factual.sens, v) for at, v in levels}
            # The first worlds are asked of the same.
            self._cached = (_content(graph), factual)
            worlds = {k: self._world(factual, s, seed=0) for k, s in values.items()}
            law = law.with_missed(worlds, self._near_lists(law, factual))
        self._edges = law

    def counterfactual(
        self, graph: SensitiveGraph, sens: Tensor | int, *, seed: int = 0
    ) -> SensitiveGraph:
        """Features moved, edges kept, lost and gained; `seed` is that of the edges' noise."""
        check_seed("seed", seed)
        factual = self._factual(graph)
        sens = as_assignment(graph, sens)
        world = self._world(factual, sens.cpu().numpy()[factual.order], seed)
        changed = world.changed
        if not changed.any():
            return graph.replace(sens=sens)
        if factual.n > self.exact_up_to and changed.sum() <= _FEW:
            rows = torch.from_numpy(factual.order[changed])
            return self.local(graph, rows, sens[rows.to(sens.device)], seed=seed).graph()
        x = graph.x.clone()
        rows = torch.from_numpy(factual.order[changed])
        x[rows.to(x.device)] = torch.from_numpy(world.table[changed]).to(x)
        links: dict[str, Tensor] = {}
        if self._edges is not None and self._edges.open:
            law, exact = self._edges, factual.n <= self.exact_up_to
            lists = None if exact else self._near_lists(law, factual)
            pairs = law.pairs(world, seed, exact=exact, lists=lists)
            links["edge_index"] = factual.edge_index(pairs).to(graph.edge_index.device)
        if self._links is not None and self._links.open:
            links = self._links.links(graph, world, seed)
        # What made the factual graph did not make this one.
        return graph.replace(x=x, **links, sens=sens, mechanism=None)

    def local(
        self, graph: SensitiveGraph, rows: Tensor, sens: Tensor, *, seed: int = 0
    ) -> LocalWorld:
        """The few rows moved, and the edges that the law gives and takes for them."""
        check_seed("seed", seed)
        if self._links is not None and self._links.open:
            return super().local(graph, rows, sens, seed=seed)
        if self._local is None or not self._local[0].holds(graph):
            factual, law = self._factual(graph), self._edges
            nearby = None
            if law is not None and law.model is not None and law.open:
                nearby = NearbyEdges(law.model, factual, exact=factual.n <= self.exact_up_to)
            self._local = (Snapshot(graph), factual, nearby)
        _, factual, nearby = self._local
        found, values = changing(graph, rows, sens)
        numbers = graph.canonical.numbers.numpy()[found]
        order = np.argsort(numbers)
        people, after = numbers[order], values[order]
        ids = torch.from_numpy(factual.ids[people])
        table = self.feature_model.moved(
            factual.table[people], factual.sens[people], after, ids, seed=seed
        )
        moved = table[np.argsort(order)]
        world = LocalWorld(
            graph,
            torch.from_numpy(found),
            torch.from_numpy(values),
            torch.from_numpy(moved).to(graph.x.dtype),
            forgets=True,
        )
        if nearby is None or not len(people):
            return world
        removed, added = (
            torch.from_numpy(factual.order[pairs])
            for pairs in nearby.changes(people, table, after, seed)
        )
        return replace(world, removed=removed, added=added)

    def _near_lists(self, law: EdgeLaw, factual: Factual) -> NearLists | None:
        """Of the factual graph; with other features than the fitted ones, still those of these."""
        if not self._near or self._near[0][0] is not factual:
            # Shared with copies that have other features: `copy` takes the list itself.
            moved = copy.copy(self)
            moved.feature_model = self._own_features

            def world(value: Any) -> World:
                return moved._world(factual, np.full_like(factual.sens, value), seed=0)

            values = (
                np.array(largest_groups(factual.sens, factual.groups))
                if factual.groups
                else np.unique(quantile_levels(factual.sens))
            )
            self._near[:] = [(factual, law.near_lists(factual, values, world))]
        return self._near[0][1]

    def _world(self, factual: Factual, sens: NDArray[Any], seed: int) -> World:
        ids = torch.from_numpy(factual.ids)
        table = self.feature_model.moved(factual.table, factual.sens, sens, ids, seed=seed)
        return World(factual, table, sens)

    def _factual(self, graph: SensitiveGraph) -> Factual:
        """The graph in canonical order, if its columns fit this model; cached between calls."""
        if not self.feature_model.fitted:
            raise self._not_fitted()
        if _kind_of(graph) != self._linked:
            raise GraphError(
                "a graph for this fitted model",
                f"{_kind_of(graph) or 'undirected, unweighted'} edges",
                f"{self._linked or 'undirected, unweighted'} edges, as in the fit",
                "fit a model on this graph",
            )
        if graph.feature_names != self._columns or graph.sens_column != self._sens_column:
            raise GraphError(
                "a graph for this fitted model",
                _difference(graph, self._columns, self._sens_column),
                "the columns that the model was fitted on, in their order",
                "fit a model on this graph",
            )
        content = _content(graph)
        if self._cached is None or self._cached[0] != content:
            self._cached = (content, Factual.of(graph))
        return self._cached[1]

    def table(self, graph: SensitiveGraph) -> tuple[Floats, Integers]:
        """The features."""
        factual = self._factual(graph)
        return factual.table, factual.sens

    def _quality(self) -> dict[str, Any]:
        law = self._edges or self._links
        return {} if law is None else law.quality()

    @property
    def notes(self) -> tuple[str, ...]:
        """How features and edges are moved, and how well the edge model fits."""
        own = self.feature_model.notes
        moved = (f"Features are moved {self.feature_model.how}, a model.", *own)
        if self._links is not None:
            return *moved, *self._links.notes()
        if self._linked:
            return *moved, f"Edges are held fixed: no law of {self._linked} edges is fitted."
        if self._edges is None:
            return *moved, "Edges are held fixed, as requested."
        return *moved, *self._edges.notes()

    def _state(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        if not self.feature_model.fitted:
            return {}, {}
        tensors, features = self.feature_model.state()
        facts: dict[str, Any] = {
            "features": features,
            "edges": self.edges,
            "gate": self.gate,
            "exact_up_to": self.exact_up_to,
            "seed": self.seed,
            "columns": self._columns,
            "sens_column": self._sens_column,
            **({"linked": self._linked} if self._linked else {}),
        }
        tensors = {f"features.{key}": value for key, value in tensors.items()}
        if self._edges is not None:
            edge_tensors, facts["fitted_edges"] = self._edges.state()
            tensors |= {f"edges.{key}": value for key, value in edge_tensors.items()}
        if self._links is not None:
            own, facts["fitted_links"] = self._links.state()
            tensors |= {f"links.{key}": value for key, value in own.items()}
        return tensors, facts

    def _restore(self, tensors: dict[str, Tensor], facts: dict[str, Any]) -> None:
        if not facts:
            return
        for key in ("edges", "gate", "exact_up_to", "seed"):
            setattr(self, key, facts[key])
        self._columns, self._sens_column = list(facts["columns"]), facts["sens_column"]
        self._linked = str(facts.get("linked", ""))
        self.feature_model = FeatureModel.from_state(
            _under("features.", tensors), dict(facts["features"])
        )
        self._own_features = self.feature_model
        if "fitted_edges" in facts:
            self._edges = EdgeLaw.from_state(_under("edges.", tensors), facts["fitted_edges"])
        if "fitted_links" in facts:
            self._links = LinkLaw.from_state(_under("links.", tensors), facts["fitted_links"])


def _content(graph: SensitiveGraph) -> str:
    return graph.fingerprint("x", "edge_index", "sens", "node_id")


def _kind_of(graph: SensitiveGraph) -> str:
    kinds = {"directed": graph.directed, "weighted": graph.edge_weight is not None}
    return " and ".join(kind for kind, present in kinds.items() if present)


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
