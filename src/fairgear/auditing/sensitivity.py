"""Sensitivity: how the verdict moves across causal models that one could believe in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from torch import Tensor

from fairgear.auditing.adapters.base import Adapter
from fairgear.auditing.alternatives import Alternative
from fairgear.auditing.json_fields import from_fields, to_fields
from fairgear.auditing.model import Predictions, predict
from fairgear.auditing.notes import noting
from fairgear.auditing.response import FlipRow, Response
from fairgear.auditing.responses import whole_graph
from fairgear.auditing.world import World
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
        meaning: what it takes the attribute to change.
        rate: δCF of the whole-graph interventions; NaN where it cannot be had.
        interval: of `rate`.
        score_size: mean absolute change of the score.
        difference: `rate` minus that of the audit's own causal model.
        difference_interval: of it, person by person.
        unmoved: whether everybody's answers are those of the audit's own model.
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
        depends: True where any differs from the first by more than the choice of people could
            explain, False where none can differ by more than `MARGIN`, None where there are too
            few people to tell, or no other model could be had.
        verdict: that in a sentence.
    """

    rows: tuple[CausalModelRow, ...]
    depends: bool | None
    verdict: str

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        return {
            "rows": [to_fields(row) for row in self.rows],
            "depends": self.depends,
            "verdict": self.verdict,
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Sensitivity:
        """What `to_dict` gave."""
        rows = tuple(from_fields(CausalModelRow, row) for row in data["rows"])
        return cls(rows, data["depends"], data["verdict"])


def across(
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
    """Ask the model in the worlds of other causal models.

    Args:
        model: what is audited.
        others: the causal models.
        rows: the people.
        factual: what the model says of them on the factual graph.
        own: δCF under the audit's own causal model.
        own_flips: the same for each person.
        clusters: their communities.
        level: of the intervals.
    """
    found = [
        CausalModelRow(
            "own",
            "The causal model of this audit.",
            own.rate,
            own.interval,
            own.score_size,
            0.0,
            Interval(0.0, 0.0),
            unmoved=True,
        )
    ]
    asked = [world for other in others for draws in other.worlds.values() for world in draws]
    with bar("asking under other causal models", total=len(asked)) as progress:

        def ask(world: World) -> Predictions:
            answer = predict(model, world, rows)
            progress.advance()
            return answer

        for other in others:
            error = other.error or _unanswered(model, other)
            response: Response | None = None
            if error is None:
                response = _average(whole_graph(ask, other.worlds, factual))
            found.append(_row(other, response, error, own, own_flips, clusters, level))
    return _judged(tuple(found))


def _unanswered(model: Adapter, other: Alternative) -> str | None:
    every = [world for draws in other.worlds.values() for world in draws]
    if all(model.can_answer(world) for world in every):
        return None
    return "no scores were computed for its worlds"


def _average(responses: Sequence[Response]) -> Response:
    (found,) = (one for one in responses if one.intervention == "average over rates")
    return found


def _row(
    other: Alternative,
    response: Response | None,
    error: str | None,
    own: FlipRow,
    own_flips: Floats,
    clusters: Integers,
    level: float,
) -> CausalModelRow:
    nan = float("nan")
    if response is None:
        return CausalModelRow(
            other.name, other.meaning, nan, UNDEFINED, nan, nan, UNDEFINED, error=error
        )
    # What is undefined shows in the row.
    with noting([]):
        row = response.row(clusters, level)
    unmoved = row.score_size == own.score_size and bool((response.flips.by_node == own_flips).all())
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
        paired_interval(response.flips.by_node, own_flips, clusters, level=level),
        unmoved=unmoved,
    )


def _judged(rows: tuple[CausalModelRow, ...]) -> Sensitivity:
    own, others = rows[0], [row for row in rows[1:] if row.error is None]
    if not others:
        return Sensitivity(
            rows, None, "No other causal model could be had to hold this one against."
        )
    apart = [row for row in others if 0 not in row.difference_interval]
    low, high = (pick(others, key=lambda row: row.rate) for pick in (min, max))
    span = f"from {low.rate:.4f} ({low.model}) to {high.rate:.4f} ({high.model})"
    if low.rate == high.rate:
        span = f"{low.rate:.4f}"
    reach = f"δCF is {own.rate:.4f} under the causal model of this audit and {span} under others"
    if apart:
        names = ", ".join(row.model for row in apart)
        return Sensitivity(
            rows,
            True,
            f"The verdict depends on the causal model: {reach}. Those that differ by more than "
            f"the choice of people explains: {names}.",
        )
    if all(_close(row) for row in others):
        return Sensitivity(rows, False, f"The verdict hardly moves with the causal model: {reach}.")
    return Sensitivity(
        rows,
        None,
        "Whether the verdict depends on the causal model cannot be told on so few people: "
        f"{reach}.",
    )


def _close(row: CausalModelRow) -> bool:
    """Whether no difference worth a word is left: none at all here, or none within the interval."""
    ends = row.difference_interval
    return row.unmoved or (ends.defined and max(abs(ends.low), abs(ends.high)) <= MARGIN)
