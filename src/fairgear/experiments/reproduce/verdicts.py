"""Verdict: whether a claim of the paper holds in one dataset by one measure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from fairgear.metrics import METRICS

HOLDS, FAILS, OPEN = "holds", "does not", "cannot be told"
# Fewer seeds than this say too little about a spread.
LEAST_SEEDS = 5
FEW = f"fewer than {LEAST_SEEDS} seeds"


@dataclass(frozen=True)
class Verdict:
    """What is said of one claim.

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


def frame(found: Sequence[Verdict]) -> pd.DataFrame:
    """One row a verdict."""
    return pd.DataFrame([vars(one) for one in found], columns=list(Verdict.__annotations__))


def counts(found: Sequence[Verdict]) -> dict[tuple[str, str], dict[str, int]]:
    """By claim and subject: in how many datasets and measures it holds, does not, is open."""
    told: dict[tuple[str, str], dict[str, int]] = {}
    for one in found:
        key = (one.claim, one.subject)
        told.setdefault(key, dict.fromkeys((HOLDS, FAILS, OPEN), 0))[one.verdict] += 1
    return told


def count_table(found: Sequence[Verdict]) -> str:
    """The same in Markdown."""
    lines = [f"| claim | of | {HOLDS} | {FAILS} | {OPEN} |", "|---|---|---:|---:|---:|"]
    lines += [
        f"| {claim} | {subject} | " + " | ".join(str(one) for one in of.values()) + " |"
        for (claim, subject), of in counts(found).items()
    ]
    return "\n".join(lines) + "\n"


def verdict_table(found: Sequence[Verdict]) -> str:
    """One line a verdict; empty where there is none."""
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


def agreement_table(first: Sequence[Verdict], second: Sequence[Verdict]) -> str:
    """How the verdicts of other seeds compare: counts by claim, then each that is the opposite."""
    same, neither = "the same", "told by neither"
    half, opposite = "told by one alone", "the opposite"
    kinds = (same, neither, half, opposite)
    others = {_question(one): one for one in second}
    told: dict[tuple[str, str], dict[str, int]] = {}
    against: list[str] = []
    for one in first:
        other = others.get(_question(one))
        if other is None:
            continue
        kind = same if one.verdict == other.verdict else opposite
        if OPEN in (one.verdict, other.verdict):
            kind = neither if kind == same else half
        row = told.setdefault((one.claim, one.subject), dict.fromkeys(kinds, 0))
        row[kind] += 1
        if kind == opposite:
            against.append(
                f"- {one.dataset}, {one.subject}, {METRICS[one.metric].label}, “{one.claim}”: "
                f"{one.verdict} ({one.because}); {other.verdict} ({other.because})."
            )
    lines = [f"| claim | of | {' | '.join(kinds)} |", "|---|---" + "|---:" * len(kinds) + "|"]
    lines += [
        f"| {claim} | {subject} | " + " | ".join(str(number) for number in row.values()) + " |"
        for (claim, subject), row in told.items()
    ]
    sums = [str(sum(row[kind] for row in told.values())) for kind in kinds]
    lines.append(f"| all | | {' | '.join(sums)} |")
    return "\n".join([*lines, *(["", *against] if against else [])]) + "\n"


def _question(one: Verdict) -> tuple[str, str, str, str]:
    """What is asked, whatever the answer."""
    return one.claim, one.dataset, one.subject, one.metric
