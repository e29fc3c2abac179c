"""Interventions in the words of the data."""

from __future__ import annotations

import pytest

from fairgear.auditing.names import Names
from fairgear.graph.attributes import LEVELS
from fairgear.report.world_words import world_words

SEX = Names(("female", "male"), attribute="sex")
AGE = Names(("18 to 27", "28 to 40"), number="age", levels=(20.0, 30.0, 40.0, 50.0, 60.5))


@pytest.mark.parametrize(
    ("intervention", "names", "two", "words"),
    [
        ("rate 0", SEX, True, "everybody female"),
        ("rate 1", SEX, True, "everybody male"),
        ("all 1", SEX, True, "everybody male"),
        ("rate 0.5", SEX, True, "half female and half male"),
        ("half", SEX, True, "half female and half male"),
        ("rate 1", Names(), True, "everybody in group 1"),
        ("self", SEX, True, "their own sex"),
        ("self", Names(), True, "their own sensitive attribute"),
        ("neighbours", SEX, True, "other people’s sex"),
        ("both", Names(attribute="race, sex"), False, "their own and others’ race and sex"),
        ("group 1", SEX, False, "everybody male"),
        ("mixed", SEX, False, "evenly mixed"),
        (f"quantile {LEVELS[-1]:g}", AGE, False, "everybody’s age 60.5"),
        ("mixed", AGE, False, "values change hands"),
        ("average over rates", SEX, True, "average over these worlds"),
        ("unchanged", SEX, True, "nobody’s"),
        ("something new", SEX, True, "something new"),
    ],
)
def test_words(intervention: str, names: Names, two: bool, words: str) -> None:
    assert world_words(intervention, names, two_groups=two) == words
