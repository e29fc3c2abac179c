"""All responses of one model: it is asked in every world, in an order that lets it reuse egos."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import torch
from torch import Tensor

from fairgear.auditing.adapters.base import Adapter
from fairgear.auditing.model import Predictions, predict
from fairgear.auditing.response import Response, partial_response
from fairgear.auditing.threads import threads_for
from fairgear.auditing.world import World
from fairgear.auditing.worlds import Worlds
from fairgear.metrics import between_worlds, flips, over_rates
from fairgear.progress import Bar, bar

Ask = Callable[[World], Predictions]


def respond(
    model: Adapter, worlds: Worlds, rows: Tensor, factual: Predictions, alone: Tensor
) -> list[Response]:
    """How the predictions for the people in `rows` respond to every intervention.

    Args:
        model: what is evaluated.
        worlds: with a causal model.
        rows: the evaluated people.
        factual: their predictions on the factual graph.
        alone: positions in `rows` of those for whom *self* is measured, one world each.
    """
    drawn = sum(len(values) for values in worlds.assignments.values())
    with bar("asking in other worlds", total=1 + 2 * drawn + worlds.draws + len(alone)) as progress:

        def ask(world: World) -> Predictions:
            answer = predict(model, world, rows)
            progress.advance()
            return answer

        # Worlds with the factual edges come first: models keep the egos of the last edges.
        return [
            _placebo(ask, worlds.placebo, factual),
            *whole_graph(ask, worlds.released, factual),
            *whole_graph(ask, worlds.strict, factual),
            *_around(ask, worlds, rows, factual),
            *_self(model, worlds, rows, factual, alone, progress),
        ]


def _placebo(ask: Ask, world: World, factual: Predictions) -> Response:
    answer = ask(world)
    return Response(
        protocol=world.protocol,
        intervention=world.intervention,
        flips=flips(factual.labels, answer.labels),
        moves=[(answer.scores - factual.scores)[None]],
        positions=np.arange(len(factual.scores)),
        scores=answer.scores,
    )


def whole_graph(
    ask: Ask, worlds: Mapping[float, Sequence[World]], factual: Predictions
) -> list[Response]:
    """One response a rate, their average (δCF), and that between two counterfactual worlds."""
    protocol = worlds[0.0][0].protocol
    answers = {rate: [ask(world) for world in draws] for rate, draws in worlds.items()}
    labels = {rate: [answer.labels for answer in draws] for rate, draws in answers.items()}
    scores = {
        rate: np.stack([answer.scores for answer in draws]) for rate, draws in answers.items()
    }
    average, between = over_rates(factual.labels, labels), between_worlds(labels)
    moves = {rate: values - factual.scores for rate, values in scores.items()}
    everyone = np.arange(len(factual.scores))
    means = {rate: values.mean(axis=0) for rate, values in scores.items()}
    apart = [scores[high] - scores[low] for low, high in between.by_world]
    return [
        *(
            Response(
                protocol,
                worlds[rate][0].intervention,
                average.by_world[rate],
                [moves[rate]],
                everyone,
                means[rate],
            )
            for rate in worlds
        ),
        Response(
            protocol,
            "average over rates",
            average,
            list(moves.values()),
            everyone,
            np.mean(list(means.values()), axis=0),
        ),
        Response(
            protocol,
            "between worlds",
            between,
            apart,
            everyone,
            None,
        ),
    ]


def _around(ask: Ask, worlds: Worlds, rows: Tensor, factual: Predictions) -> list[Response]:
    """Neighbours and both: the random worlds, read for those whose own s stayed or changed."""
    answers = [ask(world) for world in worlds.random]
    before = worlds.graph.sens[rows]
    changed = torch.stack([world.sens[rows] != before for world in worlds.random])
    found = (
        partial_response("neighbours", factual, answers, ~changed.cpu().numpy()),
        partial_response("both", factual, answers, changed.cpu().numpy()),
    )
    return [response for response in found if response is not None]


def _self(
    model: Adapter, worlds: Worlds, rows: Tensor, factual: Predictions, alone: Tensor, progress: Bar
) -> list[Response]:
    """Each person asked about in the world where only their own s is flipped."""
    scores, labels = factual.scores.copy(), factual.labels.copy()
    people = rows[alone]
    with threads_for(model.small_steps):
        for i, world in enumerate(worlds.alone(people)):
            position = int(alone[i])
            answer = predict(model, world, people[i : i + 1])
            scores[position], labels[position] = answer.scores[0], answer.labels[0]
            progress.advance()
    part = np.zeros((1, len(rows)), dtype=np.bool_)
    part[0, alone.numpy()] = True
    response = partial_response("self", factual, [Predictions(scores, labels)], part)
    return [] if response is None else [response]
