"""Measuring a candidate: fitted on the training people, judged by validation people.

The test people are not there: neither their rows, nor their edges, nor what was computed from
them. The training people are those of `fairgear run`. The validation people are halved: one half
stops the training and sets the threshold, the other judges.
"""

from __future__ import annotations

import time
from statistics import fmean
from typing import Any

import numpy as np
import torch
from torch import Tensor

from fairgear.auditing import Worlds, audit
from fairgear.errors import GraphError
from fairgear.graph import SensitiveGraph
from fairgear.graph.targets import strata
from fairgear.methods import METHODS
from fairgear.progress import quiet
from fairgear.studies.judging.sealed import without
from fairgear.studies.task import compute_with_one_thread
from fairgear.studies.tuning.plan import Candidate, Tuning

FLIPS = "delta_cf_max"
# The worlds of the graph that this process works on.
_held: dict[str, tuple[Worlds, ...]] = {}


def measured(candidate: Candidate) -> dict[str, Any]:
    """Utility and worst flips of a candidate on the judging people, the means over the halves."""
    compute_with_one_thread()
    begin = time.perf_counter()
    settings = candidate.config.completed().settings
    found = []
    with quiet():
        for worlds in judging_worlds(candidate.tuning):
            model = METHODS[candidate.method](
                seed=worlds.seed, device=candidate.tuning.device, **settings
            ).fit(worlds.graph)
            found.append(
                audit(
                    model,
                    worlds,
                    self_people=0,
                    affected_people=0,
                    what_if_people=0,
                    probes=False,
                )
            )
    utility = utility_of(found[0].metrics)
    worst = max(found, key=lambda one: one.metrics[FLIPS]).causal_models
    return {
        "utility_name": utility,
        "utility": fmean(one.metrics[utility] for one in found),
        "flips": fmean(one.metrics[FLIPS] for one in found),
        "worst_model": "" if worst is None else worst.largest.model,
        "people": sum(one.setup.people for one in found),
        "seconds": round(time.perf_counter() - begin, 2),
    }


def utility_of(metrics: Any) -> str:
    """AUROC, or R² of the prediction where labels are numbers."""
    return "r2_prediction" if "r2_prediction" in metrics else "auroc"


def judging_worlds(tuning: Tuning) -> tuple[Worlds, ...]:
    """The worlds for each half, without the test people; kept for one tuning."""
    key = tuning.recipe
    if key not in _held:
        # Drop the old ones first: two graphs' worlds are never held at once.
        _held.clear()
        graph = tuning.source.load()
        seed = tuning.source.seed
        _held[key] = tuple(
            Worlds(half, draws=1, seed=seed) for half in halves(graph, seed)[: tuning.halves]
        )
        for worlds in _held[key]:
            _check(worlds)
    return _held[key]


def halves(graph: SensitiveGraph, seed: int) -> tuple[SensitiveGraph, SensitiveGraph]:
    """The graph without its test people, judged by each half of the validation people in turn.

    Labels of people outside the split are hidden, as training does not see them either.
    """
    unseen = ~(graph.train_mask | graph.val_mask)
    unknown = float("nan") if graph.y.is_floating_point() else -1
    hidden = graph.replace(y=graph.y.masked_fill(unseen, unknown))
    rows = (~graph.test_mask.cpu()).nonzero()[:, 0]
    made = without(hidden, graph.test_mask)
    train, val = graph.train_mask.cpu()[rows], graph.val_mask.cpu()[rows]
    first = _half(made, val, seed)
    second = val & ~first
    return tuple(  # type: ignore[return-value]  # two of them
        made.replace(train_mask=train, val_mask=stops, test_mask=judges)
        for stops, judges in ((first, second), (second, first))
    )


def _half(graph: SensitiveGraph, val: Tensor, seed: int) -> Tensor:
    """Half of the validation people of each class, or of each tenth of the numbers."""
    order = graph.canonical.rows
    among = order[val[order]].numpy()
    parts = strata(graph.y.cpu().numpy())[among]
    rng = np.random.default_rng(seed)
    found = torch.zeros(len(val), dtype=torch.bool)
    for part in np.unique(parts):
        drawn = rng.permutation(among[parts == part])
        found[torch.from_numpy(drawn[: (len(drawn) + 1) // 2])] = True
    return found


def _check(worlds: Worlds) -> None:
    """Refuse a graph without worlds to judge by, or with a class that nobody judges."""
    if worlds.causal_model is None:
        step = "see fairgear data for what the file holds"
        raise GraphError("worlds to tune by", worlds.why_none, "a causal model", step)
    graph = worlds.graph
    y = graph.y[graph.test_mask]
    classes = 2 if graph.target.is_number else len(graph.target.classes)
    if len(torch.unique(y)) < classes:
        raise GraphError(
            "validation people of a half",
            f"{len(y)}, not of all classes",
            "people of each class in both halves",
            "label more people, or draw with another --seed",
        )
