"""The paper's figures, drawn from finished runs: encoders, settings, and the trade-off."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import cycle
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from fairgear.errors import ParameterError
from fairgear.files import replacing
from fairgear.metrics import METRICS
from fairgear.studies.tables import LEVEL, summary

PREDICTION = ("accuracy", "f1", "auroc")
FAIRNESS = ("delta_eo", "delta_dp", "delta_cf", "delta_cf_released", "r2")
COUNTERFACTUAL = ("delta_cf", "delta_cf_released")
# The rows of panels of a sweep.
SWEPT = (("auroc", "accuracy"), ("delta_cf", "delta_cf_released", "r2"))
DPI = 200
# Fewer seeds give an interval as wide as the panel; none is drawn.
LEAST_SEEDS = 3
# By Okabe and Ito for colour-blind readers; without yellow, which is hard to see on white.
COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#4D4D4D")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">", "p", "h", "*")
HATCHES = ("", "////", "....", "xxxx")
TICKS = (0, 0.01, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1)
INK, SOFT, FAINT = "#222222", "#777777", "#E4E4E4"
_BAND = f"{100 * LEVEL:.0f} % interval of the mean over seeds"
# Text is drawn as outlines, which look alike everywhere: a viewer's font may lack δ or ².
_STYLE: dict[Any, Any] = {
    "axes.axisbelow": True,
    "axes.edgecolor": SOFT,
    "axes.grid": True,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlesize": 9.5,
    "figure.titlesize": 11,
    "font.size": 8.5,
    "grid.color": FAINT,
    "grid.linewidth": 0.6,
    "legend.fontsize": 8,
    "legend.frameon": False,
    "svg.fonttype": "path",
    "svg.hashsalt": "fairgear",
}


def encoder_figure(table: pd.DataFrame, *, dataset: str = "bail") -> Figure:
    """The paper's figure 4: prediction and fairness, a bar for each encoder.

    Args:
        table: a row for each dataset, line and metric, with columns `dataset line metric mean
            std low high seeds published published_std`; NaN where there is no value.
        dataset: the one to draw.
    """
    rows = _measured(table, dataset)
    lines = list(dict.fromkeys(rows["line"]))
    with _style():
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
        figure.legend(handles=list(keys.values()), loc="outside right center")
        _note(figure, "Whiskers: standard deviation over seeds")
    return figure


def sweep_figure(rows: pd.DataFrame) -> Figure:
    """The paper's figure 5: what each setting changes, one setting at a time.

    Args:
        rows: a row for each run, with columns `sweep` (the setting's name), `value`, `own`
            (whether it is the method's own value), `seed`, and one for each metric.
    """
    sweeps = list(dict.fromkeys(rows["sweep"]))
    if not sweeps:
        raise ParameterError("sweep_figure(rows=…)", "no rows", "a row a run", "run the sweep")
    rows = pd.concat([_complete(part) for _, part in rows.groupby("sweep", sort=False)])
    # The sweep stands for the dataset and the value for the method; a missing column is all NaN.
    means = summary(
        rows.assign(dataset=rows["sweep"], method=rows["value"]).reindex(
            columns=["dataset", "method", *METRICS]
        )
    ).dropna(subset="mean")
    means.loc[means["seeds"] < LEAST_SEEDS, ["low", "high"]] = np.nan
    with _style():
        figure = Figure(figsize=(1.7 + 2.4 * len(sweeps), 4.8), layout="constrained")
        figure.suptitle("One setting at a time")
        grid = figure.subplots(2, len(sweeps), sharex="col", sharey="row", squeeze=False)
        for place, sweep in enumerate(sweeps):
            part = rows[rows["sweep"] == sweep]
            own = part.loc[part["own"].eq(True), "value"].dropna().unique()
            for axes, metrics in zip(grid[:, place], SWEPT, strict=True):
                _curves(axes, means[means["dataset"] == sweep], metrics)
                for value in own:
                    axes.axvline(value, color=INK, lw=0.8, ls=(0, (4, 2)), zorder=1, label="own")
            count = part["seed"].nunique()
            grid[-1, place].set_xlabel(f"{sweep} ({count} {'seed' if count == 1 else 'seeds'})")
            ticks = sorted(part["value"].dropna().unique())
            grid[-1, place].set_xticks(ticks, [f"{tick:g}" for tick in ticks])
        for row, metrics in zip(grid, SWEPT, strict=True):
            row[0].set_ylabel(f"{METRICS[metrics[0]].direction} is better")
            row[-1].legend(
                handles=[_curve_key(name) for name in metrics if name in set(means["metric"])],
                loc="center left",
                bbox_to_anchor=(1.02, 0.5),
            )
        _note(figure, f"Bands: {_BAND}. Dashed: the method's own value.")
    return figure


def tradeoff_figure(
    table: pd.DataFrame,
    *,
    dataset: str,
    against: Sequence[str] = COUNTERFACTUAL,
    named: Collection[str] | None = None,
) -> Figure:
    """AUROC against δCF, strict and released: what treating people alike costs.

    Args:
        table: as for `encoder_figure`, and `family` (its points are joined), `order` (in which)
            and `floor` (a method without a graph: hollow).
        dataset: the one to draw.
        against: the metrics to draw instead of δCF, one panel each.
        named: the lines that the legend names, one a family (its first where none is); the others
            of the family look like it. All of them if not given.
    """
    rows = _measured(table, dataset)
    enough = rows["seeds"] >= LEAST_SEEDS
    rows = rows.assign(low=rows["low"].where(enough), high=rows["high"].where(enough))
    families = dict(zip(rows["line"], rows["family"], strict=True))
    shown = list(families)
    if named is not None:
        # The named line of a family comes last, and is kept.
        ordered = sorted(reversed(shown), key=lambda line: line in named)
        of_family = {families[line]: line for line in ordered}
        shown = [line for line in families if of_family[families[line]] == line]
    looks = looks_of({line: families[line] for line in shown})
    by_family = {families[line]: look for line, look in looks.items()}
    looks = {line: looks.get(line, by_family[family]) for line, family in families.items()}
    hollow = dict(zip(rows["line"], rows["floor"].eq(True), strict=True))
    with _style():
        figure = Figure(figsize=(2.8 + 4.6 * len(against), 5.6), layout="constrained")
        names = ("δCF" if one in COUNTERFACTUAL else METRICS[one].label for one in against)
        title = f"AUROC against {' and '.join(dict.fromkeys(names))} on {dataset}"
        figure.suptitle(title, x=0.01, ha="left")
        panels = figure.subplots(1, len(against), sharex=True, sharey=True, squeeze=False)[0]
        for axes, metric in zip(panels, against, strict=True):
            points = _points(rows, metric)
            _scatter(axes, points, looks, hollow)
            if not points:
                _say_empty(axes)
            axes.set_xlabel(_axis_label(metric))
        panels[0].set_ylabel(_axis_label("auroc"))
        # 0 has a place on this scale, and small values are apart.
        panels[0].set_xscale("function", functions=(_root, _square))
        panels[0].set_xticks([tick for tick in TICKS if tick <= panels[0].get_xlim()[1]])
        handles = [_point(line, *looks[line], hollow[line]) for line in shown]
        figure.legend(handles=handles, loc="outside right center")
        _note(figure, f"Whiskers: {_BAND}. Hollow: without a graph.")
    return figure


def save(figure: Figure, path_without_suffix: Path) -> list[Path]:
    """Write the figure as SVG and PNG; the same figure gives the same bytes."""
    written = []
    with _style():
        for kind in ("svg", "png"):
            path = Path(path_without_suffix)
            path = path.with_name(f"{path.name}.{kind}")
            metadata = {"Title": figure.get_suptitle()} | ({"Date": None} if kind == "svg" else {})
            with replacing(path) as temporary:
                figure.savefig(temporary, format=kind, dpi=DPI, metadata=metadata)
            written.append(path)
    return written


def looks_of(families: Mapping[str, str]) -> dict[str, tuple[str, str]]:
    """Colour and marker of each line: one colour for each family, no two lines alike.

    Args:
        families: the family of each line.
    """
    sizes = Counter(families.values())
    # A curve shares its colour with no other line as long as there are enough.
    joined = [family for family, size in sizes.items() if size > 1]
    alone = [family for family, size in sizes.items() if size == 1]
    colors = dict(zip(joined, cycle(COLORS), strict=False))
    colors |= zip(alone, cycle(COLORS[len(joined) :] or COLORS), strict=False)
    used: Counter[str] = Counter()
    found = {}
    for line, family in families.items():
        color = colors[family]
        found[line] = (color, MARKERS[used[color] % len(MARKERS)])
        used[color] += 1
    return found


@contextmanager
def _style() -> Iterator[None]:
    """The same look for all figures, whatever the user's own settings."""
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(_STYLE)
        yield


def _note(figure: Figure, text: str) -> None:
    """Write a line below the panels, and fix the layout: drawing again would move it a little."""
    figure.supxlabel(text, fontsize=8, color=SOFT)
    figure.draw_without_rendering()
    figure.set_layout_engine("none")


def _say_empty(axes: Axes) -> None:
    axes.text(0.5, 0.5, "no values", transform=axes.transAxes, ha="center", color=SOFT)


def _measured(table: pd.DataFrame, dataset: str) -> pd.DataFrame:
    """The dataset's rows that have a mean."""
    known = list(dict.fromkeys(table["dataset"]))
    if dataset not in known:
        raise ParameterError(
            "dataset of the figure",
            repr(dataset),
            ", ".join(map(repr, known)) or "none: there are no rows",
            "run the recipe on it first",
        )
    return table[(table["dataset"] == dataset) & table["mean"].notna()]


def _complete(rows: pd.DataFrame) -> pd.DataFrame:
    """The seeds that have every value of a sweep: others would bend the curve of means."""
    values = rows.groupby("seed")["value"].nunique()
    whole = values[values == rows["value"].nunique()].index
    return rows[rows["seed"].isin(whole)] if len(whole) else rows


def _bars(axes: Axes, rows: pd.DataFrame, lines: Sequence[str], metrics: Sequence[str]) -> None:
    if not metrics:
        _say_empty(axes)
        return
    width = 0.84 / len(lines)
    mark: dict[str, Any] = {"mfc": "white", "mec": INK, "mew": 0.9, "ls": "none", "zorder": 4}
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
                label = "published mean"
                axes.plot([x], [row["published"]], "D", ms=4, label=label, gid="published", **mark)
    axes.set_xticks(range(len(metrics)), [METRICS[name].label for name in metrics])
    axes.grid(False, axis="x")
    axes.set_ylim(bottom=0)


def _curves(axes: Axes, means: pd.DataFrame, metrics: Sequence[str]) -> None:
    shown = [name for name in metrics if name in set(means["metric"])]
    if not shown:
        _say_empty(axes)
    for name in shown:
        own = means[means["metric"] == name].sort_values("method")
        key = _curve_key(name)
        look: dict[str, Any] = {"color": key.get_color()}
        values = own["method"].to_numpy(np.float64)
        axes.plot(values, own["mean"], marker=key.get_marker(), ms=4, label=name, **look)
        band = own[["low", "high"]].clip(METRICS[name].low, METRICS[name].high)
        if band.notna().any(axis=None):
            axes.fill_between(values, band["low"], band["high"], alpha=0.18, lw=0, **look)


def _curve_key(name: str) -> Line2D:
    """How a metric is drawn in every panel."""
    place = [metric for metrics in SWEPT for metric in metrics].index(name)
    label = METRICS[name].label
    return Line2D([], [], color=COLORS[place], marker=MARKERS[place], markersize=4, label=label)


def _points(rows: pd.DataFrame, metric: str) -> list[dict[Any, Any]]:
    """A point for each line that has both metrics; the ends of a whisker are NaN where unknown."""
    across = rows[rows["metric"] == metric]
    up = rows.loc[rows["metric"] == "auroc", ["line", "mean", "low", "high"]]
    both = across.merge(up, on="line", suffixes=("", "_auroc"))
    return both.sort_values("order", kind="stable").to_dict("records")


def _scatter(
    axes: Axes,
    points: Sequence[Mapping[Any, Any]],
    looks: Mapping[str, tuple[str, str]],
    hollow: Mapping[str, bool],
) -> None:
    """Draw the points, their whiskers and the curves between them."""
    for point in points:
        color, marker = looks[point["line"]]
        x, y = point["mean"], point["mean_auroc"]
        across = _within(point["metric"], point["low"], point["high"])
        if across is not None:
            axes.plot(across, [y, y], color=color, lw=0.8, alpha=0.7, gid="whisker")
        up = _within("auroc", point["low_auroc"], point["high_auroc"])
        if up is not None:
            axes.plot([x, x], up, color=color, lw=0.8, alpha=0.7, gid="whisker")
        mark = _point(point["line"], color, marker, hollow[point["line"]])
        mark.set_data([x], [y])
        axes.add_line(mark)
    for family in dict.fromkeys(point["family"] for point in points):
        joined = [point for point in points if point["family"] == family]
        if len(joined) > 1:
            x, y = ([point[name] for point in joined] for name in ("mean", "mean_auroc"))
            color = looks[joined[0]["line"]][0]
            axes.plot(x, y, color=color, lw=0.8, zorder=1.5, gid="family")
    axes.autoscale_view()


def _point(line: str, color: str, marker: str, hollow: bool) -> Line2D:
    face = "white" if hollow else color
    return Line2D([], [], ls="none", marker=marker, ms=6, mfc=face, mec=color, label=line, zorder=3)


def _axis_label(name: str) -> str:
    return f"{METRICS[name].label}, {METRICS[name].direction} is better"


def _within(name: str, low: float, high: float) -> tuple[float, float] | None:
    """The part of a whisker that the metric can take; None where an end is unknown."""
    if not (math.isfinite(low) and math.isfinite(high)):
        return None
    return max(low, METRICS[name].low), min(high, METRICS[name].high)


def _root(value: Any) -> Any:
    """The square root, with the sign of the value: there is some room to the left of 0."""
    return np.sign(value) * np.sqrt(np.abs(value))


def _square(value: Any) -> Any:
    return np.sign(value) * np.square(value)
