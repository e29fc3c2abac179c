"""docs/start/tutorial.md: its code runs from top to bottom, and prints what the page says."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from tests.docs.pages import ROOT, Block, alike, prose_numbers

PAGE = ROOT / "docs" / "start" / "tutorial.md"


# One test, so that no second process runs the page again.
def test_it_prints_says_and_saves_what_stands_on_it(
    blocks: list[Block], folder: Path, names: dict[str, Any]
) -> None:
    assert len(blocks) == 12
    for block in blocks:
        assert block.as_shown(), block.printed

    printed = "".join(block.printed for block in blocks)
    told = prose_numbers(PAGE)
    assert len(told) > 5
    # Those on the page are checked against the run above; here, text against outputs.
    assert told <= set(re.findall(r"\d+\.\d+", "".join(block.shown for block in blocks)))
    assert "400 to test on" in printed

    page = (folder / "audit.html").read_text(encoding="utf-8")
    assert "Sage" in page
    assert "Sage" in (folder / "model-card.md").read_text(encoding="utf-8")
    assert names["unaware"].probes.sens is False
    assert names["audit"].probes.repeats is True

    trained = [block.code for block in blocks if block.trained]
    assert trained[0].startswith("gear = fg.Gear(")
    assert 2 <= len(trained) < len(blocks) / 2


@pytest.mark.parametrize(
    ("printed", "same"),
    [
        ("delta_cf  0.090 all 400", True),
        ("delta_cf 0.0905 all 400", True),
        ("delta_cf 0.096 all 400", False),
        ("delta_cf -0.090 all 400", False),
        ("delta_cf 0.090 all 401", False),
        ("delta_cf 0.090 0.090 all 400", False),
        ("", False),
    ],
)
def test_an_output_that_says_something_else_is_noticed(printed: str, same: bool) -> None:
    assert alike("delta_cf 0.090 all 400\n", printed) is same


@pytest.mark.parametrize(
    ("trained", "printed", "same"),
    [
        (True, "delta_cf 0.09 -0.03 0.12\nr2 0.01", True),
        (True, "delta_cf 0.09 0.01 0.20 second\nr2 0.01", False),
        (True, "delta_eo 0.09 0.01 0.12 second\nr2 0.01", False),
        (False, "delta_cf 0.09 -0.03 0.12\nr2 0.01", False),
    ],
)
def test_a_model_that_was_trained_may_differ_by_as_much_as_processors_do(
    trained: bool, printed: str, same: bool
) -> None:
    shown = "delta_cf 0.09 0.01 0.12 second\nr2 0.01"
    assert Block("python", "", shown, printed, trained).as_shown() is same
