"""docs/guides/groups.md: its code runs, and says what it prints."""

from __future__ import annotations

from typing import Any

import pytest

from fairgear.auditing.groups import SMALL_SHARE
from fairgear.metrics.score_curves import BINS, MOST_POINTS, PARTS
from fairgear.report.sections.group_curves import FEWEST
from tests.docs.pages import ROOT, Block

PAGE = ROOT / "docs" / "guides" / "groups.md"


def test_every_block_prints_what_stands_below_it(blocks: list[Block]) -> None:
    assert len(blocks) == 2
    for block in blocks:
        assert block.as_shown(), block.printed


def test_the_groups_are_those_of_two_columns(blocks: list[Block], names: dict[str, Any]) -> None:
    audit = names["audit"]
    assert [one.name for one in audit.names.attributes] == ["owner", "sex"]
    assert sum(one.count for one in audit.groups) == 400


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (100 * SMALL_SHARE, "groups that have {:g} % of the people or more"),
        (PARTS, "in {} equal parts"),
        (MOST_POINTS, "no more than {} points"),
        ({10: "ten"}[BINS], "up to {} parts of equal size"),
        ({10: "ten"}[FEWEST], "fewer than {} people have no charts"),
    ],
)
def test_its_numbers_are_those_of_the_code(number: float | str, words: str) -> None:
    text = " ".join(PAGE.read_text(encoding="utf-8").split())
    assert words.format(number) in text
