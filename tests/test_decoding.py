from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import pytest

from fairgear.decoding import DecodingError, from_json, typed
from fairgear.files import json_ready
from fairgear.metrics import Interval
from fairgear.settings import OneOf, Range


@dataclass(frozen=True)
class Inner:
    names: tuple[str, ...]
    ends: Interval


@dataclass(frozen=True)
class Outer:
    count: Annotated[int, Range(0, 10)]
    kind: Annotated[str, OneOf("a", "b")]
    share: float
    inner: Inner | None
    pairs: tuple[tuple[int, float], ...] = ()
    fill: float | str | None = None
    more: Mapping[str, list[bool]] | None = None
    anything: Any = None
    better: Literal["first", "second"] | None = None


WHOLE = Outer(
    3,
    "b",
    0.5,
    Inner(("x",), Interval(0.1, 0.2)),
    ((1, 2.0),),
    "x",
    {"k": [True]},
    {"a": [1]},
    "first",
)


def test_there_and_back() -> None:
    assert from_json(Outer, json_ready(WHOLE)) == WHOLE
    short = {"count": 0, "kind": "a", "share": None, "inner": None, "unknown": 1}
    found = from_json(Outer, short)
    assert math.isnan(found.share)
    assert found.pairs == ()
    assert typed(float, 3) == 3.0
    assert typed(int | float | str, 3) == 3
    assert math.isnan(typed(float | str, None))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"count": True}, "count is True, not int"),
        ({"count": 1.0}, "count is 1.0, not int"),
        ({"count": "1"}, "count is '1', not int"),
        ({"count": 11}, "count is a int, not 0 to 10"),
        ({"count": 10**400}, "count is a int"),
        ({"count": None}, "count is None"),
        ({"kind": "c"}, "kind is 'c', not a, b"),
        ({"share": "0.5"}, "share is '0.5', not a number"),
        ({"share": 10**400}, "share is"),
        ({"inner": []}, "inner is a list, not the fields of Inner"),
        ({"inner": {"names": "xy", "ends": [0, 1]}}, "inner.names is 'xy', not a list"),
        ({"inner": {"names": [["x"]], "ends": [0, 1]}}, "inner.names.0 is a list, not str"),
        ({"inner": {"names": [], "ends": [0]}}, "inner.ends is a list, not 2 values"),
        ({"inner": {"names": []}}, "inner.ends is missing"),
        ({"pairs": [[1]]}, "pairs.0 is a list, not 2 values"),
        ({"pairs": [[1, True]]}, "pairs.0.1 is True, not a number"),
        ({"fill": [1]}, "fill is a list, not float or str"),
        ({"more": {"k": [1]}}, "more.k.0 is a int, not bool"),
        ({"more": [1]}, "more is a list, not a mapping"),
        ({"better": "third"}, "better is 'third', not first, second"),
        ({"better": 1}, "better is a int, not str"),
    ],
)
def test_types_are_exact(change: dict[str, Any], said: str) -> None:
    with pytest.raises(DecodingError, match=said.replace("[", r"\[")):
        from_json(Outer, json_ready(WHOLE) | change)
