"""An EXAMPLE of people in other worlds, made up. None of its numbers was measured."""

from __future__ import annotations

import math
from typing import Any

OWN, OTHERS = ("women", "men"), ("as they are", "all women", "half of each", "all men")
MODELS, DOSES = ("own", "quantile", "structure only"), (1.0, 0.5, 0.0)
COLUMNS: list[dict[str, Any]] = [
    {"name": "income", "low": 0.0, "high": 90000.0, "levels": []},
    {"name": "age", "low": 18.0, "high": 70.0, "levels": []},
    {"name": "job", "low": None, "high": None, "levels": ["clerk", "nurse", "driver"]},
    {"name": "loans", "low": 0.0, "high": 1.0, "levels": []},
]
_THRESHOLD = 0.5


def what_if_data(people: int = 12, *, members: int = 9) -> dict[str, Any]:
    """People in worlds of two groups, as JSON holds it."""
    return {
        "columns": [dict(column) for column in COLUMNS],
        "own": list(OWN),
        "others": list(OTHERS),
        "models": list(MODELS),
        "doses": list(DOSES),
        "people": [explained(place, people, members) for place in range(people)],
        "notes": ["Doses were computed for people's own value alone: others take too long."],
        "directed": False,
    }


def explained(place: int, people: int, members: int) -> dict[str, Any]:
    """One of them, with everything stored once."""
    sens = [(place + one) % 2 for one in range(members)]
    person: dict[str, Any] = {
        "node_id": 1840 + 37 * place,
        "chosen": "affected" if place < people // 2 else "random",
        "y": (1, 0, -1)[place % 3],
        "members": [
            {"node_id": 1840 + 37 * place + 5 * one, "sens": group, "links": 2 + 3 * one}
            for one, group in enumerate(sens)
        ],
        "hidden": place % 3,
        "edges": [[0, one] for one in range(1, members - 2)] + [[1, 2], [2, 4], [3, 5]],
        "features": [],
        "links": [],
        "attributes": [],
        "states": [],
        "why": None,
    }
    for own, others, model, dose in _worlds(sens[0]):
        _add(person, place, sens, own, others, model, dose)
    first, other = person["states"][0], person["states"][1]
    if first["label"] != other["label"]:
        parts = [
            {"kind": "feature", "name": "income", "before": "31250.4", "after": "-12.34567"},
            {"kind": "gone", "name": str(person["members"][1]["node_id"])},
        ]
        why = {"parts": parts, "score": other["score"], "exact": True, "moved": 5}
        person["why"] = why | {"own": 1 - sens[0]}
    return person


def _worlds(sens: int) -> list[tuple[int, int, int, int]]:
    """As they are computed: not every combination."""
    found = [(-1, 0, 0, 0), (1 - sens, 0, 0, 0)]
    found += [(own, others, 0, 0) for others in (1, 2, 3) for own in (-1, 1 - sens)]
    found += [(1 - sens, 0, model, 0) for model in (1, 2)]
    return found + [(1 - sens, 0, 0, dose) for dose in (1, 2)]


def _add(
    person: dict[str, Any],
    place: int,
    sens: list[int],
    own: int,
    others: int,
    model: int,
    dose: int,
) -> None:
    moves = (own >= 0) * DOSES[dose] * (1.0, 0.6, 0.0)[model]
    size = (1 if sens[0] else -1) * moves
    score = 0.5 + 0.09 * math.sin(3 * place + 1) + 0.11 * size + 0.031 * others
    features = [31250 + 713 * place - 11150.5 * size, 34 + place, place % 3, 0.25]
    if moves > 0.5:
        features[2] = (place + 1) % 3
    last = len(person["members"]) - 1
    links = {"gone": [[0, 1], [1, 2]][: round(2 * moves)], "new": []}
    links["new"] += [[0, last]] if own >= 0 and model != 1 else []
    links["new"] += [[2, 3]] if others else []
    attributes: list[Any] = list(sens)
    if others:
        attributes[1:] = [(0, one % 2, 1)[others - 1] for one in range(1, len(sens))]
    if own >= 0:
        attributes[0] = own
    person["states"].append(
        {
            "own": own,
            "others": others,
            "model": model,
            "dose": dose,
            "score": score,
            "label": int(score > _THRESHOLD),
            "features": _place(person["features"], features),
            "links": _place(person["links"], links),
            "attributes": _place(person["attributes"], attributes),
        }
    )


def _place(stored: list[Any], one: Any) -> int:
    if one not in stored:
        stored.append(one)
    return stored.index(one)
