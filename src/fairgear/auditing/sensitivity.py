"""Sensitivity: δCF under a family of causal models, its bounds, and by dose."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from torch import Tensor

from fairgear.auditing.adapters.base import Adapter, Predictions
from fairgear.auditing.effects import AVERAGE, Effect, FlipRow, Predict, whole_graph_effects
from fairgear.auditing.family import DOSES, FIXED, OWN, Family
from fairgear.auditing.measures import collecting
from fairgear.auditing.people import People
from fairgear.auditing.world import Alternative, ByRate, World
from fairgear.causal import Credibility
from fairgear.metrics import UNDEFINED, Interval, paired_interval, rate_interval
from fairgear.metrics.inputs import Floats
from fairgear.progress import bar

# A difference of δCF that changes no verdict: one person in a hundred.
MARGIN = 0.01


@dataclass(frozen=True)
class CausalModelRow:
    """δCF under one causal model.

    Attributes:
        model: "own", or the name of an alternative.
        meaning: what it assumes that the attribute changes.
        rate: δCF of the whole-graph interventions; NaN where it is not available.
        interval: of `rate`.
        score_size: mean absolute change of the score.
        difference: `rate` minus that of the audit's own causal model.
        difference_interval: of `difference`, person by person.
        part: whether it is a part of the own model, to see what matters, and no belief.
        trained: whether the audited model was trained for it; None where that is not known.
        credibility: whether its people could exist; None where that is no question.
        unmoved: whether everybody's answers are those under the audit's own model.
        error: why there is no rate, if so.
    """

    model: str
    meaning: str
    rate: float
    interval: Interval
    score_size: float
    difference: float
    difference_interval: Interval
    part: bool = False
    trained: bool | None = None
    credibility: Credibility | None = None
    unmoved: bool = False
    error: str | None = None

    @property
    def credible(self) -> bool:
        """Whether its people could exist, as far as can be told."""
        return self.credibility is None or self.credibility.credible

    @property
    def remark(self) -> str:
        """What distinguishes it in a table: few words, or none."""
        if self.part:
            return "a part alone"
        held = {True: "trained for", False: "held out", None: ""}[self.trained]
        return ", ".join(filter(None, ["" if self.credible else "not credible", held]))


@dataclass(frozen=True)
class Bound:
    """The least or the largest δCF of some causal models; the interval holds for all at once."""

    model: str
    rate: float
    interval: Interval


@dataclass(frozen=True)
class Sensitivity:
    """δCF under every causal model, the audit's own first.

    Attributes:
        rows: one for each.
        least, largest: over the credible models; over all where none is credible.
        under_any: δCF if an answer counts as changed when it changes under any of them.
        under_any_interval: of `under_any`.
        under_all: the same when it changes under all of them.
        under_all_interval: of `under_all`.
        credible: how many models these are over; 0 where none is credible.
        depends: True where any differs from the first by more than the choice of people explains,
            False where none can differ by more than `MARGIN`, None where there are too few people
            to tell, or no other model is available.
        verdict: the same in a sentence.

    Example:
        >>> import fairgear as fg
        >>> from fairgear.testing import toy_graph
        >>> audit = fg.audit(lambda world: world.x[:, 3].sigmoid(), toy_graph(), what_if_people=0)
        >>> models = audit.causal_models
        >>> [row.model for row in models.rows][:3]
        ['own', 'gaussian', 'location-scale']
        >>> models.under_all <= models.under_any
        True
    """

    rows: tuple[CausalModelRow, ...] = field(repr=False)
    least: Bound
    largest: Bound
    under_any: float
    under_any_interval: Interval
    under_all: float
    under_all_interval: Interval
    credible: int
    depends: bool | None
    verdict: str

    def metrics(self) -> dict[str, tuple[float, Interval]]:
        """The bounds under the names of `fairgear.metrics.METRICS`."""
        return {
            "delta_cf_min": (self.least.rate, self.least.interval),
            "delta_cf_max": (self.largest.rate, self.largest.interval),
            "delta_cf_any": (self.under_any, self.under_any_interval),
            "delta_cf_all": (self.under_all, self.under_all_interval),
        }


@dataclass(frozen=True)
class DosePoint:
    """δCF, had the attribute caused a share of the difference between the groups."""

    share: float
    rate: float
    interval: Interval


@dataclass(frozen=True)
class Dose:
    """δCF by the share of the groups' difference that the attribute causes, from 0 to 1."""

    points: tuple[DosePoint, ...]

    def crossing(self, bound: float) -> float | None:
        """The least share from which δCF exceeds a bound, by interpolation; None if it never does.

        0 where δCF exceeds it at once.
        """
        before: DosePoint | None = None
        for point in self.points:
            if point.rate > bound:
                if before is None:
                    return point.share
                part = (bound - before.rate) / (point.rate - before.rate)
                return before.share + part * (point.share - before.share)
            before = point
        return None


