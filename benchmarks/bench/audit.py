"""An audit of a whole graph, and one world per person."""

from __future__ import annotations

import torch
from torch import Tensor

from benchmarks.bench import counts
from benchmarks.bench.graphs import Scene
from benchmarks.bench.measure import NOTHING, Case, Side, Work
from fairgear.auditing import audit
from fairgear.causal import flipped, for_graph
from fairgear.graph import SensitiveGraph, closed_neighborhood_mean

PEOPLE = 5


class Smoothed:
    """A fixed model to audit: a linear score, averaged over each neighbourhood."""

    def __init__(self, features: int) -> None:
        self.weight = torch.linspace(-1, 1, features, dtype=torch.float64)
        self.calls = 0

    def __call__(self, graph: SensitiveGraph) -> Tensor:
        """Everybody's probability."""
        self.calls += 1
        own = graph.x.double() @ self.weight
        return torch.sigmoid(closed_neighborhood_mean(own, graph.edge_index))


def audit_case(scene: Scene) -> Case:
    """δCF of everybody in whole-graph worlds, and people flipped one by one.

    The two answer different questions, and the first includes the causal model's fit: no ratio.
    """
    graph, n = scene.graph, len(scene.graph.x)
    model = Smoothed(graph.x.shape[1])
    calls: list[int] = []

    def by_fairgear() -> Work:
        def run() -> None:
            before = model.calls
            audit(
                model,
                graph,
                nodes=torch.arange(n),
                self_people=0,
                affected_people=0,
                what_if_people=0,
                other_causal_models=False,
            )
            calls.append(model.calls - before)

        return Work(run, n, "whole-graph worlds, both protocols, the causal model's fit included")

    def one_by_one() -> Work:
        causal = for_graph(graph)
        people = scene.people(PEOPLE).tolist()

        def run() -> None:
            for person in people:
                model(causal.counterfactual(graph, flipped(graph, person), seed=0))

        return Work(
            run,
            len(people),
            f"{len(people)} people, a world each, the causal model fitted beforehand",
        )

    def needs() -> counts.Needs:
        edges = graph.edge_index.shape[1]
        return counts.worlds(calls[-1], n, edges, graph.x.shape[1]) * (1 / n)

    sides = {
        "fairgear": Side(by_fairgear),
        "a world a person": Side(one_by_one, NOTHING, memory=False),
    }
    return Case("person", n, sides, needs)
