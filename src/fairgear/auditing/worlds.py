"""The graphs that a model scores: the factual one and its counterfactuals.

Worlds are built once and shared by all models. Alternatives are the worlds of other plausible
causal models: does the verdict depend on the causal model?
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property, partial

import torch
from torch import Tensor

from fairgear.causal import (
    FEATURE_MODELS,
    RATES,
    CausalModel,
    Diagnostics,
    FittedCausalModel,
    LocalWorld,
    SimilarityCausalModel,
    at_random,
    at_rate,
    attribute_only,
    features_only,
    flipped,
    for_graph,
    released_world,
    structure_only,
    structure_with,
)
from fairgear.errors import FairgearError, GraphError, ParameterError
from fairgear.graph import SensitiveGraph
from fairgear.progress import bar, quiet
from fairgear.settings import check_seed


@dataclass(frozen=True, eq=False)
class World:
    """One graph that a model scores, and the intervention that it is for.

    Attributes:
        protocol: "strict", "released", "placebo", "factual", "edgeless", or the name of another
            causal model.
        intervention: "rate 0", "rate 0.5", "rate 1", "random", "unchanged" or "self NODE_ID".
        draw: number of the draw.
        assigned: everyone's attribute in this world, or what gives it.
        make: builds the graph on first use.
        change: gives what differs from the factual graph, for the world of one person.
    """

    protocol: str
    intervention: str
    draw: int
    assigned: Tensor | Callable[[], Tensor] = field(repr=False)
    make: Callable[[], SensitiveGraph] = field(repr=False)
    change: Callable[[], LocalWorld] | None = field(default=None, repr=False)

    @property
    def name(self) -> str:
        """Unique among the worlds of one audit, and fit for a file name."""
        # A node id may be negative; its minus must not read as a dash.
        words = f"{self.protocol} {self.intervention.replace('-', 'minus')} draw {self.draw}"
        return re.sub(r"[^A-Za-z0-9.]+", "-", words)

    @cached_property
    def sens(self) -> Tensor:
        """Everyone's attribute in this world."""
        return self.assigned if isinstance(self.assigned, Tensor) else self.assigned()

    @cached_property
    def local(self) -> LocalWorld:
        """What differs from the factual graph; only the worlds of one person have it."""
        assert self.change is not None
        return self.change()

    @cached_property
    def graph(self) -> SensitiveGraph:
        """With the same nodes, in the same order, as the factual graph."""
        return self.make()


# From a world of the audit's own causal model to another model's world at the same assignment.
Make = Callable[[World], SensitiveGraph]
ByRate = dict[float, list[World]]


@dataclass(frozen=True)
class Alternative:
    """Another causal model, at the same assignments as the audit's own.

    Attributes:
        name: also the protocol of its worlds.
        meaning: what it assumes that the attribute changes.
        worlds: by rate; empty where the model cannot be fitted.
        error: why not.
    """

    name: str
    meaning: str
    worlds: ByRate = field(repr=False)
    error: str | None = None

    def all_worlds(self) -> list[World]:
        """Every draw at every rate."""
        return [world for draws in self.worlds.values() for world in draws]


