"""Any model in, an `Audit` out."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Any

import numpy as np
from torch import Tensor

from fairgear import datasets
from fairgear.auditing.adapters import Adapter, adapt
from fairgear.auditing.affected import affected, changes, with_neighbors
from fairgear.auditing.evaluation import Evaluation, evaluate_in
from fairgear.auditing.influence import NOT_ASKED, most_affected, neighbors_that_matter
from fairgear.auditing.model import Predictions
from fairgear.auditing.people import select
from fairgear.auditing.response import COUNTERFACTUAL
from fairgear.auditing.result import Audit
from fairgear.auditing.sensitivity import Sensitivity, across
from fairgear.auditing.sight import look
from fairgear.auditing.worlds import Worlds
from fairgear.causal import CausalModel
from fairgear.errors import ParameterError
from fairgear.graph import SensitiveGraph


def audit(
    model: object,
    graph: SensitiveGraph,
    *,
    name: str | None = None,
    threshold: float | None = None,
    causal_model: CausalModel | None = None,
    nodes: Tensor | None = None,
    draws: int = 3,
    seed: int = 0,
    self_people: int | None = None,
    affected_people: int | None = None,
    other_causal_models: bool = True,
    released_share: float | None = None,
    level: float = 0.95,
) -> Audit:
    """Audit any model: would its decisions have been others, had people been of another group?

    Several models on the same counterfactuals: make `Worlds` once and call `audit_in` for each.

    Args:
        model: a fitted method of this package, a `torch.nn.Module` with a forward of
            (x, edge_index), a scikit-learn estimator on node features, a callable from a graph to
            scores, a `CommandAdapter` or a `FolderAdapter`.
        graph: the factual graph.
        name: what reports call the model.
        threshold: label 1 is given to scores above it; the model's own, or 0.5, if not given.
        causal_model: makes the counterfactual worlds; that of the graph if not given.
        nodes: rows or mask of the people to audit; the test nodes if not given.
        draws: worlds for each intervention that leaves a choice.
        seed: of these draws, of the bootstrap and of who is asked about alone.
        self_people: how many people, at most, are asked about alone. If not given, everyone for a
            method of this package, and a sample for any other model.
        affected_people: how many of the most affected people are asked about neighbour by
            neighbour; 10 if not given, 3 for a command.
        other_causal_models: whether to ask under other causal models too.
        released_share: how much of a feature's change the softened worlds keep.
        level: of the intervals.
    """
    worlds = Worlds(graph, causal_model, draws=draws, seed=seed, released_share=released_share)
    return audit_in(
        worlds,
        model,
        name=name,
        threshold=threshold,
        nodes=nodes,
        self_people=self_people,
        affected_people=affected_people,
        other_causal_models=other_causal_models,
        level=level,
    )


def audit_in(
    worlds: Worlds,
    model: object,
    *,
    name: str | None = None,
    threshold: float | None = None,
    nodes: Tensor | None = None,
    self_people: int | None = None,
    affected_people: int | None = None,
    other_causal_models: bool = True,
    level: float = 0.95,
) -> Audit:
    """Audit a model in worlds that are made once and shared; see `audit`."""
    for what, count in (("self_people", self_people), ("affected_people", affected_people)):
        if count is not None and count < 0:
            raise ParameterError(what, count, "0 or more", "leave it out for the usual number")
    graph = worlds.graph
    adapter = adapt(model, name=name, threshold=threshold)
    rows = select(graph, nodes)
    most = adapter.usual_self if self_people is None else self_people
    evaluation = evaluate_in(worlds, adapter, nodes=rows, self_people=most, level=level)
    people = evaluation.people
    factual = Predictions(people["score"].to_numpy(), people["label"].to_numpy())
    sight = look(adapter, worlds, rows, factual)
    causal_models, found, diagnostics = None, {}, None
    positions = np.empty(0, dtype=np.int64)
    if worlds.causal_model is not None:
        diagnostics = worlds.diagnostics.to_dict()
        if other_causal_models:
            causal_models = _across(worlds, adapter, rows, factual, evaluation, level)
        asked = adapter.usual_affected if affected_people is None else affected_people
        positions = most_affected(*changes(people), asked)
        found = dict(neighbors_that_matter(adapter, worlds, rows, factual, positions))
        if len(positions) and not found:
            evaluation = replace(evaluation, notes=(*evaluation.notes, NOT_ASKED))
    return Audit(
        model={"name": adapter.name, "kind": adapter.kind, "threshold": adapter.threshold},
        sight=sight,
        config=_config(worlds, rows, evaluation, level),
        evaluation=replace(evaluation, people=with_neighbors(people, found)),
        diagnostics=diagnostics,
        causal_models=causal_models,
        affected=affected(people, found or {int(at): () for at in positions}),
        graph=asdict(datasets.statistics(graph)),
        names=names_of(graph),
    )


def names_of(graph: SensitiveGraph) -> dict[str, list[str]]:
    """What the user's data call the groups and the answers, where they have words for them."""
    words = {"groups": graph.get("sens_names"), "answers": graph.get("label_names")}
    return {kind: list(known) for kind, known in words.items() if known is not None}


def _across(
    worlds: Worlds,
    adapter: Adapter,
    rows: Tensor,
    factual: Predictions,
    evaluation: Evaluation,
    level: float,
) -> Sensitivity:
    where = COUNTERFACTUAL["delta_cf"]
    (own,) = (row for row in evaluation.flips if row.key == where)
    return across(
        adapter,
        worlds.alternatives,
        rows,
        factual,
        own,
        evaluation.people[f"flip_{where}"].to_numpy(),
        evaluation.people["community"].to_numpy(),
        level=level,
    )


def _config(worlds: Worlds, rows: Tensor, evaluation: Evaluation, level: float) -> dict[str, Any]:
    alone = [row.people for row in evaluation.flips if row.intervention == "self"]
    return {
        "dataset": worlds.graph.name,
        "people": len(rows),
        "draws": worlds.draws,
        "seed": worlds.seed,
        "level": level,
        "self_people": alone[0] if alone else 0,
        "causal_model": None if worlds.causal_model is None else worlds.causal_model.name,
        "worlds": worlds.fingerprint,
    }
