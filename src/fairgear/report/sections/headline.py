"""The first screen: what was measured, on whom, and what to be careful about."""

from __future__ import annotations

import math
from dataclasses import dataclass

from fairgear.auditing import Audit
from fairgear.auditing.probes import UNSTABLE
from fairgear.metrics import METRICS, Interval, Metric
from fairgear.report.charts import Range, Scale, ranged
from fairgear.report.numbers import between, count, measure, percent, plain

_ACCURATE = ("accuracy", "auroc")
# The first two of these that were measured.
_ALIKE = ("delta_cf", "delta_cf_max", "delta_cf_self")
_MEANING = {
    "accuracy": "Share of people whose answer is right.",
    "auroc": "Chance that a person of class 1 scores above a person of class 0.",
    "f1": "Balance of finding class 1 and being right about it.",
    "delta_cf": "Share of people whose answer changes in a world with other sensitive attributes, "
    "and with everything that follows from them: features, links, surroundings.",
    "delta_cf_min": "The same under the credible causal model that finds the fewest changes.",
    "delta_cf_max": "The same under the credible causal model that finds the most changes.",
    "delta_cf_any": "Answers that change under at least one of the credible causal models.",
    "delta_cf_all": "Answers that change under every one of the credible causal models.",
    "delta_cf_released": "The same in the softened worlds of the paper's released code, where "
    "little except the sensitive column moves. Compare published numbers with this one.",
    "delta_cf_self": "Answers that change when only the person's own attribute is flipped.",
    "delta_cf_neighbor": "Answers that change when only other people's attributes are redrawn.",
    "delta_cf_both": "Answers that change when the person's own and other people's attributes do.",
    "delta_eo": "Gap between the groups in how often people of class 1 get answer 1.",
    "delta_dp": "Gap between the groups in how often people get answer 1.",
    "r2": "How much of the answer the attributes of the surrounding people explain.",
}


@dataclass(frozen=True)
class Card:
    """One metric with its interval on the metric's range, and a reference to compare it with."""

    metric: Metric
    meaning: str
    value: float
    interval: Interval
    range: Range
    reference: str


@dataclass(frozen=True)
class Headline:
    """What a reader with one minute should learn."""

    answers: tuple[str, ...]
    cautions: tuple[str, ...]
    facts: tuple[tuple[str, str], ...]
    accurate: tuple[Card, ...]
    alike: tuple[Card, ...]
    others: tuple[Card, ...]


def headline(audit: Audit) -> Headline:
    """The first screen of an audit."""
    alike = [name for name in _ALIKE if name in audit.metrics][:2]
    shown = (*_ACCURATE, *alike)
    return Headline(
        answers=_answers(audit),
        cautions=_cautions(audit),
        facts=_facts(audit),
        accurate=tuple(card(audit, name) for name in _ACCURATE),
        alike=tuple(card(audit, name) for name in alike),
        others=tuple(card(audit, name) for name in audit.metrics if name not in shown),
    )


def card(audit: Audit, name: str) -> Card:
    """The card of one metric."""
    metric, value, ends = METRICS[name], audit.metrics[name], audit.intervals[name]
    reference, text = _reference(audit, name)
    scale = Scale(metric.low, metric.high, 1.0)
    return Card(metric, _MEANING[name], value, ends, ranged(scale, value, ends, reference), text)


def _reference(audit: Audit, name: str) -> tuple[float | None, str]:
    """A value to compare the metric with, and the same in words."""
    if name == "auroc":
        return 0.5, "Guessing: 0.5."
    if name == "delta_cf_max" and audit.causal_models is not None:
        found = audit.causal_models
        return found.least.rate, (
            f"From {measure(found.least.rate)} ({found.least.model}) to "
            f"{measure(found.largest.rate)} ({found.largest.model})."
        )
    positive = audit.graph.positive_rate
    if name == "accuracy" and math.isfinite(positive):
        same = max(positive, 1 - positive)
        return same, f"The commoner answer for everybody: {measure(same)}, on the whole graph."
    placebo = _placebo_rate(audit)
    if name == "delta_cf_released" and placebo is not None:
        return placebo, f"Placebo, with nobody's attribute changed: {measure(placebo)}."
    return None, ""


def _placebo_rate(audit: Audit) -> float | None:
    """The flips that the softening alone causes."""
    return next((row.rate for row in audit.flips if row.protocol == "placebo"), None)


