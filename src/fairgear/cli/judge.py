"""`fairgear judge`: methods compared by equal rules, on people whom no choice has seen."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import App, Parameter

from fairgear.cli.flags import Backend, Device, Jobs, Names, examples
from fairgear.cli.output import Json, print_json

_DATASETS = "Some of the recipe's. [default: all]"
_METHODS = "Some of the recipe's, by name or as in gear:encoder=mlp. [default: all]"
_RECIPE = "YAML file. [default: that of the package]"
Datasets = Annotated[Names, Parameter(help=_DATASETS)]
Methods = Annotated[Names, Parameter(help=_METHODS)]
Recipe = Annotated[Path | None, Parameter(help=_RECIPE)]
SEARCH, OPENED = Path("judging/search.csv"), Path("judging/opened.csv")

judge_app = App(
    name="judge",
    help="Search settings on open people, then judge all methods once on sealed ones.",
    help_epilogue=examples(
        "fairgear judge search --datasets bail --methods gear graphsage --minutes 60",
        "fairgear judge open",
        "fairgear judge tables",
    ),
)


@judge_app.command
def search(
    *,
    datasets: Datasets = None,
    methods: Methods = None,
    rows: Path = SEARCH,
    add: Names = None,
    minutes: float | None = None,
    jobs: Jobs = None,
    backend: Backend = "loky",
    device: Device = "auto",
    recipe: Recipe = None,
    json: Json = False,
) -> None:
    """Choose each method's settings on the open people; the sealed ones are not there.

    Every trial is written as it ends. The same command goes on with an interrupted search, and
    gives the same trials.

    Parameters
    ----------
    rows
        CSV file with a row for each trial.
    add
        Further files of rows, from other machines, to be added.
    minutes
        After these no trial is begun.
    """
    from fairgear.studies.judging.plan import Plan
    from fairgear.studies.judging.search import COLUMNS, carry_out_search
    from fairgear.studies.records import Rows

    plan = Plan.read(recipe).only(datasets or (), methods or ())
    for path in add or ():
        Rows(rows, COLUMNS).add_file(Path(path))
    left = carry_out_search(plan, rows, device=device, jobs=jobs, backend=backend, minutes=minutes)
    table = Rows(rows, COLUMNS)
    missing = {one.name: one.missing(table) for one in left}
    if json:
        print_json({"rows": str(rows), "missing": missing})
        return
    for name, count in missing.items():
        print(f"{name}: {count} of {plan.trials} trials are missing")  # noqa: T201
    searches = len(plan.datasets) * len(plan.methods)
    print(f"{searches - len(left)} of {searches} searches are finished: {rows}")  # noqa: T201
