"""Tables of a reproduction: what was measured, and under it what the paper has."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import pandas as pd

from fairgear.experiments.compare_table import in_latex, summary
from fairgear.experiments.published import NEAR, published, with_difference
from fairgear.experiments.reproduce.recipe import Recipe
from fairgear.experiments.reproduce.records import Records
from fairgear.experiments.reproduce.study import Study
from fairgear.methods import METHODS
from fairgear.metrics import METRICS

# As the paper orders them; δCF as its code measures it, then as its text defines it.
SHOWN = (
    "accuracy",
    "f1",
    "auroc",
    "delta_eo",
    "delta_dp",
    "delta_cf_released",
    "delta_cf",
    "r2",
)
HEAD = "method"


def line_rows(study: Study, recipe: Recipe, records: Records) -> pd.DataFrame:
    """One row for each run of each line: `dataset line family value own seed` and the metrics."""
    parts = []
    for line in recipe.lines:
        cells = [
            study.cell(line, dataset, seed)
            for dataset in study.datasets_of(recipe)
            for seed in study.seeds_of(recipe)
        ]
        rows = records.of(cells)
        parts.append(
            rows.assign(line=line.name, family=line.family, value=line.value, own=line.own)
        )
    # Parts without rows know no kinds of columns, and would make objects of all figures.
    found = [part for part in parts if not part.empty] or parts[:1]
    return pd.concat(found, ignore_index=True)


def summarised(recipe: Recipe, rows: pd.DataFrame) -> pd.DataFrame:
    """`dataset line metric mean std low high seeds rank published published_std off`, by line."""
    found = unpublished(rows).drop(columns=["published", "published_std", "off"])
    both = found.merge(published_of(recipe), on=["dataset", "line", "metric"], how="left")
    return with_difference(both)


def unpublished(rows: pd.DataFrame) -> pd.DataFrame:
    """The same of lines that the paper has no figures for."""
    nothing = {"published": math.nan, "published_std": math.nan, "off": math.nan}
    found = summary(rows.assign(method=rows["line"])).rename(columns={"method": "line"})
    return found.assign(**nothing)


def with_curves(recipe: Recipe, table: pd.DataFrame) -> pd.DataFrame:
    """Adds `family order floor`: which points make a curve, and which see no graph."""
    lines = {line.name: line for line in recipe.lines}
    of = table["line"].map(lines)
    return table.assign(
        family=of.map(lambda line: line.family or line.name),
        order=of.map(lambda line: line.value),
        floor=of.map(lambda line: not METHODS[line.entry.method].reads_graph),
    )


def published_of(recipe: Recipe) -> pd.DataFrame:
    """What the paper has for the lines of a recipe: `dataset line metric published …`."""
    theirs = published(recipe.published)
    names = [(line.name, line.published) for line in recipe.lines if line.published]
    lines = pd.DataFrame(names, columns=["line", "method"])
    return lines.merge(theirs, on="method", how="inner").drop(columns="method")


def published_gear() -> pd.DataFrame:
    """What the paper has for its method: `dataset metric published published_std`."""
    theirs = published("table2")
    return theirs[theirs["method"] == "GEAR"].drop(columns="method")


def to_markdown(table: pd.DataFrame) -> str:
    """One table a dataset; figures further off than `NEAR` published deviations in bold."""
    parts = []
    for dataset, rows in table.groupby("dataset", sort=False):
        heads = [METRICS[name].label for name in SHOWN]
        lines = [f"### {dataset}", "", f"| {HEAD} | {' | '.join(heads)} | seeds |"]
        lines.append("|---|" + "---:|" * (len(heads) + 1))
        for name, cells in rows.groupby("line", sort=False):
            of: dict[Any, Any] = cells.set_index("metric").to_dict("index")
            seeds = max(int(of[metric]["seeds"]) for metric in SHOWN)
            lines.append(_line(f"**{name}**", of, _measured, str(seeds)))
            if cells["published"].notna().any():
                lines.append(_line("*published*", of, _published, ""))
        parts.append("\n".join(lines))
    return "\n\n".join(parts) + "\n"


def to_latex(table: pd.DataFrame) -> str:
    """The same as one tabular a dataset."""
    parts = []
    for dataset, rows in table.groupby("dataset", sort=False):
        heads = " & ".join([HEAD, *(in_latex(METRICS[name].label) for name in SHOWN)])
        lines = [f"% {dataset}", r"\begin{tabular}{l" + "r" * len(SHOWN) + "}", r"\hline"]
        lines += [heads + r" \\", r"\hline"]
        for name, cells in rows.groupby("line", sort=False):
            of: dict[Any, Any] = cells.set_index("metric").to_dict("index")
            shown = [_latex(of[metric], "mean", "std") for metric in SHOWN]
            lines.append(" & ".join([in_latex(str(name)), *shown]) + r" \\")
            if cells["published"].notna().any():
                shown = [_latex(of[metric], "published", "published_std") for metric in SHOWN]
                lines.append(" & ".join([r"\quad published", *shown]) + r" \\")
        parts.append("\n".join([*lines, r"\hline", r"\end{tabular}"]))
    return "\n\n".join(parts) + "\n"


def agreement(recipe: Recipe, table: pd.DataFrame) -> str:
    """How many of the published means were reached within `NEAR` published deviations.

    Our own preset is no reproduction, and is not counted.
    """
    theirs = [line.name for line in recipe.lines if line.entry.preset != "default"]
    counted = table[table["line"].isin(theirs)].dropna(subset=["off"])
    lines = []
    for dataset, rows in counted.groupby("dataset", sort=False):
        near = int((rows["off"].abs() <= NEAR).sum())
        lines.append(f"{near} of {len(rows)} on {dataset}")
    if not lines:
        return ""
    return (
        f"Means within {NEAR:g} published standard deviations, our own preset aside: "
        f"{', '.join(lines)}.\n"
    )


def disagreements() -> str:
    """Where the paper's own tables differ on the same thing."""
    parts = [published(name).assign(table=name) for name in ("table2", "table3", "tableS1")]
    both = pd.concat(parts)
    both["method"] = both["method"].replace("GEAR-GraphSAGE", "GEAR")
    lines = []
    for (dataset, method, metric), rows in both.groupby(["dataset", "method", "metric"]):
        if rows["published"].nunique() > 1:
            told = ", ".join(f"{row.published:.3f} in {row.table}" for row in rows.itertuples())
            label = METRICS[str(metric)].label
            lines.append(f"- {label} of {method} on {dataset}: {told}.")
    return "\n".join(lines) + "\n"


def _line(
    name: str, of: Mapping[Any, Any], shown: Callable[[Mapping[str, Any]], str], end: str
) -> str:
    return f"| {name} | " + " | ".join(shown(of[metric]) for metric in SHOWN) + f" | {end} |"


def _measured(cell: Mapping[str, Any]) -> str:
    if math.isnan(cell["mean"]):
        return "undefined"
    mean = f"{cell['mean']:.3f}"
    if abs(cell["off"]) > NEAR:
        mean = f"**{mean}**"
    return mean if math.isnan(cell["std"]) else f"{mean} ± {cell['std']:.3f}"


def _published(cell: Mapping[str, Any]) -> str:
    if math.isnan(cell["published"]):
        return ""
    told = f"{cell['published']:.3f} ± {cell['published_std']:.3f}"
    return told if math.isnan(cell["off"]) else f"{told} ({cell['off']:+.1f} σ)"


def _latex(cell: Mapping[str, Any], mean: str, std: str) -> str:
    if math.isnan(cell[mean]):
        return ""
    spread = "" if math.isnan(cell[std]) else rf" \pm {cell[std]:.3f}"
    return f"${cell[mean]:.3f}{spread}$"
