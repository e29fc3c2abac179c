"""The first screen: what was measured, on whom, and what to be careful about."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from fairgear.auditing import Audit
from fairgear.auditing.probes import UNSTABLE
from fairgear.graph.attributes import LEVELS
from fairgear.metrics import EVERY_METRIC, UNDEFINED, Interval, Metric
from fairgear.report.charts import Range, Scale, ranged, scale_over
from fairgear.report.numbers import between, count, group_name, measure, percent, plain
from fairgear.report.sections.verdict import verdict

# The names of worlds whose flips are averaged begin so, where there are not two groups.
WORLDS = ("group", "mixed", "quantile")
_ACCURATE = ("accuracy", "auroc")
_ACCURATE_NUMBERS = ("rmse", "r2_prediction")
# The first two of these that were measured.
_ALIKE = ("delta_cf", "delta_cf_max", "delta_cf_self")
_MEANING_BY_KIND = {
    "multiclass": {
        "auroc": "Chance that a person of a class scores above others for it, averaged over the "
        "classes.",
        "delta_eo": "Largest gap between groups in how often people of a class get that answer.",
        "delta_dp": "Largest gap between groups in how often an answer is given.",
    },
    "regression": {},
    "binary": {},
}
_MEANING = {
    "accuracy": "Share of people whose answer is right.",
    "auroc": "Chance that a person of class 1 scores above a person of class 0.",
    "f1": "Balance of finding class 1 and being right about it.",
    "delta_cf": "Share of people whose answer changes in a world with other sensitive attributes, "
    "and with everything that follows from them: features, links, surroundings.",
    "delta_cf_world": "The same in the one world in which most answers change.",
    "delta_cf_min": "The same under the credible causal model that finds the fewest changes.",
    "delta_cf_max": "The same under the credible causal model that finds the most changes.",
    "delta_cf_any": "Answers that change under at least one of the credible causal models.",
    "delta_cf_all": "Answers that change under every one of the credible causal models.",
    "delta_cf_released": "The same in the softened worlds of the paper's released code, where "
    "little except the sensitive column moves. Compare published numbers with this one.",
    "delta_cf_self": "Answers that change when only the person's own attribute is another.",
    "delta_cf_neighbor": "Answers that change when only other people's attributes are redrawn.",
    "delta_cf_both": "Answers that change when the person's own and other people's attributes do.",
    "delta_eo": "Gap between the groups in how often people of class 1 get answer 1.",
    "delta_dp": "Gap between the groups in how often people get answer 1.",
    "macro_f1": "The same balance, averaged over the classes.",
    "eo_ratio": "The least ratio of two groups in how often people of a class get that answer; 1 "
    "is alike.",
    "dp_ratio": "The least ratio of two groups in how often an answer is given; 1 is alike.",
    "mae": "How far predictions are from the numbers, on average, in their units.",
    "rmse": "The same with large errors weighing more: the root of the mean square.",
    "r2_prediction": "Share of the numbers' variance that the predictions explain.",
    "delta_mean": "Gap between the groups in the mean prediction, in standard deviations.",
    "delta_residual": "Gap between the groups in the mean error, in standard deviations.",
    "delta_cf_size": "Mean size of the change of the prediction in those worlds: in standard "
    "deviations for numbers, half the summed change of the probabilities for classes.",
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
    accurate = _ACCURATE_NUMBERS if audit.target.is_number else _ACCURATE
    shown = (*accurate, *alike)
    return Headline(
        answers=_answers(audit),
        cautions=_cautions(audit),
        facts=_facts(audit),
        accurate=tuple(card(audit, name) for name in accurate),
        alike=tuple(card(audit, name) for name in alike),
        others=tuple(card(audit, name) for name in audit.metrics if name not in shown),
    )


def card(audit: Audit, name: str) -> Card:
    """The card of one metric."""
    metric, value, ends = EVERY_METRIC[name], audit.metrics[name], audit.intervals[name]
    reference, text = _reference(audit, name)
    scale = Scale(max(metric.low, 0.0), metric.high, 1.0)
    if math.isinf(metric.high):
        scale = scale_over([(value, ends)])
    meaning = _MEANING_BY_KIND[audit.target.kind].get(name, _MEANING[name])
    if audit.names.number:
        meaning = meaning.replace("groups", f"ranges of {audit.names.number}")
    return Card(metric, meaning, value, ends, ranged(scale, value, ends, reference), text)


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
    most = audit.metrics.get("delta_cf_world", math.nan)
    if name == "delta_cf" and math.isfinite(most):
        return most, f"In the world with most changes: {measure(most)} ({_most_changes(audit)})."
    return None, ""


def _most_changes(audit: Audit) -> str:
    """The world in which most answers change, with the group's name or the number's value."""
    worlds = [row for row in audit.flips if row.intervention.startswith(WORLDS)]
    world = max(worlds, key=lambda row: row.rate).intervention
    if world == "mixed":
        return world
    if audit.names.number:
        value = dict(zip(LEVELS, audit.names.levels, strict=True))[float(world.split()[1])]
        return f"{world}: {audit.names.number} {plain(value)}"
    return group_name(int(world.split()[1]), audit.names)


def _placebo_rate(audit: Audit) -> float | None:
    """The flips that the softening alone causes."""
    return next((row.rate for row in audit.flips if row.protocol == "placebo"), None)


def _answers(audit: Audit) -> tuple[str, ...]:
    flips, own = (audit.metrics[k] for k in ("delta_cf", "delta_cf_self"))
    found = [_how_right(audit)]
    found.append(
        "Whether it treats them alike was not measured."
        if math.isnan(flips)
        else f"In worlds where everybody's {_set_to(audit)}, "
        f"{percent(flips)} of them would get another answer on average"
        f"{_ends(audit, 'delta_cf')}{_kept(audit)}."
    )
    if not math.isnan(own):
        found.append(
            f"If only their own attribute were different, {percent(own)} of the people sampled for "
            f"this would get another answer{_ends(audit, 'delta_cf_self')}."
        )
    return tuple(found)


def _set_to(audit: Audit) -> str:
    if audit.names.number:
        return f"{audit.names.number} is that of five quantiles in turn, or somebody else's"
    if audit.two_groups:
        return "sensitive attribute is set, to 0, to 1 or half and half"
    return "sensitive attribute is set, to each group in turn or evenly mixed"


def _kept(audit: Audit) -> str:
    return "" if audit.names.number else "; many keep their own attribute there"


def _how_right(audit: Audit) -> str:
    if audit.target.is_number:
        error = audit.metrics["mae"]
        if math.isnan(error):
            return "How far the model is off is not known."
        return f"The model is off by {plain(error)} on average{_ends(audit, 'mae', plain)}."
    accuracy = audit.metrics["accuracy"]
    if math.isnan(accuracy):
        return "How often the model is right is not known."
    return f"The model is right about {percent(accuracy)} of people{_ends(audit, 'accuracy')}."


def _ends(audit: Audit, name: str, written: Callable[[float], str] = percent) -> str:
    ends = audit.intervals[name]
    return f" ({between(ends, written)})" if ends.defined else ""


def _cautions(audit: Audit) -> tuple[str, ...]:
    warned = ("This was a quick run", "The scores have no column of ids")
    found = [note for note in audit.notes if note.startswith(warned)]
    if audit.probes is not None and audit.probes.unstable:
        found.append(UNSTABLE)
    if audit.causal_models is not None and audit.causal_models.depends:
        found.append(audit.causal_models.verdict)
    if audit.target.is_number and not audit.metrics["r2_prediction"] >= 0.05:
        found.append(
            f"Predictions explain {measure(audit.metrics['r2_prediction'])} of the variance, close "
            f"to the mean for everybody.{_no_merit(audit)}"
        )
    auroc = audit.metrics.get("auroc", math.nan)
    ends = audit.intervals.get("auroc", UNDEFINED)
    binary = audit.target.is_binary
    if auroc < 0.55:
        hardly = "ranks people of class 1 above others" if binary else "tells classes apart"
        found.append(
            f"AUROC is {measure(auroc)}, close to guessing: it hardly {hardly}.{_no_merit(audit)}"
        )
    elif ends.defined and ends.low <= 0.5:
        better = "ranks" if binary else "tells classes apart"
        found.append(
            f"AUROC is {measure(auroc)} ({between(ends)}): too few people to tell whether it "
            f"{better} better than chance."
        )
    if {group.selection_rate for group in audit.groups} in ({0.0}, {1.0}):
        found.append("Everybody gets the same answer: it tells nobody apart.")
    return (*found, *_protocol_cautions(audit))


def _no_merit(audit: Audit) -> str:
    """Of a model whose answers hardly change in other worlds."""
    alike = verdict(audit).level in ("unsure", "few", "none")
    return " That few of its answers change is no merit then." if alike else ""


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


def _unknown(audit: Audit) -> list[tuple[str, str]]:
    """How many of them did not tell their attribute, if any."""
    if audit.unknown is None:
        return []
    parts = (audit.unknown.everybody, audit.unknown.audited)
    shown = " and ".join(f"{count(one.unknown)} of {count(one.people)}" for one in parts)
    return [("attribute unknown, in the graph and audited", shown)]


def _facts(audit: Audit) -> tuple[tuple[str, str], ...]:
    """Who was audited, the graph that they are part of, and the settings that matter most."""
    setup, graph, config = audit.setup, audit.graph, audit.config
    kind = "range" if audit.names.number else "group"
    facts = [
        ("people audited", count(setup.people)),
        ("people in the graph", count(graph.nodes)),
        *_unknown(audit),
        ("links", count(graph.edges)),
        (f"links within a {kind}", count(graph.intra_group_edges)),
        (f"links between {kind}s", count(graph.inter_group_edges)),
        ("features", count(graph.features)),
    ]
    if audit.training is not None:
        facts.append(("trained on", count(graph.train)))
    if audit.names.number:
        facts += [("sensitive attribute", audit.names.number), ("ranges", count(len(audit.groups)))]
    elif audit.two_groups:
        facts.append(("sensitive attribute is 1", percent(graph.sensitive_rate)))
    else:
        facts.append(("groups", count(max(len(audit.names.groups), len(audit.groups)))))
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
        ("people whose own attribute is changed", count(setup.self_people)),
        ("seed", str(setup.seed)),
    ]
    if audit.target.is_binary:
        facts.append(("answer 1 where the score is above", plain(audit.model.threshold)))
    elif audit.target.is_number:
        facts.append(("standard deviation of the label", plain(audit.target.sd)))
    else:
        facts.append(("classes", ", ".join(audit.target.classes)))
    return tuple(facts)
