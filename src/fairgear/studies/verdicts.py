"""Verdict: whether a claim of the paper holds on one dataset by one metric."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from fairgear.metrics import METRICS

HOLDS, FAILS, OPEN = "holds", "does not", "cannot be told"


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


def verdict_frame(found: Sequence[Verdict]) -> pd.DataFrame:
    """One row for each verdict."""
    return pd.DataFrame([vars(one) for one in found], columns=list(Verdict.__annotations__))


def verdict_counts(found: Sequence[Verdict]) -> list[tuple[str, ...]]:
    """Claim, subject, and in how many datasets and metrics it holds, does not, or is open."""
    told: dict[tuple[str, str], dict[str, int]] = {}
    for one in found:
        key = (one.claim, one.subject)
        told.setdefault(key, dict.fromkeys((HOLDS, FAILS, OPEN), 0))[one.verdict] += 1
    return [(*key, *map(str, of.values())) for key, of in told.items()]


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