class Worlds:
    """The worlds of one graph under one causal model; each is built on first use.

    Args:
        graph: the factual graph.
        causal_model: makes the counterfactuals; `fairgear.causal.for_graph` chooses it if not
            given. With fewer than two groups it is None, and `why_none` says so.
        draws: worlds for each random intervention (rate 0.5 and random).
        seed: of the draws and of the causal model's noise.
        released_share: how much of a feature's change the softened worlds keep; as in the authors'
            files if not given.
    """

    def __init__(
        self,
        graph: SensitiveGraph,
        causal_model: CausalModel | None = None,
        *,
        draws: int = 3,
        seed: int = 0,
        released_share: float | None = None,
    ) -> None:
        if draws < 1:
            raise ParameterError("draws", draws, "at least 1", "use 3 for a report")
        if released_share is not None and not 0 <= released_share <= 1:
            step = "leave it out to do as the authors' files do"
            raise ParameterError("released_share", released_share, "0 to 1", step)
        self.graph = graph
        self.draws = draws
        self.seed = check_seed("seed of the worlds", seed)
        self.released_share = released_share
        self.causal_model = causal_model
        self.why_none = ""
        if causal_model is None:
            groups = sorted(set(graph.sens.tolist()))
            if len(groups) < 2:
                self.why_none = f"everybody is in group {groups[0]}."
            else:
                self.causal_model = for_graph(graph)

    def __repr__(self) -> str:
        model = None if self.causal_model is None else self.causal_model.name
        return (
            f"Worlds({self.graph.name!r}, {len(self.graph.x):,} people, causal model {model!r}, "
            f"draws={self.draws}, seed={self.seed})"
        )

    @cached_property
    def factual(self) -> World:
        """The graph as it is."""
        return World("factual", "unchanged", 0, self.graph.sens, lambda: self.graph)

    @cached_property
    def edgeless(self) -> World:
        """The graph without its edges: does a model read them?"""
        none = self.graph.edge_index[:, :0]
        make = partial(self.graph.replace, edge_index=none, mechanism=None)
        return World("edgeless", "unchanged", 0, self.graph.sens, make)

    @cached_property
    def assignments(self) -> dict[float, list[Tensor]]:
        """Whole-graph values of s by rate; at 0 and 1 nothing is random."""
        return {
            rate: [
                at_rate(self.graph, rate, draw=draw, seed=self.seed)
                for draw in range(1 if rate in (0, 1) else self.draws)
            ]
            for rate in RATES
        }

    @cached_property
    def strict(self) -> ByRate:
        """Features, edges and labels as the causal model has them, by rate."""
        return self._by_rate("strict", self._counterfactual)

    @cached_property
    def released(self) -> ByRate:
        """The softened worlds at the same assignments, by rate; their edges are factual."""
        return self._by_rate("released", self._softened)

    @cached_property
    def random(self) -> list[World]:
        """Everyone's s redrawn: *neighbours* for those who kept theirs, *both* for the rest."""
        drawn = [at_random(self.graph, draw=draw, seed=self.seed) for draw in range(self.draws)]
        return [
            World("strict", "random", draw, sens, partial(self._counterfactual, sens))
            for draw, sens in enumerate(drawn)
        ]

    @cached_property
    def placebo(self) -> World:
        """The softening alone, with nobody's s changed."""
        sens = self.graph.sens
        return World("placebo", "unchanged", 0, sens, partial(self._softened, sens))

    @cached_property
    def alternatives(self) -> list[Alternative]:
        """Other causal models, at the assignments of `strict`; built on first use."""
        graph, own = self.graph, self.known_model()
        features = "shift"
        if isinstance(own, SimilarityCausalModel | FittedCausalModel):
            features = own.features
        other = "shift" if features == "quantile" else "quantile"

        def cosine_edges() -> Make:
            # Ungated: with the gate closed the links would be those of "features only".
            model = FittedCausalModel(features, "cosine", gate=False)
            return _counterfactuals(graph, self.seed, model.fit(graph))

        return [
            self._fitted(
                other,
                f"Features are moved {FEATURE_MODELS[other].how}; links follow as in the audit's "
                "own model.",
                lambda: _other_features(graph, own, other, self.seed),
            ),
            self._made(
                "features only",
                "Features move as in the audit's own model; everybody keeps their links.",
                lambda world: features_only(graph, world.graph),
            ),
            self._made(
                "structure only",
                "Links change as in the audit's own model; features stay, except for the "
                "attribute.",
                lambda world: structure_only(graph, world.graph),
            ),
            self.attribute_only,
            self._fitted(
                "cosine edges",
                "Links follow the paper's equation, the cosine of features and the same group, "
                "fitted to this graph.",
                cosine_edges,
            ),
        ]

    @cached_property
    def attribute_only(self) -> Alternative:
        """Worlds in which nothing follows from the attribute; they need no causal model."""
        return self._made(
            "attribute only",
            "Nothing follows from the attribute: only its own column changes.",
            lambda world: attribute_only(self.graph, world.sens),
        )

    @cached_property
    def diagnostics(self) -> Diagnostics:
        """What the causal model does to the graph, measured on worlds that are built anyway."""
        worlds = {rate: draws[0].graph for rate, draws in self.strict.items()}
        return self.known_model().diagnostics(self.graph, seed=self.seed, worlds=worlds)

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of everything that decides the worlds; equal for audits that can be paired."""
        causal = None if self.causal_model is None else self.causal_model.fingerprint()
        facts = [self.graph.fingerprint(), causal, self.draws, self.seed, self.released_share]
        return hashlib.sha256(json.dumps(facts).encode()).hexdigest()

    def alone(self, nodes: Tensor) -> Iterator[World]:
        """For each of `nodes`, the world in which only that person's s is flipped; not cached."""
        ids, values = (
            of[nodes.to(of.device)].cpu() for of in (self.graph.node_id, self.graph.sens)
        )
        for at, node in enumerate(nodes.tolist()):
            yield World(
                "strict",
                f"self {int(ids[at])}",
                0,
                partial(flipped, self.graph, node),
                partial(self._alone, node),
                partial(self._change, nodes[at : at + 1], 1 - values[at : at + 1]),
            )

    @property
    def cheap_alone(self) -> bool:
        """Whether the world of one person costs their surroundings alone."""
        return type(self.known_model()).local is not CausalModel.local

    def known_model(self) -> CausalModel:
        """The causal model; an error where there is none."""
        if self.causal_model is None:
            got, what = "a graph without a causal model", "counterfactual worlds"
            allowed = "a graph that carries its structural equations, or a causal_model"
            raise GraphError(what, got, allowed, "pass causal_model")
        return self.causal_model

    def _by_rate(self, protocol: str, make: Callable[[Tensor], SensitiveGraph]) -> ByRate:
        return {
            rate: [
                World(protocol, f"rate {rate:g}", draw, sens, partial(make, sens))
                for draw, sens in enumerate(values)
            ]
            for rate, values in self.assignments.items()
        }

    def _made(self, name: str, meaning: str, make: Make) -> Alternative:
        def other(world: World) -> World:
            return World(name, world.intervention, world.draw, world.sens, lambda: make(world))

        made = {rate: [other(world) for world in draws] for rate, draws in self.strict.items()}
        return Alternative(name, meaning, made)

    def _fitted(self, name: str, meaning: str, fit: Callable[[], Make]) -> Alternative:
        """An alternative that must be fitted first, which not every graph allows."""
        try:
            # Fitting may show bars of its own, and there is one line for them.
            with bar(f"fitting another causal model, {name}", total=1), quiet():
                make = fit()
        except FairgearError as error:
            return Alternative(name, meaning, {}, error=str(error))
        return self._made(name, meaning, make)

    def _counterfactual(self, sens: Tensor) -> SensitiveGraph:
        return self.known_model().counterfactual(self.graph, sens, seed=self.seed)

    def _alone(self, node: int) -> SensitiveGraph:
        return self._counterfactual(flipped(self.graph, node))

    def _change(self, rows: Tensor, sens: Tensor) -> LocalWorld:
        return self.known_model().local(self.graph, rows, sens, seed=self.seed)

    def _softened(self, sens: Tensor) -> SensitiveGraph:
        return released_world(
            self.known_model(), self.graph, sens, share=self.released_share, seed=self.seed
        )


def _other_features(graph: SensitiveGraph, own: CausalModel, features: str, seed: int) -> Make:
    """The own model with another feature model, or another feature model on top of it."""
    if isinstance(own, SimilarityCausalModel):
        return _counterfactuals(graph, seed, SimilarityCausalModel(features).fit(graph))
    if isinstance(own, FittedCausalModel):
        fitted = FittedCausalModel(
            features, own.edges, gate=own.gate, exact_up_to=own.exact_up_to, seed=own.seed
        )
        return _counterfactuals(graph, seed, fitted.fit(graph))
    table = graph.x.cpu().double().numpy()
    before, ids = graph.sens.cpu().numpy(), graph.node_id.cpu()
    rows = graph.canonical.rows.numpy()
    model = FEATURE_MODELS[features]().fit(table[rows], before[rows], graph.sens_column)

    def make(world: World) -> SensitiveGraph:
        moved = model.moved(table, before, world.sens.cpu().numpy(), ids, seed=seed)
        return structure_with(world.graph, torch.from_numpy(moved).to(graph.x))

    return make


def _counterfactuals(graph: SensitiveGraph, seed: int, model: CausalModel) -> Make:
    return lambda world: model.counterfactual(graph, world.sens, seed=seed)
