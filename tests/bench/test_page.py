"""The page on performance: its tables are those of its rows."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def page(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    return importlib.import_module("performance")


def test_the_tables_are_those_of_the_rows(page: Any) -> None:
    text = page.PAGE.read_text(encoding="utf-8")
    assert page.written(text) == text


def test_the_plot_is_that_of_the_rows(page: Any) -> None:
    assert page.PLOT.read_text(encoding="utf-8") == page.performance_svg(page.rows())
