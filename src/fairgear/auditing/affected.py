"""The people whom the attribute affects most, and the neighbours who matter most to them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from fairgear.auditing.adapters.base import ROUNDING, Adapter, Predictions
from fairgear.auditing.effects import COUNTERFACTUAL, Question
from fairgear.auditing.people import is_guessed, person_name
from fairgear.auditing.worlds import Worlds
from fairgear.graph import SensitiveGraph, degrees
from fairgear.metrics.disagreement import of_answer
from fairgear.metrics.inputs import Floats, Integers
from fairgear.progress import bar

# Neighbours examined for each person, and how many of them are reported.
EXAMINED, KEPT = 8, 3
NOT_EXAMINED = (
    "Which neighbours matter to the most affected people was not examined: it takes worlds that "
    "were not computed."
)
_OWN = COUNTERFACTUAL["delta_cf"]
# Besides the whole-graph interventions.
_SHOWN = ("self", "neighbours", "both")


@dataclass(frozen=True)
class Neighbor:
    """A neighbour, and what would change if this neighbour alone were in the other group.

    Attributes:
        node_id: the neighbour's; their name where ids are not whole numbers.
        sens: the neighbour's attribute: a group, or a number.
        change: of the person's score.
        flips: whether the person's label would change.
        guessed: their attribute is unknown, and `sens` a guess.
    """

    node_id: int | str
    sens: int | float
    change: float
    flips: bool
    guessed: bool = False


@dataclass(frozen=True)
class PersonInWorld:
    """A person's mean score under one intervention, and the share of draws in which they flip."""

    score: float
    flip: float


@dataclass(frozen=True)
class Affected:
    """A person, and how their answer would change.

    Attributes:
        node_id: the person's; their name where ids are not whole numbers.
        sens: attribute: a group, or a number.
        y: label, −1 where unknown; a number, NaN where unknown.
        score: on the factual graph; of several classes, that of the answer.
        label: predicted on the factual graph.
        flip_share: mean share of flips over the whole-graph worlds.
        score_change: mean change of the score there.
        interventions: score and flips under each intervention in which the person took part.
        neighbors: those that matter most, the strongest first.
        guessed: the person's attribute is unknown, and `sens` a guess.
    """

    node_id: int | str
    sens: int | float
    y: int | float
    score: float
    label: int | float
    flip_share: float
    score_change: float
    interventions: dict[str, PersonInWorld]
    neighbors: tuple[Neighbor, ...]
    guessed: bool = False


def find_affected(
    model: Adapter,
    worlds: Worlds,
    rows: Tensor,
    factual: Predictions,
    people: pd.DataFrame,
    most: int,
) -> tuple[tuple[Affected, ...], pd.DataFrame, str | None]:
    """The most affected people, the table of people with their neighbours, and a note if any.

    Its column `neighbors_that_matter` is text, empty for those not examined.
    """
    flips = people[f"flip_{_OWN}"].to_numpy()
    moved = (people[f"score_{_OWN}"] - people["score"]).to_numpy()
    positions = most_affected(flips, moved, most)
    near = neighbors_that_matter(model, worlds, rows, factual, positions)
    note = NOT_EXAMINED if len(positions) and not near else None
    column = np.full(len(people), "", dtype=object)
    found, whole = [], [draws[0].intervention for draws in worlds.strict.values()]
    for at in positions.tolist():
        neighbors = near.get(at, ())
        column[at] = ", ".join(f"{one.node_id} ({one.change:+.4f})" for one in neighbors)
        shown = [*whole, *_SHOWN]
        found.append(_affected(people.iloc[at], flips[at], moved[at], neighbors, shown))
    return tuple(found), people.assign(neighbors_that_matter=column), note


def _affected(
    row: Any,
    flip_share: float,
    score_change: float,
    neighbors: tuple[Neighbor, ...],
    shown: Sequence[str],
) -> Affected:
    return Affected(
        node_id=str(row["node_name"]) if "node_name" in row else int(row["node_id"]),
        sens=_class_or_number(row["sens"]),
        y=_class_or_number(row["y"]),
        score=float(row["score"]),
        label=_class_or_number(row["label"]),
        flip_share=float(flip_share),
        score_change=float(score_change),
        interventions={
            name: PersonInWorld(float(row[f"score_{key}"]), float(row[f"flip_{key}"]))
            for name, key in ((name, Question("strict", name).key) for name in shown)
            if f"flip_{key}" in row and not math.isnan(row[f"flip_{key}"])
        },
        neighbors=neighbors,
        guessed="sens_known" in row and not row["sens_known"],
    )


def _class_or_number(value: Any) -> int | float:
    return float(value) if isinstance(value, float | np.floating) else int(value)


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

    A neighbour's attribute is flipped with everything that follows from it, one world for each
    neighbour. `EXAMINED` neighbours of each person are examined, those with the fewest links
    first: one among few weighs most. Empty where the model cannot score all these worlds, since
    the neighbour that matters may be in one of the others.
    """
    graph = worlds.graph
    examined = {int(at): _neighbors(graph, int(rows[at])) for at in positions}
    waiting: dict[int, list[int]] = {}
    for position, neighbors in examined.items():
        for neighbor in neighbors.tolist():
            waiting.setdefault(neighbor, []).append(position)
    found: dict[int, list[Neighbor]] = {position: [] for position in examined}
    nodes = graph.canonical.by_id(torch.tensor(list(waiting), dtype=torch.int64))
    if not all(model.can_score(world) for world in worlds.alone(nodes)):
        return {}
    with model.threads(), bar("examining neighbours", total=len(nodes)) as progress:
        asked = [rows[waiting[node]] for node in nodes.tolist()]
        answers = model.predict_each(worlds.alone(nodes), asked)
        for node, answer in zip(nodes.tolist(), answers, strict=True):
            progress.advance()
            for at, position in enumerate(waiting[node]):
                found[position].append(
                    Neighbor(
                        node_id=person_name(graph, node),
                        sens=graph.sens[node].item(),
                        guessed=is_guessed(graph, node),
                        **_change(answer, at, factual, position),
                    )
                )
    strongest, rounding = {}, ROUNDING * factual.how.target.sd
    for position, tried in found.items():
        moving = [one for one in tried if abs(one.change) > rounding]
        # Ties within rounding keep the order in which they were examined.
        moving.sort(key=lambda one: -round(abs(one.change) / rounding))
        strongest[position] = tuple(moving[:KEPT])
    return strongest


def _change(answer: Predictions, at: int, factual: Predictions, position: int) -> dict[str, Any]:
    """Of the score of the person's factual answer, and whether the answer is another."""
    labels = factual.labels[position : position + 1]
    now, before = answer.scores[at : at + 1], factual.scores[position : position + 1]
    moved = of_answer(now, labels)[0] - of_answer(before, labels)[0]
    flipped = factual.how.changes(labels, answer.labels[at : at + 1])[0]
    return {"change": float(moved), "flips": bool(flipped)}


def _neighbors(graph: SensitiveGraph, row: int) -> Tensor:
    """At most `EXAMINED` neighbours of a row, fewest links first, then by id."""
    # Of a directed graph, those who point to the row: what a model reads comes along arcs.
    found = graph.edge_index[0, graph.edge_index[1] == row]
    links = degrees(graph.edge_index, len(graph.x))[found]
    order = np.lexsort((graph.node_id[found].cpu().numpy(), links.cpu().numpy()))[:EXAMINED]
    return found[torch.from_numpy(order)]
