"""References: what a model would measure that copies the attribute, or answers all alike."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from fairgear.auditing.people import People
from fairgear.auditing.world import ByRate
from fairgear.graph.targets import Target, is_known
from fairgear.metrics import auroc

# Answers that change with nobody else's attribute, and those that change with everybody's.
_EVERYBODY = ("delta_cf", "delta_cf_min", "delta_cf_max", "delta_cf_any", "delta_cf_all")
_UNMOVED = (*_EVERYBODY, "delta_cf_self", "delta_cf_neighbor", "delta_cf_both", "delta_cf_world")


@dataclass(frozen=True)
class Reference:
    """What two models without any judgement measure; NaN where that says nothing.

    Attributes:
        copying: of the model whose answer is the person's own attribute and nothing else.
        constant: of the model that gives everybody the commoner answer.
    """

    copying: float
    constant: float


def references(
    people: People, rows: Tensor, worlds: ByRate | None, target: Target
) -> dict[str, Reference]:
    """By metric, for those that such models have; `worlds` are those of δCF, if there are any."""
    nan = math.nan
    found: dict[str, Reference] = {}
    known = is_known(people.y)
    y = people.y[known]
    if not target.is_number and len(y):
        found["accuracy"] = Reference(_copying(y, people.group[known], people), _commonest(y))
    if target.is_binary:
        found["auroc"] = Reference(_auroc(y, people.sens[known], people.two_groups), 0.5)
        gap = 1.0 if people.two_groups and len(np.unique(people.sens)) == 2 else nan
        positives = people.sens[known][y == 1]
        opportunity = gap if len(np.unique(positives)) == 2 else nan
        found["delta_dp"] = Reference(gap, 0.0)
        found["delta_eo"] = Reference(opportunity, 0.0)
    if worlds is None:
        return found
    changed = {
        which: [float((world.sens[rows].cpu().numpy() != people.sens).mean()) for world in draws]
        for which, draws in worlds.items()
    }
    means = [float(np.mean(shares)) for shares in changed.values()]
    found |= dict.fromkeys(_UNMOVED, Reference(nan, 0.0))
    found |= dict.fromkeys(_EVERYBODY, Reference(float(np.mean(means)), 0.0))
    found["delta_cf_world"] = Reference(max(means), 0.0)
    found["delta_cf_self"] = found["delta_cf_both"] = Reference(1.0, 0.0)
    found["delta_cf_neighbor"] = Reference(0.0, 0.0)
    return found


def _commonest(y: NDArray[np.int64]) -> float:
    return float(np.bincount(y).max() / len(y))


def _copying(y: NDArray[np.int64], group: NDArray[np.int64], people: People) -> float:
    """The accuracy of the better way to copy two groups; else of the best answer for each group."""
    if people.two_groups and y.max() <= 1:
        same = float((y == group).mean())
        return max(same, 1 - same)
    right = sum(np.bincount(y[group == one]).max() for one in np.unique(group))
    return float(right / len(y))


def _auroc(y: NDArray[np.int64], sens: NDArray[np.int64], two_groups: bool) -> float:
    if not two_groups or len(np.unique(y)) < 2:
        return math.nan
    found = auroc(y, sens.astype(np.float64))
    return max(found, 1 - found)
