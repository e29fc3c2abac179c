"""Evaluation: all that is measured of one model on one graph, with intervals and by person."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from torch import Tensor

from fairgear.auditing.adapters import adapt
from fairgear.auditing.factual import factual_estimates
from fairgear.auditing.groups import GroupSummary, summarise_groups
from fairgear.auditing.model import Predictions, predict
from fairgear.auditing.notes import noting, sentence
from fairgear.auditing.people import sample, select, who
from fairgear.auditing.response import COUNTERFACTUAL, FlipRow, Response
from fairgear.auditing.responses import respond
from fairgear.auditing.worlds import Worlds
from fairgear.causal import CausalModel
from fairgear.graph import SensitiveGraph, closed_neighborhood_mean, communities
from fairgear.metrics import METRICS, UNDEFINED, Interval, to_json_number
from fairgear.metrics.inputs import Floats, Integers

# People for whom *self* is measured: each costs a world and an answer of its own.
SELF_PEOPLE = 500


@dataclass(frozen=True, eq=False)
class Evaluation:
    """What a model does on a graph, and what it would do had people's s been another.

    Attributes:
        metrics: by the names of `fairgear.metrics.METRICS`; NaN where undefined.
        intervals: the same keys.
        flips: one row for each protocol and intervention; none without a causal model.
        groups: one row for each group.
        people: one row for each person, by node id: `node_id` (beside it `node_name`, where ids
            are no whole numbers), `y sens`, `community` (who goes with
            whom in the intervals), `around` (mean s of the person and their neighbours), `score
            label`, and for each intervention `score_…` (mean over the draws) and `flip_…` (share
            of the draws in which the label flips), NaN where it was not measured.
        notes: plain sentences to be read with the numbers.
    """

    metrics: dict[str, float]
    intervals: dict[str, Interval]
    flips: tuple[FlipRow, ...]
    groups: tuple[GroupSummary, ...]
    people: pd.DataFrame
    notes: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready, all but `people`; None where undefined."""
        return {
            "metrics": {key: to_json_number(value) for key, value in self.metrics.items()},
            "intervals": {key: interval.to_json() for key, interval in self.intervals.items()},
            "flips": [row.to_dict() for row in self.flips],
            "groups": [group.to_dict() for group in self.groups],
            "notes": list(self.notes),
        }


def evaluate(
    model: object,
    graph: SensitiveGraph,
    *,
    causal_model: CausalModel | None = None,
    nodes: Tensor | None = None,
    draws: int = 3,
    seed: int = 0,
    released_share: float | None = None,
    self_people: int | None = SELF_PEOPLE,
    level: float = 0.95,
) -> Evaluation:
    """Evaluate a fitted model; to share the worlds between models, see `evaluate_in`.

    Args:
        model: a fitted method of this package, or whatever else `fairgear.auditing.adapt` takes.
        graph: the factual graph.
        causal_model: makes the counterfactual worlds; that of the graph if not given. Without
            one, the counterfactual metrics are NaN.
        nodes: rows or mask of the people to evaluate; the test nodes if not given.
        draws: worlds for each intervention that leaves a choice.
        seed: of these draws, of the bootstrap and of who is asked about alone.
        released_share: how much of a feature's change the softened worlds keep; as the authors'
            files do if not given.
        self_people: how many people, at most, are asked about alone; None is everyone.
        level: of the intervals.

    Intervals are over people, in communities of the factual graph. Where few people flip, the
    data cannot tell whether neighbours flip together, and the interval then assumes that whole
    communities do: with no flips at all its upper end is that of as many independent people as
    there are communities of equal weight. That is the safe bound, and a wide one: a model that
    never flips is not shown to flip less than it. The Monte Carlo error of the draws is apart
    from it, in the table of flips.
    """
    worlds = Worlds(graph, causal_model, draws=draws, seed=seed, released_share=released_share)
    return evaluate_in(worlds, model, nodes=nodes, self_people=self_people, level=level)


