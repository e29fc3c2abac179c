"""Claims of the paper, tested seed by seed: that a method is better, or that a curve falls."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats

from fairgear.metrics import METRICS
from fairgear.studies.tables import LEVEL, Values, interval

HOLDS, FAILS, OPEN = "holds", "does not", "undecided"
BEST, COMPARABLE = "best", "comparable"
FALLS, SLIGHTLY, LEVELS_OFF = "falls", "slightly", "levels off"
# Fewer seeds say too little about a spread.
LEAST_SEEDS = 5
FEW = f"fewer than {LEAST_SEEDS} seeds"
# A slope this small is rounding.
ROUNDING = 1e-12
# Line to its published mean and deviation.
Published = Mapping[Any, Mapping[Any, Any]]


@dataclass(frozen=True)
class Verdict:
    """The answer to one claim.

    Attributes:
        claim: its text.
        dataset: the dataset it was tested on.
        subject: the line of a table, or the curve.
        metric: by which metric.
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


@dataclass(frozen=True)
class Claim:
    """That some lines of a table are better than others, or as good.

    Attributes:
        text: as the tables show it.
        test: `best`: better than each of the others; `comparable`: not worse than the best of
            them by more than a published standard deviation.
        metrics: by which.
        subjects: the lines that the claim is about.
        against: the lines that they are compared with.
    """

    text: str
    test: str
    metrics: tuple[str, ...]
    subjects: tuple[str, ...]
    against: tuple[str, ...]

    @classmethod
    def read(cls, plan: Mapping[str, Any], groups: Mapping[str, tuple[str, ...]]) -> Claim:
        """From a recipe."""
        if plan["test"] not in (BEST, COMPARABLE):
            raise ValueError(f"a claim is tested by {BEST} or {COMPARABLE}, not {plan['test']!r}")
        return cls(
            plan["claim"],
            plan["test"],
            tuple(plan["metrics"]),
            tuple(plan["subjects"]),
            groups[plan["against"]],
        )


@dataclass(frozen=True)
class Trend:
    """What is claimed of a curve.

    Attributes:
        text: as the tables show it.
        test: `falls`: Spearman's ρ is below 0; `slightly`: from its first to its last value it
            falls by less than a published standard deviation; `levels off`: it falls before a
            place, and by less after it.
        sweep: the curve.
        metrics: by which.
        place: where it levels off.
    """

    text: str
    test: str
    sweep: str
    metrics: tuple[str, ...]
    place: float = 0.0

    @classmethod
    def read(cls, plan: Mapping[str, Any]) -> Trend:
        """From a recipe."""
        if plan["test"] not in (FALLS, SLIGHTLY, LEVELS_OFF):
            raise ValueError(f"no test of a curve: {plan['test']!r}")
        found = (plan["claim"], plan["test"], plan["sweep"], tuple(plan["metrics"]))
        return cls(*found, plan.get("place", 0.0))


def claim_verdicts(claim: Claim, rows: pd.DataFrame, published: pd.DataFrame) -> Iterator[Verdict]:
    """One for each dataset, subject and metric.

    Lines are compared seed by seed, since the same seed is the same split. A subject is better
    than all others if the interval of its mean difference to each lies on the better side. The
    claim fails if one of them is better with the level divided among all comparisons.

    Args:
        claim: what is claimed.
        rows: one for each run: `dataset line seed` and the metrics.
        published: `dataset line metric published published_std`.
    """
    for dataset, part in rows.groupby("dataset", sort=False):
        theirs = published[published["dataset"] == dataset].groupby("metric")
        paper = {name: of.set_index("line").to_dict("index") for name, of in theirs}
        for subject in claim.subjects:
            complete = _complete(part, [subject, *claim.against])
            for metric in claim.metrics:
                wide = complete.pivot(index="seed", columns="line", values=metric)
                means: Published = paper.get(metric, {})
                verdict, because = _test_claim(claim, subject, metric, wide, means)
                agrees = _in_paper(claim, subject, metric, means)
                yield Verdict(claim.text, str(dataset), subject, metric, verdict, because, agrees)


def trend_verdicts(trend: Trend, rows: pd.DataFrame, published: pd.DataFrame) -> Iterator[Verdict]:
    """One for each dataset and metric, from one figure for the curve of each seed.

    Args:
        trend: what is claimed.
        rows: one for each run: `dataset family value seed` and the metrics.
        published: of the method whose settings are varied: `dataset metric published_std`.
    """
    for dataset, part in rows[rows["family"] == trend.sweep].groupby("dataset", sort=False):
        spread = published[published["dataset"] == dataset].set_index("metric")["published_std"]
        for metric in trend.metrics:
            wide = part.pivot(index="seed", columns="value", values=metric).dropna()
            verdict, because = _test_trend(trend, wide, float(spread.get(metric, np.nan)))
            yield Verdict(trend.text, str(dataset), trend.sweep, metric, verdict, because)


def verdict_frame(found: Sequence[Verdict]) -> pd.DataFrame:
    """One row for each verdict."""
    return pd.DataFrame([vars(one) for one in found], columns=list(Verdict.__annotations__))


