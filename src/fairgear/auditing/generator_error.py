"""The error of a learned generator against the exact counterfactual, where that is known."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from fairgear.auditing.adapters.base import one_thread
from fairgear.auditing.people import sample, select
from fairgear.auditing.worlds import Worlds
from fairgear.causal import changed_groups
from fairgear.egos import EgoBatch
from fairgear.errors import ParameterError
from fairgear.graph import SensitiveGraph
from fairgear.methods.ego_method import EgoMethod
from fairgear.methods.egos import Ego
from fairgear.methods.features import FeatureScaler
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
        edges_changed: links between a person and members of their ego that change exactly; of a
            directed graph, arcs to the person.
        edges_generated: such links that the generator changes.
        edges_right: changed by both.
        edges_outside: links of a person that change exactly but reach beyond the factual ego,
            which no generator of egos can follow.

    Example:
        >>> from fairgear.auditing import GeneratorError
        >>> error = GeneratorError(
        ...     people=100,
        ...     feature_error=0.14,
        ...     edges_changed=40,
        ...     edges_generated=50,
        ...     edges_right=30,
        ...     edges_outside=5,
        ... )
        >>> error.edge_precision, error.edge_recall
        (0.6, 0.75)
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
    model: EgoMethod, graph: SensitiveGraph, *, people: int = 100
) -> GeneratorError:
    """Compare the generator of a fitted model with the graph's causal model on test nodes.

    Features are compared in raw units.

    Args:
        model: fitted, with a generator.
        graph: the factual graph, with an exact causal model.
        people: most people to compare on, sampled by a hash of their ids, one world each.

    Example:
        >>> import fairgear as fg
        >>> from fairgear.auditing import generator_error
        >>> graph = fg.datasets.load("synthetic", seed=0, n=200)
        >>> paper = fg.GearPaper(k=5, dim=8, steps=20, generator={"steps": 20}).fit(graph)
        >>> error = generator_error(paper, graph, people=20)
        >>> error.people, error.feature_error > 0
        (20, True)
    """
    worlds = Worlds(graph)
    chosen = select(graph, None)
    chosen = chosen[sample(graph, chosen, people, worlds.seed)]
    scaler = model.scaler_
    with seeded(worlds.seed, "generator error"):
        values = changed_groups(graph, chosen, seed=worlds.seed)
        generated, egos, drawn = _self_perturbed(model, graph, chosen, values)
    exact = torch.empty_like(generated)
    before = _features(scaler, graph)
    changed = right = outside = 0
    with bar("comparing with the exact worlds", total=len(chosen)) as progress, one_thread():
        for i, world in enumerate(worlds.alone(chosen)):
            person = int(chosen[i])
            exact[i] = _features(scaler, world.graph)[person] - before[person]
            moved = _neighbors(graph, person) ^ _neighbors(world.graph, person)
            changed += len(moved & egos[i])
            outside += len(moved - egos[i])
            right += len(moved & drawn[i])
            progress.advance()
    size = float(exact.norm())
    return GeneratorError(
        people=len(chosen),
        feature_error=float((generated - exact).norm()) / size if size > 0 else math.nan,
        edges_changed=changed,
        edges_generated=sum(map(len, drawn)),
        edges_right=right,
        edges_outside=outside,
    )


@torch.no_grad()
def _self_perturbed(
    model: EgoMethod, graph: SensitiveGraph, chosen: Tensor, values: Tensor
) -> tuple[Tensor, list[set[int]], list[set[int]]]:
    """How the generator changes the features of each person, in raw units, and their links.

    `values` are what s is set to, those of the exact worlds. Returns the changes (people,
    features), the members of each ego, and those of them whose link with the person changes.
    """
    generator = model.generator()
    if generator is None:
        got = f"{model!r}, which has no generator"
        step = "use GearPaper with the variant 'full'"
        raise ParameterError("model", got, "one with a generator", step)
    device = model.torch_device()
    index = model.ego_index(graph, chosen).to(device)
    batch = index.batch(torch.arange(len(chosen), device=device), model.scaler_(graph))
    ego = Ego.of(batch, graph.sens.to(device))
    sens = ego.sens.clone()
    sens[:, 0] = values.to(sens)
    after = generator.counterfactual(ego, sens)
    change = (after.x - ego.x)[:, 0].double() * model.scaler_.scale
    differs = (after.adjacency != ego.adjacency)[:, 0] & batch.mask
    return change.cpu(), _members(batch, batch.mask), _members(batch, differs)


def _features(scaler: FeatureScaler, graph: SensitiveGraph) -> Tensor:
    """Features in raw units, without the sensitive column."""
    scaler.check(graph)
    return scaler.columns(graph.x).cpu()


def _members(batch: EgoBatch, which: Tensor) -> list[set[int]]:
    """The chosen rows of each ego."""
    return [set(ids[row].tolist()) for ids, row in zip(batch.n_id, which, strict=True)]


def _neighbors(graph: SensitiveGraph, node: int) -> set[int]:
    """Whom an edge or an arc leads from to `node`."""
    return set(graph.edge_index[0, graph.edge_index[1] == node].tolist())
