"""Write the tables of docs/ from the rows in docs/results.

    .venv/bin/python -m benchmarks.pages

Each block of a page between `<!-- name -->` and `<!-- /name -->` is replaced. Beside each table the
page says which command makes its rows.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from csv import DictReader
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from benchmarks.bench import tables
from fairgear.experiments.compare_entry import Entry
from fairgear.experiments.compare_table import summary, to_markdown
from fairgear.experiments.compare_verdicts import verdicts
from fairgear.experiments.published import beside_published, published_markdown
from fairgear.experiments.reproduce.output import write_results
from fairgear.experiments.reproduce.records import Records
from fairgear.experiments.reproduce.study import ALL, Study
from fairgear.experiments.reproduce.verdicts import agreement_table
from fairgear.files import write_text
from fairgear.report.blocks import with_blocks

DOCS = Path(__file__).parent.parent / "docs"
RESULTS = DOCS / "results"
METRICS = {
    "accuracy": "accuracy",
    "auroc": "AUROC",
    "delta_cf_released": "δCF released",
    "delta_cf": "δCF strict",
    "r2": "R²",
}
HIDDEN = {
    "reader": "s read by logistic regression",
    "boosted_reader": "s read by boosting",
    "moved": "moved by flipped s",
}
# The seeds of the second reproduction, and the files of the first that are kept.
OTHER_SEEDS = range(10, 20)
KEPT = (".csv", ".tex", ".svg")


def main() -> None:
    """Write all pages."""
    _update("comparison.md", comparison())
    _update("performance.md", performance())
    with TemporaryDirectory() as name:
        _update("results.md", reproduction(Path(name), draw=True))
        folder = RESULTS / "reproduction"
        # Files of tables that no longer exist must not stay.
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        for path in Path(name).iterdir():
            if path.suffix in KEPT:
                shutil.copy(path, folder / path.name)


def comparison() -> dict[str, str]:
    """The blocks of comparison.md."""
    rows = pd.read_csv(RESULTS / "comparison.csv")
    found = summary(rows)
    entries = [Entry.of(label) for label in dict.fromkeys(rows["method"])]
    by = rows.groupby("dataset", sort=False)["seconds"].sum() / 60
    minutes = ", ".join(f"{value:.0f} minutes on {name}" for name, value in by.items())
    return {
        "table": to_markdown(found, verdicts(found, entries)),
        "published": published_markdown(beside_published(found)),
        "hidden": means("what_is_hidden", ("graph", "method"), HIDDEN),
        "time": f"{len(rows)} runs: {by.sum() / 60:.1f} hours of one core ({minutes}).\n",
    }


def performance() -> dict[str, str]:
    """The blocks of performance.md."""
    return tables.blocks(_measured("performance")) | {"cuda": _on_gpu()}


def reproduction(folder: Path, *, draw: bool) -> dict[str, str]:
    """The blocks of results.md; the tables as CSV and LaTeX and the figures go to `folder`."""
    records = Records(RESULTS / "reproduction.csv")
    first = write_results(Study.of([ALL]), records, folder, draw=draw)
    other = Study.of(["table2"], OTHER_SEEDS)
    second = write_results(other, records, folder / "other", draw=False)
    return first.parts | {
        "seeds": agreement_table(first.verdicts, second.verdicts),
        "other made": second.parts["made"],
    }


def means(name: str, by: Sequence[str], columns: Mapping[str, str]) -> str:
    """Mean ± standard deviation per group of docs/results/NAME.csv, as a Markdown table.

    From three rows on the mean's 95 % t interval stands beside them. Nothing shown can be
    negative, so intervals end at 0.
    """
    rows = pd.read_csv(RESULTS / f"{name}.csv")
    heads = [*by, *columns.values(), "runs"]
    lines = [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    for names, part in rows.groupby(list(by), sort=False):
        cells = [_cell(part[key].to_numpy()) for key in columns]
        lines.append(f"| {' | '.join([*map(str, names), *cells, str(len(part))])} |")
    return "\n".join(lines) + "\n"


def _cell(values: Any) -> str:
    mean = values.mean()
    if len(values) == 1:
        return f"{mean:.4f}"
    spread = np.std(values, ddof=1)
    text = f"{mean:.4f} ± {spread:.4f}"
    if len(values) < 3:
        return text
    half = stats.t.ppf(0.975, len(values) - 1) * spread / np.sqrt(len(values))
    return f"{text} ({max(0.0, mean - half):.3f} to {mean + half:.3f})"


def _measured(name: str) -> list[dict[str, Any]]:
    with (RESULTS / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        return list(DictReader(file))


def _on_gpu() -> str:
    """All tables of the GPU, one below the other."""
    rows = _measured("performance_cuda")
    on_gpu = [row for row in rows if row["case"] != tables.MACHINE or row["kind"] == "cuda"]
    found = tables.blocks(on_gpu)
    found.pop("made")
    parts = [f"*{name}*\n\n{text}" for name, text in found.items()]
    return "\n".join([tables.made(rows), *parts])


def _update(page: str, blocks: Mapping[str, str]) -> None:
    path = DOCS / page
    write_text(path, with_blocks(path.read_text(encoding="utf-8"), blocks))


if __name__ == "__main__":
    main()
