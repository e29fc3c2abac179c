"""Interventions in the words of the data: whose attribute is set in a world, and to what."""

from __future__ import annotations

from fairgear.auditing.effects import AVERAGE
from fairgear.auditing.names import Names
from fairgear.graph.attributes import LEVELS
from fairgear.report.numbers import group_words, own_attribute, plain


def world_words(intervention: str, names: Names, *, two_groups: bool) -> str:
    """What an intervention is called: "everybody female", "their own sex".

    Args:
        intervention: as the table of flips, or the diagnostics of a causal model, has it.
        names: what the data call things.
        two_groups: whether the attribute has two groups, which rates refer to.
    """
    kind, _, which = intervention.partition(" ")
    if intervention == AVERAGE:
        return "average over these worlds"
    if kind == "quantile" and names.levels:
        value = dict(zip(LEVELS, names.levels, strict=True))[float(which)]
        return f"everybody’s {names.number} {plain(value)}"
    if two_groups and intervention in ("rate 0.5", "half"):
        return " and ".join(f"half {_in_group(group, names)}" for group in (0, 1))
    if kind in ("rate", "group", "all") and which.isdigit():
        return f"everybody {_in_group(int(which), names)}"
    fixed = {
        "mixed": "values change hands" if names.number else "evenly mixed",
        "between worlds": "between two such worlds",
        "self": own_attribute(names, "their own"),
        "neighbours": own_attribute(names, "other people’s"),
        "both": own_attribute(names, "their own and others’"),
        "unchanged": "nobody’s",
    }
    return fixed.get(intervention, intervention)


def _in_group(group: int, names: Names) -> str:
    known = group < len(names.groups)
    return group_words(group, names) if known else f"in group {group}"
