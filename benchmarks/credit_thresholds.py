"""Credit's graph baselines at the threshold that GEAR takes there, the most accurate on validation.

    .venv/bin/python benchmarks/credit_thresholds.py             # all rows, about half an hour
    .venv/bin/python benchmarks/credit_thresholds.py --jobs 0    # the page from the rows so far

Split `released`, test people. The lines at one half and GEAR's own are those of Table 2.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pandas as pd
from plan import COLUMNS, RESULTS, table

from fairgear.experiments.cell import Cell
from fairgear.experiments.compare_entry import Entry
from fairgear.experiments.reproduce.recipe import Line, recipe
from fairgear.experiments.reproduce.records import Records
from fairgear.experiments.reproduce.study import Study
from fairgear.experiments.reproduce.workers import outcomes
from fairgear.files import write_text
from fairgear.report.blocks import with_blocks

ROWS = RESULTS / "credit_thresholds.csv"
PAGE = RESULTS.parent / "results.md"
TABLE2 = RESULTS / "reproduction.csv"
SEEDS = range(5)


def lines() -> list[Line]:
    """GEAR, and every baseline at both thresholds."""
    of_table = recipe("table2", quick=False)
    named = {line.name: line for line in of_table.lines}
    found = [named["GEAR"]]
    for name in of_table.groups["baselines"]:
        line = named[name]
        entry = Entry.of(f"{line.entry.label}:threshold=validation")
        found += [line, replace(line, name=f"{name}, validation", entry=entry)]
    return found


def shown(found: list[tuple[Line, Cell]], records: list[Records]) -> str:
    """A line each: mean, deviation and interval."""
    rows = []
    for line, cell in found:
        mine = [part.of([cell]).assign(method=line.name) for part in records if cell in part]
        rows += mine[:1]
    return table(pd.concat(rows), ("method",), COLUMNS) + "\n"


def main(jobs: int) -> None:
    """Make what is missing, and write the page's block."""
    study = Study.of(["table2"], SEEDS, datasets=["credit"], device="cpu")
    found = [(line, study.cell(line, "credit", seed)) for line in lines() for seed in SEEDS]
    records, known = Records(ROWS), Records(TABLE2)
    missing = [cell for _, cell in found if cell not in records and cell not in known]
    missing.sort(key=lambda cell: cell.config.seed)
    with TemporaryDirectory() as folder:
        for outcome in outcomes(missing if jobs else [], Path(folder), jobs=jobs, keep=False):
            if outcome.results is None:
                raise SystemExit(f"{outcome.cell.name}: {outcome.problem}")
            records.add(outcome.cell, outcome.results)
            print(outcome.cell.name, flush=True)
    text = shown(found, [records, known])
    page = with_blocks(PAGE.read_text(encoding="utf-8"), {"credit thresholds": text})
    write_text(PAGE, page)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=2, help="runs at a time; 0 for none")
    main(parser.parse_args().jobs)
