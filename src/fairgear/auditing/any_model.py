"""`audit`: any model in, an `Audit` out."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from torch import Tensor

from fairgear import datasets
from fairgear.auditing.adapters import Adapter, adapt
from fairgear.auditing.adapters.base import Predictions
from fairgear.auditing.affected import Affected, find_affected
from fairgear.auditing.completions import COMPLETIONS, Completed, combined
from fairgear.auditing.effects import COUNTERFACTUAL, Effect, FlipRow, measure_effects
from fairgear.auditing.groups import group_tables
from fairgear.auditing.measures import collecting, factual_estimates, sentence
from fairgear.auditing.names import Names
from fairgear.auditing.notes import (
    about_labels,
    about_worlds,
    home_ground,
    models_trained_for,
    other_density,
)
from fairgear.auditing.people import People, person_ids, sample, select
from fairgear.auditing.probes import probe
from fairgear.auditing.references import references
from fairgear.auditing.result import Audit, ModelInfo, Setup
from fairgear.auditing.sensitivity import (
    Dose,
    Sensitivity,
    measure_dose,
    measure_sensitivity,
)
from fairgear.auditing.unknown import has_unknown
from fairgear.auditing.what_if import WhatIf
from fairgear.auditing.what_if.explorer import explore
from fairgear.auditing.worlds import Worlds
from fairgear.causal import CausalModel, changed_groups
from fairgear.errors import ParameterError
from fairgear.graph import SensitiveGraph, Target, groups_of
from fairgear.graph.targets import known_labels
from fairgear.graph.unknown import Unknown
from fairgear.metrics import EVERY_METRIC, UNDEFINED, Estimate, Interval
from fairgear.progress import log

# In a graph of more people than this, *self* is measured on so many of them by default.
LARGE, MOST_ALONE = 50_000, 5_000


def audit(
    model: object,
    graph: SensitiveGraph | Worlds,
    *,
    name: str | None = None,
    threshold: float | None = None,
    causal_model: CausalModel | None = None,
    nodes: Tensor | None = None,
    draws: int = 3,
    seed: int = 0,
    protocol: str = "strict",
    released_share: float | None = None,
    self_people: int | None = None,
    affected_people: int | None = None,
    what_if_people: int | None = None,
    other_causal_models: bool = True,
    probes: bool = True,
    level: float = 0.95,
) -> Audit:
    """Audit any model: would its decisions change, had people been of another group?

    Args:
        model: a fitted method of this package, a `torch.nn.Module` with a forward of
            (x, edge_index), a scikit-learn estimator on node features, a callable from a graph to
            scores, a `CommandAdapter`, a `FolderAdapter`, or the path of a file or an array of
            scores of people as they are, of which no other world is known.
        graph: the factual graph; or its `Worlds`, to audit several models on the same
            counterfactuals, which then also decide causal_model, draws, seed and protocol.
        name: what reports call the model.
        threshold: scores above it give label 1; the model's own, or 0.5, if not given.
        causal_model: makes the counterfactual worlds; that of the graph if not given, fitted on
            people outside the training and validation sets. Without one, the counterfactual
            metrics are NaN.
        nodes: rows or mask of the people to audit; the test nodes if not given, of scores
            everybody who has one.
        draws: worlds for each random intervention.
        seed: of these draws, of the bootstrap and of the sample of people for *self*.
        protocol: "strict", or "released" to add the paper's evaluation (see `Worlds`).
        released_share: how much of a feature's change its softened worlds keep; as in the authors'
            files if not given.
        self_people: how many people, at most, *self* is measured on. If not given, everyone for a
            method of this package and for any model that is scored from people's surroundings, at
            most `MOST_ALONE` in a graph of more than `LARGE` people, and a sample for others.
        affected_people: how many of the most affected people are examined neighbour by neighbour;
            10 if not given, 3 for a command.
        what_if_people: how many people, at most, are shown one by one in other worlds, half of them
            the most affected; 60 if not given, 10 where each world takes the whole graph.
        other_causal_models: whether to measure δCF under a family of causal models, and by dose.
        probes: whether to test what the model reads.
        level: of the intervals.

    Of a graph with people whose attribute is unknown, `COMPLETIONS` completions are audited, and
    what is measured on them is combined by Rubin's rules; see `Audit.unknown`. A causal model that
    is given is then fitted again on each.

    Intervals are over people, in communities and regions of the factual graph: the rate among other
    people like these. Where few people flip, the data do not show whether neighbours flip together,
    and the interval then assumes a correlation within communities. `fairgear.metrics.rates` says
    how often such intervals cover. The Monte Carlo error of the draws is separate, in the table of
    flips.

    Example:
        >>> import fairgear as fg
        >>> from fairgear.testing import toy_graph
        >>> def score(world):
        ...     return (world.x[:, 0] + world.sens).sigmoid()
        >>> audit = fg.audit(score, toy_graph(), what_if_people=0)
        >>> round(audit.metrics["delta_cf"], 2), audit.intervals["delta_cf"].low > 0
        (0.16, True)
    """
    counts = {"self_people": self_people, "affected_people": affected_people}
    for what, count in (counts | {"what_if_people": what_if_people}).items():
        if count is not None and count < 0:
            raise ParameterError(what, count, "0 or more", "leave it out for the default")
    adapter = adapt(model, name=name, threshold=threshold)
    worlds = _worlds(
        graph, causal_model, draws, seed, protocol, released_share, adapter.factual_only
    )
    adapter.aim(_target(worlds.graph, adapter.original))
    nodes = adapter.people(worlds.graph) if nodes is None else nodes
    asked = _Asked(self_people, affected_people, what_if_people, other_causal_models, probes, level)
    if not has_unknown(worlds.graph):
        return _measured(adapter, worlds, nodes, asked).audit
    law = Unknown(worlds.graph)
    each, rows = [], select(worlds.graph, nodes)
    # Scores in a folder are those of one completion, that of the exported worlds.
    several = adapter.can_repeat or adapter.factual_only
    for draw in range(COMPLETIONS if several else 1):
        graph = law.completed(draw) if several else worlds.graph
        if not torch.equal(graph.sens, worlds.graph.sens):
            # The earlier ones are dropped: the worlds of all would take as many times the memory.
            worlds = worlds.like(graph)
        each.append(_measured(adapter, worlds, nodes, asked))
        # Asked of the first only.
        asked = replace(asked, affected_people=0, what_if_people=0, probes=False)
    return combined(each, law, rows)


@dataclass(frozen=True)
class _Asked:
    """What an audit measures; see `audit`."""

    self_people: int | None
    affected_people: int | None
    what_if_people: int | None
    other_causal_models: bool
    probes: bool
    level: float


def _measured(adapter: Adapter, worlds: Worlds, nodes: Tensor | None, asked: _Asked) -> Completed:
    """The audit of a graph, or of one completion of it."""
    level, self_people, affected_people = asked.level, asked.self_people, asked.affected_people
    adapter.check(worlds)
    rows = select(worlds.graph, nodes)
    people = People.of(worlds.graph, rows)
    factual = adapter.predict(worlds.factual, rows)
    notes = [*adapter.notes, *about_labels(adapter.target)]
    estimates = factual_estimates(people, factual, notes, level=level, seed=worlds.seed)
    if not worlds.graph.num_undirected_edges:
        estimates = {**estimates, "r2": Estimate(math.nan, UNDEFINED)}
        notes.append("R² is undefined: nobody has a link.")
    effects = _effects(adapter, worlds, rows, factual, self_people, notes)
    with collecting(notes):
        flips = {effect.key: effect.row(people, level, worlds.seed) for effect in effects}
    asks = asked.probes and not adapter.factual_only
    probed = probe(adapter, worlds, rows, factual) if asks else None
    table = _table(worlds, rows, people, factual, effects)
    own = next((effect for effect in effects if effect.key == COUNTERFACTUAL["delta_cf"]), None)
    sensitivity: Sensitivity | None = None
    dose: Dose | None = None
    affected: tuple[Affected, ...] = ()
    what_if: WhatIf | None = None
    if own is not None:
        if asked.other_causal_models:
            given = (adapter, worlds.family, rows, factual)
            ends = (flips[own.key], people)
            trained_for = models_trained_for(adapter.original, worlds)
            sensitivity = measure_sensitivity(
                *given, own, *ends, level=level, trained_for=trained_for
            )
            dose = None if adapter.costly else measure_dose(*given, *ends, level=level)
        most = adapter.default_affected_people if affected_people is None else affected_people
        affected, table, note = find_affected(adapter, worlds, rows, factual, table, most)
        notes.extend([] if note is None else [note])
        alone = next((effect for effect in effects if effect.answers is not None), None)
        seen = (adapter, worlds, rows, factual, table, alone, asked.what_if_people)
        what_if = explore(*seen, other_models=asked.other_causal_models)
    if own is not None and not adapter.target.is_binary:
        with collecting(notes):
            estimates = {**estimates, "delta_cf_size": own.size(people, level, worlds.seed)}
    if own is not None and not worlds.graph.two_groups:
        estimates = {**estimates, "delta_cf_world": own.largest(people, level)}
    metrics, intervals = _metrics(estimates, flips, sensitivity, notes)
    own_flips = None if own is None else own.flips.by_node
    known = worlds.graph.sens_known
    tables = group_tables(
        people,
        factual,
        own_flips,
        attributes=worlds.graph.attributes,
        known=None if known is None else known[rows].cpu().numpy(),
        level=level,
        seed=worlds.seed,
    )
    cautions = [] if probed is None else probed.cautions()
    verdict = [] if sensitivity is None else [sensitivity.verdict]
    found = Audit(
        model=ModelInfo(
            adapter.name,
            adapter.kind,
            adapter.threshold if adapter.target.is_binary else math.nan,
        ),
        setup=_setup(worlds, len(rows), flips, level),
        metrics=metrics,
        intervals=intervals,
        flips=tuple(flips.values()),
        groups=tables.groups,
        margins=tables.margins,
        rate_tests=tables.tests,
        probes=probed,
        causal_models=sensitivity,
        dose=dose,
        affected=affected,
        diagnostics=None if worlds.causal_model is None else worlds.diagnostics,
        graph=datasets.statistics(worlds.graph),
        names=Names.of(worlds.graph),
        notes=(*cautions, *verdict, *notes),
        people=table,
        target=adapter.target,
        what_if=what_if,
        references=references(
            people, rows, None if worlds.causal_model is None else worlds.strict, adapter.target
        ),
    )
    return Completed(found, estimates, factual)


def _target(graph: SensitiveGraph, model: object) -> Target:
    """What is predicted: what the graph's labels are or, without any, what the model was for."""
    learned: Target | None = getattr(model, "target_", None)
    if learned is None or bool(known_labels(graph.y).any()):
        return graph.target
    return learned


