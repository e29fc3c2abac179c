"""The paper's tables and figures made again: the runs they need, and what is written of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import pandas as pd

from fairgear import datasets
from fairgear.datasets.source import GraphSource
from fairgear.errors import FileError, ParameterError
from fairgear.files import write_text
from fairgear.metrics import METRICS
from fairgear.progress import log
from fairgear.studies.claims import (
    Verdict,
    claim_verdicts,
    count_table,
    trend_verdicts,
    verdict_frame,
    verdict_table,
)
from fairgear.studies.published import (
    NEAR,
    SPLIT,
    published,
    published_statistics,
    with_difference,
)
from fairgear.studies.recipe import NAMES, Line, Recipe, read_recipe
from fairgear.studies.records import Records, write_csv
from fairgear.studies.spec import Cell, Study
from fairgear.studies.tables import paper_latex, paper_markdown, summary

ALL = "all"
# Significant digits in the file of rows.
DIGITS = 7
# No table of the paper changes one person's attribute alone, which would take most of the time.
SELF_PEOPLE = 0
# The dataset of the paper's figure 4.
FIGURE4 = "bail"
_DEVICES = {"cuda": "on a GPU", "cpu": "on a CPU", "": "on an unknown device"}


@dataclass(frozen=True)
class Reproduction:
    """Some of the paper's tables and figures.

    Attributes:
        recipes: the tables and figures.
        seeds: the seeds of the runs, each with its own split; empty for those of each recipe.
        datasets: the datasets to restrict it to; empty for all of each recipe.
        device: auto, cpu or cuda.
        quick: whether runs have a few steps only.
    """

    recipes: tuple[Recipe, ...]
    seeds: tuple[int, ...] = ()
    datasets: tuple[str, ...] = ()
    device: str = "auto"
    quick: bool = False

    @classmethod
    def of(
        cls,
        names: Sequence[str],
        seeds: Sequence[int] = (),
        *,
        only: Sequence[str] = (),
        quick: bool = False,
        device: str = "auto",
    ) -> Reproduction:
        """A checked reproduction; "all" stands for every table and figure."""
        for dataset in only:
            _ = datasets.DATASETS[dataset]
        wanted = dict.fromkeys(one for name in names for one in (NAMES if name == ALL else (name,)))
        recipes = tuple(read_recipe(name, quick=quick) for name in wanted)
        made = cls(recipes, tuple(seeds), tuple(only), device, quick)
        if not any(made.datasets_of(one) for one in recipes):
            raise ParameterError(
                f"datasets of {', '.join(wanted)}",
                ", ".join(only),
                ", ".join(dict.fromkeys(name for one in recipes for name in one.datasets)),
                "choose one of these, or leave --datasets out",
            )
        for one in recipes:
            left_out = [name for name in only if name not in one.datasets]
            if left_out:
                log(f"{one.name} has no {' and no '.join(left_out)}")
        return made

    def datasets_of(self, recipe: Recipe) -> tuple[str, ...]:
        """The datasets of a recipe that are wanted."""
        return tuple(name for name in recipe.datasets if name in (self.datasets or recipe.datasets))

    def cells(self, recipe: Recipe, lines: Sequence[Line] = ()) -> list[Cell]:
        """The runs of a recipe, or of some lines."""
        more = {"device": self.device, "self_people": SELF_PEOPLE, "protocol": "released"}
        source = GraphSource(split=SPLIT)
        first = [
            Cell(line.entry, line.entry.config(source, 0, **more)) for line in lines or recipe.lines
        ]
        return [
            Cell(cell.entry, replace(cell.config, dataset=dataset, seed=seed))
            for seed in self.seeds or range(recipe.seeds)
            for dataset in self.datasets_of(recipe)
            for cell in first
        ]

    @cached_property
    def study(self) -> Study:
        """All runs, by recipe."""
        parts = {one.name: self.cells(one) for one in self.recipes if one.lines}
        # Two curves may share a point.
        return Study(
            {name: list({cell.key: cell for cell in of}.values()) for name, of in parts.items()}
        )

    def rows(self, recipe: Recipe, records: Records) -> pd.DataFrame:
        """One row for each run of each line: `dataset line family value own seed` and metrics."""
        parts = []
        for line in recipe.lines:
            cells = self.cells(recipe, [line])
            # Dataset by dataset, as tables have them.
            cells.sort(key=lambda cell: recipe.datasets.index(cell.config.dataset))
            rows = records.of(cells)
            parts.append(
                rows.assign(line=line.name, family=line.family, value=line.value, own=line.own)
            )
        # Empty parts have no column types, and would turn all columns into objects.
        found = [part for part in parts if not part.empty] or parts[:1]
        return pd.concat(found, ignore_index=True)


@dataclass(frozen=True)
class Results:
    """The parts of the page by name, and every verdict."""

    parts: dict[str, str]
    verdicts: list[Verdict]


def write_results(
    plan: Reproduction, records: Records, folder: Path, *, draw: bool = True
) -> Results:
    """Write all tables, figures and verdicts that the rows at hand allow.

    Args:
        plan: the tables and figures.
        records: what has been measured.
        folder: where to write.
        draw: whether to draw figures too.
    """
    parts: dict[str, str] = {}
    verdicts: list[Verdict] = []
    for recipe in plan.recipes:
        if not recipe.lines:
            try:
                parts[recipe.name] = _statistics(plan, recipe, folder)
            except FileError as error:
                # Tables of rows need no files of datasets.
                log(f"{recipe.name} is left out: {error}")
            continue
        rows = plan.rows(recipe, records)
        if rows.empty:
            continue
        # A few steps show that everything runs, and nothing about the methods.
        found = [] if plan.quick else _verdicts(recipe, rows)
        verdicts += found
        table = summarised(recipe, rows)
        parts[recipe.name] = _table(recipe, table, folder) + "\n" + verdict_table(found)
        if draw:
            _figures(recipe, table, rows, folder)
    parts |= {"made": made(plan, records), "disagreements": disagreements()}
    parts["verdicts"] = count_table(verdicts) if verdicts else "None: too few steps, or no rows.\n"
    write_csv(verdict_frame(verdicts), folder / "verdicts.csv")
    write_text(folder / "verdicts.md", parts["verdicts"] + "\n" + verdict_table(verdicts))
    titles = {"made": "What was run", "verdicts": "The paper's claims"}
    titles |= {one.name: one.title for one in plan.recipes}
    titles["disagreements"] = "Where the paper's tables differ"
    page = [f"## {title}\n\n{parts[name]}" for name, title in titles.items() if name in parts]
    write_text(folder / "results.md", "\n".join(page))
    return Results(parts, verdicts)


def made(plan: Reproduction, records: Records) -> str:
    """How many runs are done, with which seeds, on which devices and at which commits."""
    study = plan.study
    rows = records.of(study.cells)
    done = [
        f"{name} {sum(cell in records for cell in cells)} of {len(cells)}"
        for name, cells in study.parts.items()
    ]
    commits = sorted(set(rows.get("commit", pd.Series(dtype=str)).dropna().astype(str)))
    devices = rows.get("device", pd.Series(dtype=str)).value_counts().sort_index(ascending=False)
    where = ", ".join(
        f"{count} {_DEVICES.get(str(device), device)}" for device, count in devices.items()
    )
    seeds = [cell.config.seed for cell in study.cells] or [0]
    warning = "**Quick: few training steps. Nothing here says how good a method is.**\n\n"
    return (warning if plan.quick else "") + (
        f"{len(rows)} of {len(study.cells)} runs ({'; '.join(done)}) of the seeds {min(seeds)} to "
        f"{max(seeds)}, {rows['seconds'].sum() / 3600:.1f} hours of one core or GPU ({where}), "
        f"at commits {', '.join(commits)}.\n"
    )


def summarised(recipe: Recipe, rows: pd.DataFrame) -> pd.DataFrame:
    """`dataset line metric mean std low high seeds rank published published_std off`."""
    found = summary(rows.assign(method=rows["line"])).rename(columns={"method": "line"})
    if not recipe.published:
        return found.assign(published=math.nan, published_std=math.nan, off=math.nan)
    return with_difference(
        found.merge(published_of(recipe), on=["dataset", "line", "metric"], how="left")
    )


def published_of(recipe: Recipe) -> pd.DataFrame:
    """What the paper has for the lines of a recipe: `dataset line metric published …`."""
    names = [(line.name, line.published) for line in recipe.lines if line.published]
    lines = pd.DataFrame(names, columns=["line", "method"])
    return lines.merge(published(recipe.published), on="method", how="inner").drop(columns="method")


def with_curves(recipe: Recipe, table: pd.DataFrame) -> pd.DataFrame:
    """Add `family order floor`: which points make a curve, and which methods read no graph."""
    of = table["line"].map({line.name: line for line in recipe.lines})
    return table.assign(
        family=of.map(lambda line: line.family or line.name),
        order=of.map(lambda line: line.value),
        floor=of.map(lambda line: not line.entry.reads_graph),
    )


def agreement(table: pd.DataFrame) -> str:
    """How many published means were reached within `NEAR` published deviations."""
    counted = table.dropna(subset=["off"])
    lines = [
        f"{int((rows['off'].abs() <= NEAR).sum())} of {len(rows)} on {dataset}"
        for dataset, rows in counted.groupby("dataset", sort=False)
    ]
    if not lines:
        return ""
    return f"Means within {NEAR:g} published standard deviations: {', '.join(lines)}.\n"


def disagreements() -> str:
    """Where the paper's own tables differ on the same figure."""
    both = pd.concat(
        [published(name).assign(table=name) for name in ("table2", "table3", "tableS1")]
    )
    both["method"] = both["method"].replace("GEAR-GraphSAGE", "GEAR")
    lines = []
    for (dataset, method, metric), rows in both.groupby(["dataset", "method", "metric"]):
        if rows["published"].nunique() > 1:
            values = ", ".join(f"{row.published:.3f} in {row.table}" for row in rows.itertuples())
            lines.append(f"- {METRICS[str(metric)].label} of {method} on {dataset}: {values}.")
    return "\n".join(lines) + "\n"


