"""Text from outside on its way to the page."""

from __future__ import annotations

import unicodedata

from hypothesis import given
from hypothesis import strategies as st
from markupsafe import Markup

from fairgear.report.text import on_page, visible


def test_direction_marks_and_controls_are_written_out() -> None:
    assert visible("a\u202eb\x1b[0m\u2066c") == "a‹U+202E›b‹U+001B›[0m‹U+2066›c"
    assert visible("two\nlines\tand 👩\u200d🔬") == "two\nlines\tand 👩\u200d🔬"


@given(st.text())
def test_nothing_hidden_is_left_and_the_rest_stays(text: str) -> None:
    shown = visible(text)
    kept = {"\n", "\t", "\u200c", "\u200d"}
    assert not {unicodedata.category(one) for one in set(shown) - kept} & {"Cc", "Cf", "Cs", "Co"}
    if text.isprintable():
        assert shown == text


def test_figures_keep_their_signs() -> None:
    assert on_page("from 5 % to 7.1 % of a % b") == "from 5\u00a0% to 7.1\u00a0% of a % b"
    assert on_page(Markup("5 %")) == "5 %"
    assert on_page(5) == 5
