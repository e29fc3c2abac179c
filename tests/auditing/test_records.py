"""Numbers and intervals through JSON and back."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass

import pytest

from fairgear.auditing.records import from_json
from fairgear.files import json_ready
from fairgear.metrics import UNDEFINED, Interval


@dataclass(frozen=True)
class Row:
    value: float
    ends: Interval


def test_an_undefined_number_is_null_and_an_interval_a_pair() -> None:
    assert [json_ready(v) for v in (math.nan, math.inf, 0.5)] == [None, None, 0.5]
    assert json.dumps(json_ready(UNDEFINED)) == "[null, null]"
    row = Row(0.5, Interval(0.1, 0.3))
    assert json_ready(row) == {"value": 0.5, "ends": [0.1, 0.3]}
    assert from_json(Row, json_ready(row)) == row
    nothing = from_json(Row, {"value": None, "ends": [None, None]})
    assert math.isnan(nothing.value)
    assert not nothing.ends.defined
    with pytest.raises(ValueError, match="2 values"):
        from_json(Row, {"value": 0.5, "ends": [0.1]})


@dataclass(frozen=True)
class Known:
    label: int | float
    name: str | None


def test_a_missing_number_is_undefined_and_a_missing_name_none() -> None:
    assert from_json(Known, {"label": 3, "name": "b"}) == Known(3, "b")
    found = from_json(Known, json_ready(Known(math.nan, None)))
    assert math.isnan(found.label)
    assert found.name is None