def _table(recipe: Recipe, table: pd.DataFrame, folder: Path) -> str:
    text = paper_markdown(table)
    if recipe.published:
        text += "\n" + agreement(table)
    write_csv(table, folder / f"{recipe.name}.csv")
    write_text(folder / f"{recipe.name}.md", text)
    write_text(folder / f"{recipe.name}.tex", paper_latex(table))
    return text


def _verdicts(recipe: Recipe, rows: pd.DataFrame) -> list[Verdict]:
    found: list[Verdict] = []
    paper = published_of(recipe) if recipe.claims else pd.DataFrame()
    for claim in recipe.claims:
        found += claim_verdicts(claim, rows, paper)
    gear = published("table2").query("method == 'GEAR'")
    for trend in recipe.trends:
        found += trend_verdicts(trend, rows, gear)
    return found


def _figures(recipe: Recipe, table: pd.DataFrame, rows: pd.DataFrame, folder: Path) -> None:
    # matplotlib takes a second to load.
    from fairgear.studies import figures

    if recipe.figure == "encoders" and FIGURE4 in set(table["dataset"]):
        figures.save(figures.encoder_figure(table, dataset=FIGURE4), folder / "figure4")
    elif recipe.figure == "sweeps":
        renamed = rows.rename(columns={"family": "sweep"})
        figures.save(figures.sweep_figure(renamed), folder / recipe.name)
    elif recipe.figure == "tradeoffs":
        table = with_curves(recipe, table)
        for dataset in dict.fromkeys(table["dataset"]):
            figure = figures.tradeoff_figure(table, dataset=dataset)
            figures.save(figure, folder / f"tradeoff-{dataset}")
            figure = figures.tradeoff_figure(table, dataset=dataset, against=("r2",))
            figures.save(figure, folder / f"tradeoff-r2-{dataset}")