def _worlds(
    graph: SensitiveGraph | Worlds,
    causal_model: CausalModel | None,
    draws: int,
    seed: int,
    protocol: str,
    released_share: float | None,
    factual_only: bool,
) -> Worlds:
    if factual_only:
        if isinstance(graph, Worlds):
            graph, draws, seed = graph.graph, graph.draws, graph.seed
        return Worlds(graph, draws=draws, seed=seed, factual_only=True)
    if not isinstance(graph, Worlds):
        settings: dict[str, Any] = {"protocol": protocol, "released_share": released_share}
        return Worlds(graph, causal_model, draws=draws, seed=seed, **settings)
    given = {
        "causal_model": causal_model is not None,
        "draws": draws not in (3, graph.draws),
        "seed": seed not in (0, graph.seed),
        "protocol": protocol not in ("strict", graph.protocol),
        "released_share": released_share is not None,
    }
    for name in (name for name, is_given in given.items() if is_given):
        allowed = "left out, since Worlds have one"
        raise ParameterError(name, "a value beside Worlds", allowed, "pass the graph")
    return graph


def _table(
    worlds: Worlds,
    rows: Tensor,
    people: People,
    factual: Predictions,
    effects: Sequence[Effect],
) -> pd.DataFrame:
    """The table of people; see `Audit`."""
    graph = worlds.graph
    columns: dict[str, Any] = {
        "y": people.y,
        "sens": people.sens,
        **_known(graph, rows),
        "community": people.clusters,
        "region": people.regions,
        **people.around_by_name,
        "score": factual.of_answer(factual),
        "label": factual.labels,
    }
    for effect in effects:
        for kind, values in (("score", effect.scores), ("flip", effect.flips.by_node)):
            if values is not None:
                column = np.full(len(rows), math.nan)
                column[effect.positions] = values
                columns[f"{kind}_{effect.key}"] = column
    if not graph.two_groups:
        other = changed_groups(graph, rows, seed=worlds.seed)
        if graph.continuous:
            band = groups_of(graph, other).numpy()
            columns |= {"band": people.group, "other_sens": other.numpy(), "other_band": band}
        else:
            columns["other_group"] = other.numpy()
    columns["neighbors_that_matter"] = np.full(len(rows), "", dtype=object)
    ids = person_ids(graph).iloc[rows.cpu().numpy()].reset_index(drop=True)
    return pd.concat([ids, pd.DataFrame(columns)], axis=1)


