"""What would change a verdict: another causal model, dose, completion, or more people."""

from __future__ import annotations

from collections.abc import Callable

from fairgear.auditing import Audit
from fairgear.auditing.family import FIXED, OWN
from fairgear.metrics import Interval
from fairgear.report.numbers import attribute_name, between, count, own_attribute, percent
from fairgear.report.sections.severity import LARGEST, SELF, deciding, judged


def would_change(audit: Audit) -> tuple[str, ...]:
    """What the verdict depends on, each with the figure that it would have."""
    parts: tuple[Callable[[Audit], str], ...] = (_models, _held_out, _dose, _unknown, _few_people)
    return tuple(filter(None, (part(audit) for part in parts)))


def _models(audit: Audit) -> str:
    models = audit.causal_models
    if models is None:
        return ""
    if not models.credible:
        return (
            "A causal model whose people a classifier cannot tell from real ones: none of those "
            "that were tried passes that test, so read all figures on other worlds with caution."
        )
    if models.least.rate == models.largest.rate:
        return "" if models.credible > 1 else "No other credible causal model was there to compare."
    return (
        f"Another causal model: {percent(models.least.rate)} of answers change under "
        f"{_model(models.least.model)}, {percent(models.largest.rate)} under "
        f"{_model(models.largest.model)}, when everybody’s value changes."
    )


def _model(name: str) -> str:
    if name == OWN:
        return "this audit’s own"
    return f"this audit’s own{FIXED}" if name == OWN + FIXED else f"“{name}”"


def _held_out(audit: Audit) -> str:
    models = audit.causal_models
    rows = [] if models is None else [r for r in models.rows if not r.part and r.error is None]
    trained, held = ([r for r in rows if r.trained is kind] for kind in (True, False))
    if not trained or not held:
        return ""
    worst = max(held, key=lambda row: row.rate)
    return (
        "It was trained to answer alike under some of these models; of those held out, "
        f"{_model(worst.model)} finds most changes, {percent(worst.rate)}."
    )


def _dose(audit: Audit) -> str:
    if audit.dose is None or len(audit.dose.points) < 2:
        return ""
    points, name = audit.dose.points, attribute_name(audit.names)
    none = points[0]
    if len({percent(point.rate) for point in points}) == 1:
        return ""
    middle = min(points, key=lambda point: abs(point.share - 0.5))
    return (
        f"How much {name} causes: if it caused half of the difference between "
        f"{'people' if audit.names.number else 'the groups'}, {percent(middle.rate)} would change; "
        f"if nothing but its own column, {percent(none.rate)}."
    )


def _unknown(audit: Audit) -> str:
    if audit.unknown is None or not audit.unknown.audited.unknown:
        return ""
    one = audit.unknown.audited
    return (
        f"Who the {count(one.unknown)} of {count(one.people)} audited people are of whom "
        f"{attribute_name(audit.names)} is unknown: it was guessed."
    )


def _few_people(audit: Audit) -> str:
    """The interval of the figure that decides, where the verdict would be another at its ends."""
    figures = deciding(audit)
    level, key = judged(audit, figures)
    ends = figures[key][1]
    if level == "unknown" or not ends.defined:
        return ""
    at = [judged(audit, {**figures, key: (end, Interval(end, end))})[0] for end in ends]
    if at == [level, level]:
        return ""
    own = key == SELF
    people = audit.setup.self_people if own else audit.setup.people
    whose = own_attribute(audit.names, "a person’s own" if own else "everybody’s")
    most = "largest " if key == LARGEST else ""
    return (
        f"More people: with {count(people)} asked, the {most}share that changes with {whose} could "
        f"be anywhere from {between(ends, percent)}."
    )
