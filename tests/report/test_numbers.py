"""Numbers and names as people read them."""

from __future__ import annotations

import pytest

from fairgear.auditing.names import Names
from fairgear.graph.attributes import Attribute
from fairgear.report.numbers import group_words

SEX, RACE = Attribute("sex", ("1", "2")), Attribute("race", ("white", "7"))


@pytest.mark.parametrize(
    ("names", "words"),
    [
        (Names(("female", "male"), attribute="sex"), "male"),
        (Names(("1", "2"), attribute="sex"), "sex 2"),
        (Names(("1.5", "-2.5"), attribute="dose"), "dose -2.5"),
        (Names(("1", "2")), "sensitive attribute 2"),
        (Names(("grade 1", "grade 2"), attribute="school"), "grade 2"),
        (Names(("18 to 27", "28 to 40"), number="age"), "age 28 to 40"),
        (Names((), attribute="sex"), "sex 1"),
        (
            Names(
                ("white, 1", "7, 2"),
                attribute="race, sex",
                attributes=(RACE, SEX),
                cells=((0, 0), (1, 1)),
            ),
            "race 7, sex 2",
        ),
        (
            Names((), attribute="race, sex", attributes=(RACE, SEX), cells=((0, 0), (0, 1))),
            "white, sex 2",
        ),
    ],
)
def test_a_group_is_never_a_number_alone(names: Names, words: str) -> None:
    assert group_words(1, names) == words
