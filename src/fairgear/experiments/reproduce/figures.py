"""The paper's figures, drawn again from finished runs: encoders, settings, and the trade-off."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from fairgear.errors import ParameterError
from fairgear.experiments import compare_table
from fairgear.experiments.reproduce.figure_style import (
    COLORS,
    HATCHES,
    INK,
    MARKERS,
    SOFT,
    Segment,
    markers,
    place_labels,
    say_empty,
    settle,
    square_root,
    style,
)
from fairgear.files import replacing
from fairgear.metrics import METRICS

PREDICTION = ("accuracy", "f1", "auroc")
FAIRNESS = ("delta_eo", "delta_dp", "delta_cf", "delta_cf_released", "r2")
COUNTERFACTUAL = ("delta_cf", "delta_cf_released")
# The rows of the sweep's panels.
SWEPT = (("auroc", "accuracy"), ("delta_cf", "delta_cf_released", "r2"))
DPI = 200
# Values that are this many times apart are drawn on a logarithmic scale.
WIDE = 50
# Seeds from which on a mean has whiskers or a band.
WHISKERS = 3
# As far as a point reaches: its whisker, or itself where a single seed gives no whisker.
_ENDS = ("mean", "high")
_BAND = f"{compare_table.LEVEL:.0%} interval of the mean over seeds".replace("%", " %")


def encoder_figure(summary: pd.DataFrame, *, dataset: str = "bail") -> Figure:
    """The paper's figure 4: prediction and fairness, a bar for each encoder.

    Args:
        summary: a row for each dataset, line and metric, with columns `dataset line metric mean
            std low high seeds published published_std`; NaN where there is no value.
        dataset: whose rows are drawn.
    """
    rows = _measured(summary, dataset)
    lines = list(dict.fromkeys(rows["line"]))
    with style():
        figure = Figure(figsize=(10.5, 3.9), layout="constrained")
        figure.suptitle(f"Encoders on {dataset}")
        panels = figure.subplots(1, 2, width_ratios=[len(PREDICTION), len(FAIRNESS)])
        for axes, title, metrics in zip(
            panels, ("Prediction", "Fairness"), (PREDICTION, FAIRNESS), strict=True
        ):
            better = METRICS[metrics[0]].direction
            axes.set_title(f"{title} ({better} is better)", loc="left")
            _bars(axes, rows, lines, [name for name in metrics if name in set(rows["metric"])])
        keys = {
            str(key.get_label()): key
            for axes in panels
            for key in (*axes.containers, *axes.lines)
            if not str(key.get_label()).startswith("_")
        }
        figure.legend(handles=list(keys.values()), loc="outside right upper")
        figure.supxlabel("Whiskers: standard deviation over seeds", fontsize=8, color=SOFT)
        settle(figure)
    return figure


def sweep_figure(rows: pd.DataFrame) -> Figure:
    """The paper's figure 5: what each setting changes, one setting at a time.

    Args:
        rows: a row for each run, with columns `sweep` (the setting's name), `value`, `own`
            (whether it is the preset's own value), `seed`, and one for each metric.
    """
    sweeps = list(dict.fromkeys(rows["sweep"]))
    if not sweeps:
        raise ParameterError("sweep_figure(rows=…)", "no rows", "a row a run", "run the sweep")
    rows = pd.concat([_of_all_values(part) for _, part in rows.groupby("sweep", sort=False)])
    # The sweep stands for the dataset and the value for the method; a missing column is all NaN.
    means = compare_table.summary(
        rows.assign(dataset=rows["sweep"], method=rows["value"]).reindex(
            columns=["dataset", "method", *METRICS]
        )
    ).dropna(subset="mean")
    # Of two seeds the interval is as wide as the panel, and says nothing.
    means.loc[means["seeds"] < WHISKERS, ["low", "high"]] = np.nan
    with style():
        figure = Figure(figsize=(1.7 + 2.4 * len(sweeps), 4.8), layout="constrained")
        figure.suptitle("One setting at a time")
        grid = figure.subplots(2, len(sweeps), sharex="col", sharey="row", squeeze=False)
        for place, sweep in enumerate(sweeps):
            of_sweep = rows[rows["sweep"] == sweep]
            own = of_sweep.loc[of_sweep["own"].eq(True), "value"].dropna().unique()
            for axes, metrics in zip(grid[:, place], SWEPT, strict=True):
                _curves(axes, means[means["dataset"] == sweep], metrics)
                for value in own:
                    axes.axvline(value, color=INK, lw=0.8, ls=(0, (4, 2)), zorder=1, label="own")
            count = of_sweep["seed"].nunique()
            grid[-1, place].set_xlabel(f"{sweep} ({count} {'seed' if count == 1 else 'seeds'})")
            _value_axis(grid[-1, place], of_sweep["value"])
        for row, metrics in zip(grid, SWEPT, strict=True):
            row[0].set_ylabel(f"{METRICS[metrics[0]].direction} is better")
            row[-1].legend(
                handles=[_curve_key(name) for name in metrics if name in set(means["metric"])],
                loc="center left",
                bbox_to_anchor=(1.02, 0.5),
            )
        note = f"Bands: {_BAND}. Dashed: the preset's own value."
        figure.supxlabel(note, fontsize=8, color=SOFT)
        settle(figure)
    return figure


def _of_all_values(rows: pd.DataFrame) -> pd.DataFrame:
    """The seeds that a sweep has at each of its values: others would bend the curve of means."""
    values = rows.groupby("seed")["value"].nunique()
    whole = values[values == rows["value"].nunique()].index
    return rows[rows["seed"].isin(whole)] if len(whole) else rows


def tradeoff_figure(
    summary: pd.DataFrame, *, dataset: str, against: Sequence[str] = COUNTERFACTUAL
) -> Figure:
    """AUROC against δCF, strict and released: who pays how much for treating people alike.

    Args:
        summary: as for `encoder_figure`, and `family` (its lines are joined; empty: on its own),
            `order` (in which) and `floor` (a method without a graph: hollow).
        dataset: whose rows are drawn.
        against: other measures in place of δCF, a panel each.
    """
    rows = _measured(summary, dataset)
    named = rows["family"].notna() & rows["family"].ne("")
    # The interval of two seeds is as wide as the figure, and says nothing.
    enough = rows["seeds"] >= WHISKERS
    rows = rows.assign(
        family=rows["family"].where(named, rows["line"]),
        low=rows["low"].where(enough),
        high=rows["high"].where(enough),
    )
    keyed: set[str] = set()
    # What finds no room beside its point goes to the legend, which changes the room there is.
    while True:
        figure, left_out = _tradeoff(rows, dataset, against, keyed)
        if not left_out:
            return figure
        keyed |= left_out


def save(figure: Figure, path_without_suffix: Path) -> list[Path]:
    """Write the figure as SVG and PNG; the same figure gives the same bytes."""
    written = []
    with style():
        for kind in ("svg", "png"):
            path = Path(path_without_suffix)
            path = path.with_name(f"{path.name}.{kind}")
            metadata = {"Title": figure.get_suptitle()} | ({"Date": None} if kind == "svg" else {})
            with replacing(path) as temporary:
                figure.savefig(temporary, format=kind, dpi=DPI, metadata=metadata)
            written.append(path)
    return written


def _measured(summary: pd.DataFrame, dataset: str) -> pd.DataFrame:
    """The dataset's rows that have a mean."""
    known = list(dict.fromkeys(summary["dataset"]))
    if dataset not in known:
        raise ParameterError(
            "dataset of the figure",
            repr(dataset),
            ", ".join(map(repr, known)) or "none: there are no rows",
            "run the recipe on it first",
        )
    return summary[(summary["dataset"] == dataset) & summary["mean"].notna()]


def _bars(axes: Axes, rows: pd.DataFrame, lines: Sequence[str], metrics: Sequence[str]) -> None:
    if not metrics:
        say_empty(axes)
        return
    width = 0.84 / len(lines)
    for place, line in enumerate(lines):
        own = rows[(rows["line"] == line) & rows["metric"].isin(metrics)].to_dict("records")
        if not own:
            continue
        aside = (place - (len(lines) - 1) / 2) * width
        at = [metrics.index(row["metric"]) + aside for row in own]
        axes.bar(
            at,
            [row["mean"] for row in own],
            0.9 * width,
            color=COLORS[place % len(COLORS)],
            hatch=HATCHES[place // len(COLORS) % len(HATCHES)],
            edgecolor="white",
            linewidth=0,
            label=line,
        )
        for x, row in zip(at, own, strict=True):
            ends = _within(row["metric"], row["mean"] - row["std"], row["mean"] + row["std"])
            if ends is not None:
                axes.plot([x, x], ends, color=INK, lw=0.9, solid_capstyle="butt", gid="whisker")
            if pd.notna(row["published"]):
                _published(axes, x, row["published"])
    axes.set_xticks(range(len(metrics)), [METRICS[name].label for name in metrics])
    axes.tick_params(axis="x", length=0)
    axes.grid(False, axis="x")
    axes.set_ylim(bottom=0)


def _published(axes: Axes, x: float, value: float) -> None:
    axes.plot(
        [x],
        [value],
        "D",
        ms=4,
        mfc="white",
        mec=INK,
        mew=0.9,
        ls="none",
        zorder=4,
        label="published mean",
        gid="published",
    )


def _curves(axes: Axes, means: pd.DataFrame, metrics: Sequence[str]) -> None:
    shown = [name for name in metrics if name in set(means["metric"])]
    if not shown:
        say_empty(axes)
    for name in shown:
        own = means[means["metric"] == name].sort_values("method")
        key = _curve_key(name)
        values = own["method"].to_numpy(np.float64)
        axes.plot(
            values, own["mean"], color=key.get_color(), marker=key.get_marker(), ms=4, label=name
        )
        band = own[["low", "high"]].clip(METRICS[name].low, METRICS[name].high)
        if band.notna().any(axis=None):
            axes.fill_between(
                values, band["low"], band["high"], color=key.get_color(), alpha=0.18, lw=0
            )


def _curve_key(name: str) -> Line2D:
    """How a metric is drawn in every panel."""
    place = [metric for metrics in SWEPT for metric in metrics].index(name)
    label = METRICS[name].label
    return Line2D([], [], color=COLORS[place], marker=MARKERS[place], markersize=4, label=label)


def _value_axis(axes: Axes, values: pd.Series[float]) -> None:
    """Ticks where the runs are."""
    ticks = sorted(values.dropna().unique())
    if ticks and ticks[0] > 0 and ticks[-1] >= WIDE * ticks[0]:
        axes.set_xscale("log")
    axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    axes.set_xticks([], minor=True)


def _tradeoff(
    rows: pd.DataFrame, dataset: str, against: Sequence[str], keyed: set[str]
) -> tuple[Figure, set[str]]:
    """The figure with `keyed` in a legend, and which of the other lines found no room."""
    families = dict(zip(rows["line"], rows["family"], strict=True))
    looks = markers(families)
    left_out: set[str] = set()
    with style():
        wide = 5.5 * max(len(against), 1.5) + (2 if keyed else 0)
        figure = Figure(figsize=(wide, 5.2), layout="constrained")
        names = ("δCF" if one in COUNTERFACTUAL else METRICS[one].label for one in against)
        what = " and ".join(dict.fromkeys(names))
        figure.suptitle(f"AUROC against {what} on {dataset}")
        panels = figure.subplots(1, len(against), sharex=True, sharey=True, squeeze=False)[0]
        drawn = []
        for axes, metric in zip(panels, against, strict=True):
            points = _points(rows, metric)
            drawn.append((axes, points, _scatter(axes, points, looks)))
            if not points:
                say_empty(axes)
            axes.set_xlabel(_axis_label(metric))
        panels[0].set_ylabel(_axis_label("auroc"))
        reached = [point[end] for _, points, _ in drawn for point in points for end in _ENDS]
        square_root(panels[0], reached)
        panels[0].margins(y=0.1)
        note = f"Whiskers: {_BAND}. Hollow: without a graph."
        figure.supxlabel(note, fontsize=8, color=SOFT)
        if keyed:
            hollow = dict(zip(rows["line"], rows["floor"].eq(True), strict=True))
            handles = [_point_key(line, *looks[line], hollow[line]) for line in looks]
            shown = [handle for handle in handles if handle.get_label() in keyed]
            figure.legend(handles=shown, loc="outside right upper")
        settle(figure)
        for axes, points, lines in drawn:
            at = {point["line"]: (point["mean"], point["mean_auroc"]) for point in points}
            left_out |= set(place_labels(axes, at, lines, nameless=keyed))
    return figure, left_out


def _points(rows: pd.DataFrame, metric: str) -> list[dict[str, Any]]:
    """A point for each line that has both measures; the ends of a whisker are NaN where unknown."""
    across = rows[rows["metric"] == metric]
    up = rows.loc[rows["metric"] == "auroc", ["line", "mean", "low", "high"]]
    both = across.merge(up, on="line", suffixes=("", "_auroc"))
    return [
        {str(key): value for key, value in row.items()}
        for row in both.sort_values("order", kind="stable").to_dict("records")
    ]


def _scatter(
    axes: Axes, points: Sequence[Mapping[str, Any]], looks: Mapping[str, tuple[str, str]]
) -> list[Segment]:
    """Draw the points, their whiskers and the curves between them; whiskers and curves returned."""
    segments: list[Segment] = []
    for point in points:
        color, marker = looks[point["line"]]
        x, y = point["mean"], point["mean_auroc"]
        across = _within(point["metric"], point["low"], point["high"])
        up = _within("auroc", point["low_auroc"], point["high_auroc"])
        whiskers: list[Segment] = [] if across is None else [((across[0], y), (across[1], y))]
        whiskers += [] if up is None else [((x, up[0]), (x, up[1]))]
        for whisker in whiskers:
            axes.plot(*zip(*whisker, strict=True), color=color, lw=0.8, alpha=0.7, gid="whisker")
        segments += whiskers
        axes.add_line(_point_key(point["line"], color, marker, point["floor"] == 1, x, y))
    for family in dict.fromkeys(point["family"] for point in points):
        joined = [point for point in points if point["family"] == family]
        ends = [(point["mean"], point["mean_auroc"]) for point in joined]
        if len(ends) > 1:
            color = looks[joined[0]["line"]][0]
            axes.plot(*zip(*ends, strict=True), color=color, lw=0.8, zorder=1.5, gid="family")
            segments += list(pairwise(ends))
    axes.autoscale_view()
    return segments


def _point_key(
    line: str, color: str, marker: str, hollow: bool, x: float | None = None, y: float | None = None
) -> Line2D:
    """A line's point, or without a place its entry in the legend."""
    key = Line2D([], [], ls="none", marker=marker, ms=6, mec=color, mew=1.2, label=line, zorder=3)
    key.set_markerfacecolor("white" if hollow else color)
    if x is not None and y is not None:
        key.set_data([x], [y])
    return key


def _axis_label(name: str) -> str:
    return f"{METRICS[name].label}, {METRICS[name].direction} is better"


def _within(name: str, low: float, high: float) -> tuple[float, float] | None:
    """The part of a whisker that the metric can take; None where an end is unknown."""
    if not (math.isfinite(low) and math.isfinite(high)):
        return None
    metric = METRICS[name]
    return max(low, metric.low), min(high, metric.high)
