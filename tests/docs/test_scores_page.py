"""docs/guides/scores.md: its code and command run, and its tables are those of the code."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from fairgear.auditing import Audit, Worlds, export_worlds
from fairgear.runs.audit_config import SCORE_ENDINGS
from tests.auditing.models import small_graph
from tests.docs.pages import ROOT, Block

PAGE = ROOT / "docs" / "guides" / "scores.md"


def test_every_block_prints_what_stands_below_it(blocks: list[Block]) -> None:
    assert [block.kind for block in blocks] == ["python", "console"]
    for block in blocks:
        assert block.as_shown(), block.printed


def test_the_command_audits_what_the_code_does(
    blocks: list[Block], names: dict[str, Any], folder: Path
) -> None:
    found = Audit.load(folder / "audit")
    assert found.metrics == pytest.approx(names["audit"].metrics, nan_ok=True)
    assert found.model.kind == names["audit"].model.kind == "file of scores"
    assert len(found.people) == len(pd.read_csv(ROOT / "examples" / "people.csv"))


def test_endings_and_files_are_those_of_the_page(tmp_path: Path) -> None:
    page = PAGE.read_text(encoding="utf-8")
    (told,) = re.findall(r"The file ends in (.*?)\. ", page)
    assert re.findall(r"\.[a-z]+", told) == list(SCORE_ENDINGS)
    key = export_worlds(Worlds(small_graph(60), draws=1), tmp_path / "worlds", self_people=0)
    paths = re.findall(r"^\| `(worlds/[^`]*)`", page, flags=re.MULTILINE)
    code = Path(key.worlds[0].path).name
    assert len(paths) == 4
    for path in paths:
        assert (tmp_path / path.replace("CODE", code)).exists()
