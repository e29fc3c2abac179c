"""What a reproduction leaves: tables, figures, verdicts, and one page with all of them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from fairgear import datasets
from fairgear.experiments.published import published_statistics
from fairgear.experiments.reproduce import claims, tables
from fairgear.experiments.reproduce.goals import goals, goals_markdown
from fairgear.experiments.reproduce.recipe import Recipe
from fairgear.experiments.reproduce.records import Records
from fairgear.experiments.reproduce.study import Study
from fairgear.files import replacing, write_text
from fairgear.metrics import METRICS

TABLE2, FIGURE4 = "table2", "bail"


@dataclass(frozen=True)
class Results:
    """The parts of the page by name, and every verdict."""

    parts: dict[str, str]
    verdicts: list[claims.Verdict]


def write_results(study: Study, records: Records, folder: Path, *, draw: bool = True) -> Results:
    """Write everything that the rows at hand allow.

    Args:
        study: whose tables and figures.
        records: what has been measured.
        folder: where they go.
        draw: whether figures are drawn too.
    """
    parts: dict[str, str] = {}
    verdicts: list[claims.Verdict] = []
    for recipe in study.recipes:
        if recipe.kind == "statistics":
            parts[recipe.name] = _statistics(recipe, study, folder)
            continue
        rows = tables.line_rows(study, recipe, records)
        if rows.empty:
            continue
        found = _verdicts(recipe, rows)
        verdicts += found
        parts[recipe.name] = _table(recipe, rows, folder) + "\n" + verdict_table(found)
        if recipe.name == TABLE2:
            parts["goals"] = goals_markdown(goals(tables.summarised(recipe, rows)))
        if draw:
            _figures(recipe, rows, folder)
    _write_csv(claims.frame(verdicts), folder / "verdicts.csv")
    write_text(folder / "verdicts.md", verdict_table(verdicts))
    titles = {one.name: one.title for one in study.recipes} | {"goals": "Goals"}
    page = [f"## {titles[name]}\n\n{text}" for name, text in parts.items()]
    write_text(folder / "results.md", "\n".join(page))
    return Results(parts, verdicts)


def verdict_table(found: list[claims.Verdict]) -> str:
    """One line a verdict."""
    if not found:
        return ""
    lines = [
        "| claim | dataset | of | measure | verdict | because | the paper's own means |",
        "|---" * 7 + "|",
    ]
    for one in found:
        paper = {None: "", True: "agree", False: "do not agree"}[one.in_paper]
        lines.append(
            f"| {one.claim} | {one.dataset} | {one.subject} | {METRICS[one.metric].label} | "
            f"{one.verdict} | {one.because} | {paper} |"
        )
    return "\n".join(lines) + "\n"


def _table(recipe: Recipe, rows: pd.DataFrame, folder: Path) -> str:
    if recipe.published:
        table = tables.summarised(recipe, rows)
        text = tables.to_markdown(table) + "\n" + tables.agreement(table)
    else:
        table = tables.unpublished(rows)
        text = tables.to_markdown(table)
    _write_csv(table, folder / f"{recipe.name}.csv")
    write_text(folder / f"{recipe.name}.md", text)
    write_text(folder / f"{recipe.name}.tex", tables.to_latex(table))
    return text


def _verdicts(recipe: Recipe, rows: pd.DataFrame) -> list[claims.Verdict]:
    told = tables.published_of(recipe) if recipe.published else pd.DataFrame()
    found = [one for claim in recipe.claims for one in claims.claim_verdicts(claim, rows, told)]
    return found + [one for trend in recipe.trends for one in claims.trend_verdicts(trend, rows)]


def _figures(recipe: Recipe, rows: pd.DataFrame, folder: Path) -> None:
    # Loaded late: plots are for people, and machines that compute may lack the library.
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


def _statistics(recipe: Recipe, study: Study, folder: Path) -> str:
    """Table 1: the graphs as they are loaded, beside the paper's counts."""
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
