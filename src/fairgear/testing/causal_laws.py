"""The laws that bind every causal model, as a check for your own."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from fairgear.causal import CausalModel, at_random, node_uniform
from fairgear.graph import SensitiveGraph
from fairgear.graph.sensitive_graph import MASKS
from fairgear.graph.targets import known_labels
from fairgear.graph.validation import check_edges, check_weights
from fairgear.progress import bar
from fairgear.testing.trial import ContractError


def check_causal_model(
    make: Callable[[], CausalModel], graph: SensitiveGraph, *, seed: int = 0
) -> tuple[str, ...]:
    """Check that a causal model keeps every law on one graph; a broken law is a ContractError.

    `make` returns a new, unfitted model at each call. The factual graph has every group, or several
    values of a number; `seed` is that of the random assignment, in which everybody has any group,
    or half of the people somebody's number, and of the model's noise. Returns the names of the
    laws.

    Example:
        >>> from fairgear.causal import FittedCausalModel
        >>> from fairgear.testing import check_causal_model, toy_graph
        >>> check_causal_model(FittedCausalModel, toy_graph())[0]
        'identity'
    """
    model, sens = make().fit(graph), _assignment(graph, seed)
    world = model.counterfactual(graph, sens, seed=seed)
    case = _Case(make, model, graph, sens, world, seed)
    laws = {
        "identity": case.identity,
        "seeds": case.seeds,
        "symmetry": case.symmetry,
        "only what may change": case.only_what_may_change,
        "relabelling": case.relabelling,
        "save and load": case.save_and_load,
    }
    with bar("checking laws", total=len(laws)) as shown:
        for law in laws.values():
            law()
            shown.advance()
    return tuple(laws)


def _assignment(graph: SensitiveGraph, seed: int) -> Tensor:
    """Some people have another value and some have not: laws bind both."""
    drawn = at_random(graph, seed=seed)
    if not graph.continuous:
        return drawn
    stays = node_uniform(graph.node_id, seed, "stays").to(drawn.device) < 0.5
    return torch.where(stays, graph.sens, drawn)


@dataclass(frozen=True)
class _Case:
    """One fitted model, and its world under one random assignment."""

    make: Callable[[], CausalModel]
    model: CausalModel
    graph: SensitiveGraph
    sens: Tensor
    world: SensitiveGraph
    seed: int

    def identity(self) -> None:
        got = self.model.counterfactual(self.graph, self.graph.sens, seed=self.seed)
        self._same(got, self.graph, "the factual assignment gives the graph itself")

    def seeds(self) -> None:
        got = self.model.counterfactual(self.graph, self.sens, seed=self.seed)
        self._same(got, self.world, "the same seed gives the same world")
        refitted = self._refitted(self.graph, self.sens)
        self._same(refitted, self.world, "the same seed gives the same world after another fit")

    def symmetry(self) -> None:
        edges, weight = self.world.edge_index, self.world.edge_weight
        n, directed = len(self.graph.x), self.graph.directed
        kind = (self.world.directed, weight is not None)
        if kind != (directed, self.graph.edge_weight is not None):
            raise self._broken("a world has directions and weights where the graph has them")
        check_edges(edges, n, directed=directed)
        if weight is not None:
            check_weights(weight, edges, n, directed=directed)

    def only_what_may_change(self) -> None:
        graph, world = self.graph, self.world
        unchanged = self.sens == graph.sens
        for law, holds in {
            "the world has the requested attribute": torch.equal(world.sens, self.sens),
            "people keep their ids": torch.equal(world.node_id, graph.node_id),
            "unknown labels stay unknown": torch.equal(
                known_labels(world.y), known_labels(graph.y)
            ),
            "the split stays": all(torch.equal(world[key], graph[key]) for key in MASKS),
            "people whose attribute stays keep their features": torch.equal(
                world.x[unchanged], graph.x[unchanged]
            ),
            "columns stay": (world.feature_names, world.sens_column)
            == (graph.feature_names, graph.sens_column),
        }.items():
            if not holds:
                raise self._broken(law)

    def relabelling(self) -> None:
        noise = node_uniform(self.graph.node_id, self.seed, "relabelling")
        order = noise.argsort().to(self.graph.x.device)
        got = self._refitted(self.graph.permute(order), self.sens[order])
        self._same(got, self.world.permute(order), "the order of the people does not matter")

    def save_and_load(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "model.safetensors"
            self.model.save(path)
            loaded = type(self.model).load(path)
        got = loaded.counterfactual(self.graph, self.sens, seed=self.seed)
        self._same(got, self.world, "a loaded model gives the same worlds")

    def _refitted(self, graph: SensitiveGraph, sens: Tensor) -> SensitiveGraph:
        return self.make().fit(graph).counterfactual(graph, sens, seed=self.seed)

    def _same(self, got: SensitiveGraph, expected: SensitiveGraph, law: str) -> None:
        if got.fingerprint() != expected.fingerprint():
            raise self._broken(law)

    def _broken(self, law: str) -> ContractError:
        what, got = f"causal model {self.model.name!r}", "a world that breaks a law"
        return ContractError(what, got, law, "read docs/concepts/worlds.md")
