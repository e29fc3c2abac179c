"""The error of a learned generator against the exact counterfactual, where that is known."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from fairgear.auditing.adapters.base import one_thread
from fairgear.auditing.people import sample, select
from fairgear.auditing.worlds import Worlds
from fairgear.causal import CausalModel
from fairgear.egos import EgoBatch
from fairgear.errors import ParameterError
from fairgear.graph import SensitiveGraph
from fairgear.methods.gear.estimator import Gear
from fairgear.methods.gear.generator import Ego, self_perturbed
from fairgear.progress import bar
from fairgear.training import seeded


@dataclass(frozen=True)
class GeneratorError:
    """The generator's self-perturbation against the causal model's.

    Attributes:
        people: how many it was measured on.
        feature_error: ‖generated − exact change‖ / ‖exact change‖ (Frobenius) of the person's own
            features, s left out; 0 is perfect, 1 is no better than no change at all. NaN where
            the exact features do not change.
        edges_changed: links between a person and members of their ego that change exactly.
        edges_generated: such links that the generator changes.
        edges_right: changed by both.
        edges_outside: links of a person that change exactly but reach beyond the factual ego,
            which no generator of egos can follow.
    """

    people: int
    feature_error: float
    edges_changed: int
    edges_generated: int
    edges_right: int
    edges_outside: int

    @property
    def edge_precision(self) -> float:
        """Share of the links changed by the generator that exactly change; NaN where none is."""
        return self.edges_right / self.edges_generated if self.edges_generated else math.nan

    @property
    def edge_recall(self) -> float:
        """Share of the exactly changed links within egos that the generator changes."""
        return self.edges_right / self.edges_changed if self.edges_changed else math.nan


def generator_error(
    gear: Gear,
    graph: SensitiveGraph,
    *,
    causal_model: CausalModel | None = None,
    nodes: Tensor | None = None,
    people: int = 100,
    seed: int = 0,
) -> GeneratorError:
    """Compare the generator of a fitted Gear with a causal model, one world for each person.

    Features are compared in raw units, or as shares of the row where Gear normalises rows.

    Args:
        gear: fitted, with a generator.
        graph: the factual graph.
        causal_model: exact; that of the graph if not given.
        nodes: rows or mask of those to choose from; the test nodes if not given.
        people: most people to compare on, sampled by a hash of their ids.
        seed: of that sample, of the edges that the generator draws and of the model's noise.
    """
    worlds = Worlds(graph, causal_model, seed=seed)
    chosen = select(graph, nodes)
    chosen = chosen[sample(graph, chosen, people, seed)]
    with seeded(seed, "generator error"):
        inside = _Inside(gear, graph, chosen)
    generated = inside.generated_change
    exact = torch.empty_like(generated)
    before = inside.features(graph)
    changed = generated_edges = right = outside = 0
    with bar("comparing with the exact worlds", total=len(chosen)) as progress, one_thread():
        for i, (person, world) in enumerate(
            zip(chosen.tolist(), worlds.alone(chosen), strict=True)
        ):
            exact[i] = inside.features(world.graph)[person] - before[person]
            moved = _neighbors(graph, person) ^ _neighbors(world.graph, person)
            members, drawn = inside.members[i], inside.generated_edges[i]
            changed += len(moved & members)
            outside += len(moved - members)
            generated_edges += len(drawn)
            right += len(moved & drawn)
            progress.advance()
    size = float(exact.norm())
    return GeneratorError(
        people=len(chosen),
        feature_error=float((generated - exact).norm()) / size if size > 0 else math.nan,
        edges_changed=changed,
        edges_generated=generated_edges,
        edges_right=right,
        edges_outside=outside,
    )


class _Inside:
    """The self-perturbed egos of the chosen people, as Gear's generator makes them."""

    @torch.no_grad()
    def __init__(self, gear: Gear, graph: SensitiveGraph, chosen: Tensor) -> None:
        generator = gear.generator()
        if generator is None:
            raise ParameterError(
                "gear",
                f"variant {gear.config.variant!r}, which has no generator",
                "a variant with a generator",
                "use the variant 'full'",
            )
        self._scaler = gear.scaler_
        device = gear.torch_device()
        index = gear.ego_index(graph, chosen).to(device)
        batch = index.batch(torch.arange(len(chosen), device=device), self._scaler(graph))
        ego = Ego.of(batch, graph.sens.to(device))
        dose = torch.ones(len(ego), device=device)
        after = generator.counterfactual(ego, self_perturbed(ego), dose)
        change = (after.x - ego.x)[:, 0].double() * self._scaler.scale
        self.generated_change = change.cpu()
        self.members = list(_members(batch, batch.mask))
        differs = (after.adjacency != ego.adjacency)[:, 0] & batch.mask
        self.generated_edges = list(_members(batch, differs))

    def features(self, graph: SensitiveGraph) -> Tensor:
        """Features in raw units, without the sensitive column."""
        self._scaler.check(graph)
        return self._scaler.columns(graph.x).cpu()


def _members(batch: EgoBatch, which: Tensor) -> Iterator[set[int]]:
    for ids, row in zip(batch.n_id, which, strict=True):
        yield set(ids[row].tolist())


def _neighbors(graph: SensitiveGraph, node: int) -> set[int]:
    return set(graph.edge_index[1, graph.edge_index[0] == node].tolist())
