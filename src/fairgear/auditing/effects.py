"""Effects: what each intervention does to a model's predictions, in all and person by person."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from fairgear.auditing.adapters.base import ROUNDING, Adapter, Predictions
from fairgear.auditing.people import People
from fairgear.auditing.world import World
from fairgear.auditing.worlds import Worlds
from fairgear.metrics import (
    UNDEFINED,
    AverageFlips,
    Estimate,
    Flips,
    Interval,
    between_worlds,
    cluster_bootstrap,
    draws_error,
    flip_estimate,
    flips,
    largest_estimate,
    over_rates,
)
from fairgear.metrics.disagreement import of_answer
from fairgear.metrics.inputs import Floats, Integers
from fairgear.progress import Bar, bar

# The effect from which each counterfactual metric is read, by its key.
COUNTERFACTUAL = {
    "delta_cf": "strict_average_over_rates",
    "delta_cf_released": "released_average_over_rates",
    "delta_cf_self": "strict_self",
    "delta_cf_neighbor": "strict_neighbours",
    "delta_cf_both": "strict_both",
}
Predict = Callable[[World], Predictions]
# The intervention of δCF.
AVERAGE = "average over rates"


@dataclass(frozen=True)
class Question:
    """Which worlds are compared with the factual graph.

    Attributes:
        protocol: "strict" (the causal model's worlds), "released" (softened) or "placebo".
        intervention: whose s was changed, or what was averaged.
    """

    protocol: str
    intervention: str

    @property
    def key(self) -> str:
        """Name of its columns in the table of people."""
        return f"{self.protocol}_{self.intervention}".replace(" ", "_")


@dataclass(frozen=True)
class FlipRow(Question):
    """One line of the table of flips.

    Attributes:
        rate: share of people whose label flips.
        interval: of `rate`, over people.
        gains: share that goes from 0 to 1, or higher; between worlds, towards the higher rate. NaN
            for several classes, and so is what follows up to `fall` except `score_size`.
        losses: share that goes from 1 to 0, or lower.
        score_shift: mean change of the score; of numbers, in standard deviations of the label.
        score_shift_interval: of `score_shift`, over people.
        score_size: mean absolute change of the score; of several classes, ½Σ|p_c − p'_c|.
        rising: share whose score rises.
        rise: mean rise among them; NaN where nobody's score rises.
        falling: share whose score falls.
        fall: mean fall among them, as a positive number.
        people: how many it was measured on.
        draws: comparisons with a counterfactual world that were averaged.
        error: Monte Carlo standard error of `rate`, None where nothing is random.

    Example:
        >>> import fairgear as fg
        >>> from fairgear.testing import toy_graph
        >>> def group(world):
        ...     return world.sens.float()
        >>> audit = fg.audit(group, toy_graph(), other_causal_models=False, what_if_people=0)
        >>> row = audit.flips[0]
        >>> row.intervention, row.losses, row.gains
        ('rate 0', 0.4375, 0.0)
    """

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


@dataclass(frozen=True)
class Effect(Question):
    """What one intervention does.

    Attributes:
        flips: of the labels, with the share of each person in `positions`.
        moves: changes of the score in each world that is averaged, each (draws, people) and NaN
            where a person takes no part in a draw.
        positions: who was measured, as positions among the audited people.
        scores: mean over the draws, one for each of them; None between two worlds.
        changed: for whole-graph interventions, whether each label flips in each draw (draws,
            people), world by world as `moves`.
        ordered: whether scores rise and fall; those of several classes only move.
        answers: of *self*, those of all audited people, factual where they were not asked.
    """

    flips: Flips | AverageFlips
    moves: Sequence[Floats]
    positions: Integers
    scores: Floats | None
    changed: Sequence[NDArray[np.bool_]] = ()
    ordered: bool = True
    answers: Predictions | None = None

    def estimate(self, people: People, level: float) -> Estimate:
        """The flip rate with its interval; `people` are all who are audited."""
        clusters, regions = people.clusters[self.positions], people.regions[self.positions]
        return flip_estimate(self.flips, clusters, level=level, regions=regions)

    def largest(self, people: People, level: float) -> Estimate:
        """The flips in the world that has most; `people` are all who are audited."""
        assert isinstance(self.flips, AverageFlips)
        clusters, regions = people.clusters[self.positions], people.regions[self.positions]
        return largest_estimate(self.flips, clusters, level=level, regions=regions)

    def row(self, people: People, level: float, seed: int = 0) -> FlipRow:
        """Its line in the table of flips; `people` are all who are audited."""
        estimate = self.estimate(people, level)
        parts = [self.flips] if isinstance(self.flips, Flips) else self.flips.by_world.values()
        moves = ScoreMoves.of(self.moves)
        return FlipRow(
            protocol=self.protocol,
            intervention=self.intervention,
            rate=estimate.value,
            interval=estimate.interval,
            gains=float(np.mean([part.gains for part in parts])),
            losses=float(np.mean([part.losses for part in parts])),
            score_size=moves.size,
            **self._directions(moves, people, level, seed),
            people=len(self.positions),
            draws=sum(len(part.draws) for part in parts),
            error=None if math.isnan(estimate.error) else estimate.error,
        )

    def _directions(
        self, moves: ScoreMoves, people: People, level: float, seed: int
    ) -> dict[str, Any]:
        """Where scores go; NaN where they have no direction."""
        if not self.ordered:
            names = ("score_shift", "rising", "rise", "falling", "fall")
            return {**dict.fromkeys(names, math.nan), "score_shift_interval": UNDEFINED}
        return {
            "score_shift": float(moves.shift.mean()),
            "score_shift_interval": self._mean_interval(moves.shift, people, level, seed),
            "rising": float(moves.rising.mean()),
            "rise": moves.rise,
            "falling": float(moves.falling.mean()),
            "fall": moves.fall,
        }

    def size(self, people: People, level: float, seed: int) -> Estimate:
        """The mean size of the change of the score."""
        moves = ScoreMoves.of(self.moves)
        interval = self._mean_interval(moves.up + moves.down, people, level, seed)
        return Estimate(moves.size, Interval(max(0.0, interval.low), interval.high))

    def _mean_interval(self, values: Floats, people: People, level: float, seed: int) -> Interval:
        clusters = people.clusters[self.positions]
        return cluster_bootstrap(
            lambda weights: weights @ values / weights.sum(axis=1), clusters, level=level, seed=seed
        )


def measure_effects(
    model: Adapter, worlds: Worlds, rows: Tensor, factual: Predictions, alone: Tensor
) -> list[Effect]:
    """The effect of every intervention on the predictions for the people in `rows`.

    `factual` are their predictions on the factual graph, `alone` the positions in `rows` of those
    for whom *self* is measured, one world each.
    """
    drawn = sum(len(values) for values in worlds.assignments.values())
    softened = worlds.protocol == "released"
    total = (1 + drawn if softened else 0) + drawn + worlds.draws + len(alone)
    with bar("counterfactual predictions", total=total) as progress:

        def predict(world: World) -> Predictions:
            answer = model.predict(world, rows)
            progress.advance()
            return answer

        # Worlds with the factual edges come first: models keep the egos of the last edges.
        found = []
        if softened:
            found.append(_placebo(predict, worlds.placebo, factual))
            found += whole_graph_effects(predict, worlds.released, factual)
        return [
            *found,
            *whole_graph_effects(predict, worlds.strict, factual),
            *_around(predict, worlds, rows, factual),
            *_self(model, worlds, rows, factual, alone, progress),
        ]


def whole_graph_effects(
    predict: Predict, worlds: Mapping[float, Sequence[World]], factual: Predictions
) -> list[Effect]:
    """One effect for each rate, their average (δCF), and that between counterfactual worlds."""
    protocol, how = next(iter(worlds.values()))[0].protocol, factual.how
    labels: dict[float, list[NDArray[Any]]] = {}
    scores: dict[float, Floats] = {}
    for rate, draws in worlds.items():
        answers = [predict(world) for world in draws]
        labels[rate] = [answer.labels for answer in answers]
        scores[rate] = np.stack([answer.scores for answer in answers])
    average, between = over_rates(factual.labels, labels, how), between_worlds(labels, how)
    everyone = np.arange(len(factual.scores))
    effects, moves, means = [], [], []
    changed = [how.changes(factual.labels, np.stack(draws)) != 0 for draws in labels.values()]
    for rate, flipped in average.by_world.items():
        moves.append(how.moves(factual.scores, scores[rate]))
        means.append(of_answer(scores[rate].mean(axis=0), factual.labels))
        name = worlds[rate][0].intervention
        effects.append(Effect(protocol, name, flipped, moves[-1:], everyone, means[-1]))
    mean = np.mean(means, axis=0)
    apart = [how.moves(scores[low], scores[high]) for low, high in between.by_world]
    found = [
        *effects,
        Effect(protocol, AVERAGE, average, moves, everyone, mean, changed),
        Effect(protocol, "between worlds", between, apart, everyone, None),
    ]
    return [replace(effect, ordered=how.ordered) for effect in found]


def partial_effect(
    intervention: str,
    factual: Predictions,
    draws: Sequence[Predictions],
    part: NDArray[np.bool_],
) -> list[Effect]:
    """The effect where not everyone takes part in every draw; none where nobody does.

    Every person who takes part counts once, in however many draws that is, so that rate, interval
    and table of people agree. The Monte Carlo error is that of the rates of single draws.

    `part` is (draws, people): who takes part.
    """
    positions = np.flatnonzero(part.any(axis=0))
    if len(positions) == 0:
        return []
    part, how = part[:, positions], factual.how
    answers = np.stack([draw.labels for draw in draws])[:, positions]
    labels = how.changes(factual.labels[positions], answers)
    scores = np.stack([draw.scores for draw in draws])[:, positions]
    moved = how.moves(factual.scores[positions], scores)
    by_node = by_person(labels != 0, part)
    rates = tuple(
        float((row[here] != 0).mean()) for row, here in zip(labels, part, strict=True) if here.any()
    )
    flipped = Flips(
        rate=float(by_node.mean()),
        gains=float(by_person(labels > 0, part).mean()) if how.ordered else math.nan,
        losses=float(by_person(labels < 0, part).mean()) if how.ordered else math.nan,
        draws=rates,
        error=draws_error(np.array(rates)),
        by_node=by_node,
    )
    moves = [np.where(part, moved, math.nan)]
    shown = [of_answer(one, factual.labels[positions]) for one in scores]
    means = by_person(np.stack(shown), part)
    found = Effect("strict", intervention, flipped, moves, positions, means)
    return [replace(found, ordered=how.ordered)]


def _placebo(predict: Predict, world: World, factual: Predictions) -> Effect:
    answer = predict(world)
    how = factual.how
    flipped = flips(factual.labels, answer.labels, how)
    moves = [how.moves(factual.scores, answer.scores)[None]]
    everyone, shown = np.arange(len(factual.scores)), answer.of_answer(factual)
    found = Effect(world.protocol, world.intervention, flipped, moves, everyone, shown)
    return replace(found, ordered=how.ordered)


def _around(predict: Predict, worlds: Worlds, rows: Tensor, factual: Predictions) -> list[Effect]:
    """Neighbours and both: the random worlds, read for those whose own s stayed or changed."""
    answers = [predict(world) for world in worlds.random]
    before = worlds.graph.sens[rows]
    changed = torch.stack([world.sens[rows] != before for world in worlds.random]).cpu().numpy()
    return [
        *partial_effect("neighbours", factual, answers, ~changed),
        *partial_effect("both", factual, answers, changed),
    ]


def _self(
    model: Adapter, worlds: Worlds, rows: Tensor, factual: Predictions, alone: Tensor, progress: Bar
) -> list[Effect]:
    """Each sampled person in the world where only their own s is flipped."""
    scores, labels = factual.scores.copy(), factual.labels.copy()
    people = rows[alone]
    with model.threads():
        answers = model.predict_each(
            worlds.alone(people), torch.split(people, 1) if len(people) else ()
        )
        for position, answer in zip(alone.tolist(), answers, strict=True):
            scores[position], labels[position] = answer.scores[0], answer.labels[0]
            progress.advance()
    part = np.zeros((1, len(rows)), dtype=np.bool_)
    part[0, alone.numpy()] = True
    found = Predictions(scores, labels, factual.how)
    return [replace(one, answers=found) for one in partial_effect("self", factual, [found], part)]


@dataclass(frozen=True, eq=False)
class ScoreMoves:
    """How scores change: means over the draws of each world, then over the worlds, by person.

    Attributes:
        shift: change of the score.
        rising: share of the draws in which it rises, rounding aside.
        up: sum of the rises, over all draws.
        falling: share in which it falls.
        down: sum of the falls, as a positive number.
    """

    shift: Floats
    rising: Floats
    up: Floats
    falling: Floats
    down: Floats

    @classmethod
    def of(cls, worlds: Sequence[Floats]) -> ScoreMoves:
        """From the changes in each world, (draws, people), NaN where a person takes no part."""

        def mean(values: Sequence[NDArray[Any]]) -> Floats:
            each = [by_person(one, ~np.isnan(w)) for one, w in zip(values, worlds, strict=True)]
            average: Floats = np.mean(each, axis=0)
            return average

        return cls(
            shift=mean(worlds),
            rising=mean([moves > ROUNDING for moves in worlds]),
            up=mean([np.maximum(moves, 0) for moves in worlds]),
            falling=mean([moves < -ROUNDING for moves in worlds]),
            down=mean([np.maximum(-moves, 0) for moves in worlds]),
        )

    @property
    def rise(self) -> float:
        """Mean rise among those whose score rises; NaN where nobody's does."""
        return _ratio(self.up, self.rising)

    @property
    def fall(self) -> float:
        """Mean fall among those whose score falls; NaN where nobody's does."""
        return _ratio(self.down, self.falling)

    @property
    def size(self) -> float:
        """Mean absolute change."""
        return float((self.up + self.down).mean())


def by_person(values: NDArray[Any], part: NDArray[np.bool_]) -> Floats:
    """Each person's mean over the draws (rows) in which they take part."""
    total: Floats = np.where(part, values, 0).sum(axis=0) / part.sum(axis=0)
    return total


def _ratio(total: Floats, share: Floats) -> float:
    return float(total.sum() / share.sum()) if share.any() else math.nan
