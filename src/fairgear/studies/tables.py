"""Tables: means over seeds, in Markdown and LaTeX, and beside what the paper has."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import t as student

from fairgear.metrics import METRICS
from fairgear.studies.published import NEAR

LEVEL = 0.95
Values = NDArray[np.float64]
# In the paper's order; δCF as its code measures it, then as its text defines it.
SHOWN = ("accuracy", "f1", "auroc", "delta_eo", "delta_dp", "delta_cf_released", "delta_cf", "r2")
HEAD = "method"
Cells = Mapping[Any, Mapping[Any, Any]]
Lines = Sequence[tuple[str, Cells]]
_LATEX = {"Δ": r"$\Delta$", "δ": r"$\delta$", "λ": r"$\lambda$", "²": "$^2$", "ₛ": "$_s$"}
_LATEX |= {"−": "$-$", "·": r"$\cdot$"}
_LATEX |= {sign: rf"\{sign}" for sign in "_%&#${}"}
_LATEX |= {"~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "\\": r"\textbackslash{}"}


def summary(rows: pd.DataFrame) -> pd.DataFrame:
    """One row for each dataset, method and metric, from one row for each run.

    Columns: `dataset method metric mean std low high seeds rank`. `low` and `high` are Student's
    interval of the mean over seeds; `std`, `low` and `high` are NaN with a single seed. Ranks are
    among the methods of a dataset: 1 for the best mean, the same for equal means, NaN where the
    metric is undefined.
    """
    found = []
    for (dataset, method), runs in rows.groupby(["dataset", "method"], sort=False):
        for metric in (name for name in METRICS if name in runs):
            values = pd.to_numeric(runs[metric], errors="coerce").dropna().to_numpy(np.float64)
            mean, std, low, high = _over_seeds(values)
            found.append((dataset, method, metric, mean, std, low, high, len(values)))
    table = pd.DataFrame(
        found, columns=["dataset", "method", "metric", "mean", "std", "low", "high", "seeds"]
    )
    best_first = table["mean"].where(
        table["metric"].map(lambda name: METRICS[name].direction == "lower"), -table["mean"]
    )
    ranks = best_first.groupby([table["dataset"], table["metric"]]).rank(method="min")
    return table.assign(rank=ranks)


def interval(values: Values, level: float = LEVEL) -> tuple[float, float, float]:
    """The mean and the ends of Student's interval; without a spread the ends are the mean."""
    mean, std = float(values.mean()), float(values.std(ddof=1))
    reach = _quantile((1 + level) / 2, len(values) - 1) * std / math.sqrt(len(values))
    return mean, mean - reach, mean + reach


@cache
def _quantile(probability: float, degrees: int) -> float:
    """Student's, kept: all lines of a study have a few numbers of seeds."""
    return float(student.ppf(probability, degrees))


def comparison_markdown(
    table: pd.DataFrame, remarks: Mapping[str, Sequence[str]] | None = None
) -> str:
    """One table a dataset: methods by metrics, each "mean ± std (rank)"; then its remarks."""

    def one(dataset: str, lines: Lines) -> str:
        names = _metrics_of(lines)
        rows = [[f"`{name}`", *(_ranked(of[m], "{} ± {}") for m in names)] for name, of in lines]
        notes = [f"- {remark}" for remark in (remarks or {}).get(dataset, ())]
        return "\n".join([_markdown(dataset, names, rows), *([""] if notes else []), *notes])

    return _each(table, "method", one)


def comparison_latex(table: pd.DataFrame) -> str:
    """The same as one tabular a dataset."""
    form = r"${} \pm {}$"

    def one(dataset: str, lines: Lines) -> str:
        names = _metrics_of(lines)
        rows = [[in_latex(name), *(_ranked(of[m], form) for m in names)] for name, of in lines]
        return _latex(dataset, names, rows)

    return _each(table, "method", one)


def published_markdown(both: pd.DataFrame) -> str:
    """One table a dataset: measured (published ± std, difference in published deviations).

    What is further off than `NEAR` is in bold.
    """

    def one(dataset: str, lines: Lines) -> str:
        names = _metrics_of(lines)
        rows = [[f"`{name}`", *(_against(of[metric]) for metric in names)] for name, of in lines]
        return _markdown(dataset, names, rows)

    return _each(both, "method", one)


def paper_markdown(table: pd.DataFrame) -> str:
    """One table a dataset, the published figures under ours; see `NEAR` for what is in bold."""

    def one(dataset: str, lines: Lines) -> str:
        rows = []
        for name, of in lines:
            seeds = max(int(of[metric]["seeds"]) for metric in SHOWN)
            rows.append([f"**{name}**", *(_measured(of[metric]) for metric in SHOWN), str(seeds)])
            if _has_published(of):
                rows.append(["*published*", *(_published(of[metric]) for metric in SHOWN), ""])
        return _markdown(dataset, SHOWN, rows, "seeds")

    return _each(table, "line", one)