def measure_sensitivity(
    model: Adapter,
    family: Family,
    rows: Tensor,
    factual: Predictions,
    own: Effect,
    own_row: FlipRow,
    people: People,
    *,
    level: float,
    trained_for: Collection[str] | None = None,
) -> Sensitivity:
    """Run the model in the worlds of other causal models.

    Args:
        model: the audited model.
        family: the causal models.
        rows: the audited people.
        factual: their predictions on the factual graph.
        own: δCF under the audit's own causal model.
        own_row: its line in the table of flips.
        people: all who are audited.
        level: of the intervals.
        trained_for: names of the causal models that the model was trained for; None if unknown.
    """
    measured: dict[str, tuple[CausalModelRow, Effect | None]] = {}
    members = family.members
    total = sum(len(other.all_worlds()) for other in members[1:])
    with bar("predictions under other causal models", total=total) as progress:

        def predict(world: World) -> Predictions:
            answer = model.predict(world, rows)
            progress.advance()
            return answer

        for other in members:
            effect: Effect | None = own
            if other.name != OWN:
                if other.error is None and not all(map(model.can_score, other.all_worlds())):
                    other = replace(other, error="no scores were computed for its worlds")
                effect = None if other.error else average_effect(predict, other.worlds, factual)
            row = _row(other, effect, own, own_row, people, level, trained_for)
            measured[other.name] = (row, effect)
    return _judged(list(measured.values()), people, level)


def measure_dose(
    model: Adapter,
    family: Family,
    rows: Tensor,
    factual: Predictions,
    own_row: FlipRow,
    people: People,
    *,
    level: float,
) -> Dose:
    """Run the model in worlds where the attribute caused a part of the difference only."""
    points = []
    with bar("predictions by dose", total=len(DOSES)) as progress:
        for share in DOSES:
            worlds = family.dosed(share)
            effect = average_effect(lambda world: model.predict(world, rows), worlds, factual)
            estimate = effect.estimate(people, level)
            points.append(DosePoint(share, estimate.value, estimate.interval))
            progress.advance()
    return Dose((*points, DosePoint(1.0, own_row.rate, own_row.interval)))


def average_effect(predict: Predict, worlds: ByRate, factual: Predictions) -> Effect:
    """The effect of which δCF is the rate."""
    effects = whole_graph_effects(predict, worlds, factual)
    (effect,) = (one for one in effects if one.intervention == AVERAGE)
    return effect


def _row(
    other: Alternative,
    effect: Effect | None,
    own: Effect,
    own_row: FlipRow,
    people: People,
    level: float,
    trained_for: Collection[str] | None,
) -> CausalModelRow:
    trained = None if trained_for is None else other.name.removesuffix(FIXED) in trained_for
    if effect is None:
        nan = (math.nan, UNDEFINED, math.nan, math.nan, UNDEFINED)
        return CausalModelRow(
            other.name, other.meaning, *nan, other.part, trained, error=other.error
        )
    row, apart = own_row, Interval(0.0, 0.0)
    if other.name != OWN:
        # The row itself shows what is undefined.
        with collecting([]):
            row = effect.row(people, level)
        mine, theirs = own.flips.by_node, effect.flips.by_node
        apart = paired_interval(theirs, mine, people.clusters, level=level, regions=people.regions)
    unmoved = row.score_size == own_row.score_size and bool(
        (effect.flips.by_node == own.flips.by_node).all()
    )
    meaning = other.meaning
    if unmoved and other.name != OWN and own_row.score_size > 0:
        meaning += " On this graph its answers are those of the audit's own model."
    return CausalModelRow(
        other.name,
        meaning,
        row.rate,
        row.interval,
        row.score_size,
        row.rate - own_row.rate,
        apart,
        other.part,
        trained,
        other.credibility,
        unmoved,
    )


