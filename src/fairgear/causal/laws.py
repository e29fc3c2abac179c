"""The laws that bind every causal model, as a check that anyone's own model can be put through."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from fairgear.causal.base import CausalModel
from fairgear.causal.interventions import at_random
from fairgear.causal.noise import node_uniform
from fairgear.errors import GraphError
from fairgear.graph import SensitiveGraph
from fairgear.graph.sensitive_graph import MASKS
from fairgear.graph.validation import check_edges
from fairgear.progress import bar


def check_laws(
    make: Callable[[], CausalModel], graph: SensitiveGraph, *, seed: int = 0
) -> tuple[str, ...]:
    """Put a causal model through the laws on one graph; a broken law is a GraphError.

    Args:
        make: gives a new, unfitted model each time it is called.
        graph: a factual graph, with both groups in it.
        seed: of the assignment asked about, and of the model's noise.

    Returns:
        The laws, all of which held.
    """
    model, asked = make().fit(graph), at_random(graph, seed=seed)
    world = model.counterfactual(graph, asked, seed=seed)
    case = _Case(make, model, graph, asked, world, seed)
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


@dataclass(frozen=True)
class _Case:
    """One fitted model, and its world of one random assignment."""

    make: Callable[[], CausalModel]
    model: CausalModel
    graph: SensitiveGraph
    asked: Tensor
    world: SensitiveGraph
    seed: int

    def identity(self) -> None:
        got = self.model.counterfactual(self.graph, self.graph.sens, seed=self.seed)
        self._same(got, self.graph, "where nothing is set, the world is the graph itself")

    def seeds(self) -> None:
        got = self.model.counterfactual(self.graph, self.asked, seed=self.seed)
        self._same(got, self.world, "the same seed gives the same world")
        self._same(self._anew(self.graph, self.asked), self.world, "and so it does fitted again")

    def symmetry(self) -> None:
        check_edges(self.world.edge_index, len(self.graph.x))

    def only_what_may_change(self) -> None:
        graph, world = self.graph, self.world
        stayed = self.asked == graph.sens
        for law, holds in {
            "the attribute is what was asked for": torch.equal(world.sens, self.asked),
            "people keep their ids": torch.equal(world.node_id, graph.node_id),
            "unknown labels stay unknown": torch.equal(world.y < 0, graph.y < 0),
            "the split stays": all(torch.equal(world[key], graph[key]) for key in MASKS),
            "features of people whose attribute stays stay": torch.equal(
                world.x[stayed], graph.x[stayed]
            ),
            "columns stay": (world.feature_names, world.sens_column)
            == (graph.feature_names, graph.sens_column),
        }.items():
            if not holds:
                raise self._broken(law)

    def relabelling(self) -> None:
        noise = node_uniform(self.graph.node_id, self.seed, "relabelling")
        order = noise.argsort().to(self.graph.x.device)
        got = self._anew(self.graph.permute(order), self.asked[order])
        self._same(got, self.world.permute(order), "the order of the people counts for nothing")

    def save_and_load(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "model.safetensors"
            self.model.save(path)
            loaded = type(self.model).load(path)
        got = loaded.counterfactual(self.graph, self.asked, seed=self.seed)
        self._same(got, self.world, "a model read from a file gives the same worlds")

    def _anew(self, graph: SensitiveGraph, sens: Tensor) -> SensitiveGraph:
        return self.make().fit(graph).counterfactual(graph, sens, seed=self.seed)

    def _same(self, got: SensitiveGraph, expected: SensitiveGraph, law: str) -> None:
        if got.fingerprint() != expected.fingerprint():
            raise self._broken(law)

    def _broken(self, law: str) -> GraphError:
        return GraphError(
            f"causal model {self.model.name!r}",
            "a world that breaks a law",
            law,
            "read docs/causal-models.md",
        )