def _known(graph: SensitiveGraph, rows: Tensor) -> dict[str, NDArray[np.bool_]]:
    """Whose attribute is known, and each of several where somebody told a part of them."""
    if graph.sens_known is None:
        return {}
    found = {"sens_known": graph.sens_known[rows].cpu().numpy()}
    if graph.sens_told is not None:
        told = (graph.sens_told[rows] >= 0).cpu().numpy()
        found |= {f"sens_known_{place}": of for place, of in enumerate(told.T, start=1)}
    return found


def _effects(
    adapter: Adapter,
    worlds: Worlds,
    rows: Tensor,
    factual: Predictions,
    self_people: int | None,
    notes: list[str],
) -> list[Effect]:
    """The effect of every intervention; none without a causal model."""
    if adapter.factual_only:
        # Its own note says so.
        return []
    if worlds.causal_model is None:
        notes.append(
            f"Counterfactual metrics are undefined without a causal model: {worlds.why_none}"
        )
        return []
    adapter.prepare(worlds)
    most = adapter.self_people(worlds) if self_people is None else self_people
    if self_people is None and most is None and _is_large(worlds, rows):
        most = MOST_ALONE
        said = (
            f"Of {len(rows):,} people {most:,} are changed alone, since the graph is large: "
            "self_people (--self-people) asks for more."
        )
        log(said)
        notes.append(said)
    alone = sample(worlds.graph, rows, len(rows) if most is None else most, worlds.seed)
    effects = measure_effects(adapter, worlds, rows, factual, alone)
    notes.extend(about_worlds(worlds, worlds.causal_model, effects, len(rows)))
    notes.extend(other_density(worlds.diagnostics))
    notes.extend(home_ground(adapter.original, worlds))
    return effects


