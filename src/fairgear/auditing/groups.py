"""The table by group: rates with intervals, impact ratios, and tests that rates are equal."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairgear.auditing.adapters.base import Predictions
from fairgear.auditing.measures import collecting
from fairgear.auditing.people import People
from fairgear.graph.attributes import Attributes
from fairgear.graph.targets import BINARY, Target, is_known
from fairgear.metrics import UNDEFINED, Interval, cluster_bootstrap, rate_interval
from fairgear.metrics.estimates import auroc_estimate
from fairgear.metrics.inputs import Floats, Integers
from fairgear.metrics.ratios import RateTest, equal_rates, ratio_interval

Mask = NDArray[np.bool_]
# In place of a group, of the people whose attribute is unknown.
UNKNOWN = -1
# A group with a smaller share of the people is not what others' rates are compared with.
SMALL_SHARE = 0.02


@dataclass(frozen=True)
class GroupSummary:
    """One line of the table by group; a share is NaN where nobody counts towards it.

    Attributes:
        group: the value of the sensitive attribute; of a number, which of its ranges; `UNKNOWN` of
            the people whose attribute is unknown.
        count: people.
        labelled: those whose label is known.
        positives: those of class 1.
        selected: those predicted to be of class 1.
        selection_rate: share of `selected` among all.
        true_positive_rate: share predicted to be of class 1 among `positives`.
        accuracy: share of right predictions among `labelled`.
        delta_cf: share of labels that flip, averaged over the strict whole-graph worlds.
        intervals: of the shares and of `figures`, by their names.
        figures: for several classes the share of each answer, for numbers the mean label,
            prediction and residual; empty for two classes, and those of two classes NaN here.
        false_positive_rate: share predicted to be of class 1 among those of class 0.
        auroc: of the scores, among `labelled`.
        impact_ratio: the selection rate divided by the highest of the groups that have
            `SMALL_SHARE` or more of the people; NaN of people whose attribute is unknown.
        attribute: where several attributes are crossed and this is a value of one of them, which.

    Example:
        >>> import fairgear as fg
        >>> from fairgear.testing import toy_graph
        >>> def group(world):
        ...     return world.sens.float()
        >>> audit = fg.audit(group, toy_graph(), other_causal_models=False, what_if_people=0)
        >>> [(row.group, row.count, row.selection_rate) for row in audit.groups]
        [(0, 18, 0.0), (1, 14, 1.0)]
    """

    group: int
    count: int
    labelled: int
    positives: int
    selected: int
    selection_rate: float
    true_positive_rate: float
    accuracy: float
    delta_cf: float
    intervals: dict[str, Interval]
    figures: dict[str, float] = field(default_factory=dict)
    false_positive_rate: float = math.nan
    auroc: float = math.nan
    impact_ratio: float = math.nan
    attribute: str = ""

    @property
    def unlabelled(self) -> int:
        """Those whose label is unknown."""
        return self.count - self.labelled

    @property
    def negatives(self) -> int:
        """Those of class 0."""
        return self.labelled - self.positives

    def value(self, name: str) -> float:
        """A share, or one of `figures`."""
        return self.figures[name] if name in self.figures else float(getattr(self, name))

    def people(self, share: str) -> int:
        """How many people a share is taken of."""
        of = {"true_positive_rate": self.positives, "false_positive_rate": self.negatives}
        known = ("accuracy", "auroc", "mean label", "mean residual")
        return of.get(share, self.labelled if share in known else self.count)


@dataclass(frozen=True)
class GroupTables:
    """The tables by group of an audit.

    Attributes:
        groups: a line for each group.
        margins: the same for each value of each attribute, where several are crossed, and for the
            people whose attribute is unknown.
        tests: that selection rates are equal, of all groups and by attribute, among the people
            whose attribute is known; two classes only.
    """

    groups: tuple[GroupSummary, ...]
    margins: tuple[GroupSummary, ...] = ()
    tests: tuple[RateTest, ...] = ()


def group_tables(
    people: People,
    answers: Predictions,
    flip_share: Floats | None,
    *,
    attributes: Attributes | None,
    known: Mask | None,
    level: float,
    seed: int,
) -> GroupTables:
    """All of them.

    Args:
        people: who is audited.
        answers: what the model gives them.
        flip_share: of each, how often their answer changes; None without a causal model.
        attributes: those of the graph.
        known: whose attribute is known; None where everybody's is.
        level: of the intervals.
        seed: of the resamples behind the intervals of AUROC.
    """
    target, parts = answers.how.target, {"": people}
    if attributes is not None and len(attributes.each) > 1:
        codes = attributes.codes(people.sens).T
        parts |= {
            of.name: replace(people, sens=code)
            for of, code in zip(attributes.each, codes, strict=True)
        }

    def lines(part: People) -> tuple[GroupSummary, ...]:
        given = (part, answers.labels, flip_share)
        return summarise_groups(
            *given, level=level, target=target, scores=answers.scores, seed=seed
        )

    tables = {
        name: [replace(one, attribute=name) for one in lines(part)] for name, part in parts.items()
    }
    margins = [one for name, table in tables.items() if name for one in table]
    if known is not None and not known.all():
        columns = _columns(people, answers.labels, answers.scores, target, flip_share)
        margins.append(_summary(people, columns, UNKNOWN, ~known, level, seed))
    tests = []
    if target.is_binary:
        told = np.ones(len(people.y), dtype=np.bool_) if known is None else known
        tests = [_test(part, answers.labels, told, level, name) for name, part in parts.items()]
    found = tuple(one for one in tests if one is not None)
    return GroupTables(tuple(tables[""]), tuple(margins), found)


def summarise_groups(
    people: People,
    labels: NDArray[Any],
    flip_share: Floats | None,
    *,
    level: float,
    target: Target = BINARY,
    scores: Floats | None = None,
    seed: int = 0,
) -> tuple[GroupSummary, ...]:
    """All groups; `flip_share` is None without a causal model, `scores` are those of class 1."""
    columns = _columns(people, labels, scores, target, flip_share)
    groups = set(people.group.tolist())
    if target.is_binary:
        groups |= set(range(2 if people.band is None else people.ranges))
    found = [
        _summary(people, columns, group, people.group == group, level, seed)
        for group in sorted(groups)
    ]
    return tuple(_with_impact_ratios(found)) if target.is_binary else tuple(found)


@dataclass(frozen=True)
class _Columns:
    """What is averaged by group: for each figure, values of people and who counts."""

    shares: Mapping[str, tuple[Floats, Mask]]
    figures: Mapping[str, tuple[Floats, Mask]]
    labels: NDArray[Any]
    scores: Floats | None
    target: Target


def _columns(
    people: People,
    labels: NDArray[Any],
    scores: Floats | None,
    target: Target,
    flip_share: Floats | None,
) -> _Columns:
    y, known = people.y, is_known(people.y)
    everybody, nobody = (np.full(len(y), which, dtype=np.bool_) for which in (True, False))
    flips = np.full(len(y), math.nan) if flip_share is None else flip_share
    answers, right = labels.astype(np.float64), (labels == y).astype(np.float64)
    binary = target.is_binary
    shares = {
        "selection_rate": (answers, everybody if binary else nobody),
        "true_positive_rate": (answers, y == 1 if binary else nobody),
        "false_positive_rate": (answers, y == 0 if binary else nobody),
        "accuracy": (right, nobody if target.is_number else known),
        "delta_cf": (flips, ~np.isnan(flips)),
    }
    figures: dict[str, tuple[Floats, Mask]] = {}
    if target.is_number:
        figures = {
            "mean label": (y, known),
            "mean prediction": (labels, everybody),
            "mean residual": (y - labels, known),
        }
    elif not binary:
        figures = {
            f"answer {name}": ((labels == number).astype(np.float64), everybody)
            for number, name in enumerate(target.classes)
        }
    return _Columns(shares, figures, labels, scores, target)


def _summary(
    people: People, columns: _Columns, group: int, member: Mask, level: float, seed: int
) -> GroupSummary:
    """The people of one group."""
    binary, number = columns.target.is_binary, columns.target.is_number
    values, intervals = dict[str, Any](), dict[str, Interval]()
    for name, (of, counted) in {**columns.shares, **columns.figures}.items():
        among = member & counted
        if not among.any():
            values[name], intervals[name] = math.nan, UNDEFINED
            continue
        values[name], clusters = float(of[among].mean()), people.clusters[among]
        if number and name in columns.figures:
            intervals[name] = _mean_interval(of[among], clusters, level)
        else:
            regions = people.regions[among]
            intervals[name] = rate_interval(of[among], clusters, level=level, regions=regions)
    figures = {name: values.pop(name) for name in columns.figures}
    judged = member & is_known(people.y)
    if binary:
        values["auroc"], intervals["auroc"] = _auroc(people, columns, judged, level, seed)
    return GroupSummary(
        group=group,
        count=int(member.sum()),
        labelled=int(judged.sum()),
        positives=int((people.y[member] == 1).sum()) if binary else 0,
        selected=int(columns.labels[member].sum()) if binary else 0,
        **values,
        intervals=intervals,
        figures=figures,
    )


def _auroc(
    people: People, columns: _Columns, judged: Mask, level: float, seed: int
) -> tuple[float, Interval]:
    if columns.scores is None or not judged.any():
        return math.nan, UNDEFINED
    # Undefined ones stand in the table as such, and need no note each.
    with collecting([]):
        found = auroc_estimate(
            people.y[judged],
            columns.scores[judged],
            people.clusters[judged],
            level=level,
            seed=seed,
        )
    return found.value, found.interval


def _mean_interval(values: Floats, clusters: Integers, level: float) -> Interval:
    with collecting([]):
        return cluster_bootstrap(lambda w: w @ values / w.sum(axis=1), clusters, level=level)


def large_groups(groups: Sequence[GroupSummary]) -> list[GroupSummary]:
    """Those that have `SMALL_SHARE` or more of the people."""
    total = sum(one.count for one in groups)
    return [one for one in groups if one.count and one.count >= SMALL_SHARE * total]


def reference_group(groups: Sequence[GroupSummary]) -> GroupSummary | None:
    """The group with the highest selection rate, of those that are not small; None if all are 0."""
    found = max(large_groups(groups), key=lambda one: one.selection_rate, default=None)
    return found if found is not None and found.selection_rate > 0 else None


def _with_impact_ratios(groups: Sequence[GroupSummary]) -> list[GroupSummary]:
    reference = reference_group(groups)

    def ratio(one: GroupSummary) -> tuple[float, Interval]:
        if reference is None or not one.count:
            return math.nan, UNDEFINED
        if one is reference:
            return 1.0, Interval(1.0, 1.0)
        ends, highest = (of.intervals["selection_rate"] for of in (one, reference))
        interval = ratio_interval(one.selection_rate, ends, reference.selection_rate, highest)
        return one.selection_rate / reference.selection_rate, interval

    found = [(one, *ratio(one)) for one in groups]
    return [
        replace(one, impact_ratio=value, intervals={**one.intervals, "impact_ratio": interval})
        for one, value, interval in found
    ]


def _test(
    people: People, labels: NDArray[Any], told: Mask, level: float, attribute: str
) -> RateTest | None:
    groups, clusters, regions = (
        column[told] for column in (people.group, people.clusters, people.regions)
    )
    hits = labels[told].astype(np.float64)
    return equal_rates(hits, groups, clusters, regions, level=level, attribute=attribute)
