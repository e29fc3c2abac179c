"""The bounds that the default preset was built to meet, beside what it reaches in Table 2."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import yaml

from fairgear.metrics import METRICS

PLAN = Path(__file__).parent / "goals.yaml"


@dataclass(frozen=True)
class Goal:
    """One bound, and the mean over seeds with its 95 % interval."""

    dataset: str
    point: str
    metric: str
    bound: float
    why: str
    """Where the bound comes from; empty for a plain number."""
    mean: float
    low: float
    high: float

    @property
    def met(self) -> str:
        """By the whole interval, by the mean alone, or not."""
        higher = METRICS[self.metric].direction == "higher"
        worst = self.low if higher else self.high
        if self._reaches(worst):
            return "yes"
        return "by the mean only" if self._reaches(self.mean) else "no"

    def _reaches(self, value: float) -> bool:
        return value == self.bound or METRICS[self.metric].better(value, self.bound)


def goals(table: pd.DataFrame) -> Iterator[Goal]:
    """Every goal; `table` has the columns of docs/results/reproduction/table2.csv."""
    plan = yaml.safe_load(PLAN.read_text(encoding="utf-8"))
    for dataset, points in plan["goals"].items():
        rows = table[table["dataset"] == dataset].set_index(["line", "metric"])
        known: dict[Any, dict[Any, Any]] = rows.to_dict("index")
        for point, bounds in points.items():
            for metric, bound in bounds.items():
                found = known[plan["points"][point], metric]
                values = (float(found[name]) for name in ("mean", "low", "high"))
                yield Goal(dataset, point, metric, *_bound(bound, metric, known), *values)


def markdown(found: Iterator[Goal]) -> str:
    """A table with one goal per line."""
    heads = ("dataset", "operating point", "metric", "goal", "mean (95 % interval)", "met")
    lines = [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    for goal in found:
        metric = METRICS[goal.metric]
        sign = "≥" if metric.direction == "higher" else "≤"
        lines.append(
            f"| {goal.dataset} | {goal.point} | {metric.label} | {sign} {goal.bound:.4f}{goal.why} "
            f"| {goal.mean:.4f} ({goal.low:.4f} to {goal.high:.4f}) | {goal.met} |"
        )
    return "\n".join(lines) + "\n"


def _bound(plan: Any, metric: str, known: Mapping[Any, Mapping[Any, Any]]) -> tuple[float, str]:
    if not isinstance(plan, Mapping):
        return float(plan), ""
    names = [plan["line"]] if "line" in plan else plan["best of"]
    means = {name: float(known[name, metric]["mean"]) for name in names}
    higher = METRICS[metric].direction == "higher"
    best = max(means, key=lambda name: means[name] if higher else -means[name])
    part = f"{plan['times']:g} × " if "times" in plan else ""
    less = f" − {plan['less']:g}" if "less" in plan else ""
    bound = means[best] * plan.get("times", 1.0) - plan.get("less", 0.0)
    return bound, f" ({part}{best}{less})"
