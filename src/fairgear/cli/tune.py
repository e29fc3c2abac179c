"""`fairgear tune`: settings searched for accuracy and few flips at once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import App, Parameter

from fairgear.cli.flags import NO_DATA, DataFlags, Device, Flag, examples, given
from fairgear.cli.output import Json, number, print_json, print_table, say

_JOBS = """Settings tried at a time, one thread each; 0 shows the
results of a finished search. [default: one a core]"""

tune_app = App(
    name="tune",
    help="Search a method's settings on validation people: accuracy against worst flips.",
    help_epilogue=examples(
        "fairgear tune synthetic --trials 40",
        "fairgear tune people.csv --label approved --sensitive sex --similarity 0.7",
        "fairgear tune bail --method graphsage --max-loss 0.005 --out tuning/bail",
        "fairgear tune synthetic --method gear --quick --trials 4",
    ),
)


@tune_app.default
def tune(
    dataset: str = "synthetic",
    /,
    *,
    method: str = "gear",
    trials: int = 40,
    max_loss: float = 0.01,
    halves: int = 2,
    quick: Flag = False,
    split: str | None = None,
    seed: int = 0,
    graph_seed: int = 0,
    recipe: Path | None = None,
    jobs: Annotated[int | None, Parameter(help=_JOBS)] = None,
    device: Device = "auto",
    out: Path | None = None,
    json: Json = False,
    data: DataFlags = NO_DATA,
) -> None:
    """Search settings, show the trade-off, and print the command that runs the chosen ones.

    Maximises AUROC (R² of the prediction for numbers) and minimises the largest δCF of the causal
    models. Test people are left out of the graph. The same command goes on with an interrupted
    search, and gives the same trials whatever --jobs is.

    Parameters
    ----------
    dataset
        A name from `fairgear datasets list`, or your table or graph.
    method
        One that the recipe knows, such as gear, graphsage or gear:encoder=mlp.
    trials
        Settings to try, besides the method's own.
    max_loss
        What is chosen: the fewest flips within this of the best AUROC (or R²).
    halves
        Fits of each trial, 2 or 1: each half of the validation people judges once.
    quick
        Few steps: shows that everything works, not which settings are best.
    split
        sixty-twenty-twenty, released or given (masks of a file).
        [default: given if there are any, else sixty-twenty-twenty]
    seed
        Split, initialisation and search.
    graph_seed
        Which synthetic graph.
    recipe
        YAML file of methods and what is searched, as for fairgear judge.
        [default: that of the package]
    out
        Folder of trials.csv and tuning.html. [default: tuning/DATASET-METHOD-SEED]
    """
    from dataclasses import replace

    from fairgear.datasets.source import FileOptions, GraphSource
    from fairgear.errors import ParameterError

    if not 0 <= max_loss <= 1:
        raise ParameterError("--max-loss", max_loss, "0 to 1", "use 0.01")
    source = GraphSource(
        dataset=dataset,
        data=FileOptions.from_dict(given(data)),
        seed=seed,
        graph_seed=graph_seed,
    ).checked()
    source.check_names()
    source = source.with_default_split() if split is None else replace(source, split=split)

    from fairgear.report.tuning import write_tuning_page
    from fairgear.studies.tuning.choice import WARNING, Result, default_folder
    from fairgear.studies.tuning.plan import Tuning, contestant
    from fairgear.studies.tuning.search import carry_out

    tuning = Tuning(
        source.resolved(),
        contestant(method, recipe),
        trials,
        halves,
        quick,
        device,
        typed=source,
    )
    folder = default_folder(tuning) if out is None else out
    found = Result(tuning, carry_out(tuning, folder, jobs=jobs), max_loss)
    page = folder / "tuning.html"
    write_tuning_page(found.page(), page)
    if json:
        print_json({"out": str(folder), "page": str(page), **found.to_dict()})
        return
    shown = found.page()
    rows = [
        (
            f"{one.name}{' (chosen)' if one.chosen else ''}",
            number(one.utility),
            number(one.flips),
            one.model,
        )
        for one in shown.front
    ]
    heads = ("front", shown.utility, "worst flips", "under")
    print_table(f"{method} on {source.short_name}, {shown.people} validation people", heads, rows)
    say(f"Chosen: {shown.chosen.name}, {found.rule}.\n\n{found.command}\n")
    if shown.better_floors:
        floors = ", ".join(shown.better_floors)
        say(f"Without a graph it is no worse in either figure: {floors}.")
    say(WARNING)
    say(f"Every trial and its settings: {page}")
