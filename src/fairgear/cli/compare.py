"""`fairgear compare`: methods side by side, on the same graphs, splits and counterfactuals."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import App, Parameter

from fairgear.cli.flags import NO_DATA, DataFlags, Names, examples, given
from fairgear.cli.output import Json, print_json
from fairgear.errors import UnfinishedError

compare_app = App(
    name="compare",
    help="Train and measure several methods on several datasets with several seeds.",
    help_epilogue=examples(
        "fairgear compare --methods gear graphsage logistic",
        "fairgear compare --datasets synthetic bail credit --methods all --seeds 3",
        "fairgear compare --methods gear gear:erase=0 gear:variant=np",
        "fairgear compare --datasets people.csv --label approved --sensitive sex --similarity 0.7",
    ),
    help_format="plaintext",
)


@compare_app.default
def compare(
    *,
    datasets: Names = None,
    methods: Names = None,
    seeds: str = "3",
    split: str | None = None,
    quick: Annotated[bool, Parameter(negative=())] = False,
    jobs: int | None = None,
    backend: str = "loky",
    out: Path = Path("comparison"),
    json: Json = False,
    data: DataFlags = NO_DATA,
) -> None:
    """Write a table of every method on every dataset: mean ± standard deviation, and ranks.

    Parameters
    ----------
    datasets
        Names from `fairgear datasets list`, or your own files. [default: synthetic]
    methods
        Names from `fairgear methods list`, or all. With settings: gear:erase=0,dim=128.
        [default: all]
    seeds
        How many, from 0; or which, as 10-19. Each has a split of its own.
    split
        sixty-twenty-twenty or released. [default: released; for your own files as in fairgear run]
    quick
        Few training steps: shows in minutes that everything works, not how good a method is.
    jobs
        Runs at a time, each with one thread; 0 runs nothing and writes tables of what is there.
        [default: one a core]
    backend
        How joblib runs them: loky on this machine, dask or ray on a cluster.
    out
        The folder to write: runs.csv, summary.csv, table.md, table.tex and the runs; with the
        split released and methods of the paper also published.md, which sets them beside its
        Table 2. The same command resumes an interrupted comparison.
    json
        Print the summary as one JSON object and nothing else on stdout.
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
    print((out / "table.md").read_text(encoding="utf-8"))  # noqa: T201
    print(f"Tables: {out}/table.md, {out}/table.tex, {out}/summary.csv")  # noqa: T201