def _statistics(plan: Reproduction, recipe: Recipe, folder: Path) -> str:
    """Table 1: the graphs as they are loaded, beside the paper's counts."""
    table = published_statistics().set_index("dataset")
    # Row by row as plain values: counts stay whole numbers beside the average degree.
    columns, paper = list(table.columns), table.to_dict("index")
    rows, lines = [], ["| dataset | | " + " | ".join(columns) + " |"]
    lines.append("|---|---|" + "---:|" * len(columns))
    for name in plan.datasets_of(recipe):
        counted = vars(datasets.statistics(datasets.load(name)))
        for source, values in (("counted", counted), ("published", paper[name])):
            rows.append({"dataset": name, "source": source, **{c: values[c] for c in columns}})
            shown = " | ".join(_count(values[column]) for column in columns)
            lines.append(f"| {name if source == 'counted' else ''} | {source} | {shown} |")
    text = "\n".join(lines) + "\n"
    frame = pd.DataFrame(rows)
    write_csv(frame, folder / f"{recipe.name}.csv")
    write_text(folder / f"{recipe.name}.md", text)
    latex = frame.to_latex(index=False, escape=True, float_format="%.3f")
    write_text(folder / f"{recipe.name}.tex", latex)
    return text


def _count(value: float) -> str:
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:,.3f}"
