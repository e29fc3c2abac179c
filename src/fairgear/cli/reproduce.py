"""`fairgear reproduce`: the paper's tables and figures, beside the published figures."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import App, Parameter

from fairgear.cli.completers import one_of
from fairgear.cli.flags import Backend, Device, Flag, Jobs, Names, examples
from fairgear.cli.output import Json, print_json, print_table, say
from fairgear.errors import ParameterError, UnfinishedError

WHAT = Parameter(
    completer=one_of("table1", "table2", "table3", "tableS1", "figure5", "tradeoff", "all")
)
PAPER = Parameter(completer=one_of("synthetic", "bail", "credit"))

reproduce_app = App(
    name="reproduce",
    help="Make the paper's tables and figures again, and say which of its claims hold.",
    help_epilogue=examples(
        "fairgear reproduce all --quick",
        "fairgear reproduce table2 --datasets bail --seeds 3",
        "fairgear reproduce all --seeds 10-19 --jobs 16 --out other-seeds",
        "fairgear reproduce all --jobs 0 --rows docs/results/reproduction.csv",
    ),
)


@reproduce_app.default
def reproduce(
    *what: Annotated[str, WHAT],
    seeds: str | None = None,
    datasets: Annotated[Names, PAPER] = None,
    quick: Flag = False,
    jobs: Jobs = None,
    backend: Backend = "loky",
    device: Device = "auto",
    out: Path = Path("reproduction"),
    rows: Path | None = None,
    keep_models: Flag = False,
    json: Json = False,
) -> None:
    """Train and measure what a table or figure needs, and set it beside the published figures.

    Every run has a folder of its own, and finished runs are not repeated: the same command
    resumes an interrupted one.

    Parameters
    ----------
    what
        table1, table2, table3, tableS1 (with figure 4), figure5, tradeoff
        or all.
    seeds
        How many, from 0; or which, as 10-19. [default: 10; for
        figure5 and tradeoff 5; with --quick 1]
    datasets
        Some of synthetic, bail and credit. [default: all]
    quick
        Few steps: shows that everything works, not the figures.
    out
        Folder of tables (Markdown, CSV, LaTeX), figures (SVG,
        PNG), results.md and the runs.
    rows
        CSV file with a row for each finished run; rows of
        another machine count as done. [default: rows.csv in --out]
    keep_models
        Also keep model, predictions and page of each new run.
    """
    from fairgear.studies.claims import FAILS, HOLDS, OPEN, verdict_counts, verdict_frame
    from fairgear.studies.engine import carry_out
    from fairgear.studies.records import Records
    from fairgear.studies.reproduce import DIGITS, Reproduction, write_results
    from fairgear.studies.spec import parse_seeds

    if not what:
        raise ParameterError(
            "what to reproduce",
            "nothing",
            "table1, table2, table3, tableS1, figure5, tradeoff, additions, all",
            "try fairgear reproduce all --quick",
        )
    chosen = () if seeds is None else parse_seeds(seeds)
    plan = Reproduction.of(what, chosen, only=datasets or (), quick=quick, device=device)
    records = Records(out / "rows.csv" if rows is None else rows, DIGITS)
    failure = None
    try:
        carry_out(plan.study, out, records, jobs=jobs, keep=keep_models, backend=backend)
    except UnfinishedError as error:
        # Tables of the other runs are worth having.
        failure = error
    verdicts = write_results(plan, records, out).verdicts
    if failure is not None:
        raise failure
    if json:
        print_json({"out": str(out), "verdicts": verdict_frame(verdicts).to_dict("records")})
        return
    if verdicts:
        heads = ["claim", "of", HOLDS, FAILS, OPEN]
        print_table("The paper's claims", heads, verdict_counts(verdicts))
    say(f"Tables, figures and verdicts: {out}/results.md and beside it")
