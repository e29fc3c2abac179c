"""The page on the reproduction: its tables are those of its rows."""

from __future__ import annotations

import importlib
import os
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def page(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    return importlib.import_module("results_page")


def test_the_tables_are_those_of_the_rows(page: Any, tmp_path: Path) -> None:
    folder = os.environ.get("FAIRGEAR_DATA")
    if not folder or not Path(folder, "credit").exists():
        pytest.skip("FAIRGEAR_DATA names no folder with the files that Table 1 counts")
    text = page.PAGE.read_text(encoding="utf-8")
    assert page.written(text, tmp_path, draw=False) == text
    for path in tmp_path.glob("*.csv"):
        assert path.read_bytes() == (page.FOLDER / path.name).read_bytes(), path.name


def test_the_page_shows_figures_that_are_there(page: Any) -> None:
    shown = [
        line.split("](")[1].rstrip(")")
        for line in page.PAGE.read_text(encoding="utf-8").splitlines()
        if line.startswith("![")
    ]
    assert len(shown) >= 4
    assert all((page.PAGE.parent / name).is_file() for name in shown)