def verdict_counts(found: Sequence[Verdict]) -> list[tuple[str, ...]]:
    """Claim, subject, and in how many datasets and metrics it holds, does not, or is undecided."""
    counts: dict[tuple[str, str], dict[str, int]] = {}
    for one in found:
        key = (one.claim, one.subject)
        counts.setdefault(key, dict.fromkeys((HOLDS, FAILS, OPEN), 0))[one.verdict] += 1
    return [(*key, *map(str, of.values())) for key, of in counts.items()]


def count_table(found: Sequence[Verdict]) -> str:
    """The counts in Markdown."""
    lines = [f"| claim | of | {HOLDS} | {FAILS} | {OPEN} |", "|---|---|---:|---:|---:|"]
    lines += [f"| {' | '.join(row)} |" for row in verdict_counts(found)]
    return "\n".join(lines) + "\n"


def verdict_table(found: Sequence[Verdict]) -> str:
    """One line for each verdict; empty where there is none."""
    if not found:
        return ""
    lines = [
        "| claim | dataset | of | measure | verdict | because | the paper's own means |",
        "|---" * 7 + "|",
    ]
    for one in found:
        paper = {None: "", True: "agree", False: "do not agree"}[one.in_paper]
        lines.append(
            f"| {one.claim} | {one.dataset} | {one.subject} | {METRICS[one.metric].label} | "
            f"{one.verdict} | {one.because} | {paper} |"
        )
    return "\n".join(lines) + "\n"


def spearman(x: Values, y: Values) -> float:
    """Rank correlation; 0 where y is constant."""
    if np.ptp(y) == 0:
        return 0.0
    return float(stats.spearmanr(x, y).statistic)


def _complete(part: pd.DataFrame, lines: list[str]) -> pd.DataFrame:
    """The runs of these lines with the seeds that all of them have."""
    chosen = part[part["line"].isin(lines)]
    runs = chosen.groupby("seed")["line"].nunique()
    return chosen[chosen["seed"].isin(runs.index[runs == len(set(lines))])]


def _test_claim(
    claim: Claim, subject: str, metric: str, wide: pd.DataFrame, paper: Published
) -> tuple[str, str]:
    if wide.empty:
        return OPEN, "runs are missing"
    margin = 0.0
    if claim.test == COMPARABLE:
        if subject not in paper:
            return OPEN, "no published deviation"
        margin = float(paper[subject]["published_std"])
    # Runs with an undefined metric must not drop out silently.
    undefined = int(wide.isna().any(axis=1).sum())
    if undefined:
        return OPEN, f"undefined in {undefined} of {len(wide)} seeds"
    if len(wide) < LEAST_SEEDS:
        return OPEN, FEW
    sign = 1.0 if METRICS[metric].direction == "higher" else -1.0
    gains = {
        name: sign * (wide[subject] - wide[name]).to_numpy(np.float64) for name in claim.against
    }
    shared = 1 - (1 - LEVEL) / len(gains)
    # The line that speaks most against the claim, and the one that leaves it least certain.
    strongest = min(gains, key=lambda name: interval(gains[name], shared)[2])
    doubtful = min(gains, key=lambda name: interval(gains[name])[1])
    if interval(gains[strongest], shared)[2] < -margin:
        return FAILS, _difference(strongest, gains[strongest], sign, shared, margin)
    verdict = HOLDS if interval(gains[doubtful])[1] > -margin else OPEN
    return verdict, _difference(doubtful, gains[doubtful], sign, LEVEL, margin)


def _difference(name: str, gain: Values, sign: float, level: float, margin: float) -> str:
    """The difference to a line, ours less theirs, whichever direction is better."""
    mean, *ends = (sign * one for one in interval(gain, level))
    low, high = sorted(ends)
    allowed = f", allowed {-sign * margin:+.4f}" if margin else ""
    return f"against {name}: {mean:+.4f} ({low:+.4f} to {high:+.4f}, {len(gain)} seeds{allowed})"


def _in_paper(claim: Claim, subject: str, metric: str, paper: Published) -> bool | None:
    """Whether the published means alone agree."""
    if not {subject, *claim.against} <= set(paper):
        return None
    own, better = float(paper[subject]["published"]), METRICS[metric].better
    others = [float(paper[name]["published"]) for name in claim.against]
    if claim.test == COMPARABLE:
        margin = float(paper[subject]["published_std"])
        own += margin if METRICS[metric].direction == "higher" else -margin
        return not any(better(other, own) for other in others)
    return all(better(own, other) for other in others)


def _test_trend(trend: Trend, wide: pd.DataFrame, spread: float) -> tuple[str, str]:
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
        # The fall is less than the spread where change + spread is above zero.
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
    if high < -ROUNDING:
        return HOLDS
    return FAILS if low > ROUNDING else OPEN


def _slope(x: Values, y: Values, part: NDArray[np.bool_]) -> float:
    return float(np.polyfit(x[part], y[part], 1)[0])
