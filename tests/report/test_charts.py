from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairgear.report.charts import decades, line_chart, nice
from fairgear.report.numbers import measure, megabytes, percent, plain, seconds

_values = st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=20)


@given(values=_values, zero=st.booleans())
def test_nice_scales_hold_all_values_and_few_ticks(values: list[float], zero: bool) -> None:
    values = [abs(value) for value in values] if zero else values
    scale = nice(values, zero=zero)
    room = 1e-6 * (scale.high - scale.low)
    assert scale.low - room <= min(values)
    assert max(values) <= scale.high + room
    ticks = scale.ticks()
    assert 2 <= len(ticks) <= 8
    assert (ticks[0].at, ticks[-1].at) == (0.0, 100.0)


@given(values=st.lists(st.floats(1e-9, 1e9), min_size=1, max_size=20))
def test_decades_hold_all_values(values: list[float]) -> None:
    scale = decades(values)
    assert scale.low <= min(values) * (1 + 1e-9)
    assert max(values) <= scale.high * (1 + 1e-9)
    assert all(0 <= scale.at(value) <= 100 for value in values)
    assert 2 <= len(scale.ticks()) <= 8


def test_ticks_are_told_apart() -> None:
    for top in (0.0009, 0.02, 0.1, 1.0, 7.0, 2500.0):
        texts = [tick.text for tick in nice([0.0, top], zero=True).ticks()]
        assert len(set(texts)) == len(texts)


def test_a_gap_breaks_the_line() -> None:
    rows = [{"step": 1, "a": 1.0}, {"step": 2, "a": math.nan}, {"step": 3, "a": 2.0}]
    chart = line_chart("a", {"training": rows})
    assert chart is not None
    assert len(chart.lines[0].pieces) == 2
    assert line_chart("a", {"training": [{"step": 1, "a": math.nan}]}) is None


@pytest.mark.parametrize(
    ("got", "wanted"),
    [
        (measure(None), "undefined"),
        (measure(0.0), "0.000"),
        (measure(0.0004), "0.0004"),
        (measure(-0.25), "−0.250"),
        (percent(0.0123), "1.2 %"),
        (percent(0.0002), "0.02 %"),
        (plain(18876), "18,876"),
        (plain(None), "none"),
        (seconds(75.2), "1 min 15 s"),
        (seconds(7300.0), "2 h 1 min"),
        (megabytes(512.0), "512 MB"),
        (megabytes(2048.0), "2.0 GB"),
    ],
)
def test_numbers_as_people_read_them(got: str, wanted: str) -> None:
    assert got == wanted
