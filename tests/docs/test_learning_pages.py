"""The guides to scikit-learn, PyG and tuning: their code runs, and prints what stands below it."""

from __future__ import annotations

import inspect
from pathlib import Path

import pytest

from fairgear.cli.tune import tune
from fairgear.studies.judging.sampler import STARTUP
from fairgear.studies.tuning.plan import _FLOORS
from fairgear.studies.tuning.search import ROUND
from tests.docs.pages import ROOT, run_blocks

GUIDES = ROOT / "docs" / "guides"


@pytest.mark.parametrize("name", ["scikit-learn", "pyg"])
def test_every_block_prints_what_stands_below_it(name: str, tmp_path: Path) -> None:
    blocks = run_blocks(GUIDES / f"{name}.md", tmp_path, {})
    assert blocks
    for block in blocks:
        assert block.as_shown(), block.printed


def test_the_quick_search_of_the_tuning_guide_runs(tmp_path: Path) -> None:
    text = (GUIDES / "tuning.md").read_text(encoding="utf-8")
    begin = text.index("```console\n$ fairgear tune examples")
    page = tmp_path / "page.md"
    page.write_text(text[begin : text.index("```\n", begin + 3) + 4], encoding="utf-8")
    run_blocks(page, tmp_path, {})
    assert {one.name for one in (tmp_path / "tuning" / "first").iterdir()} >= {
        "trials.csv",
        "tuning.html",
    }


def test_the_numbers_of_the_tuning_guide_are_those_of_the_code() -> None:
    text = " ".join((GUIDES / "tuning.md").read_text(encoding="utf-8").split())
    defaults = inspect.signature(tune).parameters
    words = {1: "one", 3: "three", 4: "four", 10: "ten"}
    for said in (
        f"--trials {defaults['trials'].default}",
        f"--max-loss {defaults['max_loss'].default}",
        f"the first {words[STARTUP]} trials",
        f"in rounds of {words[ROUND]}",
        f"{words[len(_FLOORS)]} floors",
    ):
        assert said in text, said