def _is_large(worlds: Worlds, rows: Tensor) -> bool:
    return len(worlds.graph.x) > LARGE and len(rows) > MOST_ALONE


def _metrics(
    estimates: Mapping[str, Estimate],
    flips: Mapping[str, FlipRow],
    sensitivity: Sensitivity | None,
    notes: list[str],
) -> tuple[dict[str, float], dict[str, Interval]]:
    """All metrics that were measured and their intervals, in the order of `EVERY_METRIC`."""
    found = {key: (estimate.value, estimate.interval) for key, estimate in estimates.items()}
    for key, where in COUNTERFACTUAL.items():
        if where in flips:
            found[key] = (flips[where].rate, flips[where].interval)
        elif key != "delta_cf_released":
            found[key] = (math.nan, UNDEFINED)
    found |= {} if sensitivity is None else sensitivity.metrics()
    notes.extend(
        sentence(f"the interval of {EVERY_METRIC[key].label} is undefined")
        for key, (value, interval) in found.items()
        if not math.isnan(value) and not interval.defined
    )
    shown = [key for key in EVERY_METRIC if key in found]
    return {key: found[key][0] for key in shown}, {key: found[key][1] for key in shown}


def _setup(worlds: Worlds, people: int, flips: Mapping[str, FlipRow], level: float) -> Setup:
    alone = flips.get(COUNTERFACTUAL["delta_cf_self"])
    return Setup(
        dataset=worlds.graph.name,
        people=people,
        draws=worlds.draws,
        seed=worlds.seed,
        level=level,
        self_people=0 if alone is None else alone.people,
        causal_model=None if worlds.causal_model is None else worlds.causal_model.name,
        worlds=worlds.fingerprint,
        graph=worlds.graph.fingerprint(),
    )
