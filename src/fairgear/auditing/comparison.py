"""Comparison: two models on the same people, in the same counterfactual worlds."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
import pandas as pd

from fairgear.auditing.adapters.base import Predictions
from fairgear.auditing.changes import Changes, changes
from fairgear.auditing.effects import COUNTERFACTUAL
from fairgear.auditing.measures import collecting, factual_estimates
from fairgear.auditing.people import People
from fairgear.errors import ParameterError
from fairgear.metrics import (
    METRICS,
    UNDEFINED,
    Estimate,
    Interval,
    PairedPredictions,
    difference_intervals,
    paired_interval,
)
from fairgear.metrics.inputs import Integers

# Columns that both tables share, besides the surroundings, and those of each model.
_SHARED = ("node_id", "y", "sens", "community", "region")
_OWN = ("score", "label")


@dataclass(frozen=True)
class ComparisonRow:
    """One measure of both models.

    Attributes:
        metric: by its name in `fairgear.metrics.METRICS`.
        first: of the first model, NaN where undefined.
        second: of the second.
        difference: first − second.
        interval: of `difference`, over people.
        better: which model is, where the interval excludes 0; else None.
    """

    metric: str
    first: float
    second: float
    difference: float
    interval: Interval
    better: Literal["first", "second"] | None

    @classmethod
    def of(cls, metric: str, first: float, second: float, interval: Interval) -> ComparisonRow:
        """The row of two values and the interval of their difference."""
        better: Literal["first", "second"] | None = None
        if interval.defined and 0 not in interval:
            better = "first" if METRICS[metric].better(first, second) else "second"
        return cls(metric, first, second, first - second, interval, better)


@dataclass(frozen=True)
class Comparison:
    """Two models side by side, with intervals for paired people.

    Attributes:
        first: name of the first model.
        second: name of the second.
        people: how many were compared.
        rows: one for each measure of predictions and flips, in the order of
            `fairgear.metrics.METRICS`.
        notes: sentences to read with the numbers.
        changes: what the first changes for whom; None in comparisons of earlier versions.

    Example:
        >>> import fairgear as fg
        >>> from fairgear.testing import toy_graph
        >>> graph = toy_graph()
        >>> quick = {"other_causal_models": False, "what_if_people": 0}
        >>> own = fg.audit(lambda world: world.x[:, 0].sigmoid(), graph, name="own", **quick)
        >>> group = fg.audit(lambda world: world.sens.float(), graph, name="group", **quick)
        >>> comparison = own.compare(group)
        >>> comparison.first, comparison.second, comparison.people
        ('own', 'group', 32)
        >>> [row.metric for row in comparison.rows][:3]
        ['accuracy', 'f1', 'auroc']
    """

    first: str
    second: str
    people: int
    rows: tuple[ComparisonRow, ...] = field(repr=False)
    notes: tuple[str, ...]
    changes: Changes | None = field(default=None, repr=False)

    def to_frame(self) -> pd.DataFrame:
        """One line a measure: `metric label first second difference low high better`."""
        found = pd.DataFrame([vars(row) for row in self.rows]).drop(columns="interval")
        found.insert(1, "label", [METRICS[row.metric].label for row in self.rows])
        for place, end in ((5, "low"), (6, "high")):
            found.insert(place, end, [getattr(row.interval, end) for row in self.rows])
        return found


def compare_people(
    first: pd.DataFrame,
    second: pd.DataFrame,
    *,
    names: tuple[str, str] = ("first", "second"),
    level: float = 0.95,
    seed: int = 0,
) -> Comparison:
    """Compare two models person by person.

    Args:
        first: the first model's table of people: `node_id y sens community region around score
            label`, y −1 where unknown, and `flip_…` for each intervention, NaN for those who took
            no part in it. Of several groups `around_1` and so on in the place of `around`; of a
            number, `band` besides.
        second: the second model's: the same people in the same order, in the same worlds.
        names: of the two models.
        level: of the intervals, each taken by itself.
        seed: of the resamples of communities.

    A flip rate is compared among those for whom it was measured with both models, so that it may
    differ from the rate that either has by itself.

    Example:
        >>> import fairgear as fg
        >>> from fairgear.auditing import compare_people
        >>> from fairgear.testing import toy_graph
        >>> graph = toy_graph()
        >>> quick = {"other_causal_models": False, "what_if_people": 0}
        >>> own = fg.audit(lambda world: world.x[:, 0].sigmoid(), graph, **quick)
        >>> group = fg.audit(lambda world: world.sens.float(), graph, **quick)
        >>> compare_people(own.people, group.people, names=("own", "group")).people
        32
    """
    pair = _pair(first, second)
    notes: list[str] = []
    regions = first["region"].to_numpy(dtype=np.int64)
    one, other = _factual(pair, regions, names, notes, level=level, seed=seed)
    with collecting(notes):
        intervals = difference_intervals(pair, one, other, level=level, seed=seed)
    rows = tuple(
        _flips(key, first, second, notes, level=level)
        if key in COUNTERFACTUAL
        else ComparisonRow.of(key, one[key].value, other[key].value, intervals[key])
        for key in METRICS
        if key in one or _measured(key, first, second)
    )
    for row in rows:
        what = f"difference in {METRICS[row.metric].label}"
        if math.isnan(row.difference):
            notes.append(f"The {what} is undefined.")
        elif not row.interval.defined:
            notes.append(f"The interval of the {what} is undefined.")
    found = changes(first, second, seed=seed)
    return Comparison(*names, len(first), rows, tuple(notes), found)


def _measured(key: str, first: pd.DataFrame, second: pd.DataFrame) -> bool:
    """Whether flips are compared; those of the paper's evaluation only where both have them."""
    if key != "delta_cf_released":
        return key in COUNTERFACTUAL
    return all(f"flip_{COUNTERFACTUAL[key]}" in table for table in (first, second))


def _pair(first: pd.DataFrame, second: pd.DataFrame) -> PairedPredictions:
    """Both tables as arrays; an error where they are not of the same people."""
    names = map(str, first.columns)
    around = [name for name in names if re.fullmatch(r"around_\d+", name)] or ["around"]
    shared = (*_SHARED, *around, *(["band"] if "band" in first else []))
    for table in (first, second):
        missing = [name for name in (*shared, *_OWN) if name not in table]
        if missing or len(table) == 0:
            got = f"no column {', '.join(missing)}" if missing else "no rows"
            allowed = f"the columns {', '.join((*shared, *_OWN))}, and a row for each person"
            step = "audit both models on the same graph"
            raise ParameterError("a table of people", got, allowed, step)
    got = f"{len(first)} and {len(second)} people" if len(first) != len(second) else ""
    for name in () if got else shared:
        wrong = first[name].to_numpy() != second[name].to_numpy()
        if wrong.any():
            got = f"another {name} in {int(wrong.sum())} of {len(first)} rows"
            break
    if got:
        raise ParameterError(
            "two tables of people to compare",
            got,
            "the same people in the same order, with the same labels and neighbours",
            "audit both models on the same nodes of the same graph",
        )
    scores = [table["score"].to_numpy(dtype=np.float64) for table in (first, second)]
    labels = [table["label"].to_numpy(dtype=np.int64) for table in (first, second)]
    return PairedPredictions(
        y=first["y"].to_numpy(dtype=np.int64),
        sens=first["band" if "band" in first else "sens"].to_numpy(dtype=np.int64),
        summary=first[around if len(around) > 1 else around[0]].to_numpy(dtype=np.float64),
        clusters=first["community"].to_numpy(dtype=np.int64),
        scores=(scores[0], scores[1]),
        labels=(labels[0], labels[1]),
        several=len(around) > 1 or "band" in first,
    )


def _factual(
    pair: PairedPredictions,
    regions: Integers,
    names: tuple[str, str],
    notes: list[str],
    *,
    level: float,
    seed: int,
) -> tuple[Mapping[str, Estimate], Mapping[str, Estimate]]:
    """Both models' estimates on the factual graph; notes on one of them begin with its name."""
    band = pair.sens if pair.several else None
    people = People(pair.y, pair.sens, pair.clusters, regions, pair.summary, band)
    found: tuple[list[str], list[str]] = ([], [])
    measured = [
        factual_estimates(people, Predictions(scores, labels), own, level=level, seed=seed)
        for scores, labels, own in zip(pair.scores, pair.labels, found, strict=True)
    ]
    notes.extend(note for note in found[0] if note in found[1])
    for name, own in zip(names, found, strict=True):
        notes.extend(f"Of {name}: {note}" for note in own if note not in notes)
    return measured[0], measured[1]


def _flips(
    key: str,
    first: pd.DataFrame,
    second: pd.DataFrame,
    notes: list[str],
    *,
    level: float,
) -> ComparisonRow:
    """A flip rate of both models, among those for whom both were measured."""
    column = f"flip_{COUNTERFACTUAL[key]}"
    shares = [
        table[column].to_numpy(dtype=np.float64) if column in table else np.full(len(table), np.nan)
        for table in (first, second)
    ]
    both = ~np.isnan(shares[0]) & ~np.isnan(shares[1])
    if not both.any():
        return ComparisonRow.of(key, math.nan, math.nan, UNDEFINED)
    if not both.all():
        notes.append(
            f"{METRICS[key].label} is compared on {int(both.sum())} of the {len(both)} people: "
            "those for whom it was measured with both models."
        )
    one, other = shares[0][both], shares[1][both]
    clusters, regions = (first[key].to_numpy()[both] for key in ("community", "region"))
    interval = paired_interval(one, other, clusters, level=level, regions=regions)
    return ComparisonRow.of(key, float(one.mean()), float(other.mean()), interval)
