"""The causal model of a sampled graph, which knows its counterfactuals."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from fairgear.causal.base import CAUSAL_MODELS, CausalModel
from fairgear.causal.interventions import as_assignment
from fairgear.causal.local import LocalWorld, Snapshot, changing
from fairgear.causal.surroundings import Surroundings
from fairgear.causal.synthetic.mechanism import SyntheticMechanism
from fairgear.causal.synthetic.pairs import SyntheticPairs, pairs_of
from fairgear.errors import GraphError
from fairgear.graph import SensitiveGraph
from fairgear.graph.targets import known_labels


class SyntheticCausalModel(CausalModel):
    """The exact counterfactuals of a graph sampled from the synthetic model.

    The pairs that can be edges in some world are found once and serve every world.

    Example:
        >>> import fairgear as fg
        >>> graph = fg.datasets.load("synthetic", seed=0, n=200)
        >>> model = fg.causal.for_graph(graph)
        >>> model.name, model.exact
        ('synthetic', True)
        >>> same = model.counterfactual(graph, graph.sens)
        >>> bool((same.x == graph.x).all())
        True
    """

    name = "synthetic"
    exact = True

    _mechanism: SyntheticMechanism
    _pairs: SyntheticPairs
    _latent: Tensor
    _local: tuple[Snapshot, Tensor] | None = None

    def _fit(self, graph: SensitiveGraph) -> None:
        if not isinstance(graph.mechanism, SyntheticMechanism) or graph.latent is None:
            raise GraphError(
                "a graph for the synthetic causal model",
                "a graph without its exogenous variables",
                "a graph sampled from the synthetic model",
                "load it with fairgear.datasets.load('synthetic')",
            )
        self._mechanism = graph.mechanism
        self._pairs = pairs_of(graph.mechanism, graph.latent)
        self._latent = graph.latent
        self._local = None
        # Features or edges edited after sampling have no known counterfactual.
        same_x = torch.equal(self._mechanism.features(self._latent, graph.sens), graph.x)
        if not same_x or not self._pairs.made(graph):
            raise GraphError(
                "a graph for the synthetic causal model",
                f"{'edges' if same_x else 'features'} that differ from its equations",
                "a sampled graph as it was sampled",
                "scale features inside the model, or drop the mechanism "
                "(graph.replace(mechanism=None)) and fit a causal model",
            )

    def counterfactual(
        self, graph: SensitiveGraph, sens: Tensor | int, *, seed: int = 0
    ) -> SensitiveGraph:
        """Features, edges and labels recomputed; the label's threshold stays factual.

        The model is deterministic given its exogenous variables, so `seed` changes nothing. A
        label that was edited or hidden in `graph` stays so unless the attribute changes it.
        """
        if not hasattr(self, "_latent"):
            # Loaded from a file: the graph carries all that the model needs.
            self._fit(graph)
        if graph.latent is None or not torch.equal(graph.latent, self._latent):
            raise GraphError(
                "a graph for this causal model",
                "other nodes, or nodes in another order",
                "the graph it was made for, or a counterfactual of it",
                "call fairgear.causal.for_graph(graph) again",
            )
        sens = as_assignment(graph, sens)
        edges = self._pairs.fields(sens)
        before = self._labels(graph.sens, graph.edge_index, graph.edge_weight)
        after = self._labels(sens, edges["edge_index"], edges.get("edge_weight"))
        moved = (before != after) & known_labels(graph.y)
        return graph.replace(
            x=self._mechanism.features(self._latent, sens),
            **edges,
            y=torch.where(moved, after, graph.y),
            sens=sens,
        )

    def local(
        self, graph: SensitiveGraph, rows: Tensor, sens: Tensor, *, seed: int = 0
    ) -> LocalWorld:
        """The few rows moved, their pairs compared again, and the labels of those around them."""
        if not hasattr(self, "_latent"):
            self._fit(graph)
        if not graph.plain:
            # Labels read those to whom one points, and surroundings are those who point.
            return super().local(graph, rows, sens, seed=seed)
        if self._local is None or not self._local[0].holds(graph):
            same = graph.latent is not None and torch.equal(graph.latent, self._latent)
            if not same or not torch.equal(self._pairs.edges(graph.sens), graph.edge_index):
                return super().local(graph, rows, sens, seed=seed)
            own = self._mechanism.own_scores(self._latent).cpu()
            self._local = (Snapshot(graph), own)
        found, values = changing(graph, rows, sens)
        people, after = torch.from_numpy(found), torch.from_numpy(values)
        removed, added = self._pairs.changes(people, after, graph.sens.cpu())
        x = self._mechanism.features(self._latent.cpu()[people], after)
        world = LocalWorld(graph, people, after, x, removed, added)
        if not len(people):
            return world
        # Labels follow the attributes around a person: of those who are or were linked.
        still = LocalWorld.unchanged(graph)
        near = torch.cat([Surroundings.of([one], [people], 1).rows for one in (still, world)])
        near = torch.unique(near)
        before, y = (self._labels_of(one, near, self._local[1]) for one in (still, world))
        moved = (before != y) & known_labels(graph.y[near.to(graph.y.device)].cpu())
        return replace(world, labelled=near[moved], y=y[moved])

    def _labels_of(self, world: LocalWorld, rows: Tensor, own: Tensor) -> Tensor:
        """The labels of some rows; `own` is everybody's part of the score."""
        around = Surroundings.of([world], [rows], 1)
        other, person = torch.from_numpy(around.edges)
        closed, at = torch.from_numpy(around.degree) + 1, torch.from_numpy(around.targets)
        parts = self._mechanism.spread(own[around.rows], around.sens)
        means = ((part.index_add(0, person, part[other]) / closed)[at] for part in parts)
        return self._mechanism.labels(self._mechanism.total(own[rows], *means))

    def _labels(self, sens: Tensor, edge_index: Tensor, edge_weight: Tensor | None) -> Tensor:
        scores = self._mechanism.scores(self._latent, sens, edge_index, edge_weight)
        return self._mechanism.labels(scores)


CAUSAL_MODELS.add("synthetic", SyntheticCausalModel)
