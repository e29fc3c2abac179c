"""Generated pages: tables are those of the rows in docs/results."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from benchmarks import DOCS, RESULTS, pages


@pytest.mark.parametrize(
    "name", ["comparison", "gear", "links", "performance", "reliability", "worlds"]
)
def test_tables_are_those_of_the_rows(name: str) -> None:
    for page, text in getattr(pages, name)().items():
        assert (DOCS / page).read_text(encoding="utf-8") == text, page


def test_tables_of_sealed_people_are_those_of_the_rows(tmp_path: Path) -> None:
    for page, text in pages.judged(tmp_path, draw=False).items():
        assert (DOCS / page).read_text(encoding="utf-8") == text, page
    for name in ("judged.csv", "verdicts.csv"):
        assert (tmp_path / name).read_bytes() == (pages.JUDGING / name).read_bytes(), name


def test_tables_of_the_reproduction_are_those_of_the_rows(tmp_path: Path) -> None:
    folder = os.environ.get("FAIRGEAR_DATA")
    if not folder or not Path(folder, "credit").exists():
        pytest.skip("FAIRGEAR_DATA names no folder with the files that Table 1 counts")
    for page, text in pages.reproduction(tmp_path, draw=False).items():
        assert (DOCS / page).read_text(encoding="utf-8") == text, page
    for path in tmp_path.glob("*.csv"):
        kept = RESULTS / "reproduction" / path.name
        assert path.read_bytes() == kept.read_bytes(), path.name
