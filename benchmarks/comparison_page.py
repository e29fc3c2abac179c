"""Write the tables of docs/comparison.md from the rows of the comparison.

    .venv/bin/fairgear compare --datasets synthetic bail credit --methods all gear:erase=0 --seeds 3
    cp comparison/runs.csv docs/results/comparison.csv
    .venv/bin/fairgear compare --datasets credit --seeds 3 --out thresholds \\
        --methods graphsage:threshold=validation nifty-sage:threshold=validation
    tail -n +2 thresholds/runs.csv >> docs/results/comparison.csv
    .venv/bin/python benchmarks/what_is_hidden.py comparison
    .venv/bin/python benchmarks/other_settings.py
    .venv/bin/python benchmarks/comparison_page.py

Each block of the page between `<!-- name -->` and `<!-- /name -->` is replaced.
"""

from __future__ import annotations

from pathlib import Path

import other_settings
import pandas as pd
import what_is_hidden
from plan import RESULTS, table

from fairgear.experiments.compare_entry import Entry
from fairgear.experiments.compare_table import summary, to_markdown
from fairgear.experiments.compare_verdicts import verdicts
from fairgear.experiments.published import beside_published, published_markdown
from fairgear.report.blocks import with_blocks

PAGE = Path(__file__).parent.parent / "docs" / "comparison.md"


def blocks() -> dict[str, str]:
    """The text of every block by its name."""
    rows = pd.read_csv(RESULTS / "comparison.csv")
    found = summary(rows)
    entries = [Entry.of(label) for label in dict.fromkeys(rows["method"])]
    hidden = pd.read_csv(RESULTS / "what_is_hidden.csv")
    others = pd.read_csv(RESULTS / "other_settings.csv")
    return {
        "table": to_markdown(found, verdicts(found, entries)),
        "published": published_markdown(beside_published(found)),
        "hidden": table(hidden, ("graph", "method"), what_is_hidden.COLUMNS) + "\n",
        "settings": table(others, ("graph", "method"), other_settings.COLUMNS) + "\n",
        "time": _hours(rows),
    }


def _hours(rows: pd.DataFrame) -> str:
    by = rows.groupby("dataset", sort=False)["seconds"].sum() / 60
    parts = ", ".join(f"{minutes:.0f} minutes on {dataset}" for dataset, minutes in by.items())
    return f"{len(rows)} runs: {by.sum() / 60:.1f} hours of one core ({parts}).\n"


def written(page: str) -> str:
    """The page with its blocks as the rows have them."""
    return with_blocks(page, blocks())


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
