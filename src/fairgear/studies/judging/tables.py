"""Tables, verdicts and trade-off curves of the opened rows."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from fairgear.errors import FileError
from fairgear.files import write_text
from fairgear.metrics import METRICS, Estimate, Interval
from fairgear.studies.judging.bounds import BOUNDS, Verdict, judge, read_bounds
from fairgear.studies.judging.intervals import Reach, over_splits
from fairgear.studies.judging.measures import (
    ANY,
    FIGURES,
    HELD_OUT,
    OWN_RATE,
    TRAINED,
    WORST,
    SavedAnswers,
)
from fairgear.studies.judging.opening import COLUMNS, OPENED, SOURCES, answers_path, file_hash
from fairgear.studies.judging.plan import ACCURATE, CHOSEN, Plan
from fairgear.studies.records import Rows, write_csv

_LABELS = {
    WORST: "worst δCF",
    TRAINED: "trained for, worst",
    HELD_OUT: "held out, worst",
    ANY: "under any",
    OWN_RATE: "own model",
}
# What the figures of trade-offs call the largest δCF.
_DRAWN = {"auroc": "auroc", WORST: "delta_cf_max"}
_UNKNOWN = "–"
_DIGITS = 8


@dataclass(frozen=True)
class Judged:
    """What was written: the page, and a verdict for each bound."""

    page: Path
    verdicts: list[Verdict]


def opened_rows(path: Path) -> pd.DataFrame:
    """The rows of an opening with their intervals parsed; all must have the same sources."""
    rows = Rows(path, COLUMNS).all()
    if not rows:
        raise FileError(
            f"rows {path}", "none", "rows of fairgear judge open", "open the sealed people first"
        )
    for name in SOURCES:
        if len({row[name] for row in rows}) > 1:
            raise FileError(
                f"rows {path}",
                f"rows with more than one {name}",
                "rows of one opening",
                "keep the files of two openings apart",
            )
    parsed = [{**row, "intervals": json.loads(row["intervals"])} for row in rows]
    return pd.DataFrame(parsed)


def estimates(rows: pd.DataFrame) -> pd.DataFrame:
    """`dataset method point value figure mean low high seeds`, over seeds."""
    found: list[dict[str, Any]] = []
    for (dataset, method, point), part in rows.groupby(["dataset", "method", "point"], sort=False):
        for figure in FIGURES:
            estimate = over_seeds(part, figure)
            found.append(
                {
                    "dataset": dataset,
                    "method": method,
                    "point": point,
                    "value": float(part["value"].iloc[0]),
                    "figure": figure,
                    "mean": estimate.value,
                    "low": estimate.interval.low,
                    "high": estimate.interval.high,
                    "seeds": len(part),
                }
            )
    return pd.DataFrame(found)


def over_seeds(rows: pd.DataFrame, figure: str) -> Estimate:
    """The mean of a figure over the rows of some seeds, with the interval of `intervals.py`."""
    values = rows[figure].to_numpy(np.float64)
    none = (math.nan, math.nan)
    people = Reach.mean(values, [Interval(*one.get(figure, none)) for one in rows["intervals"]])
    found = over_splits(values, people)
    # All figures are shares, or areas: from 0 to 1.
    return Estimate(found.value, found.interval.clipped(0.0, 1.0))


def write_tables(
    plan: Plan, path: Path, out: Path, *, bounds: Path = BOUNDS, draw: bool = True
) -> Judged:
    """Write everything that the opened rows say.

    Args:
        plan: names the methods and their order.
        path: the rows of the opening.
        out: the folder of results.md, judged.csv, verdicts.csv and the figures.
        bounds: those that the rows were opened with.
        draw: whether to draw trade-off curves too.
    """
    rows = opened_rows(path)
    if file_hash("bounds", bounds) != rows["bounds_sha256"].iloc[0]:
        raise FileError(
            f"bounds {bounds}",
            "another file than the rows were opened with",
            f"the file with the SHA-256 {rows['bounds_sha256'].iloc[0]}",
            "take the bounds of that commit: they do not change once rows exist",
        )
    table = estimates(rows)

    def find(dataset: str, method: str, point: str, seed: int) -> SavedAnswers | None:
        place = answers_path(path, dataset, method, point, seed)
        return SavedAnswers.read(place) if place.exists() else None

    present = set(rows["dataset"])
    verdicts = [judge(one, rows, find) for one in read_bounds(bounds) if one.dataset in present]
    # Processors differ in the last digits.
    write_csv(table.round(_DIGITS), out / "judged.csv")
    write_csv(verdict_frame(verdicts).round(_DIGITS), out / "verdicts.csv")
    first = rows.iloc[0]
    parts = [
        f"# {plan.title}",
        f"{_whom(first['opened'])} at commit {first['commit']}; bounds "
        f"{first['bounds_sha256'][:12]}. "
        "Mean over seeds (95 % interval over people and splits). Methods in italics read no graph.",
        "## Bounds",
        verdict_table(verdicts),
    ]
    for dataset in (name for name in plan.datasets if name in present):
        parts += [f"## {dataset}", method_table(plan, table, dataset)]
        parts += [f"δCF by causal model:\n\n{model_table(plan, rows, dataset)}"]
        if draw:
            _draw(plan, table, dataset, out)
            parts.append(f"![AUROC against the worst δCF on {dataset}](tradeoff-{dataset}.svg)")
    page = out / "results.md"
    write_text(page, "\n\n".join(parts) + "\n")
    return Judged(page, verdicts)


def method_table(plan: Plan, table: pd.DataFrame, dataset: str) -> str:
    """Methods by figures, as the search chose them; last their most accurate trial."""
    known = table[table["dataset"] == dataset]
    rows, accurate = (known[known["point"] == point] for point in (CHOSEN, ACCURATE))
    extreme = accurate.set_index(["method", "figure"])["mean"]
    heads = ["method", *(figure_label(name) for name in FIGURES), "seeds"]
    heads += [f"{figure_label(name)}, most accurate" for name in _DRAWN]
    lines = []
    for name in _methods(plan, rows):
        own = rows[rows["method"] == name].set_index("figure")
        shown = [_estimate(*own.loc[figure, ["mean", "low", "high"]]) for figure in FIGURES]
        last = [_number(extreme.get((name, figure), math.nan)) for figure in _DRAWN]
        lines.append([_named(plan, name), *shown, str(int(own["seeds"].iloc[0])), *last])
    return _markdown(heads, lines)


def model_table(plan: Plan, rows: pd.DataFrame, dataset: str) -> str:
    """Methods by causal models: the mean of δCF; in bold those that the method was trained for."""
    chosen = rows[(rows["dataset"] == dataset) & (rows["point"] == CHOSEN)]
    parsed = [json.loads(text) for text in chosen["models"]]
    models = list(dict.fromkeys(name for one in parsed for name in one))
    lines = []
    for name in _methods(plan, chosen):
        own = [one for one, method in zip(parsed, chosen["method"], strict=True) if method == name]
        cells = []
        for model in models:
            known = [one[model] for one in own if model in one]
            mean = f"{np.mean([one[0] for one in known]):.4f}" if known else _UNKNOWN
            cells.append(f"**{mean}**" if known and known[0][1] else mean)
        lines.append([_named(plan, name), *cells])
    return _markdown(["method", *models], lines)


def verdict_frame(verdicts: Sequence[Verdict]) -> pd.DataFrame:
    """One row for each bound."""
    heads = ["dataset", "method", "bound", "verdict", "value", "margin", "low", "high", "seeds"]
    lines = [
        (
            one.bound.dataset,
            one.bound.method,
            str(one.bound),
            one.verdict,
            one.value,
            one.margin.value,
            *one.margin.interval,
            one.seeds,
            one.because,
        )
        for one in verdicts
    ]
    return pd.DataFrame(lines, columns=[*heads, "because"])


def verdict_table(verdicts: Sequence[Verdict]) -> str:
    """The same in Markdown."""
    lines = [
        [
            one.bound.dataset,
            one.bound.method,
            str(one.bound),
            f"**{one.verdict}**",
            _number(one.value),
            one.because or _estimate(one.margin.value, *one.margin.interval),
        ]
        for one in verdicts
    ]
    return _markdown(["dataset", "method", "bound", "verdict", "value", "margin"], lines)


def figure_label(figure: str) -> str:
    """As tables have it."""
    return _LABELS[figure] if figure in _LABELS else METRICS[figure].label


def _draw(plan: Plan, table: pd.DataFrame, dataset: str, out: Path) -> None:
    # matplotlib takes a second to load.
    from fairgear.studies import figures

    drawn = table[table["figure"].isin(_DRAWN) & (table["point"] != ACCURATE)]
    chosen = drawn["point"] == CHOSEN
    curves = drawn.assign(
        metric=drawn["figure"].map(_DRAWN),
        line=drawn["method"].where(chosen, drawn["method"] + ", " + drawn["point"]),
        family=drawn["method"],
        order=drawn["value"],
        floor=~drawn["method"].map(_reads_graph(plan)),
    )
    figure = figures.tradeoff_figure(
        curves, dataset=dataset, against=["delta_cf_max"], named=set(curves.loc[chosen, "line"])
    )
    figures.save(figure, out / f"tradeoff-{dataset}")


def _whom(opened: str) -> str:
    if opened == OPENED:
        return "Sealed people, opened"
    return "**A rehearsal: open people stand in for the sealed ones. Not a result.** Made"


def _reads_graph(plan: Plan) -> dict[str, bool]:
    return {name: one.reads_graph for name, one in plan.methods.items()}


def _methods(plan: Plan, rows: pd.DataFrame) -> list[str]:
    """In the order of the plan."""
    present = set(rows["method"])
    return [name for name in plan.methods if name in present]


def _named(plan: Plan, name: str) -> str:
    return name if plan.methods[name].reads_graph else f"*{name}*"


def _estimate(mean: float, low: float, high: float) -> str:
    if math.isnan(low) or math.isnan(high):
        return _number(mean)
    return f"{mean:.4f} ({low:.4f} to {high:.4f})"


def _number(value: float) -> str:
    return _UNKNOWN if math.isnan(value) else f"{value:.4f}"


def _markdown(heads: Sequence[str], lines: Iterable[Sequence[str]]) -> str:
    rows = [heads, ["---", *["---:"] * (len(heads) - 1)], *lines]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)