def paper_latex(table: pd.DataFrame) -> str:
    """The same as one tabular a dataset."""

    def one(dataset: str, lines: Lines) -> str:
        rows = []
        for name, of in lines:
            rows.append([in_latex(name), *(_spread(of[m], "mean", "std") for m in SHOWN)])
            if _has_published(of):
                figures = (_spread(of[m], "published", "published_std") for m in SHOWN)
                rows.append([r"\quad published", *figures])
        return _latex(dataset, SHOWN, rows)

    return _each(table, "line", one)


def in_latex(label: str) -> str:
    """A label with all signs that LaTeX treats specially written out."""
    return "".join(_LATEX.get(sign, sign) for sign in label)


def _over_seeds(values: Values) -> tuple[float, ...]:
    if len(values) == 0:
        return (math.nan,) * 4
    mean = float(values.mean())
    if len(values) == 1:
        return mean, math.nan, math.nan, math.nan
    return mean, float(values.std(ddof=1)), *interval(values)[1:]


def _each(table: pd.DataFrame, key: str, one: Callable[[str, Lines], str]) -> str:
    """The tables of all datasets; a line has a cell for each metric, all in the table's order."""
    found = []
    for dataset, rows in table.groupby("dataset", sort=False):
        cells: dict[str, dict[Any, Any]] = {}
        for row in rows.to_dict("records"):
            cells.setdefault(str(row[key]), {})[row["metric"]] = row
        found.append(one(str(dataset), list(cells.items())))
    return "\n\n".join(found) + "\n"


def _metrics_of(lines: Lines) -> list[str]:
    """The metrics that were measured."""
    return [name for name in METRICS if any(name in of for _, of in lines)]


def _markdown(dataset: str, metrics: Iterable[str], rows: Iterable[list[str]], *more: str) -> str:
    heads = [*(METRICS[name].label for name in metrics), *more]
    lines = [f"### {dataset}", "", f"| {HEAD} | {' | '.join(heads)} |"]
    lines.append("|---|" + "---:|" * len(heads))
    return "\n".join([*lines, *(f"| {' | '.join(row)} |" for row in rows)])


def _latex(dataset: str, metrics: Iterable[str], rows: Iterable[list[str]]) -> str:
    heads = [HEAD, *(in_latex(METRICS[name].label) for name in metrics)]
    lines = [f"% {dataset}", r"\begin{tabular}{l" + "r" * (len(heads) - 1) + "}", r"\hline"]
    lines += [" & ".join(heads) + r" \\", r"\hline"]
    lines += [" & ".join(row) + r" \\" for row in rows]
    return "\n".join([*lines, r"\hline", r"\end{tabular}"])


def _ranked(cell: Mapping[Any, Any], form: str) -> str:
    if math.isnan(cell["mean"]):
        return "undefined"
    mean = f"{cell['mean']:.3f}"
    shown = mean if math.isnan(cell["std"]) else form.format(mean, f"{cell['std']:.3f}")
    return f"{shown} ({cell['rank']:.0f})"


def _against(cell: Mapping[Any, Any]) -> str:
    if math.isnan(cell["mean"]):
        return f"undefined ({cell['published']:.3f} ± {cell['published_std']:.3f})"
    about = f"{cell['published']:.3f} ± {cell['published_std']:.3f}, {cell['off']:+.1f} σ"
    return f"{_mean(cell)} ({about})"


def _mean(cell: Mapping[Any, Any]) -> str:
    mean = f"{cell['mean']:.3f}"
    return f"**{mean}**" if abs(cell["off"]) > NEAR else mean


def _measured(cell: Mapping[Any, Any]) -> str:
    if math.isnan(cell["mean"]):
        return "undefined"
    return _mean(cell) if math.isnan(cell["std"]) else f"{_mean(cell)} ± {cell['std']:.3f}"


def _has_published(of: Cells) -> bool:
    return not all(math.isnan(cell["published"]) for cell in of.values())


def _published(cell: Mapping[Any, Any]) -> str:
    if math.isnan(cell["published"]):
        return ""
    shown = f"{cell['published']:.3f} ± {cell['published_std']:.3f}"
    return shown if math.isnan(cell["off"]) else f"{shown} ({cell['off']:+.1f} σ)"


def _spread(cell: Mapping[Any, Any], mean: str, std: str) -> str:
    if math.isnan(cell[mean]):
        return ""
    spread = "" if math.isnan(cell[std]) else rf" \pm {cell[std]:.3f}"
    return f"${cell[mean]:.3f}{spread}$"
