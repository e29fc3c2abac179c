"""`fairgear judge`: methods compared by equal rules, on people whom no choice has seen."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from cyclopts import App, Parameter

from fairgear.cli.flags import DATASET, METHOD, Backend, Device, Flag, Jobs, Names, examples
from fairgear.cli.output import Json, print_json, say

_DATASETS = "Some of the recipe's. [default: all]"
_METHODS = "Some of the recipe's, by name or as in gear:encoder=mlp. [default: all]"
_RECIPE = "YAML file. [default: that of the package]"
Datasets = Annotated[Names, DATASET, Parameter(help=_DATASETS)]
Methods = Annotated[Names, METHOD, Parameter(help=_METHODS)]
Recipe = Annotated[Path | None, Parameter(help=_RECIPE)]
Bounds = Annotated[Path | None, Parameter(help="YAML file of bounds. [default: the package's]")]
FOLDER = Path("judging")
SEARCH, OPENED = FOLDER / "search.csv", FOLDER / "opened.csv"

judge_app = App(
    name="judge",
    help="Search settings on open people, then judge all methods once on sealed ones.",
    help_epilogue=examples(
        "fairgear judge search --datasets bail --methods gear graphsage --minutes 60",
        "fairgear judge open --rehearse --rows judging/rehearsal.csv",
        "fairgear judge open",
        "fairgear judge tables",
        "fairgear judge all --out judging",
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
        say(f"{name}: {count} of {plan.trials} trials are missing")
    searches = len(plan.datasets) * len(plan.methods)
    say(f"{searches - len(left)} of {searches} searches are finished: {rows}")


@judge_app.command(name="open")
def open_(
    *,
    datasets: Datasets = None,
    methods: Methods = None,
    search: Path = SEARCH,
    rows: Path = OPENED,
    bounds: Bounds = None,
    rehearse: Flag = False,
    jobs: Jobs = None,
    backend: Backend = "loky",
    device: Device = "auto",
    recipe: Recipe = None,
    json: Json = False,
) -> None:
    """Fit every method with its chosen settings, and judge it on the sealed people.

    This is done once: at a commit without changes, with all trials of the search and with the
    bounds written. Rows carry the commit and the hashes of both, and a file with rows of another
    commit is refused. The same command goes on with an interrupted opening.

    Parameters
    ----------
    search
        The rows of the search.
    rows
        CSV file with a row for each fit.
    rehearse
        Judge on a fifth of the open people; the sealed ones stay
        sealed. Try the command out with this, and a file of its
        own.
    """
    from fairgear.studies.judging.bounds import BOUNDS
    from fairgear.studies.judging.opening import open_sealed
    from fairgear.studies.judging.plan import Plan

    plan = Plan.read(recipe).only(datasets or (), methods or ())
    table = open_sealed(
        plan,
        search,
        rows,
        bounds=bounds or BOUNDS,
        rehearsal=rehearse,
        device=device,
        jobs=jobs,
        backend=backend,
    )
    if json:
        print_json({"rows": str(rows), "count": len(table)})
        return
    say(f"{len(table)} rows: {rows}; next: fairgear judge tables --rows {rows}")


@judge_app.command
def tables(
    *,
    rows: Path = OPENED,
    out: Path | None = None,
    bounds: Bounds = None,
    recipe: Recipe = None,
    json: Json = False,
) -> None:
    """Write tables, verdicts on the bounds, and trade-off curves.

    Parameters
    ----------
    rows
        The rows of the opening.
    out
        Folder of results.md, judged.csv, verdicts.csv and
        figures. [default: that of --rows]
    """
    from fairgear.studies.judging.bounds import BOUNDS, VERDICTS
    from fairgear.studies.judging.plan import Plan
    from fairgear.studies.judging.tables import verdict_frame, write_tables

    folder = rows.parent if out is None else out
    judged = write_tables(Plan.read(recipe), rows, folder, bounds=bounds or BOUNDS)
    if json:
        verdicts = verdict_frame(judged.verdicts).to_dict("records")
        print_json({"page": str(judged.page), "verdicts": verdicts})
        return
    counts = {name: sum(one.verdict == name for one in judged.verdicts) for name in VERDICTS}
    told = ", ".join(f"{count} {name}" for name, count in counts.items())
    say(f"{len(judged.verdicts)} bounds: {told}; {judged.page}")


@judge_app.command(name="all")
def all_(
    *,
    datasets: Datasets = None,
    methods: Methods = None,
    out: Path = FOLDER,
    bounds: Bounds = None,
    rehearse: Flag = False,
    jobs: Jobs = None,
    backend: Backend = "loky",
    device: Device = "auto",
    recipe: Recipe = None,
) -> None:
    """The whole study: search, open and tables. The same command goes on with it.

    Parameters
    ----------
    out
        Folder of all rows, tables and figures.
    rehearse
        Judge on a fifth of the open people; the sealed ones stay
        sealed.
    """
    found, opened = (out / path.name for path in (SEARCH, OPENED))
    work: dict[str, Any] = {"jobs": jobs, "backend": backend, "device": device, "recipe": recipe}
    chosen: dict[str, Any] = {"datasets": datasets, "methods": methods, **work}
    search(rows=found, **chosen)
    open_(search=found, rows=opened, bounds=bounds, rehearse=rehearse, **chosen)
    tables(rows=opened, bounds=bounds, recipe=recipe)
