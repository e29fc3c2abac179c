"""Pages whose tables are generated: they are those of the rows in docs/results."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from benchmarks import pages
from fairgear.report.blocks import with_blocks


@pytest.mark.parametrize("name", ["comparison", "performance"])
def test_the_tables_are_those_of_the_rows(name: str) -> None:
    text = (pages.DOCS / f"{name}.md").read_text(encoding="utf-8")
    assert with_blocks(text, getattr(pages, name)()) == text


def test_the_tables_of_the_reproduction_are_those_of_the_rows(tmp_path: Path) -> None:
    folder = os.environ.get("FAIRGEAR_DATA")
    if not folder or not Path(folder, "credit").exists():
        pytest.skip("FAIRGEAR_DATA names no folder with the files that Table 1 counts")
    text = (pages.DOCS / "results.md").read_text(encoding="utf-8")
    assert with_blocks(text, pages.reproduction(tmp_path, draw=False)) == text
    for path in tmp_path.glob("*.csv"):
        kept = pages.RESULTS / "reproduction" / path.name
        assert path.read_bytes() == kept.read_bytes(), path.name


def test_pages_show_figures_that_are_there() -> None:
    for page in pages.DOCS.rglob("*.md"):
        for name in re.findall(r"!\[[^]]*\]\(([^)]+)\)", page.read_text(encoding="utf-8")):
            assert (page.parent / name).is_file(), f"{page.name}: {name}"
