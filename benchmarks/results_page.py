"""Write the tables and figures of docs/results.md from docs/results/reproduction.csv.

    .venv/bin/fairgear reproduce all --rows docs/results/reproduction.csv
    .venv/bin/python benchmarks/results_page.py

Each block of the page between `<!-- name -->` and `<!-- /name -->` is replaced, and
docs/results/reproduction/ has the same as CSV and LaTeX, and the figures.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from tempfile import TemporaryDirectory

from plan import RESULTS

from fairgear.experiments.reproduce.output import write_results
from fairgear.experiments.reproduce.records import Records
from fairgear.experiments.reproduce.study import ALL, Study
from fairgear.experiments.reproduce.verdicts import agreement_table
from fairgear.files import write_text
from fairgear.report.blocks import with_blocks

PAGE = Path(__file__).parent.parent / "docs" / "results.md"
ROWS, FOLDER = RESULTS / "reproduction.csv", RESULTS / "reproduction"
OTHER_SEEDS = range(10, 20)
# As one may open them anywhere; the command also draws PNG.
KEPT = (".csv", ".tex", ".svg")


def study() -> Study:
    """Everything, with as many seeds as each table and figure asks for."""
    return Study.of([ALL])


def other_study() -> Study:
    """All methods with other seeds."""
    return Study.of(["table2"], OTHER_SEEDS)


def written(page: str, folder: Path, *, draw: bool) -> str:
    """The page with its blocks as the rows have them; all files of it go to `folder`."""
    records = Records(ROWS)
    results = write_results(study(), records, folder, draw=draw)
    other = write_results(other_study(), records, folder / "other", draw=False)
    parts = results.parts | {"seeds": agreement_table(results.verdicts, other.verdicts)}
    parts["other made"] = other.parts["made"]
    return with_blocks(page, parts)


def main() -> None:
    """Write the page and what lies beside it."""
    with TemporaryDirectory() as name:
        page = written(PAGE.read_text(encoding="utf-8"), Path(name), draw=True)
        # Files of a plan that is no more must not stay.
        shutil.rmtree(FOLDER, ignore_errors=True)
        FOLDER.mkdir()
        for path in Path(name).iterdir():
            if path.suffix in KEPT:
                shutil.copy(path, FOLDER / path.name)
    write_text(PAGE, page)


if __name__ == "__main__":
    main()
