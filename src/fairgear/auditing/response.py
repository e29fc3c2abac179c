"""Response: what one intervention does to a model's predictions, in all and person by person."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairgear.auditing.json_fields import to_fields
from fairgear.auditing.model import Predictions
from fairgear.auditing.score_moves import ScoreMoves, by_person
from fairgear.metrics import (
    AverageFlips,
    Flips,
    Interval,
    cluster_bootstrap,
    draws_error,
    flip_estimate,
)
from fairgear.metrics.inputs import Floats, Integers

# Where each counterfactual metric is found: the key of its response.
COUNTERFACTUAL = {
    "delta_cf": "strict_average_over_rates",
    "delta_cf_released": "released_average_over_rates",
    "delta_cf_self": "strict_self",
    "delta_cf_neighbor": "strict_neighbours",
    "delta_cf_both": "strict_both",
}


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
        score_shift_interval: of `score_shift`, over people.
        score_size: mean absolute change of the score.
        rising: share whose score rises.
        rise: by how much, on average among them; NaN where nobody's does.
        falling: share whose score falls.
        fall: by how much, on average among them, as a positive number.
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
    score_shift_interval: Interval
    score_size: float
    rising: float
    rise: float
    falling: float
    fall: float
    people: int
    draws: int
    error: float | None

    @property
    def key(self) -> str:
        """Name of its columns in the table of people."""
        return key_of(self.protocol, self.intervention)

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        return to_fields(self)


@dataclass(frozen=True)
class Response:
    """The answer to one intervention.

    Attributes:
        protocol: see `FlipRow`.
        intervention: see `FlipRow`.
        flips: of the labels, with the share of each person in `positions`.
        moves: changes of the score in each world that is averaged, each (draws, people) and NaN
            where somebody took no part in a draw.
        positions: who was measured, as positions among the evaluated people.
        scores: mean over the draws, one for each of them; None between two worlds.
    """

    protocol: str
    intervention: str
    flips: Flips | AverageFlips
    moves: Sequence[Floats]
    positions: Integers
    scores: Floats | None

    @property
    def key(self) -> str:
        """Name of its columns in the table of people."""
        return key_of(self.protocol, self.intervention)

    def row(self, clusters: Integers, level: float, seed: int = 0) -> FlipRow:
        """Its line in the table of flips; `clusters` are those of all evaluated people."""
        estimate = flip_estimate(self.flips, clusters[self.positions], level=level)
        parts = [self.flips] if isinstance(self.flips, Flips) else self.flips.by_world.values()
        moves = ScoreMoves.of(self.moves)
        return FlipRow(
            protocol=self.protocol,
            intervention=self.intervention,
            rate=estimate.value,
            interval=estimate.interval,
            gains=float(np.mean([part.gains for part in parts])),
            losses=float(np.mean([part.losses for part in parts])),
            score_shift=float(moves.shift.mean()),
            score_shift_interval=cluster_bootstrap(
                lambda weights: weights @ moves.shift / weights.sum(axis=1),
                clusters[self.positions],
                level=level,
                seed=seed,
            ),
            score_size=moves.size,
            rising=float(moves.rising.mean()),
            rise=moves.rise,
            falling=float(moves.falling.mean()),
            fall=moves.fall,
            people=len(self.positions),
            draws=sum(len(part.draws) for part in parts),
            error=None if math.isnan(estimate.error) else estimate.error,
        )


def key_of(protocol: str, intervention: str) -> str:
    """What the columns of one intervention are called in the table of people."""
    return f"{protocol}_{intervention}".replace(" ", "_")


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
    by_node = by_person(labels != 0, part)
    rates = tuple(
        float((row[here] != 0).mean()) for row, here in zip(labels, part, strict=True) if here.any()
    )
    return Response(
        protocol="strict",
        intervention=intervention,
        flips=Flips(
            rate=float(by_node.mean()),
            gains=float(by_person(labels > 0, part).mean()),
            losses=float(by_person(labels < 0, part).mean()),
            draws=rates,
            error=draws_error(np.array(rates)),
            by_node=by_node,
        ),
        moves=[np.where(part, moved, math.nan)],
        positions=positions,
        scores=by_person(scores, part),
    )
