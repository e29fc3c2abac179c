"""Write the tables and the plot of docs/performance.md from docs/results/performance*.csv.

    .venv/bin/fairgear bench --threads 2
    cp runs/bench/results.csv docs/results/performance.csv
    fairgear bench --device cuda --out runs/cuda             # on a machine with a CUDA card
    cp runs/cuda/results.csv docs/results/performance_cuda.csv
    .venv/bin/python benchmarks/performance.py

Each block of the page between `<!-- name -->` and `<!-- /name -->` is replaced.
"""

from __future__ import annotations

from csv import DictReader
from pathlib import Path
from typing import Any

from fairgear.bench.plot import performance_svg
from fairgear.bench.store import MACHINE
from fairgear.bench.table import blocks, made
from fairgear.files import write_text
from fairgear.report.blocks import with_blocks

DOCS = Path(__file__).parent.parent / "docs"
PAGE, PLOT = DOCS / "performance.md", DOCS / "performance.svg"


def rows(name: str = "performance") -> list[dict[str, Any]]:
    """What was measured."""
    with (DOCS / "results" / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        return list(DictReader(file))


def on_a_card() -> str:
    """All tables of the card, one below the other."""
    found = rows("performance_cuda")
    tables = blocks([row for row in found if row["case"] != MACHINE or row["kind"] == "cuda"])
    tables.pop("made")
    parts = [f"*{name}*\n\n{text}" for name, text in tables.items()]
    return "\n".join([made(found), *parts])


def written(page: str) -> str:
    """The page with its blocks as the rows have them."""
    return with_blocks(page, blocks(rows()) | {"cuda": on_a_card()})


if __name__ == "__main__":
    write_text(PAGE, written(PAGE.read_text(encoding="utf-8")))
    write_text(PLOT, performance_svg(rows()))