def _judged(
    measured: Sequence[tuple[CausalModelRow, Effect | None]], people: People, level: float
) -> Sensitivity:
    rows = tuple(row for row, _ in measured)
    believed = {
        row.model: (row, effect) for row, effect in measured if effect is not None and not row.part
    }
    credible = {name: one for name, one in believed.items() if one[0].credible}
    least, largest = _bounds(credible or believed, people, level)
    some, every = (
        over_models([effect for _, effect in (credible or believed).values()], combine)
        for combine in (np.logical_or, np.logical_and)
    )

    def of_shares(shares: Floats) -> Interval:
        return rate_interval(shares, people.clusters, level=level, regions=people.regions)

    depends, verdict = verdict_on(rows, least, largest, float(some.mean()), len(credible))
    return Sensitivity(
        rows=rows,
        least=least,
        largest=largest,
        under_any=float(some.mean()),
        under_any_interval=of_shares(some),
        under_all=float(every.mean()),
        under_all_interval=of_shares(every),
        credible=len(credible),
        depends=depends,
        verdict=verdict,
    )


Measured = Mapping[str, tuple[CausalModelRow, Effect]]


def _bounds(models: Measured, people: People, level: float) -> tuple[Bound, Bound]:
    """The least and the largest rate, with ends that hold for all models at once (Bonferroni)."""
    each = 1 - (1 - level) / len(models)
    ends = [effect.estimate(people, each).interval for _, effect in models.values()]
    found = []
    for pick in (min, max):
        row = pick((row for row, _ in models.values()), key=lambda row: row.rate)
        interval = Interval(pick(one.low for one in ends), pick(one.high for one in ends))
        found.append(Bound(row.model, row.rate, interval))
    return found[0], found[1]


def over_models(effects: Sequence[Effect], combine: np.ufunc) -> Floats:
    """For each person the share of worlds, as in δCF, in which any or all models flip them."""
    worlds = zip(*(effect.changed for effect in effects), strict=True)
    each = [combine.reduce(np.stack(of_world)).mean(axis=0) for of_world in worlds]
    mean: Floats = np.mean(each, axis=0)
    return mean


def verdict_on(
    rows: Sequence[CausalModelRow], least: Bound, largest: Bound, some: float, credible: int
) -> tuple[bool | None, str]:
    """Whether δCF depends on the causal model, and the same in a sentence; see `Sensitivity`."""
    own, others = rows[0], [row for row in rows[1:] if row.error is None]
    span = f"from {least.rate:.4f} ({least.model}) to {largest.rate:.4f} ({largest.model})"
    if least.rate == largest.rate:
        span = f"{least.rate:.4f}"
    which = f"the {credible} credible ones" if credible else "all others, none of them credible"
    range_ = (
        f"δCF is {own.rate:.4f} under the causal model of this audit and {span} over {which}; "
        f"{some:.4f} of the answers change under at least one of them"
    )
    others = [row for row in others if not row.part and (row.credible or not credible)]
    if not others:
        kind = "credible causal model" if credible else "causal model"
        return None, f"No other {kind} is available for comparison."
    apart = [row for row in others if 0 not in row.difference_interval]
    if apart:
        names = ", ".join(row.model for row in apart)
        return True, (
            f"The verdict depends on the causal model: {range_}. Those that differ from it by more "
            f"than the choice of people explains: {names}."
        )
    ends = [(row, row.difference_interval) for row in others]
    # No relevant difference is left: none at all here, or none within the interval.
    if all(row.unmoved or (at.defined and max(map(abs, at)) <= MARGIN) for row, at in ends):
        return False, f"The verdict hardly depends on the causal model: {range_}."
    few = "There are too few people to tell whether the verdict depends on the causal model"
    return None, f"{few}: {range_}."
