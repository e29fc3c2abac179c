"""The section on people whose attribute is unknown, on the page and in the model card."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from fairgear.auditing import Audit
from fairgear.auditing.unknown import Part, UnknownPeople
from fairgear.graph.unknown import Guessing
from fairgear.metrics import Interval
from fairgear.metrics.gap_bounds import GapBounds
from fairgear.report import model_card
from fairgear.report.page import render_page
from fairgear.report.sections.unknown import unknown_section
from tests.report.example import example
from tests.report.markup import Markup

UNKNOWN = UnknownPeople(
    parts=(Part("everybody", 2000, 812), Part("test", 500, 203), Part("audited", 500, 203)),
    completions=5,
    guessing=Guessing(0.713, 0.598, 0.021),
    ranges={"delta_dp": Interval(0.055, 0.081), "delta_cf": Interval(0.004, 0.009)},
    bounds={
        "delta_dp": GapBounds(0.0123, 0.4321, True),
        "delta_eo": GapBounds(math.nan, math.nan, False),
    },
)


def shown(unknown: UnknownPeople = UNKNOWN) -> Audit:
    audit = example()
    return replace(audit, unknown=unknown, notes=(unknown.summary, *audit.notes))


def test_every_number_is_on_the_page_and_in_the_card() -> None:
    audit = shown()
    page, card = Markup(render_page(audit)), model_card(audit)
    assert "unknown" in page.values("id")
    for text in (" ".join(page.text.split()), card.replace("\\", "")):
        for number in ("812", "203", "71.3 %", "59.8 %", "2.1 %", "0.055 to 0.081", "0.432"):
            assert number in text
        assert text.count(UNKNOWN.summary) == 1
        assert "812 of 2,000 and 203 of 500" in text


def test_without_such_people_there_is_no_section() -> None:
    assert "unknown" not in Markup(render_page(example())).values("id")
    assert "attribute is unknown" not in model_card(example())


def test_ends_that_may_not_come_about_are_called_so() -> None:
    bounds = {"delta_dp": GapBounds(0.01, 0.4, False)}
    (dp, cf) = unknown_section(shown(), replace(UNKNOWN, bounds=bounds)).rows
    assert dp.bounds == "at least 0.010 to 0.400"
    assert cf.bounds == ""


@pytest.mark.parametrize("completions", [1, 5])
def test_the_summary_says_what_figures_are(completions: int) -> None:
    text = replace(UNKNOWN, completions=completions).summary
    assert text.startswith("The sensitive attribute of 812 of 2,000 people, 203 of the 500 audited")
    assert ("one guess" in text) == (completions == 1)


def test_a_number_has_neither_groups_nor_bounds() -> None:
    number = replace(UNKNOWN, guessing=Guessing(0.4, 0.0, math.nan), bounds={})
    section = unknown_section(shown(), number)
    assert "explain 40.0 %" in section.sentences[1]
    assert len(section.legend) == 1
