"""Affected: one of the people whom the attribute matters to most."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from fairgear.auditing.influence import Neighbor
from fairgear.auditing.json_fields import from_fields, to_fields
from fairgear.auditing.response import COUNTERFACTUAL, key_of

_OWN = COUNTERFACTUAL["delta_cf"]
_SHOWN = ("rate 0", "rate 0.5", "rate 1", "self", "neighbours", "both")


@dataclass(frozen=True)
class Affected:
    """A person, and what would become of their answer.

    Attributes:
        node_id: the person's; their name where ids are no whole numbers.
        sens: attribute.
        y: label, −1 where unknown.
        score: as it is.
        label: as it is.
        flip_share: mean share of flips over the whole-graph worlds.
        score_change: mean change of the score there.
        interventions: score and share of flips under each, where the person took part.
        neighbors: those that matter most, the strongest first.
    """

    node_id: int | str
    sens: int
    y: int
    score: float
    label: int
    flip_share: float
    score_change: float
    interventions: dict[str, dict[str, float]]
    neighbors: tuple[Neighbor, ...]

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        neighbors = [to_fields(neighbor) for neighbor in self.neighbors]
        return {**to_fields(self), "neighbors": neighbors}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Affected:
        """What `to_dict` gave."""
        neighbors = tuple(from_fields(Neighbor, neighbor) for neighbor in data["neighbors"])
        return from_fields(cls, {**data, "neighbors": neighbors})


def changes(people: pd.DataFrame) -> tuple[Any, Any]:
    """Everyone's mean share of flips and mean change of score over the whole-graph worlds."""
    flips = people[f"flip_{_OWN}"].to_numpy()
    moved = (people[f"score_{_OWN}"] - people["score"]).to_numpy()
    return flips, moved


def affected(
    people: pd.DataFrame, neighbors: Mapping[int, tuple[Neighbor, ...]]
) -> tuple[Affected, ...]:
    """The people at the positions of `neighbors`, in that order."""
    if not neighbors:
        return ()
    flips, moved = changes(people)
    found = []
    for position, near in neighbors.items():
        row = people.iloc[position]
        found.append(
            Affected(
                node_id=str(row["node_name"]) if "node_name" in row else int(row["node_id"]),
                sens=int(row["sens"]),
                y=int(row["y"]),
                score=float(row["score"]),
                label=int(row["label"]),
                flip_share=float(flips[position]),
                score_change=float(moved[position]),
                interventions=_interventions(row),
                neighbors=near,
            )
        )
    return tuple(found)


def with_neighbors(
    people: pd.DataFrame, neighbors: Mapping[int, tuple[Neighbor, ...]]
) -> pd.DataFrame:
    """The table of people with `neighbors_that_matter`, text; empty where nobody was asked."""
    column = np.full(len(people), "", dtype=object)
    for position, near in neighbors.items():
        column[position] = ", ".join(f"{one.node_id} ({one.change:+.4f})" for one in near)
    return people.assign(neighbors_that_matter=column)


def _interventions(row: Any) -> dict[str, dict[str, float]]:
    found = {}
    for name in _SHOWN:
        key = key_of("strict", name)
        if f"flip_{key}" in row and not math.isnan(row[f"flip_{key}"]):
            found[name] = {"score": float(row[f"score_{key}"]), "flip": float(row[f"flip_{key}"])}
    return found
