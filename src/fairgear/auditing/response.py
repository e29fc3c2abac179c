"""Response: what one intervention does to a model's predictions, in all and person by person."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairgear.auditing.model import Predictions
from fairgear.metrics import AverageFlips, Flips, Interval, draws_error, flip_estimate
from fairgear.metrics.inputs import Floats, Integers
from fairgear.metrics.intervals import to_json_number


@dataclass(frozen=True)
class FlipRow:
    """One line of the table of flips.

    Attributes:
        protocol: "strict" (the causal model's worlds), "released" (softened) or "placebo".
        intervention: whose s was changed, or what was averaged.
        rate: share of people whose label flips.
        interval: of `rate`, over people.
        gains: share that goes from 0 to 1; between worlds, towards the higher rate.
        losses: share that goes from 1 to 0.
        score_shift: mean change of the score.
        score_size: mean absolute change of the score.
        people: how many it was measured on.
        draws: comparisons with a counterfactual world that were averaged.
        error: Monte Carlo standard error of `rate`, None where there is nothing to draw.
    """

    protocol: str
    intervention: str
    rate: float
    interval: Interval
    gains: float
    losses: float
    score_shift: float
    score_size: float
    people: int
    draws: int
    error: float | None

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        return {
            "protocol": self.protocol,
            "intervention": self.intervention,
            "rate": to_json_number(self.rate),
            "interval": self.interval.to_json(),
            "gains": to_json_number(self.gains),
            "losses": to_json_number(self.losses),
            "score_shift": to_json_number(self.score_shift),
            "score_size": to_json_number(self.score_size),
            "people": self.people,
            "draws": self.draws,
            "error": self.error,
        }


@dataclass(frozen=True)
class Response:
    """The answer to one intervention.

    Attributes:
        protocol: see `FlipRow`.
        intervention: see `FlipRow`.
        flips: of the labels, with the share of each person in `positions`.
        score_shift: mean change of the score.
        score_size: mean absolute change.
        positions: who was measured, as positions among the evaluated people.
        scores: mean over the draws, one for each of them; None between two worlds.
    """

    protocol: str
    intervention: str
    flips: Flips | AverageFlips
    score_shift: float
    score_size: float
    positions: Integers
    scores: Floats | None

    @property
    def key(self) -> str:
        """Name of its columns in the table of people."""
        return f"{self.protocol}_{self.intervention}".replace(" ", "_")

    def row(self, clusters: Integers, level: float) -> FlipRow:
        """Its line in the table of flips; `clusters` are those of all evaluated people."""
        estimate = flip_estimate(self.flips, clusters[self.positions], level=level)
        parts = [self.flips] if isinstance(self.flips, Flips) else self.flips.by_world.values()
        return FlipRow(
            protocol=self.protocol,
            intervention=self.intervention,
            rate=estimate.value,
            interval=estimate.interval,
            gains=float(np.mean([part.gains for part in parts])),
            losses=float(np.mean([part.losses for part in parts])),
            score_shift=self.score_shift,
            score_size=self.score_size,
            people=len(self.positions),
            draws=sum(len(part.draws) for part in parts),
            error=None if math.isnan(estimate.error) else estimate.error,
        )


def partial_response(
    intervention: str,
    factual: Predictions,
    draws: Sequence[Predictions],
    part: NDArray[np.bool_],
) -> Response | None:
    """The response where not everyone takes part in every draw; None where nobody does in any.

    Every person who takes part counts once, however many draws that was in: rate, interval and
    the table of people then speak of the same thing. The Monte Carlo error is that of the rates
    of single draws.

    Args:
        intervention: its name.
        factual: predictions on the factual graph.
        draws: predictions in each draw's world.
        part: (draws, people), who takes part.
    """
    positions = np.flatnonzero(part.any(axis=0))
    if len(positions) == 0:
        return None
    part = part[:, positions]
    labels = np.stack([draw.labels for draw in draws])[:, positions] - factual.labels[positions]
    scores = np.stack([draw.scores for draw in draws])[:, positions]
    moved = scores - factual.scores[positions]

    def by_person(values: NDArray[Any]) -> Floats:
        total: Floats = np.where(part, values, 0).sum(axis=0) / part.sum(axis=0)
        return total

    by_node = by_person(labels != 0)
    rates = tuple(
        float((row[here] != 0).mean()) for row, here in zip(labels, part, strict=True) if here.any()
    )
    return Response(
        protocol="strict",
        intervention=intervention,
        flips=Flips(
            rate=float(by_node.mean()),
            gains=float(by_person(labels > 0).mean()),
            losses=float(by_person(labels < 0).mean()),
            draws=rates,
            error=draws_error(np.array(rates)),
            by_node=by_node,
        ),
        score_shift=float(by_person(moved).mean()),
        score_size=float(by_person(np.abs(moved)).mean()),
        positions=positions,
        scores=by_person(scores),
    )
