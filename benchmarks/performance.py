"""Write the tables and the plot of docs/performance.md from docs/results/performance.csv.

    .venv/bin/fairgear bench --threads 2
    cp runs/bench/results.csv docs/results/performance.csv
    .venv/bin/python benchmarks/performance.py

Each block of the page between `<!-- name -->` and `<!-- /name -->` is replaced.
"""

from __future__ import annotations

from csv import DictReader
from pathlib import Path
from typing import Any

from fairgear.bench.plot import performance_svg
from fairgear.bench.report import with_blocks
from fairgear.files import write_text

DOCS = Path(__file__).parent.parent / "docs"
PAGE, ROWS, PLOT = (
    DOCS / "performance.md",
    DOCS / "results" / "performance.csv",
    DOCS / "performance.svg",
)


def rows() -> list[dict[str, Any]]:
    """What was measured."""
    with ROWS.open(encoding="utf-8", newline="") as file:
        return list(DictReader(file))


def written(page: str) -> str:
    """The page with its blocks as the rows have them."""
    return with_blocks(page, rows())


if __name__ == "__main__":
    write_text(PAGE, written(PAGE.read_text(encoding="utf-8")))
    write_text(PLOT, performance_svg(rows()))
