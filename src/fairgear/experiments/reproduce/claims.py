"""Claims that some lines of a table are better than others, or as good."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from fairgear.experiments.compare_table import LEVEL, Values, interval
from fairgear.experiments.reproduce.verdicts import (
    FAILS,
    FEW,
    HOLDS,
    LEAST_SEEDS,
    OPEN,
    Verdict,
)
from fairgear.metrics import METRICS

BEST, COMPARABLE = "best", "comparable"
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
        if plan["test"] not in (BEST, COMPARABLE):
            raise ValueError(f"a claim is tested by {BEST} or {COMPARABLE}, not {plan['test']!r}")
        return cls(
            plan["claim"],
            plan["test"],
            tuple(plan["metrics"]),
            tuple(plan["subjects"]),
            groups[plan["against"]],
        )


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
                wide = _complete(part, metric, [subject, *claim.against])
                told: Told = theirs[theirs["metric"] == metric].set_index("line").to_dict("index")
                verdict, because = _judged(claim, subject, metric, wide, told)
                agrees = _in_paper(claim, subject, metric, told)
                yield Verdict(claim.text, str(dataset), subject, metric, verdict, because, agrees)


def _complete(part: pd.DataFrame, metric: str, lines: list[str]) -> pd.DataFrame:
    """A measure by seed and line, of the seeds with which all of these lines were run."""
    chosen = part[part["line"].isin(lines)]
    runs = chosen.groupby("seed")["line"].nunique()
    whole = runs.index[runs == len(set(lines))]
    return chosen[chosen["seed"].isin(whole)].pivot(index="seed", columns="line", values=metric)


def _judged(
    claim: Claim, subject: str, metric: str, wide: pd.DataFrame, told: Told
) -> tuple[str, str]:
    if wide.empty:
        return OPEN, "runs are missing"
    margin = 0.0
    if claim.test == COMPARABLE:
        if subject not in told:
            return OPEN, "no published deviation"
        margin = float(told[subject]["published_std"])
    sign = 1.0 if METRICS[metric].direction == "higher" else -1.0
    # Runs in which the measure is undefined must not drop out unseen.
    undefined = int(wide.isna().any(axis=1).sum())
    if undefined:
        return OPEN, f"undefined in {undefined} of {len(wide)} seeds"
    if len(wide) < LEAST_SEEDS:
        return OPEN, FEW
    gains = {
        name: sign * (wide[subject] - wide[name]).to_numpy(np.float64) for name in claim.against
    }
    shared = 1 - (1 - LEVEL) / len(gains)
    # The line that would refuse the claim, and the one that the claim is least sure of.
    refuses = min(gains, key=lambda name: interval(gains[name], shared)[2])
    doubtful = min(gains, key=lambda name: interval(gains[name])[1])
    if interval(gains[refuses], shared)[2] < -margin:
        return FAILS, _told(refuses, gains[refuses], sign, shared, margin)
    verdict = HOLDS if interval(gains[doubtful])[1] > -margin else OPEN
    return verdict, _told(doubtful, gains[doubtful], sign, LEVEL, margin)


def _told(name: str, gain: Values, sign: float, level: float, margin: float) -> str:
    """The difference to a line as people read it: lower may be better."""
    mean, *ends = (sign * one for one in interval(gain, level))
    low, high = sorted(ends)
    allowed = f", allowed {-sign * margin:+.4f}" if margin else ""
    return f"against {name}: {mean:+.4f} ({low:+.4f} to {high:+.4f}, {len(gain)} seeds{allowed})"


def _in_paper(claim: Claim, subject: str, metric: str, told: Told) -> bool | None:
    """By the published means alone."""
    if not {subject, *claim.against} <= set(told):
        return None
    own, better = float(told[subject]["published"]), METRICS[metric].better
    others = [float(told[name]["published"]) for name in claim.against]
    if claim.test == COMPARABLE:
        margin = float(told[subject]["published_std"])
        own += margin if METRICS[metric].direction == "higher" else -margin
        return not any(better(other, own) for other in others)
    return all(better(own, other) for other in others)