def evaluate_in(
    worlds: Worlds,
    model: object,
    *,
    nodes: Tensor | None = None,
    self_people: int | None = SELF_PEOPLE,
    level: float = 0.95,
) -> Evaluation:
    """Evaluate a fitted model in worlds that are there already; see `evaluate`."""
    graph, adapter = worlds.graph, adapt(model)
    adapter.check(worlds)
    rows = select(graph, nodes)
    y, sens = (values[rows].cpu().numpy() for values in (graph.y, graph.sens))
    clusters = communities(graph)[rows].cpu().numpy()
    summary = closed_neighborhood_mean(graph.sens, graph.edge_index)[rows].cpu().numpy()
    predictions = predict(adapter, worlds.factual, rows)
    notes = list(adapter.notes)
    estimates = factual_estimates(
        y, predictions, sens, summary, clusters, notes, level=level, seed=worlds.seed
    )
    responses: list[Response] = []
    if worlds.causal_model is None:
        notes.append(
            f"Counterfactual metrics are undefined, for want of a causal model: {worlds.why_none}"
        )
    else:
        most = len(rows) if self_people is None else self_people
        alone = sample(graph, rows, most, worlds.seed)
        responses = respond(adapter, worlds, rows, predictions, alone)
        notes.extend(_about(worlds, worlds.causal_model, responses, len(rows)))
        notes.extend(_home_ground(adapter.original, worlds.causal_model))
    with noting(notes):
        flips = {response.key: response.row(clusters, level, worlds.seed) for response in responses}
    metrics = {key: estimate.value for key, estimate in estimates.items()}
    intervals = {key: estimate.interval for key, estimate in estimates.items()}
    for key, where in COUNTERFACTUAL.items():
        metrics[key] = flips[where].rate if where in flips else math.nan
        intervals[key] = flips[where].interval if where in flips else UNDEFINED
    notes.extend(
        sentence(f"the interval of {METRICS[key].label} is undefined")
        for key, value in metrics.items()
        if not math.isnan(value) and not intervals[key].defined
    )
    by_person = {response.key: response.flips.by_node for response in responses}
    return Evaluation(
        metrics={key: metrics[key] for key in METRICS},
        intervals={key: intervals[key] for key in METRICS},
        flips=tuple(flips.values()),
        groups=summarise_groups(
            y,
            predictions.labels,
            sens,
            clusters,
            by_person.get(COUNTERFACTUAL["delta_cf"]),
            level=level,
        ),
        people=_people(graph, rows, clusters, summary, predictions, responses),
        notes=tuple(notes),
    )


def _about(
    worlds: Worlds, causal_model: CausalModel, responses: Sequence[Response], people: int
) -> list[str]:
    """Where the worlds come from, and whom each question could be put to."""
    what = (
        "exact: its equations are those that made the graph"
        if causal_model.exact
        else "a model of how the graph came about, not the truth: so are the flip rates"
    )
    notes = [f"The causal model of this evaluation, {causal_model.name!r}, is {what}."]
    notes.extend(causal_model.notes)
    measured = {response.intervention: len(response.positions) for response in responses}
    asked = measured.get("self", 0)
    whom = f"all {people}" if asked == people else f"{asked} of the {people}"
    notes.append(f"The intervention self was measured on {whom} people, one world each.")
    for name, state in (("neighbours", "stayed as it was"), ("both", "changed")):
        count = measured.get(name, 0)
        if count == 0:
            notes.append(
                f"The intervention {name} is undefined: in no draw was there anyone whose own "
                f"value {state}."
            )
        elif count < people:
            notes.append(
                f"The intervention {name} was measured on {count} of the {people} people: those "
                f"whose own value {state} in at least one of the {worlds.draws} draws."
            )
    return notes


def _home_ground(model: object, causal_model: CausalModel) -> list[str]:
    """What the model and the causal model have in common, to the model's advantage."""
    notes = []
    if getattr(model, "causal_model_", None) == causal_model.fingerprint():
        notes.append(
            "The model was trained on counterfactuals of this same causal model: it is tested on "
            "its home ground. Evaluate it with another causal model too."
        )
    if getattr(model, "erases_means_", False) and getattr(causal_model, "features", "") == "shift":
        notes.append(
            "The model takes out of the features the direction in which the groups' means differ, "
            "along which this causal model moves them: it is tested on its home ground. Evaluate "
            "it with the quantile map too."
        )
    return notes


def _people(
    graph: SensitiveGraph,
    rows: Tensor,
    clusters: Integers,
    around: Floats,
    predictions: Predictions,
    responses: Sequence[Response],
) -> pd.DataFrame:
    known = who(graph).iloc[rows.cpu().numpy()].reset_index(drop=True)
    columns: dict[str, Any] = {
        "y": graph.y[rows].cpu().numpy(),
        "sens": graph.sens[rows].cpu().numpy(),
        "community": clusters,
        "around": around,
        "score": predictions.scores,
        "label": predictions.labels,
    }
    for response in responses:
        for kind, values in (("score", response.scores), ("flip", response.flips.by_node)):
            if values is not None:
                column = np.full(len(rows), math.nan)
                column[response.positions] = values
                columns[f"{kind}_{response.key}"] = column
    return pd.concat([known, pd.DataFrame(columns)], axis=1)
