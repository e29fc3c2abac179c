"""`fairgear reproduce`: the paper's tables and figures, beside what the paper has."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import App, Parameter

from fairgear.cli.flags import Names
from fairgear.cli.output import Json, print_json, print_table
from fairgear.errors import ParameterError, UnfinishedError

# A study of more is a typing error.
MOST_SEEDS = 1000

if TYPE_CHECKING:
    from fairgear.experiments.reproduce.verdicts import Verdict

reproduce_app = App(
    name="reproduce",
    help="Make the paper's tables and figures again, and say which of its claims hold.",
    help_epilogue=(
        "Examples: fairgear reproduce all --quick   ·   fairgear reproduce table2 --datasets bail "
        "--seeds 3   ·   fairgear reproduce all --seeds 10-19 --jobs 16 --out other-seeds   ·   "
        "fairgear reproduce all --jobs 0 --rows docs/results/reproduction.csv"
    ),
    help_format="plaintext",
)


@reproduce_app.default
def reproduce(
    *what: str,
    seeds: str | None = None,
    datasets: Names = None,
    quick: Annotated[bool, Parameter(negative=())] = False,
    jobs: int | None = None,
    device: str = "auto",
    out: Path = Path("reproduction"),
    rows: Path | None = None,
    keep_models: Annotated[bool, Parameter(negative=())] = False,
    json: Json = False,
) -> None:
    """Train and measure what a table or figure needs, and set it beside the published figures.

    Every run has a folder of its own, and what is done is not done again: the same command goes
    on where an interrupted one stopped.

    Parameters
    ----------
    what
        table1, table2, table3, tableS1 (with figure 4), figure5, tradeoff, additions, or all.
    seeds
        How many, from 0; or which, as 10-19. [default: 10, of figure5, tradeoff and additions 5,
        with --quick 1]
    datasets
        Some of synthetic, bail and credit. [default: all that the table has]
    quick
        Few training steps and fewer points on curves: the whole way in minutes, not the figures.
    jobs
        Runs at a time, each with one thread; 0 makes none, and tables of what is there.
        [default: one a core]
    device
        auto, cpu or cuda.
    out
        The folder for tables (Markdown, CSV, LaTeX), figures (SVG, PNG), results.md and the runs.
    rows
        The CSV file with a row for each finished run; those of another machine count as done.
        [default: rows.csv in --out]
    keep_models
        Keep the model, the predictions and the page of each run that is made now, too.
    json
        Print the verdicts as one JSON object and nothing else on stdout.
    """
    import os

    from fairgear.experiments.reproduce.output import write_results
    from fairgear.experiments.reproduce.records import Records
    from fairgear.experiments.reproduce.study import Study
    from fairgear.experiments.reproduce.verdicts import frame

    if not what:
        raise ParameterError(
            "what to reproduce",
            "nothing",
            "table1, table2, table3, tableS1, figure5, tradeoff, additions, all",
            "try fairgear reproduce all --quick",
        )
    _check_jobs(jobs)
    chosen = () if seeds is None else seeds_of(seeds)
    study = Study.of(what, chosen, datasets=datasets or (), quick=quick, device=device)
    records = Records(out / "rows.csv" if rows is None else rows)
    at_once = (os.cpu_count() or 1) if jobs is None else jobs
    failure = None
    try:
        study.carry_out(out, records, jobs=at_once, keep=keep_models)
    except UnfinishedError as error:
        # The tables of all that did come to its end are worth having.
        failure = error
    verdicts = write_results(study, records, out).verdicts
    if failure is not None:
        raise failure
    if json:
        print_json({"out": str(out), "verdicts": frame(verdicts).to_dict("records")})
        return
    _print_counts(verdicts)
    print(f"Tables, figures and verdicts: {out}/results.md and beside it")  # noqa: T201


def _print_counts(verdicts: list[Verdict]) -> None:
    """How many of the paper's claims hold; the page has each of them."""
    from fairgear.experiments.reproduce.verdicts import FAILS, HOLDS, OPEN, counts

    cells = [[*key, *map(str, of.values())] for key, of in counts(verdicts).items()]
    if cells:
        print_table("The paper's claims", ["claim", "of", HOLDS, FAILS, OPEN], cells)


def _check_jobs(jobs: int | None) -> None:
    if jobs is not None and jobs < 0:
        raise ParameterError("--jobs", jobs, "0 or more", "leave it out for one a core")


def seeds_of(text: str) -> tuple[int, ...]:
    """`3` is 0, 1 and 2; `10-19` is ten of them from 10."""
    first, dash, last = text.partition("-")
    if first.isdecimal() and (last.isdecimal() if dash else True):
        begin, end = (int(first), int(last) + 1) if dash else (0, int(first))
        if 0 < end - begin <= MOST_SEEDS:
            return tuple(range(begin, end))
    raise ParameterError(
        "--seeds",
        repr(text),
        f"how many, such as 10, or which, such as 10-19; at most {MOST_SEEDS:,}",
        "use 10 for a paper",
    )
