"""What the paper says of its tables and curves, and whether runs bear it out."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats

from fairgear.metrics import METRICS

HOLDS, FAILS, OPEN = "holds", "does not", "cannot be told"
LEVEL = 0.95
# Fewer seeds than this say nothing about a spread.
LEAST_SEEDS = 3

Values = NDArray[np.float64]
# Line to its published mean and deviation.
Told = Mapping[Any, Mapping[Any, Any]]


@dataclass(frozen=True)
class Claim:
    """That some lines are better than others, or as good.

    Attributes:
        text: as people read it.
        test: `best`: better than each of the others; `comparable`: not worse than the best of
            them by more than a published standard deviation.
        metrics: by which.
        subjects: the lines that it is about.
        against: the lines that they are held against.
    """

    text: str
    test: str
    metrics: tuple[str, ...]
    subjects: tuple[str, ...]
    against: tuple[str, ...]

    @classmethod
    def of(cls, plan: Mapping[str, Any], groups: Mapping[str, tuple[str, ...]]) -> Claim:
        """From a recipe."""
        return cls(
            plan["claim"],
            plan["test"],
            tuple(plan["metrics"]),
            tuple(plan["subjects"]),
            groups[plan["against"]],
        )


@dataclass(frozen=True)
class Trend:
    """That a measure falls along a curve, or that it falls less beyond a place.

    Attributes:
        text: as people read it.
        sweep: the curve.
        metrics: which measures.
        levels_off: the place; None where the claim is that it falls all along.
    """

    text: str
    sweep: str
    metrics: tuple[str, ...]
    levels_off: float | None = None

    @classmethod
    def of(cls, plan: Mapping[str, Any]) -> Trend:
        """From a recipe."""
        return cls(plan["claim"], plan["sweep"], tuple(plan["metrics"]), plan.get("levels_off"))


@dataclass(frozen=True)
class Verdict:
    """Whether a claim holds in one dataset by one measure.

    Attributes:
        claim: its text.
        dataset: where.
        subject: the line, or the curve.
        metric: by which measure.
        verdict: `HOLDS`, `FAILS` or `OPEN`.
        because: the figures that decide.
        in_paper: whether the paper's own means agree with it; None where they are not known.
    """

    claim: str
    dataset: str
    subject: str
    metric: str
    verdict: str
    because: str
    in_paper: bool | None = None


def claim_verdicts(claim: Claim, rows: pd.DataFrame, published: pd.DataFrame) -> Iterator[Verdict]:
    """One for each dataset, subject and metric.

    Lines are compared seed by seed, since the same seed is the same split. A subject is better
    than all others if the interval of its mean difference to each lies on the better side; it is
    not if one of them is better with the level shared among all.

    Args:
        claim: what is said.
        rows: one a run: `dataset line seed` and the metrics.
        published: `dataset line metric published published_std`.
    """
    for dataset, part in rows.groupby("dataset", sort=False):
        theirs = published[published["dataset"] == dataset]
        for subject in claim.subjects:
            for metric in claim.metrics:
                wide = part.pivot(index="seed", columns="line", values=metric)
                told: Told = theirs[theirs["metric"] == metric].set_index("line").to_dict("index")
                verdict, because = _judged(claim, subject, metric, wide, told)
                agrees = _in_paper(claim, subject, metric, told)
                yield Verdict(claim.text, str(dataset), subject, metric, verdict, because, agrees)


def trend_verdicts(trend: Trend, rows: pd.DataFrame) -> Iterator[Verdict]:
    """One for each dataset and metric, from a figure of each seed's own curve.

    Args:
        trend: what is said.
        rows: one a run: `dataset family value seed` and the metrics.
    """
    for dataset, part in rows[rows["family"] == trend.sweep].groupby("dataset", sort=False):
        for metric in trend.metrics:
            wide = part.pivot(index="seed", columns="value", values=metric).dropna()
            verdict, because = _bent(wide, trend.levels_off)
            yield Verdict(trend.text, str(dataset), trend.sweep, metric, verdict, because)


def interval(values: Values, level: float = LEVEL) -> tuple[float, float, float]:
    """Mean, and the ends of Student's interval; without a spread the ends are the mean."""
    mean, error = float(values.mean()), float(values.std(ddof=1) / math.sqrt(len(values)))
    reach = float(stats.t.ppf((1 + level) / 2, len(values) - 1)) * error
    return mean, mean - reach, mean + reach


