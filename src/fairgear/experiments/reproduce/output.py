"""What a reproduction leaves: tables, figures, verdicts, and one page with all of them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from fairgear import datasets
from fairgear.errors import FileError
from fairgear.experiments.published import published_statistics
from fairgear.experiments.reproduce import tables, verdicts
from fairgear.experiments.reproduce.claims import claim_verdicts
from fairgear.experiments.reproduce.goals import goals, goals_markdown
from fairgear.experiments.reproduce.recipe import Recipe
from fairgear.experiments.reproduce.records import Records
from fairgear.experiments.reproduce.study import Study
from fairgear.experiments.reproduce.trends import trend_verdicts
from fairgear.experiments.reproduce.verdicts import Verdict, verdict_table
from fairgear.files import replacing, write_text
from fairgear.progress import log

# The table that the goals are read from, and the dataset of the paper's figure 4.
GOALS_OF = "table2"
# Rows of a time when they did not say on what device they were made have none.
_PLACES = {"cuda": "on a card", "cpu": "on a CPU", "": "that do not say where"}
FIGURE4 = "bail"


@dataclass(frozen=True)
class Results:
    """The parts of the page by name, and every verdict."""

    parts: dict[str, str]
    verdicts: list[Verdict]


def write_results(study: Study, records: Records, folder: Path, *, draw: bool = True) -> Results:
    """Write everything that the rows at hand allow.

    Args:
        study: whose tables and figures.
        records: what has been measured.
        folder: where they go.
        draw: whether figures are drawn too.
    """
    parts: dict[str, str] = {}
    told: list[Verdict] = []
    for recipe in study.recipes:
        if recipe.kind == "statistics":
            parts |= _statistics(recipe, study, folder)
            continue
        rows = tables.line_rows(study, recipe, records)
        if rows.empty:
            continue
        # A few steps show that everything runs, and nothing about the methods.
        found = [] if study.quick else _verdicts(recipe, rows)
        told += found
        parts[recipe.name] = _table(recipe, rows, folder) + "\n" + verdict_table(found)
        if recipe.name == GOALS_OF and not study.quick:
            parts["goals"] = goals_markdown(goals(tables.summarised(recipe, rows)))
        if draw:
            _figures(recipe, rows, folder)
    parts |= {"made": made(study, records), "disagreements": tables.disagreements()}
    parts["verdicts"] = verdicts.count_table(told) if told else "None: too few steps, or no rows.\n"
    _write_csv(verdicts.frame(told), folder / "verdicts.csv")
    write_text(folder / "verdicts.md", parts["verdicts"] + "\n" + verdict_table(told))
    write_text(folder / "results.md", page(study, parts))
    return Results(parts, told)


def made(study: Study, records: Records) -> str:
    """How much of the plan is done, with which seeds, and at which commits."""
    cells = study.cells()
    rows = records.of(cells)
    commits = ", ".join(sorted(set(rows.get("commit", pd.Series(dtype=str)).dropna().astype(str))))
    done = [
        f"{one.name} {len(records.of(study.cells(one)))} of {len(study.cells(one))}"
        for one in study.recipes
        if one.lines
    ]
    seeds = [cell.config.seed for cell in cells] or [0]
    hours = rows["seconds"].sum() / 3600
    places = rows.get("device", pd.Series(dtype=str)).value_counts().sort_index(ascending=False)
    where = ", ".join(
        f"{count} {_PLACES.get(str(place), place)}" for place, count in places.items()
    )
    warning = "**Quick: few training steps. Nothing here says how good a method is.**\n\n"
    return (warning if study.quick else "") + (
        f"{len(rows)} of {len(cells)} runs ({'; '.join(done)}) of the seeds {min(seeds)} to "
        f"{max(seeds)}, {hours:.1f} hours of one core or card ({where}), "
        f"at commits {commits}.\n"
    )


def page(study: Study, parts: dict[str, str]) -> str:
    """All parts below each other."""
    titles = {"made": "What was run", "verdicts": "The paper's claims", "goals": "Goals"}
    titles |= {one.name: one.title for one in study.recipes}
    titles["disagreements"] = "Where the paper's tables differ"
    return "\n".join(
        f"## {title}\n\n{parts[name]}" for name, title in titles.items() if name in parts
    )


def _table(recipe: Recipe, rows: pd.DataFrame, folder: Path) -> str:
    if recipe.published:
        table = tables.summarised(recipe, rows)
        text = tables.to_markdown(table) + "\n" + tables.agreement(recipe, table)
    else:
        table = tables.unpublished(rows)
        text = tables.to_markdown(table)
    _write_csv(table, folder / f"{recipe.name}.csv")
    write_text(folder / f"{recipe.name}.md", text)
    write_text(folder / f"{recipe.name}.tex", tables.to_latex(table))
    return text


def _verdicts(recipe: Recipe, rows: pd.DataFrame) -> list[Verdict]:
    found: list[Verdict] = []
    for claim in recipe.claims:
        found += claim_verdicts(claim, rows, tables.published_of(recipe))
    for trend in recipe.trends:
        found += trend_verdicts(trend, rows, tables.published_gear())
    return found


def _figures(recipe: Recipe, rows: pd.DataFrame, folder: Path) -> None:
    # Loaded late: the library takes a second, and a machine that computes may lack it.
    from fairgear.experiments.reproduce import figures

    if recipe.figure == "encoders":
        table = tables.summarised(recipe, rows)
        # The paper's figure 4 is of one dataset.
        if FIGURE4 in set(table["dataset"]):
            figures.save(figures.encoder_figure(table, dataset=FIGURE4), folder / "figure4")
    elif recipe.figure == "sweeps":
        renamed = rows.rename(columns={"family": "sweep"})
        figures.save(figures.sweep_figure(renamed), folder / recipe.name)
    elif recipe.figure == "tradeoffs":
        table = tables.with_curves(recipe, tables.unpublished(rows))
        for dataset in dict.fromkeys(table["dataset"]):
            figure = figures.tradeoff_figure(table, dataset=dataset)
            figures.save(figure, folder / f"tradeoff-{dataset}")
            figure = figures.tradeoff_figure(table, dataset=dataset, against=("r2",))
            figures.save(figure, folder / f"tradeoff-r2-{dataset}")


def _statistics(recipe: Recipe, study: Study, folder: Path) -> dict[str, str]:
    """Table 1: the graphs as they are loaded, beside the paper's counts.

    Nothing where the files of a dataset are not at hand: tables of rows need none.
    """
    try:
        return {recipe.name: _counted(recipe, study, folder)}
    except FileError as error:
        log(f"{recipe.name} is left out: {error}")
        return {}


def _counted(recipe: Recipe, study: Study, folder: Path) -> str:
    table = published_statistics().set_index("dataset")
    # Row by row as plain values: counts stay whole numbers beside the average degree.
    columns, told = list(table.columns), table.to_dict("index")
    rows, lines = [], ["| dataset | | " + " | ".join(columns) + " |"]
    lines.append("|---|---|" + "---:|" * len(columns))
    for name in study.datasets_of(recipe):
        counted = vars(datasets.statistics(datasets.load(name)))
        for source, values in (("counted", counted), ("published", told[name])):
            rows.append({"dataset": name, "source": source, **{c: values[c] for c in columns}})
            shown = " | ".join(_count(values[column]) for column in columns)
            lines.append(f"| {name if source == 'counted' else ''} | {source} | {shown} |")
    text = "\n".join(lines) + "\n"
    frame = pd.DataFrame(rows)
    _write_csv(frame, folder / f"{recipe.name}.csv")
    write_text(folder / f"{recipe.name}.md", text)
    write_text(
        folder / f"{recipe.name}.tex", frame.to_latex(index=False, escape=True, float_format="%.3f")
    )
    return text


def _count(value: float) -> str:
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:,.3f}"


def _write_csv(frame: pd.DataFrame, path: Path) -> None:
    with replacing(path) as temporary:
        frame.to_csv(temporary, index=False)
