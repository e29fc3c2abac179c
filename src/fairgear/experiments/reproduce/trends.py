"""Claims on curves: that a measure falls along them, only slightly, or less beyond a place."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats

from fairgear.experiments.compare_table import Values, interval
from fairgear.experiments.reproduce.verdicts import (
    FAILS,
    FEW,
    HOLDS,
    LEAST_SEEDS,
    OPEN,
    Verdict,
)

ROUNDING = 1e-12
FALLS, SLIGHTLY, LEVELS_OFF = "falls", "slightly", "levels off"


@dataclass(frozen=True)
class Trend:
    """What is said of a curve.

    Attributes:
        text: as people read it.
        test: `falls`: Spearman's ρ is below 0; `slightly`: from its first to its last value it
            falls by less than a published standard deviation; `levels off`: it falls before a
            place, and by less after it.
        sweep: the curve.
        metrics: which measures.
        place: where it levels off.
    """

    text: str
    test: str
    sweep: str
    metrics: tuple[str, ...]
    place: float = 0.0

    @classmethod
    def of(cls, plan: Mapping[str, Any]) -> Trend:
        """From a recipe."""
        if plan["test"] not in (FALLS, SLIGHTLY, LEVELS_OFF):
            raise ValueError(f"no test of a curve: {plan['test']!r}")
        found = (plan["claim"], plan["test"], plan["sweep"], tuple(plan["metrics"]))
        return cls(*found, plan.get("place", 0.0))


def trend_verdicts(trend: Trend, rows: pd.DataFrame, published: pd.DataFrame) -> Iterator[Verdict]:
    """One for each dataset and metric, from a figure of each seed's own curve.

    Args:
        trend: what is said.
        rows: one a run: `dataset family value seed` and the metrics.
        published: of the method whose settings are varied: `dataset metric published_std`.
    """
    for dataset, part in rows[rows["family"] == trend.sweep].groupby("dataset", sort=False):
        spread = published[published["dataset"] == dataset].set_index("metric")["published_std"]
        for metric in trend.metrics:
            wide = part.pivot(index="seed", columns="value", values=metric).dropna()
            verdict, because = _judged(trend, wide, float(spread.get(metric, np.nan)))
            yield Verdict(trend.text, str(dataset), trend.sweep, metric, verdict, because)


def spearman(x: Values, y: Values) -> float:
    """Rank correlation; 0 where y does not change, for then it has no trend."""
    if np.ptp(y) == 0:
        return 0.0
    return float(stats.spearmanr(x, y).statistic)


def _judged(trend: Trend, wide: pd.DataFrame, spread: float) -> tuple[str, str]:
    if len(wide) < LEAST_SEEDS:
        return OPEN, FEW
    if wide.shape[1] < 3:
        return OPEN, "fewer than 3 points"
    x, curves = wide.columns.to_numpy(np.float64), wide.to_numpy(np.float64)
    if trend.test == FALLS:
        found = np.array([spearman(x, y) for y in curves])
        mean, low, high = np.clip(interval(found), -1, 1)
        return _below_zero(low, high), f"ρ = {mean:+.3g} ({low:+.3g} to {high:+.3g})"
    if trend.test == SLIGHTLY:
        mean, low, high = interval(curves[:, -1] - curves[:, 0])
        because = f"{mean:+.4f} ({low:+.4f} to {high:+.4f}), allowed {-spread:+.4f}"
        # Not to fall by more than the spread is to rise above its negative.
        return _below_zero(-high - spread, -low - spread), because
    return _levels_off(x, curves, trend.place)


def _levels_off(x: Values, curves: Values, place: float) -> tuple[str, str]:
    before, after = x <= place, x >= place
    if min(before.sum(), after.sum()) < 2:
        return OPEN, f"fewer than two points on one side of {place:g}"
    first = np.array([_slope(x, y, before) for y in curves])
    steeper = first - np.array([_slope(x, y, after) for y in curves])
    parts = {"slope before": interval(first), "less that after": interval(steeper)}
    because = ", ".join(
        f"{name} {mean:+.2g} ({low:+.2g} to {high:+.2g})"
        for name, (mean, low, high) in parts.items()
    )
    verdicts = [_below_zero(low, high) for _, low, high in parts.values()]
    # It must fall before the place, or there is nothing to level off.
    if FAILS in verdicts:
        return FAILS, because
    return (HOLDS if set(verdicts) == {HOLDS} else OPEN), because


def _below_zero(low: float, high: float) -> str:
    """Rounding is no trend."""
    if high < -ROUNDING:
        return HOLDS
    return FAILS if low > ROUNDING else OPEN


def _slope(x: Values, y: Values, part: NDArray[np.bool_]) -> float:
    return float(np.polyfit(x[part], y[part], 1)[0])
