"""Sensitivity: how δCF varies across plausible causal models."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from torch import Tensor

from fairgear.auditing.adapters.base import Adapter, Predictions
from fairgear.auditing.effects import Effect, FlipRow, whole_graph_effects
from fairgear.auditing.measures import collecting
from fairgear.auditing.worlds import Alternative, World
from fairgear.metrics import UNDEFINED, Interval, paired_interval
from fairgear.metrics.inputs import Floats, Integers
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
    unmoved: bool = False
    error: str | None = None


@dataclass(frozen=True)
class Sensitivity:
    """δCF under every causal model, the audit's own first.

    Attributes:
        rows: one for each.
        depends: True where any differs from the first by more than the choice of people explains,
            False where none can differ by more than `MARGIN`, None where there are too few people
            to tell, or no other model is available.
        verdict: the same in a sentence.
    """

    rows: tuple[CausalModelRow, ...] = field(repr=False)
    depends: bool | None
    verdict: str


def measure_sensitivity(
    model: Adapter,
    others: Sequence[Alternative],
    rows: Tensor,
    factual: Predictions,
    own: FlipRow,
    own_flips: Floats,
    clusters: Integers,
    *,
    level: float,
) -> Sensitivity:
    """Run the model in the worlds of other causal models.

    `own` and `own_flips` are δCF under the audit's own causal model, and the same for each person;
    `clusters` are the communities of all people in `rows`.
    """
    meaning, same = "The causal model of this audit.", (0.0, Interval(0.0, 0.0))
    found = [
        CausalModelRow("own", meaning, own.rate, own.interval, own.score_size, *same, unmoved=True)
    ]
    total = sum(len(other.all_worlds()) for other in others)
    with bar("predictions under other causal models", total=total) as progress:

        def predict(world: World) -> Predictions:
            answer = model.predict(world, rows)
            progress.advance()
            return answer

        for other in others:
            if other.error is None and not all(map(model.can_score, other.all_worlds())):
                other = replace(other, error="no scores were computed for its worlds")
            if other.error is None:
                effects = whole_graph_effects(predict, other.worlds, factual)
                (effect,) = (one for one in effects if one.intervention == "average over rates")
                found.append(_row(other, effect, own, own_flips, clusters, level))
            else:
                nan = (math.nan, UNDEFINED, math.nan, math.nan, UNDEFINED)
                found.append(CausalModelRow(other.name, other.meaning, *nan, error=other.error))
    return _judged(tuple(found))


def _row(
    other: Alternative,
    effect: Effect,
    own: FlipRow,
    own_flips: Floats,
    clusters: Integers,
    level: float,
) -> CausalModelRow:
    # The row itself shows what is undefined.
    with collecting([]):
        row = effect.row(clusters, level)
    unmoved = row.score_size == own.score_size and bool((effect.flips.by_node == own_flips).all())
    meaning = other.meaning
    if unmoved and own.score_size > 0:
        meaning += " On this graph its answers are those of the audit's own model."
    return CausalModelRow(
        other.name,
        meaning,
        row.rate,
        row.interval,
        row.score_size,
        row.rate - own.rate,
        paired_interval(effect.flips.by_node, own_flips, clusters, level=level),
        unmoved=unmoved,
    )


def _judged(rows: tuple[CausalModelRow, ...]) -> Sensitivity:
    own, others = rows[0], [row for row in rows[1:] if row.error is None]
    if not others:
        return Sensitivity(rows, None, "No other causal model is available for comparison.")
    apart = [row for row in others if 0 not in row.difference_interval]
    low, high = (pick(others, key=lambda row: row.rate) for pick in (min, max))
    span = f"from {low.rate:.4f} ({low.model}) to {high.rate:.4f} ({high.model})"
    if low.rate == high.rate:
        span = f"{low.rate:.4f}"
    range_ = f"δCF is {own.rate:.4f} under the causal model of this audit and {span} under others"
    if apart:
        names = ", ".join(row.model for row in apart)
        verdict = (
            f"The verdict depends on the causal model: {range_}. Those that differ by more than "
            f"the choice of people explains: {names}."
        )
        return Sensitivity(rows, True, verdict)
    ends = [(row, row.difference_interval) for row in others]
    # No relevant difference is left: none at all here, or none within the interval.
    if all(row.unmoved or (at.defined and max(map(abs, at)) <= MARGIN) for row, at in ends):
        verdict = f"The verdict hardly depends on the causal model: {range_}."
        return Sensitivity(rows, False, verdict)
    few = "There are too few people to tell whether the verdict depends on the causal model"
    return Sensitivity(rows, None, f"{few}: {range_}.")
