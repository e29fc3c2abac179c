"""What a model card says of the data: assumptions, and the questions of an act and a standard.

Regulation (EU) 2024/1689, Article 10(2)(a) to (h), asks eight things about the data sets of
high-risk systems; ISO/IEC TR 24027:2021 names sources, measures and treatment of bias. The audit
answers what it knows. The rest is left open, and nothing here says that a system conforms.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from fairgear.auditing import Audit, GroupSummary
from fairgear.auditing.groups import SMALL_SHARE, large_groups
from fairgear.metrics import UNDEFINED
from fairgear.report.markdown import bullets, line, table
from fairgear.report.numbers import (
    answer_words,
    attribute_name,
    between,
    count,
    measure,
    percent,
    plain,
)
from fairgear.report.sections.groups import name_of

_OPEN = "To be filled in"


def assumptions(audit: Audit) -> list[str]:
    """What the figures rest on."""
    label = f"“{audit.names.label}”" if audit.names.label else "what is predicted"
    attribute = attribute_name(audit.names)
    return [
        "### Assumptions",
        bullets(
            [
                f"The label ({label}) is taken as recorded. Figures on right answers and errors "
                "are agreement with it; where it carries past decisions, so do they.",
                f"The attribute ({attribute}) is taken as recorded, in the groups of the data.",
                _causal(audit),
                "The people: those audited stand for the people whom the model will meet; "
                "intervals are about other people like them, in communities that are linked.",
                *_selected(audit),
            ]
        ),
    ]


def _causal(audit: Audit) -> str:
    model, models = audit.setup.causal_model, audit.causal_models
    if model is None:
        return "No causal model: nothing is said about what would change with the attribute."
    tried = ""
    if models is not None:
        tried = f" {models.credible} of the causal models that were tried pass as credible."
    return (
        f"The causal model: “{model}” says what would follow from another value of the attribute. "
        f"It cannot be tested in full on data.{tried}"
    )


def _selected(audit: Audit) -> list[str]:
    if not audit.target.is_binary:
        return []
    return [f"The answer: {answer_words(1, audit.names)} counts as being selected."]


def data_governance(audit: Audit) -> list[str]:
    """The questions of Article 10(2), with what the audit knows and what it does not."""
    rows = [
        ("(a)", "Design choices", _design(audit), f"{_OPEN}: why these choices."),
        (
            "(b)",
            "Collection and origin, and the purpose that personal data were collected for",
            _origin(audit),
            f"{_OPEN}: who collected the data, when, where, how and for what.",
        ),
        (
            "(c)",
            "Preparation, such as labelling, cleaning and aggregation",
            _preparation(audit),
            f"{_OPEN}: how labels were made, and what was changed or left out.",
        ),
        (
            "(d)",
            "Assumptions about what the data measure and represent",
            "See “Assumptions” above.",
            f"{_OPEN}: whether label, attribute and links mean what they are used for.",
        ),
        (
            "(e)",
            "Availability, quantity and suitability",
            _quantity(audit),
            f"{_OPEN}: whether these people suffice for the intended use.",
        ),
        (
            "(f)",
            "Examination for biases that harm people or discriminate, feedback loops among them",
            _examined(audit),
            f"{_OPEN}: effects on health, safety and fundamental rights, and whether answers "
            "become later data.",
        ),
        (
            "(g)",
            "Measures to detect, prevent and mitigate them",
            "This audit detects. It changes nothing in the model.",
            f"{_OPEN}: what was done about what was found, and what it changed.",
        ),
        (
            "(h)",
            "Gaps and shortcomings, and how they can be addressed",
            _gaps(audit),
            f"{_OPEN}: what is missing for the intended use, and what will be done.",
        ),
    ]
    return [
        "### Data governance (Regulation (EU) 2024/1689, Article 10(2)(a)–(h))",
        line(
            "The article asks this of the data sets of high-risk systems. What the audit knows "
            "is filled in; it is no statement that the system conforms."
        ),
        table(("point", "asked", "known from this audit", "open"), rows, words=4),
    ]


def _design(audit: Audit) -> str:
    found = [f"{audit.model.name} ({audit.model.kind})."]
    if audit.target.is_binary:
        threshold = plain(audit.model.threshold)
        found.append(f"{answer_words(1, audit.names)} is given above a score of {threshold}.")
    if audit.probes is not None:
        found += audit.probes.findings()
    return " ".join(found)


def _origin(audit: Audit) -> str:
    hashed = "" if audit.provenance is None else " Its hash stands at the end of this section."
    return f"Read from {audit.setup.dataset}.{hashed}"


def _preparation(audit: Audit) -> str:
    graph = audit.graph
    parts = [f"{count(graph.features)} features and {count(graph.edges)} links."]
    if graph.train:
        parts.append(
            f"{count(graph.train)} people to train, {count(graph.val)} to validate and "
            f"{count(graph.test)} to test."
        )
    return " ".join(parts)


def _quantity(audit: Audit) -> str:
    graph, kind = audit.graph, "range" if audit.names.number else "group"
    found = (
        f"{count(graph.nodes)} people, {count(graph.labelled)} with a known label; "
        f"{count(audit.setup.people)} audited"
    )
    present = [one for one in audit.groups if one.count]
    if not present:
        return f"{found}."
    least = min(present, key=lambda one: one.count)
    return f"{found}, {count(least.count)} of the smallest {kind}, {name_of(least, audit)}."


def _examined(audit: Audit) -> str:
    found = []
    for key, label in (("delta_cf_self", "own attribute"), ("delta_cf", "everybody’s attribute")):
        value = audit.metrics.get(key, math.nan)
        if not math.isnan(value):
            ends = between(audit.intervals[key], percent)
            found.append(f"{percent(value)} of answers change with {label} ({ends}).")
    if not found:
        found.append("What would change with the attribute was not measured.")
    lowest = _lowest_ratio(audit)
    return " ".join([*found, *([lowest] if lowest else []), "See the tables by group."])


def _lowest_ratio(audit: Audit) -> str:
    large = large_groups(audit.groups)
    rated = [one for one in large if not math.isnan(one.impact_ratio)]
    if not rated:
        return ""
    least = min(rated, key=lambda one: one.impact_ratio)
    ends = between(least.intervals.get("impact_ratio", UNDEFINED))
    whole = len(large) == sum(one.count > 0 for one in audit.groups)
    kind = "ranges" if audit.names.number else "groups"
    others = "" if whole else f" Smaller {kind} are in the table."
    if least.impact_ratio == 1:
        return f"All {'' if whole else 'larger '}{kind} have the same selection rate.{others}"
    return (
        f"The lowest impact ratio is {measure(least.impact_ratio)} ({ends}), of "
        f"{name_of(least, audit)}, {count(least.selected)} of {count(least.count)} "
        f"selected.{others}"
    )


def _gaps(audit: Audit) -> str:
    graph, total = audit.graph, audit.setup.people
    found = []
    if graph.labelled < graph.nodes:
        found.append(f"no label is known of {count(graph.nodes - graph.labelled)} people")
    if audit.unknown is not None:
        unknown = count(audit.unknown.everybody.unknown)
        found.append(f"the attribute is unknown of {unknown}")
    if graph.isolated:
        found.append(f"{count(graph.isolated)} have no link")
    small = [name_of(one, audit) for one in audit.groups if one.count < SMALL_SHARE * total]
    if small:
        share = f"less than {100 * SMALL_SHARE:g} % of the audited each"
        found.append(f"{share}: {', '.join(f'“{name}”' for name in small)}")
    said = "; ".join(found)
    return f"{said[0].upper()}{said[1:]}." if said else "The counts show no gap."


def bias_terms(audit: Audit) -> list[str]:
    """The terms of ISO/IEC TR 24027 with their figures, and what cannot be known here."""
    sources = [
        ("Human cognitive bias", "Not known from data.", f"{_OPEN}: who decided what, and how."),
        (
            "Data bias",
            f"{_quantity(audit)} Labels are taken as recorded.",
            f"{_OPEN}: who is missing, and how labels and features came about.",
        ),
        (
            "Bias from engineering decisions",
            _design(audit),
            f"{_OPEN}: features, proxies and thresholds that were considered.",
        ),
        ("Treatment", "This audit treats nothing.", f"{_OPEN}: what was done, at which stage."),
    ]
    measures = (
        _measures(audit)
        if audit.target.is_binary
        else [("Gaps between groups", "See “Measures” and “By group”.")]
    )
    return [
        "### Bias in the terms of ISO/IEC TR 24027:2021",
        table(("measure", "here"), measures, words=2),
        table(("source or treatment", "known from this audit", "open"), sources, words=3),
    ]


def _measures(audit: Audit) -> list[tuple[str, str]]:
    parity, right, wrong = (
        _gap(large_groups(audit.groups), key)
        for key in ("selection_rate", "true_positive_rate", "false_positive_rate")
    )
    lowest = _lowest_ratio(audit)
    return [
        ("Demographic parity", f"Selection rates differ by up to {parity}. {lowest}".strip()),
        ("Equality of opportunity", f"True positive rates differ by up to {right}."),
        ("Predictive equality", f"False positive rates differ by up to {wrong}."),
        ("Equalized odds", f"Both of these: {right} and {wrong}."),
        ("Confusion matrix", "By group, as rates with intervals, under “By group”."),
    ]


def _gap(groups: Sequence[GroupSummary], key: str) -> str:
    known = [one.value(key) for one in groups if not math.isnan(one.value(key))]
    return measure(max(known) - min(known) if len(known) > 1 else math.nan)
