"""`fairgear compare`: methods side by side, on the same graphs, splits and counterfactuals."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import App

from fairgear.cli.flags import (
    METHOD,
    NO_DATA,
    SOURCE,
    SPLIT,
    Backend,
    DataFlags,
    Flag,
    Jobs,
    Names,
    examples,
    given,
)
from fairgear.cli.output import Json, print_json, say
from fairgear.errors import UnfinishedError

compare_app = App(
    name="compare",
    help="Train and measure several methods on several datasets with several seeds.",
    help_epilogue=examples(
        "fairgear compare --methods gear graphsage logistic",
        "fairgear compare --datasets synthetic bail credit --methods all --seeds 3",
        "fairgear compare --methods gear-paper gear-paper:variant=np",
        "fairgear compare --datasets graph.pt --label approved --sensitive sex",
    ),
)


@compare_app.default
def compare(
    *,
    datasets: Annotated[Names, SOURCE] = None,
    methods: Annotated[Names, METHOD] = None,
    seeds: str = "3",
    split: Annotated[str | None, SPLIT] = None,
    quick: Flag = False,
    jobs: Jobs = None,
    backend: Backend = "loky",
    out: Path = Path("comparison"),
    json: Json = False,
    data: DataFlags = NO_DATA,
) -> None:
    """Write a table of every method on every dataset: mean ± standard deviation, and ranks.

    Parameters
    ----------
    datasets
        Names from `fairgear datasets list`, or your own files.
        [default: synthetic]
    methods
        Names from `fairgear methods list`, or all; with settings
        as gear-paper:k=10,dim=128. [default: all]
    seeds
        How many, from 0; or which, as 10-19.
    split
        sixty-twenty-twenty or released. [default: released; for
        your own files as in `fairgear run`]
    quick
        Few steps: shows that everything works, not how well.
    out
        Folder of the runs, runs.csv, summary.csv, table.md,
        table.tex and, where the paper has such runs,
        published.md. The same command resumes.
    """
    from fairgear.studies.compare import ALL, comparison, write_comparison
    from fairgear.studies.engine import carry_out
    from fairgear.studies.records import Records
    from fairgear.studies.spec import parse_seeds

    study = comparison(
        datasets or ["synthetic"],
        methods or [ALL],
        parse_seeds(seeds),
        split=split,
        columns=given(data),
        quick=quick,
    )
    records = Records(out / "runs.csv")
    failure = None
    try:
        carry_out(study, out, records, jobs=jobs, keep=True, backend=backend)
    except UnfinishedError as error:
        # Tables of the other runs are worth having.
        failure = error
    found = write_comparison(study, records, out)
    if failure is not None:
        raise failure
    if json:
        print_json({"out": str(out), "summary": found.to_dict("records")})
        return
    say((out / "table.md").read_text(encoding="utf-8"))
    say(f"Tables: {out}/table.md, {out}/table.tex, {out}/summary.csv")