def _answers(audit: Audit) -> tuple[str, ...]:
    accuracy, flips, own = (audit.metrics[k] for k in ("accuracy", "delta_cf", "delta_cf_self"))
    found = [
        "How often the model is right is not known."
        if math.isnan(accuracy)
        else f"The model is right about {percent(accuracy)} of people{_ends(audit, 'accuracy')}."
    ]
    found.append(
        "Whether it treats them alike was not measured."
        if math.isnan(flips)
        else "In worlds where everybody's sensitive attribute is set, to 0, to 1 or half and half, "
        f"{percent(flips)} of them would get another answer on average"
        f"{_ends(audit, 'delta_cf')}; many keep their own attribute there."
    )
    if not math.isnan(own):
        found.append(
            f"If only their own attribute were different, {percent(own)} of the people sampled for "
            f"this would get another answer{_ends(audit, 'delta_cf_self')}."
        )
    return tuple(found)


def _ends(audit: Audit, name: str) -> str:
    ends = audit.intervals[name]
    return f" ({between(ends, percent)})" if ends.defined else ""


def _cautions(audit: Audit) -> tuple[str, ...]:
    found = [note for note in audit.notes if note.startswith("This was a quick run")]
    if audit.probes is not None and audit.probes.unstable:
        found.append(UNSTABLE)
    if audit.causal_models is not None and audit.causal_models.depends:
        found.append(audit.causal_models.verdict)
    auroc, ends = audit.metrics["auroc"], audit.intervals["auroc"]
    if auroc < 0.55 or (ends.defined and ends.low <= 0.5):
        found.append(
            f"AUROC is {measure(auroc)}, close to guessing. A model that cannot tell people apart "
            "treats everybody alike and is useless: few flips are no merit here."
        )
    if {group.selection_rate for group in audit.groups} in ({0.0}, {1.0}):
        found.append("Everybody gets the same answer: that is perfectly alike, and useless.")
    return (*found, *_protocol_cautions(audit))


def _protocol_cautions(audit: Audit) -> list[str]:
    if "delta_cf_released" not in audit.metrics:
        return []
    both = ("delta_cf", "delta_cf_released")
    strict, released = (audit.metrics[name] for name in both)
    strict_ends, released_ends = (audit.intervals[name] for name in both)
    found = []
    if strict_ends.defined and released_ends.defined:
        if released_ends.high < strict_ends.low:
            found.append(
                f"Strict finds more flips ({measure(strict)}) than released ({measure(released)}): "
                "rely on strict, since in released little except the sensitive column moves."
            )
        elif strict_ends.high < released_ends.low:
            found.append(
                f"Released finds more flips ({measure(released)}) than strict ({measure(strict)}): "
                "in its worlds features follow the attribute only in part."
            )
    placebo = _placebo_rate(audit)
    # Where possibly nobody flips, there is nothing to blame on the softening.
    if released_ends.low > 0 and placebo and released and placebo >= released / 2:
        found.append(
            f"At least half of the released flips ({measure(released)}) come from the softening "
            f"itself: the placebo, in which no attribute changes, has {measure(placebo)}."
        )
    return found


def _facts(audit: Audit) -> tuple[tuple[str, str], ...]:
    """Who was audited, the graph that they are part of, and the settings that matter most."""
    setup, graph, config = audit.setup, audit.graph, audit.config
    facts = [
        ("people audited", count(setup.people)),
        ("people in the graph", count(graph.nodes)),
        ("links", count(graph.edges)),
        ("links within a group", count(graph.intra_group_edges)),
        ("links between groups", count(graph.inter_group_edges)),
        ("features", count(graph.features)),
    ]
    if audit.training is not None:
        facts.append(("trained on", count(graph.train)))
    facts.append(("sensitive attribute is 1", percent(graph.sensitive_rate)))
    if math.isfinite(graph.positive_rate):
        facts.append(("class 1", percent(graph.positive_rate)))
    chosen = [name for name in ("split", "graph_seed") if name in config]
    facts += [(name.replace("_", " "), plain(config[name])) for name in chosen]
    if setup.causal_model is not None:
        facts.append(("causal model", setup.causal_model))
        if audit.causal_models is not None and audit.causal_models.credible:
            facts.append(("credible causal models", count(audit.causal_models.credible)))
    facts += [
        ("draws of each random world", count(setup.draws)),
        ("people whose own attribute is flipped", count(setup.self_people)),
        ("seed", str(setup.seed)),
        ("answer 1 where the score is above", plain(audit.model.threshold)),
    ]
    return tuple(facts)
