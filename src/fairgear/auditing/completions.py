"""Audits of several completions of a graph, as one audit.

Everything that has an interval is combined by Rubin's rules; other figures are means. Differences
of two groups are combined with their sign, R² of two groups as a correlation: their sizes alone
would be too large on average.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, TypeVar

import numpy as np
import pandas as pd
from torch import Tensor

from fairgear.auditing.adapters.base import Predictions
from fairgear.auditing.effects import FlipRow
from fairgear.auditing.groups import GroupSummary
from fairgear.auditing.result import Audit
from fairgear.auditing.sensitivity import CausalModelRow, Dose, Sensitivity, verdict_on
from fairgear.auditing.unknown import UnknownPeople, bounds_of, parts_of
from fairgear.graph.unknown import Unknown
from fairgear.metrics import EVERY_METRIC, Estimate, Interval
from fairgear.metrics.intervals import effective_clusters
from fairgear.metrics.rubin import combined_estimate

# How often unknown values are drawn.
COMPLETIONS = 5
T = TypeVar("T")
Ranges = dict[str, Interval]
# The interval of each figure, by the fields of records.
_RATE = {"rate": "interval"}
_FLIPS = _RATE | {"score_shift": "score_shift_interval"}
_MODEL = _RATE | {"difference": "difference_interval"}
_MODELS = {"under_any": "under_any_interval", "under_all": "under_all_interval"}
# Figures that have a sign, and are not shares.
_SIGNED = {"score_shift": math.inf, "difference": 1.0}


@dataclass(frozen=True)
class Completed:
    """The audit of one completion, with the estimates of its measures on the factual graph."""

    audit: Audit
    estimates: Mapping[str, Estimate]
    answers: Predictions


def combined(each: Sequence[Completed], law: Unknown, rows: Tensor) -> Audit:
    """One audit of the people in `rows`; what has no interval is that of the first completion."""
    audits = [one.audit for one in each]
    first = audits[0]
    unknown = UnknownPeople(
        parts=parts_of(law.graph, rows),
        completions=len(each),
        guessing=law.quality,
        ranges={},
        bounds=bounds_of(law.graph, rows, each[0].answers),
    )
    if len(each) == 1:
        return replace(first, notes=(unknown.summary, *first.notes), unknown=unknown)
    _, clusters = np.unique(first.people["community"].to_numpy(), return_inverse=True)
    rules = _Rules(effective_clusters(clusters), first.setup.level)
    metrics, intervals, ranges = rules.metrics(each)
    unknown = replace(unknown, ranges=ranges)
    models = [one.causal_models for one in audits if one.causal_models is not None]
    sensitivity = rules.models(models) if len(models) == len(audits) else None
    doses = [one.dose for one in audits if one.dose is not None]
    notes = list(first.notes)
    if sensitivity is not None and first.causal_models is not None:
        before, after = first.causal_models.verdict, sensitivity.verdict
        notes = [after if note == before else note for note in notes]
    return replace(
        first,
        metrics=metrics,
        intervals=intervals,
        flips=rules.matched(audits, "flips", lambda row: row.key, rules.flips),
        groups=rules.matched(audits, "groups", lambda row: row.group, rules.group),
        margins=rules.matched(
            audits, "margins", lambda row: (row.attribute, row.group), rules.group
        ),
        causal_models=sensitivity,
        dose=rules.dose(doses) if doses else None,
        notes=(unknown.summary, *notes),
        people=_people([one.people for one in audits]),
        unknown=unknown,
    )


@dataclass(frozen=True)
class _Rules:
    """Rubin's rules over intervals of a level, over so many communities."""

    effective: float
    level: float

    def estimate(
        self, values: Sequence[float], ends: Sequence[Interval], low: float, high: float
    ) -> tuple[float, Interval]:
        at: dict[str, float] = {"effective": self.effective, "level": self.level}
        return combined_estimate(values, ends, **at, low=low, high=high)

    def record(self, records: Sequence[T], ends: Mapping[str, str]) -> T:
        """The first with its floats replaced; `ends` names the interval of a field."""
        changes: dict[str, Any] = {}
        for item in fields(records[0]):  # type: ignore[arg-type]  # no bound for dataclasses
            values = [getattr(one, item.name) for one in records]
            if item.name in ends:
                size = _SIGNED.get(item.name)
                low, high = (0.0, 1.0) if size is None else (-size, size)
                found = [getattr(one, ends[item.name]) for one in records]
                value, interval = self.estimate(values, found, low, high)
                changes |= {item.name: value, ends[item.name]: interval}
            elif all(isinstance(one, float) for one in values):
                changes[item.name] = _mean(values)
        made: T = replace(records[0], **changes)  # type: ignore[type-var]  # as above
        return made

    def metrics(
        self, each: Sequence[Completed]
    ) -> tuple[dict[str, float], dict[str, Interval], Ranges]:
        values: dict[str, float] = {}
        intervals: dict[str, Interval] = {}
        ranges: Ranges = {}
        for key in each[0].audit.metrics:
            if not all(key in one.audit.metrics for one in each):
                continue
            metric = EVERY_METRIC[key]
            sizes = [one.audit.metrics[key] for one in each]
            signed = self._with_sign(key, each)
            if signed is None:
                ends = [one.audit.intervals[key] for one in each]
                found = self.estimate(sizes, ends, metric.low, metric.high)
                values[key], intervals[key], ranges[key] = *found, _range(sizes)
                continue
            value, interval = self.estimate(*signed, -math.inf, math.inf)
            size, over = interval.absolute(), _range(signed[0]).absolute()
            if key == "r2":
                value, size, over = value**2, _squared(size), _squared(over)
            values[key], ranges[key] = abs(value), over
            intervals[key] = size.clipped(metric.low, metric.high)
        return values, intervals, ranges

    def _with_sign(
        self, key: str, each: Sequence[Completed]
    ) -> tuple[list[float], list[Interval]] | None:
        """The signed figures; None where they are not of the same two groups and class."""
        audit = each[0].audit
        found = [one.estimates[key] for one in each if key in one.estimates]
        one_gap = audit.two_groups and len(audit.target.classes) <= 2
        if not one_gap or not found or any(math.isnan(one.signed) for one in found):
            return None
        return [one.signed for one in found], [one.signed_interval for one in found]

    def matched(self, audits: Sequence[Audit], part: str, key: Any, combine: Any) -> Any:
        """Records of the same key, combined, in the order in which they first come."""
        rows: dict[Any, list[Any]] = {}
        for audit in audits:
            for row in getattr(audit, part):
                rows.setdefault(key(row), []).append(row)
        return tuple(combine(of) for of in rows.values())

    def flips(self, rows: Sequence[FlipRow]) -> FlipRow:
        return self.record(rows, _FLIPS)

    def group(self, rows: Sequence[GroupSummary]) -> GroupSummary:
        """Counts are rounded means."""
        first, intervals, found = rows[0], dict[str, Interval](), dict[str, float]()
        for name, interval in first.intervals.items():
            ends = [row.intervals.get(name, interval) for row in rows]
            # Means of numbers have no range; those of rates are shares.
            low, high = (-math.inf, math.inf) if name.startswith("mean ") else (0.0, 1.0)
            high = math.inf if name == "impact_ratio" else high
            values = [row.value(name) for row in rows]
            found[name], intervals[name] = self.estimate(values, ends, low, high)
        changes: dict[str, Any] = {
            name: round(float(np.mean([getattr(row, name) for row in rows])))
            for name in ("count", "labelled", "positives", "selected")
        }
        changes |= {name: value for name, value in found.items() if name not in first.figures}
        changes["figures"] = {name: found[name] for name in first.figures}
        return replace(first, **changes, intervals=intervals)

    def models(self, each: Sequence[Sensitivity]) -> Sensitivity:
        found = self.record(each, _MODELS)
        by_model: dict[str, list[CausalModelRow]] = {}
        for row in (row for one in each for row in one.rows):
            by_model.setdefault(row.model, []).append(row)
        rows = tuple(self._model(of) for of in by_model.values())
        least, largest = (
            self.record([getattr(one, end) for one in each], _RATE) for end in ("least", "largest")
        )
        depends, verdict = verdict_on(rows, least, largest, found.under_any, found.credible)
        changes = {"rows": rows, "least": least, "largest": largest}
        return replace(found, **changes, depends=depends, verdict=verdict)

    def _model(self, rows: Sequence[CausalModelRow]) -> CausalModelRow:
        failed = [row for row in rows if row.error is not None]
        return failed[0] if failed else self.record(rows, _MODEL)

    def dose(self, each: Sequence[Dose]) -> Dose:
        points = zip(*(one.points for one in each), strict=True)
        return Dose(tuple(self.record(of, _RATE) for of in points))


def _people(tables: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """The table of the first, with what depends on the attribute averaged."""
    found = tables[0].copy()
    for name in found.columns:
        if name.startswith(("flip_", "score_", "around")):
            values = np.stack([table[name].to_numpy(dtype=np.float64) for table in tables])
            known = ~np.isnan(values)
            total = np.where(known, values, 0.0).sum(axis=0)
            with np.errstate(invalid="ignore"):
                found[name] = total / known.sum(axis=0)
    return found


def _range(values: Sequence[float]) -> Interval:
    return Interval(min(values), max(values))


def _mean(values: Sequence[float]) -> float:
    """Of those that are defined."""
    known = [one for one in values if not math.isnan(one)]
    return float(np.mean(known)) if known else math.nan


def _squared(interval: Interval) -> Interval:
    return Interval(*(end * end for end in interval))
