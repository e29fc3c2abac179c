"""The graphs that a model scores: the factual one and its counterfactuals.

Worlds are built once and shared by all models.
"""

from __future__ import annotations

import copy
import hashlib
import json
from collections.abc import Callable, Iterator
from functools import cached_property, partial
from typing import Any

import torch
from torch import Tensor

from fairgear.auditing.family import Family, attribute_alone
from fairgear.auditing.world import Alternative, ByRate, World
from fairgear.causal import (
    MIXED,
    CausalModel,
    Diagnostics,
    LocalWorld,
    assigned,
    at_random,
    changed_groups,
    for_graph,
    intervention_name,
    released_world,
    whole_graph,
    with_group,
)
from fairgear.errors import GraphError, ParameterError
from fairgear.graph import SensitiveGraph, groups_of
from fairgear.graph.attributes import SMALL_GROUP
from fairgear.settings import check_seed

PROTOCOLS = ("strict", "released")


class Worlds:
    """The worlds of one graph under one causal model; each is built on first use.

    Args:
        graph: the factual graph.
        causal_model: makes the counterfactuals; `fairgear.causal.for_graph` chooses it if not
            given. With fewer than two groups it is None, and `why_none` says so.
        draws: worlds for each random intervention (rate 0.5 and random).
        seed: of the draws and of the causal model's noise.
        protocol: "strict", or "released" for the paper's evaluation: the softened worlds of the
            authors' files beside the causal model's, whose maps are learned from everybody.
        released_share: how much of a feature's change the softened worlds keep; as in the authors'
            files if not given.
        factual_only: to have no worlds but the factual one, and no causal model.

    Attributes:
        people: mask of those whom the causal models' feature maps are learned from, see
            `judged_by`; None for everybody.

    Example:
        >>> import fairgear as fg
        >>> from fairgear.auditing import Worlds
        >>> from fairgear.testing import toy_graph
        >>> worlds = Worlds(toy_graph(), draws=2)
        >>> quick = {"other_causal_models": False, "what_if_people": 0}
        >>> first = fg.audit(lambda world: world.sens.float(), worlds, **quick)
        >>> second = fg.audit(lambda world: world.x[:, 0].sigmoid(), worlds, **quick)
        >>> first.metrics["delta_cf"], second.metrics["delta_cf"]
        (0.515625, 0.0)
    """

    def __init__(
        self,
        graph: SensitiveGraph,
        causal_model: CausalModel | None = None,
        *,
        draws: int = 3,
        seed: int = 0,
        protocol: str = "strict",
        released_share: float | None = None,
        factual_only: bool = False,
    ) -> None:
        if draws < 1:
            raise ParameterError("draws", draws, "at least 1", "use 3 for a report")
        if protocol not in PROTOCOLS:
            step = "use strict, unless you compare with the paper"
            raise ParameterError("protocol", repr(protocol), ", ".join(PROTOCOLS), step)
        if protocol == "released" and graph.continuous:
            got = "'released', the paper's evaluation of two groups, for a number"
            raise ParameterError("protocol", got, "strict", "leave it out")
        if released_share is not None and not 0 <= released_share <= 1:
            step = "leave it out to do as the authors' files do"
            raise ParameterError("released_share", released_share, "0 to 1", step)
        self.graph = graph
        self.draws = draws
        self.seed = check_seed("seed of the worlds", seed)
        self.protocol = protocol
        self.released_share = released_share
        self.people = None if protocol == "released" else judged_by(graph)
        self.causal_model = self._given = causal_model
        self.why_none = ""
        self.factual_only = factual_only
        if factual_only:
            self.causal_model = None
            self.why_none = "no world but the factual one was asked for."
        elif causal_model is None:
            values = sorted(set(graph.sens.tolist()))
            if not graph.x.shape[1]:
                self.why_none = "people have no features."
            elif len(values) < 2:
                kind = "has the value" if graph.continuous else "is in group"
                self.why_none = f"everybody {kind} {values[0]:g}."
            else:
                self.causal_model = for_graph(graph, self.people)

    def __repr__(self) -> str:
        model = None if self.causal_model is None else self.causal_model.name
        return (
            f"Worlds({self.graph.name!r}, {len(self.graph.x):,} people, causal model {model!r}, "
            f"draws={self.draws}, seed={self.seed})"
        )

    def like(self, graph: SensitiveGraph) -> Worlds:
        """The same questions about another completion of the graph.

        A causal model that was given and fitted is fitted again, on the people whom the audit's own
        would be fitted on.
        """
        model = self._given
        if model is not None and model._fitted is not None:
            model = copy.copy(model).fit(graph, self.people)
        settings: dict[str, Any] = {"draws": self.draws, "seed": self.seed}
        settings |= {"protocol": self.protocol, "released_share": self.released_share}
        return Worlds(graph, model, factual_only=self.factual_only, **settings)

    @cached_property
    def factual(self) -> World:
        """The graph as it is."""
        return World("factual", "unchanged", 0, self.graph.sens, lambda: self.graph)

    @cached_property
    def edgeless(self) -> World:
        """The graph without its edges: does a model read them?"""
        none = {"edge_index": self.graph.edge_index[:, :0]}
        if self.graph.edge_weight is not None:
            none["edge_weight"] = self.graph.edge_weight[:0]
        make = partial(self.graph.replace, **none, mechanism=None)
        return World("edgeless", "unchanged", 0, self.graph.sens, make)

    @cached_property
    def assignments(self) -> dict[float, list[Tensor]]:
        """Whole-graph values of s by intervention; only the mixed one is random."""
        return {
            which: [
                assigned(self.graph, which, draw=draw, seed=self.seed)
                for draw in range(self.draws if which == MIXED else 1)
            ]
            for which in whole_graph(self.graph)
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
    def family(self) -> Family:
        """Other causal models, at the assignments of `strict`; built on first use."""
        return Family(self.graph, self.known_model(), self.strict, self.seed, self.people)

    @cached_property
    def attribute_only(self) -> Alternative:
        """Worlds in which nothing follows from the attribute; they need no causal model."""
        return attribute_alone(self.graph, self.strict)

    @cached_property
    def diagnostics(self) -> Diagnostics:
        """What the causal model does to the graph, measured on worlds that are built anyway."""
        worlds = {rate: draws[0].graph for rate, draws in self.strict.items()}
        return self.known_model().diagnostics(self.graph, seed=self.seed, worlds=worlds)

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of everything that decides the worlds; equal for audits that can be paired."""
        causal = None if self.causal_model is None else self.causal_model.fingerprint()
        softened = self.released_share if self.protocol == "released" else self.protocol
        facts = [self.graph.fingerprint(), causal, self.draws, self.seed, softened]
        return hashlib.sha256(json.dumps(facts).encode()).hexdigest()

    def alone(self, nodes: Tensor) -> Iterator[World]:
        """For each of `nodes`, the world in which they alone are in another group; not cached."""
        ids = self.graph.node_id[nodes.to(self.graph.node_id.device)].cpu()
        values = changed_groups(self.graph, nodes, seed=self.seed)
        for at, (node, value) in enumerate(zip(nodes.tolist(), values.tolist(), strict=True)):
            yield World(
                "strict",
                f"self {int(ids[at])}",
                0,
                partial(with_group, self.graph, node, value),
                partial(self._alone, node, value),
                partial(self._change, nodes[at : at + 1], values[at : at + 1]),
            )

    def together(self, ends: Tensor) -> Iterator[World]:
        """For each pair of rows in `ends` (2, m), the world in which these two alone are changed.

        Both are in the group that `alone` puts each of them in; not cached.
        """
        ids = self.graph.node_id[ends.to(self.graph.node_id.device)].cpu()
        values = [changed_groups(self.graph, rows, seed=self.seed) for rows in ends]
        for at in range(ends.shape[1]):
            sens = self.graph.sens.clone()
            for rows, value in zip(ends, values, strict=True):
                sens[rows[at]] = value[at]
            name = f"both {int(ids[0, at])} {int(ids[1, at])}"
            yield World("strict", name, 0, sens, partial(self._counterfactual, sens))

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
            which: [
                World(
                    protocol, intervention_name(self.graph, which), draw, sens, partial(make, sens)
                )
                for draw, sens in enumerate(values)
            ]
            for which, values in self.assignments.items()
        }

    def _counterfactual(self, sens: Tensor) -> SensitiveGraph:
        return self.known_model().counterfactual(self.graph, sens, seed=self.seed)

    def _alone(self, node: int, group: float) -> SensitiveGraph:
        return self._counterfactual(with_group(self.graph, node, group))

    def _change(self, rows: Tensor, sens: Tensor) -> LocalWorld:
        return self.known_model().local(self.graph, rows, sens, seed=self.seed)

    def _softened(self, sens: Tensor) -> SensitiveGraph:
        return released_world(
            self.known_model(), self.graph, sens, share=self.released_share, seed=self.seed
        )


def judged_by(graph: SensitiveGraph) -> Tensor | None:
    """Mask of the people whom a judge's feature maps are learned from; None for everybody.

    They are those outside the training and validation sets, so that no method can have used the
    same estimate: one that removes the difference it finds among its own people must not be judged
    by that very number. With too few of them in a group, or in a fifth of the people by a number,
    the maps need everybody.
    """
    unseen = ~(graph.train_mask | graph.val_mask)
    groups = groups_of(graph)
    if graph.attributes is not None and not graph.continuous:
        fewest = graph.attributes.fewest(groups[unseen].cpu().numpy())
    else:
        number = int(groups.max()) + 1 if graph.continuous else 2
        fewest = min(torch.bincount(groups[unseen], minlength=number).tolist())
    return None if bool(unseen.all()) or fewest < SMALL_GROUP else unseen
