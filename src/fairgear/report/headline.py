"""The first screen of a run: what was measured, on whom, and what to be careful about."""

from __future__ import annotations

from dataclasses import dataclass

from fairgear.report.cards import ACCURATE, ALIKE, Card, card, placebo_rate
from fairgear.report.numbers import UNDEFINED, count, measure, percent, percents_between, plain
from fairgear.report.parts import Part, interval, mapping, number, rows


@dataclass(frozen=True)
class Headline:
    """What a reader with one minute takes away."""

    dataset: str
    model: str
    people: str
    answers: tuple[str, ...]
    cautions: tuple[str, ...]
    facts: tuple[tuple[str, str], ...]
    accurate: tuple[Card, ...]
    alike: tuple[Card, ...]


def headline(run: Part) -> Headline:
    """The first screen of a run."""
    config = mapping(run, "config")
    return Headline(
        dataset=str(config.get("dataset") or "unnamed data"),
        model=str(config.get("method") or "unnamed method"),
        people="" if people(run) is None else count(people(run)),
        answers=_answers(run),
        cautions=_cautions(run),
        facts=measured_on(run, counts=(*GRAPH_COUNTS, _TRAINED), settings=_SETTINGS),
        accurate=tuple(card(run, name) for name in ACCURATE),
        alike=tuple(card(run, name) for name in ALIKE),
    )


def people(run: Part) -> float | None:
    """How many people were evaluated, from whichever part says so."""
    details = mapping(run, "details")
    flips = [number(row, "people") for row in rows(details, "flips")]
    known = [value for value in flips if value is not None]
    if known:
        return max(known)
    counts = [number(row, "count") for row in rows(details, "groups")]
    groups = [value for value in counts if value is not None]
    return sum(groups) if groups else number(mapping(details, "graph"), "test")


def _value(run: Part, name: str) -> tuple[float | None, tuple[float, float] | None]:
    return number(mapping(run, "metrics"), name), interval(mapping(run, "intervals").get(name))


def _answers(run: Part) -> tuple[str, ...]:
    accuracy, right = _value(run, "accuracy")
    flips, alike = _value(run, "delta_cf")
    first = (
        "How often the model is right is not known."
        if accuracy is None
        else f"The model is right about {percent(accuracy)} of people{_sure(right)}."
    )
    second = (
        "Whether it treats them alike was not measured."
        if flips is None
        else "In worlds where everybody's sensitive attribute is set, to 0, to 1 or half and half, "
        f"{percent(flips)} of them would get another answer on average{_sure(alike)}; many keep "
        "their own attribute there."
    )
    own, sure = _value(run, "delta_cf_self")
    if own is None:
        return first, second
    third = (
        f"Had only their own attribute been the other, {percent(own)} of those asked about would "
        f"get another answer{_sure(sure)}."
    )
    return first, second, third


def _sure(ends: tuple[float, float] | None) -> str:
    return "" if ends is None else f" ({percents_between(ends)})"


def _cautions(run: Part) -> tuple[str, ...]:
    found = []
    auroc, sure = _value(run, "auroc")
    if auroc is not None and (auroc < 0.55 or (sure is not None and sure[0] <= 0.5)):
        found.append(
            f"AUROC is {measure(auroc)}, close to guessing. A model that tells nobody apart treats "
            "everybody alike, and is of no use: few flips say nothing good about this one."
        )
    groups = rows(mapping(run, "details"), "groups")
    rates = {number(row, "selection_rate") for row in groups}
    if rates == {0.0} or rates == {1.0}:
        found.append("Everybody gets the same answer: that is perfectly alike, and useless.")
    return (*found, *_protocol_cautions(run))


def _protocol_cautions(run: Part) -> list[str]:
    strict, strict_sure = _value(run, "delta_cf")
    released, released_sure = _value(run, "delta_cf_released")
    found = []
    if strict_sure and released_sure and strict is not None and released is not None:
        if released_sure[1] < strict_sure[0]:
            found.append(
                f"Strict finds more flips ({measure(strict)}) than released ({measure(released)}): "
                "go by strict, since in released little but the sensitive column moves."
            )
        elif strict_sure[1] < released_sure[0]:
            found.append(
                f"Released finds more flips ({measure(released)}) than strict ({measure(strict)}): "
                "the model takes back the whole effect of the attribute, of which released makes "
                "only a part."
            )
    placebo = placebo_rate(run)
    # Where nobody need flip at all there is nothing to blame on the softening.
    some = released_sure is not None and released_sure[0] > 0
    if some and placebo and released and placebo >= released / 2:
        found.append(
            f"At least half of the released flips ({measure(released)}) come from the softening "
            f"itself: the placebo, in which no attribute changes, has {measure(placebo)}."
        )
    return found


Names = tuple[tuple[str, str], ...]
"""Words for people, each with the key that it stands for."""


def measured_on(run: Part, *, counts: Names, settings: Names) -> tuple[tuple[str, str], ...]:
    """Who was evaluated, the graph that they are part of, and the settings that matter most."""
    config = mapping(run, "config")
    graph = mapping(mapping(run, "details"), "graph")
    facts = [("people evaluated", count(people(run)))]
    facts += [(name, count(graph[key])) for name, key in counts if key in graph]
    facts += [(name, percent(number(graph, key))) for name, key in _SHARES if key in graph]
    facts += [(name, plain(config[key])) for name, key in settings if config.get(key) is not None]
    return tuple((name, value) for name, value in facts if value != UNDEFINED)


GRAPH_COUNTS = (
    ("people in the graph", "nodes"),
    ("links", "edges"),
    ("links within a group", "intra_group_edges"),
    ("links between groups", "inter_group_edges"),
    ("features", "features"),
)
_TRAINED = ("trained on", "train")
_SHARES = (("sensitive attribute is 1", "sensitive_rate"), ("class 1", "positive_rate"))
_SETTINGS = (("split", "split"), ("seed", "seed"), ("graph seed", "graph_seed"))
