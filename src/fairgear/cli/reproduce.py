"""`fairgear reproduce`: the paper's tables and figures, beside the published figures."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import App, Parameter

from fairgear.cli.flags import Names, examples
from fairgear.cli.output import Json, print_json, print_table
from fairgear.errors import ParameterError, UnfinishedError

reproduce_app = App(
    name="reproduce",
    help="Make the paper's tables and figures again, and say which of its claims hold.",
    help_epilogue=examples(
        "fairgear reproduce all --quick",
        "fairgear reproduce table2 --datasets bail --seeds 3",
        "fairgear reproduce all --seeds 10-19 --jobs 16 --out other-seeds",
        "fairgear reproduce all --jobs 0 --rows docs/results/reproduction.csv",
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
    backend: str = "loky",
    device: str = "auto",
    out: Path = Path("reproduction"),
    rows: Path | None = None,
    keep_models: Annotated[bool, Parameter(negative=())] = False,
    json: Json = False,
) -> None:
    """Train and measure what a table or figure needs, and set it beside the published figures.

    Every run has a folder of its own, and finished runs are not repeated: the same command
    resumes an interrupted one.

    Parameters
    ----------
    what
        table1, table2, table3, tableS1 (with figure 4), figure5, tradeoff, additions, or all.
    seeds
        How many, from 0; or which, as 10-19. [default: 10; for figure5, tradeoff and additions 5;
        with --quick 1]
    datasets
        Some of synthetic, bail and credit. [default: all that the table has]
    quick
        Few training steps and fewer points on curves: shows in minutes that everything works, not
        the paper's figures.
    jobs
        Runs at a time, each with one thread; 0 runs nothing and writes tables of what is there.
        [default: one a core]
    backend
        How joblib runs them: loky on this machine, dask or ray on a cluster.
    device
        auto, cpu or cuda.
    out
        The folder for tables (Markdown, CSV, LaTeX), figures (SVG, PNG), results.md and the runs.
    rows
        The CSV file with a row for each finished run; rows from another machine count as done.
        [default: rows.csv in --out]
    keep_models
        Also keep the model, the predictions and the page of each run that is made now.
    json
        Print the verdicts as one JSON object and nothing else on stdout.
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
    print(f"Tables, figures and verdicts: {out}/results.md and beside it")  # noqa: T201
