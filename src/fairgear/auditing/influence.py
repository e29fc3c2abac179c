"""Influence: the neighbours whose attribute matters most to the people most affected."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from fairgear.auditing.adapters.base import Adapter
from fairgear.auditing.model import ROUNDING, Predictions, predict
from fairgear.auditing.people import name_of
from fairgear.auditing.threads import threads_for
from fairgear.auditing.worlds import Worlds
from fairgear.graph import degrees
from fairgear.metrics.inputs import Floats, Integers
from fairgear.progress import bar

# Neighbours asked about for each person, and of these the ones that are kept.
ASKED, KEPT = 8, 3
NOT_ASKED = (
    "Which neighbours matter to the people most affected was not asked: it takes worlds that were "
    "not computed."
)


@dataclass(frozen=True)
class Neighbor:
    """A neighbour, and what would be had this neighbour alone been of the other group.

    Attributes:
        node_id: the neighbour's; their name where ids are no whole numbers.
        sens: the neighbour's attribute as it is.
        change: of the person's score.
        flips: whether the person's label would be another.
    """

    node_id: int | str
    sens: int
    change: float
    flips: bool


def most_affected(flip_share: Floats, score_change: Floats, most: int) -> Integers:
    """Positions of the people whose label flips most often, then whose score moves most."""
    order = np.lexsort((-np.abs(score_change), -flip_share))[:most]
    moved = (flip_share[order] > 0) | (np.abs(score_change[order]) > ROUNDING)
    found: Integers = order[moved]
    return found


def neighbors_that_matter(
    model: Adapter, worlds: Worlds, rows: Tensor, factual: Predictions, positions: Integers
) -> Mapping[int, tuple[Neighbor, ...]]:
    """For the people at `positions` of `rows`: at most `KEPT` neighbours, the strongest first.

    A neighbour's attribute is flipped with all that follows from it, one world a neighbour.
    `ASKED` neighbours of each person are asked about, those with the fewest links first: what a
    neighbour is among few weighs most. Nothing, where the model cannot answer in all these worlds:
    of a few that it can, none need be the one that matters.
    """
    graph = worlds.graph
    asked = {int(at): _neighbors(worlds, int(rows[at])) for at in positions}
    waiting: dict[int, list[int]] = {}
    for position, neighbors in asked.items():
        for neighbor in neighbors.tolist():
            waiting.setdefault(neighbor, []).append(position)
    found: dict[int, list[Neighbor]] = {position: [] for position in asked}
    # In the order of the ids, so that reordering the rows changes nothing.
    nodes = torch.tensor(
        sorted(waiting, key=lambda row: int(graph.node_id[row])), dtype=torch.int64
    )
    if not all(model.can_answer(world) for world in worlds.alone(nodes)):
        return {}
    with (
        threads_for(model.small_steps),
        bar("asking about neighbours", total=len(nodes)) as progress,
    ):
        for node, world in zip(nodes.tolist(), worlds.alone(nodes), strict=True):
            progress.advance()
            here = waiting[node]
            answer = predict(model, world, rows[here])
            for at, position in enumerate(here):
                found[position].append(
                    Neighbor(
                        node_id=name_of(graph, node),
                        sens=int(graph.sens[node]),
                        change=float(answer.scores[at] - factual.scores[position]),
                        flips=bool(answer.labels[at] != factual.labels[position]),
                    )
                )
    return {position: _strongest(neighbors) for position, neighbors in found.items()}


def _neighbors(worlds: Worlds, row: int) -> Tensor:
    """At most `ASKED` neighbours of a row, fewest links first, then by id."""
    graph = worlds.graph
    found = graph.edge_index[1, graph.edge_index[0] == row]
    links = degrees(graph.edge_index, len(graph.x))[found]
    order = np.lexsort((graph.node_id[found].cpu().numpy(), links.cpu().numpy()))[:ASKED]
    return found[torch.from_numpy(order)]


def _strongest(neighbors: list[Neighbor]) -> tuple[Neighbor, ...]:
    # Equal but for rounding, the one asked about first goes first.
    ranked = sorted(neighbors, key=lambda one: -round(abs(one.change) / ROUNDING))
    return tuple(one for one in ranked if abs(one.change) > ROUNDING)[:KEPT]
