"""The law of edges with directions or weights: who is linked, and how strongly."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from fairgear.causal.edges.dyads import Arcs, DyadModel, parameters_of
from fairgear.causal.edges.kernel import Floats, Integers
from fairgear.causal.edges.law import LEAST_PER_PARAMETER, EdgeLaw
from fairgear.causal.edges.model import NORMAL_95, World
from fairgear.causal.edges.pairs import Factual
from fairgear.causal.edges.regression import EdgeQuality
from fairgear.causal.edges.terms import DistanceTerms
from fairgear.causal.edges.weights import WeightModel
from fairgear.files import json_ready
from fairgear.graph import SensitiveGraph

# Every pair of a changed person is compared, which takes minutes beyond this.
MOST_PEOPLE = 5000


@dataclass(frozen=True, eq=False)
class LinkLaw:
    """How the edges of a directed or weighted graph come about.

    Attributes:
        edges: the law of undirected edges, with their weights aside; None if the graph is directed.
        dyads: the law of arcs; None if it is not, or if there was nothing to fit.
        held_out: quality of the arcs on held-out dyads.
        shortcoming: why edges stay fixed, if they do.
        weights: the law of the weights, if there are any.
    """

    edges: EdgeLaw | None
    dyads: DyadModel | None
    held_out: EdgeQuality | None
    shortcoming: str | None
    gate: bool
    weights: WeightModel | None

    @classmethod
    def of(cls, graph: SensitiveGraph, *, gate: bool, seed: int) -> LinkLaw:
        """Fit the edges of a graph."""
        skip, n = graph.sens_column, len(graph.x)
        if n > MOST_PEOPLE:
            short = f"{n:,} people are more than {MOST_PEOPLE:,}, whose every pair is compared"
            return cls(None, None, None, short, True, None)
        people = Arcs.of(graph) if graph.directed else Factual.of(graph)
        weights = _weights(graph, people)
        law = None if weights is None else WeightModel.fitted(people, skip, weights)
        if isinstance(people, Factual):
            edges = EdgeLaw.of("distance", people, skip, gate=gate, seed=seed)
            return cls(edges, None, None, edges.shortcoming, gate, law)
        count, pairs = people.arcs.shape[1], 2 * people.factual.num_pairs
        factual = people.factual
        terms = DistanceTerms.of(factual.table, skip, factual.groups, factual.code)
        if min(count, pairs - count) < LEAST_PER_PARAMETER * len(parameters_of(terms)):
            short = f"{count} arcs among {pairs} are too few to fit"
            return cls(None, None, None, short, True, law)
        dyads, held_out = DyadModel.fitted(people, skip, seed=seed)
        return cls(None, dyads, held_out, held_out.shortcoming(), gate, law)

    @property
    def open(self) -> bool:
        """Whether edges move."""
        known = self.dyads is not None or (self.edges is not None and self.edges.open)
        return known and (self.shortcoming is None or not self.gate)

    def links(self, graph: SensitiveGraph, world: World, seed: int) -> dict[str, Tensor]:
        """The fields of a graph, in its own row order, for the edges of a world."""
        people = Arcs.of(graph) if graph.directed else world.factual
        ends = self._ends(people, world, seed)
        rows = torch.from_numpy(world.factual.order[ends])
        both = rows if graph.directed else torch.cat([rows, rows.flip(0)], dim=1)
        fields = {"edge_index": both.to(graph.edge_index.device)}
        if graph.edge_weight is not None:
            found = torch.from_numpy(self._strengths(graph, people, world, ends, seed))
            found = found if graph.directed else torch.cat([found, found])
            fields["edge_weight"] = found.to(graph.edge_weight)
        return fields

    def _ends(self, people: Factual | Arcs, world: World, seed: int) -> Integers:
        """The arcs of a world, or its edges with the lower number first; sorted."""
        if isinstance(people, Arcs):
            assert self.dyads is not None
            ends = self.dyads.arcs(world, people, seed)
        else:
            assert self.edges is not None
            ends = np.sort(self.edges.pairs(world, seed, exact=True), axis=0)
        return np.asarray(ends[:, np.argsort(ends[0] * world.factual.n + ends[1])])

    def _strengths(
        self,
        graph: SensitiveGraph,
        people: Factual | Arcs,
        world: World,
        ends: Integers,
        seed: int,
    ) -> Floats:
        """The weights of the edges of a world."""
        old = _weights(graph, people)
        assert old is not None
        assert self.weights is not None
        known = people.arcs if isinstance(people, Arcs) else people.edges
        n = world.factual.n
        keys, wanted = known[0] * n + known[1], ends[0] * n + ends[1]
        at = np.searchsorted(keys, wanted)
        stays = np.isin(wanted, keys, assume_unique=True)
        found = np.empty(len(wanted))
        found[stays] = old[at[stays]]
        moved = stays & world.changed[ends].any(axis=0)
        found[moved] = self.weights.changed(world, people, ends[:, moved], found[moved])
        found[~stays] = self.weights.new(world, people, ends[:, ~stays], seed)
        return found

    def quality(self) -> dict[str, Any]:
        """As `EdgeLaw.quality`."""
        if self.edges is not None:
            return self.edges.quality()
        if self.dyads is None or self.held_out is None:
            return {"edges": "arcs", "gate_open": False}
        wide = NORMAL_95 * np.sqrt(self.dyads.variance)
        rows = zip(
            parameters_of(self.dyads.terms), self.dyads.theta.tolist(), wide.tolist(), strict=True
        )
        found: dict[str, Any] = json_ready(
            {
                "edges": "arcs",
                "gate_open": self.open,
                **self.held_out.to_dict(),
                "parameters": {
                    name: {"value": value, "low": value - half, "high": value + half}
                    for name, value, half in rows
                },
            }
        )
        return found

    def notes(self) -> tuple[str, ...]:
        """Sentences that every result of the model must be read with."""
        if not self.open:
            return (f"Edges are held fixed: {self.shortcoming}.",)
        said = self.edges.notes() if self.edges is not None else (self._said(),)
        if self.edges is None and self.shortcoming is not None:
            said = (*said, f"It is used although {self.shortcoming}: the gate was turned off.")
        if self.weights is None:
            return said
        return (
            *said,
            "Weights follow a fitted model of their logarithms, which explains "
            f"{self.weights.explained:.0%} of them; the rest of each is kept.",
        )

    def _said(self) -> str:
        found, dyads = self.held_out, self.dyads
        assert found is not None
        assert dyads is not None
        return (
            f"Arcs follow a fitted model of pairs: on held-out ones its AUC is {found.auc:.2f}, "
            f"{found.auc_without_degrees:.2f} by likeness and groups alone, and it expects "
            f"{found.expected:.0f} arcs where there are {found.actual:.0f}. Its reciprocity is "
            f"{dyads.theta[-1]:.2f}."
        )

    def state(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        """What was learned: tensors and JSON-ready facts."""
        facts: dict[str, Any] = {"shortcoming": self.shortcoming, "gate": self.gate}
        arrays: dict[str, Any] = {}
        tensors: dict[str, Tensor] = {}
        if self.edges is not None:
            own, facts["edges"] = self.edges.state()
            tensors = {f"edges.{key}": value for key, value in own.items()}
        for name, model in (("dyads", self.dyads), ("weights", self.weights)):
            if model is not None:
                arrays |= {
                    f"{name}.columns": model.terms.columns,
                    f"{name}.scale": model.terms.scale,
                    f"{name}.theta": model.theta,
                }
                if model.terms.groups != 2:
                    facts["attribute"] = [model.terms.groups, list(model.terms.code)]
        if self.dyads is not None and self.held_out is not None:
            arrays["dyads.variance"] = self.dyads.variance
            facts["held_out"] = asdict(self.held_out)
            arrays["dyads.bins"] = np.array(facts["held_out"].pop("bins"))
        if self.weights is not None:
            facts["weights"] = [self.weights.spread, self.weights.explained]
        return tensors | {key: torch.from_numpy(value) for key, value in arrays.items()}, facts

    @classmethod
    def from_state(cls, tensors: dict[str, Tensor], facts: dict[str, Any]) -> LinkLaw:
        """Restore what `state` gave."""
        arrays = {key: tensor.numpy() for key, tensor in tensors.items()}
        edges, dyads, held_out, weights = None, None, None, None
        groups, (mean, spread) = facts.get("attribute", (2, (0.0, 1.0)))
        how = int(groups), (float(mean), float(spread))
        if "edges" in facts:
            own = {k.removeprefix("edges."): t for k, t in tensors.items() if k[:6] == "edges."}
            edges = EdgeLaw.from_state(own, facts["edges"])
        if "held_out" in facts:
            terms = DistanceTerms(arrays["dyads.columns"], arrays["dyads.scale"], *how)
            dyads = DyadModel(terms, arrays["dyads.theta"], arrays["dyads.variance"])
            bins = tuple((e, a) for e, a in arrays["dyads.bins"].tolist())
            held_out = EdgeQuality(**facts["held_out"], bins=bins)
        if "weights" in facts:
            terms = DistanceTerms(arrays["weights.columns"], arrays["weights.scale"], *how)
            weights = WeightModel(terms, arrays["weights.theta"], *facts["weights"])
        return cls(edges, dyads, held_out, facts["shortcoming"], facts["gate"], weights)


def _weights(graph: SensitiveGraph, people: Factual | Arcs) -> Floats | None:
    """The weights of the arcs, or of the edges with the lower number first."""
    held = graph.canonical.weights
    if held is None or isinstance(people, Arcs):
        return held
    first, second = graph.canonical.edge_index.numpy()
    return np.asarray(held[first < second])
