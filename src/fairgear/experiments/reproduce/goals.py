"""What the default preset is to reach, and what it reaches."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from fairgear.experiments.reproduce.recipe import read
from fairgear.metrics import METRICS


@dataclass(frozen=True)
class Goal:
    """One bound, and the mean over seeds that is held against it.

    Attributes:
        dataset: where.
        point: which operating point.
        metric: by which measure.
        bound: the least or the most that it may be.
        why: where the bound comes from, where it is no plain figure.
        mean: what was reached; NaN where nothing was measured.
        low: of the interval of the mean.
        high: of the same.
    """

    dataset: str
    point: str
    metric: str
    bound: float
    why: str
    mean: float
    low: float
    high: float

    @property
    def met(self) -> bool:
        """By the mean."""
        return self.mean == self.bound or METRICS[self.metric].better(self.mean, self.bound)


def goals(table: pd.DataFrame) -> list[Goal]:
    """Every goal of a dataset that `table` has.

    Args:
        table: of Table 2's lines, see `tables.summarised`.
    """
    plan = read("goals")
    return [
        goal
        for dataset, points in plan["goals"].items()
        if dataset in set(table["dataset"])
        for goal in _of_dataset(str(dataset), points, plan["points"], table)
    ]


def goals_markdown(found: list[Goal]) -> str:
    """One line a goal."""
    lines = ["| dataset | operating point | measure | goal | reached | met |", "|---" * 6 + "|"]
    for goal in found:
        sign = "≥" if METRICS[goal.metric].direction == "higher" else "≤"
        bound = "" if math.isnan(goal.bound) else f"{sign} {goal.bound:.4f}{goal.why}"
        reached = f"{goal.mean:.4f}"
        if not math.isnan(goal.low):
            reached += f" ({goal.low:.4f} to {goal.high:.4f})"
        known = not (math.isnan(goal.mean) or math.isnan(goal.bound))
        met = ("yes" if goal.met else "no") if known else ""
        lines.append(
            f"| {goal.dataset} | {goal.point} | {METRICS[goal.metric].label} | {bound} | "
            f"{'not measured' if math.isnan(goal.mean) else reached} | {met} |"
        )
    return "\n".join(lines) + "\n"


def _of_dataset(
    dataset: str, points: Mapping[str, Any], lines: Mapping[str, str], table: pd.DataFrame
) -> Iterator[Goal]:
    rows = table[table["dataset"] == dataset].set_index(["line", "metric"])
    known: dict[Any, dict[Any, Any]] = rows.to_dict("index")
    for point, bounds in points.items():
        for metric, plan in bounds.items():
            found = known.get((lines[point], metric), {})
            bound, why = _bound(plan, metric, known)
            values = (float(found.get(name, math.nan)) for name in ("mean", "low", "high"))
            yield Goal(dataset, point, metric, bound, why, *values)


def _bound(plan: Any, metric: str, known: Mapping[Any, Mapping[Any, Any]]) -> tuple[float, str]:
    """A figure; or what a line has, times or less something; or the best of several lines."""
    if not isinstance(plan, Mapping):
        return float(plan), ""
    names = [plan["line"]] if "line" in plan else plan["best of"]
    means = {name: float(known.get((name, metric), {}).get("mean", math.nan)) for name in names}
    if any(math.isnan(mean) for mean in means.values()):
        return math.nan, ""
    higher = METRICS[metric].direction == "higher"
    best = max(means, key=lambda name: means[name] if higher else -means[name])
    bound = means[best] * plan.get("times", 1.0) - plan.get("less", 0.0)
    part = f"{plan['times']:g} × " if "times" in plan else ""
    less = f" − {plan['less']:g}" if "less" in plan else ""
    return bound, f" ({part}{best}{less})"
