"""What a model was seen to look at, in words."""

from __future__ import annotations

from fairgear.report.parts import Part

_ASKED = {
    ("sens", False): "It does not look at the sensitive column: its scores are the same whatever "
    "everybody's attribute is.",
    ("sens", True): "It looks at the sensitive column: scores change when nothing but that does.",
    ("graph", False): "It does not look at the graph: its scores are the same with every edge "
    "taken away.",
    ("graph", True): "It looks at the graph: scores change when every edge is taken away.",
    ("repeats", True): "Asked twice, it gives the same scores.",
}
UNSTEADY = (
    "It gives other scores when it is asked twice about the same graph, so that some flips are "
    "its own noise: fix its seed, switch its dropout off, or see what state it keeps."
)


def seen(sight: Part) -> tuple[str, ...]:
    """What the model looks at and what it does not, as far as it could be asked."""
    return tuple(words for (key, value), words in _ASKED.items() if sight.get(key) is value)


def cautions(sight: Part) -> tuple[str, ...]:
    """What a reader of the numbers must know: what it is blind to, and that it wavers."""
    blind = [
        words
        for (key, value), words in _ASKED.items()
        if value is False and sight.get(key) is False
    ]
    return (*blind, *((UNSTEADY,) if sight.get("repeats") is False else ()))