def spearman(x: Values, y: Values) -> float:
    """Rank correlation; 0 where y does not change, for then it has no trend."""
    if np.ptp(y) == 0:
        return 0.0
    return float(stats.spearmanr(x, y).statistic)


def _judged(
    claim: Claim, subject: str, metric: str, wide: pd.DataFrame, told: Told
) -> tuple[str, str]:
    others = [name for name in claim.against if name in wide.columns]
    if subject not in wide.columns or len(others) < len(claim.against):
        return OPEN, "runs are missing"
    margin = 0.0
    if claim.test == "comparable":
        if subject not in told:
            return OPEN, "no published deviation"
        margin = float(told[subject]["published_std"])
    sign = 1.0 if METRICS[metric].direction == "higher" else -1.0
    gains = {}
    for name in others:
        both = wide[[subject, name]].dropna()
        if len(both) < LEAST_SEEDS:
            return OPEN, f"fewer than {LEAST_SEEDS} seeds"
        gains[name] = sign * (both[subject] - both[name]).to_numpy(np.float64) + margin
    worst = min(gains, key=lambda name: gains[name].mean())
    mean, low, high = interval(gains[worst])
    ends = sorted((sign * (low - margin), sign * (high - margin)))
    because = f"against {worst}: {sign * (mean - margin):+.4f} ({ends[0]:+.4f} to {ends[1]:+.4f})"
    if all(interval(gain)[1] > 0 for gain in gains.values()):
        return HOLDS, because
    shared = 1 - (1 - LEVEL) / len(gains)
    if any(interval(gain, shared)[2] < 0 for gain in gains.values()):
        return FAILS, because
    return OPEN, because


def _in_paper(claim: Claim, subject: str, metric: str, told: Told) -> bool | None:
    """By the published means alone."""
    if metric == "delta_cf" or not {subject, *claim.against} <= set(told):
        return None
    own, better = float(told[subject]["published"]), METRICS[metric].better
    others = [float(told[name]["published"]) for name in claim.against]
    if claim.test == "comparable":
        margin = float(told[subject]["published_std"])
        own += margin if METRICS[metric].direction == "higher" else -margin
        return not any(better(other, own) for other in others)
    return all(better(own, other) for other in others)


def _bent(wide: pd.DataFrame, levels_off: float | None) -> tuple[str, str]:
    if len(wide) < LEAST_SEEDS or wide.shape[1] < 3:
        return OPEN, f"fewer than {LEAST_SEEDS} seeds or points"
    x, curves = wide.columns.to_numpy(np.float64), wide.to_numpy(np.float64)
    if levels_off is None:
        # What is claimed is that it falls: a correlation below 0.
        values, name = np.array([spearman(x, y) for y in curves]), "ρ"
    else:
        # What is claimed is that it falls more steeply before than after: a difference below 0.
        before, after = x <= levels_off, x >= levels_off
        if min(before.sum(), after.sum()) < 2:
            return OPEN, f"fewer than two points on one side of {levels_off:g}"
        values = np.array([_slope(x, y, before) - _slope(x, y, after) for y in curves])
        name = "slope before less after"
    mean, low, high = interval(values)
    because = f"{name} = {mean:+.3g} ({low:+.3g} to {high:+.3g})"
    if high < 0:
        return HOLDS, because
    return (FAILS if low > 0 else OPEN), because


def _slope(x: Values, y: Values, part: NDArray[np.bool_]) -> float:
    return float(np.polyfit(x[part], y[part], 1)[0])


def frame(verdicts: Sequence[Verdict]) -> pd.DataFrame:
    """One row a verdict."""
    return pd.DataFrame([vars(one) for one in verdicts], columns=list(Verdict.__annotations__))
