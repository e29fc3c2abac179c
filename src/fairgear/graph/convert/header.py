"""Whether the first line of an edge list names its columns, or is an edge to nobody."""

from __future__ import annotations

import re
from collections.abc import Sequence

from fairgear.graph.convert.identity import Identity

_USUAL = re.compile(
    r"(source|target|from|to|src|dst|dest|destination|u|v|start|end|head|tail|sender|receiver"
    r"|follower|followee|user|friend|node|person|id)([ _.-]?(id|node|name|user|person))?",
    re.IGNORECASE,
)


def are_names(first: Sequence[str], people: Identity, *, known: bool) -> bool:
    """Whether two texts, both nobody's ids, are names of columns.

    Usual names are. Others are if ids do not look like them, and a line below joins people: an
    edge whose ends were both mistyped must not get lost.

    Args:
        first: the texts of the first line.
        people: whose ids the list should hold.
        known: whether some other line joins people of the table.
    """
    if all(_USUAL.fullmatch(text) for text in first):
        return True
    if not known or any(_numeric(text) for text in first):
        return False
    ids = {"0"} if people.names is None else {_shape(name) for name in people.names}
    return not any(_shape(text) in ids for text in first)


def _shape(text: str) -> str:
    """What a text looks like: P0042 and q7 are a letter and a number both."""
    return re.sub(r"[0-9]+", "0", re.sub(r"[^\W\d_]+", "a", text))


def _numeric(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
