"""Tables of a comparison: mean ± standard deviation over seeds, and ranks."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import t as student

from fairgear.metrics import METRICS

LEVEL = 0.95
Values = NDArray[np.float64]
_LATEX = {"Δ": r"$\Delta$", "δ": r"$\delta$", "λ": r"$\lambda$", "²": "$^2$", "ₛ": "$_s$"}
_LATEX |= {"−": "$-$", "·": r"$\cdot$"}
_LATEX |= {sign: rf"\{sign}" for sign in "_%&#${}"}
_LATEX |= {"~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "\\": r"\textbackslash{}"}


def summary(rows: pd.DataFrame) -> pd.DataFrame:
    """One row for each dataset, method and metric, from one row a run.

    Columns: `dataset method metric mean std low high seeds rank`. `low` and `high` are Student's
    interval of the mean over seeds; `std`, `low` and `high` are NaN with a single seed. Ranks are
    among the methods of a dataset, 1 the best by the means, equal means sharing theirs; NaN where
    the measure is undefined.
    """
    found = []
    for (dataset, method), runs in rows.groupby(["dataset", "method"], sort=False):
        for metric in METRICS:
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


def to_markdown(table: pd.DataFrame, remarks: Mapping[str, Sequence[str]] | None = None) -> str:
    """One table a dataset: methods by metrics, each "mean ± std (rank)"; then its remarks."""
    parts = []
    for dataset, rows in table.groupby("dataset", sort=False):
        lines = table_head(str(dataset), list(METRICS))
        for method, cells in rows.groupby("method", sort=False):
            shown = [_cell(cell, "{} ± {}") for cell in cells.to_dict("records")]
            lines.append(f"| `{method}` | " + " | ".join(shown) + " |")
        told = [f"- {remark}" for remark in (remarks or {}).get(str(dataset), ())]
        parts.append("\n".join([*lines, *([""] if told else []), *told]))
    return "\n\n".join(parts) + "\n"


def table_head(dataset: str, names: Sequence[str]) -> list[str]:
    """The first lines of a dataset's table in Markdown: methods by metrics."""
    return [
        f"### {dataset}",
        "",
        "| method | " + " | ".join(METRICS[name].label for name in names) + " |",
        "|---|" + "---:|" * len(names),
    ]


def to_latex(table: pd.DataFrame) -> str:
    """The same as a tabular for each dataset."""
    parts = []
    for dataset, rows in table.groupby("dataset", sort=False):
        lines = [
            f"% {dataset}",
            r"\begin{tabular}{l" + "r" * len(METRICS) + "}",
            r"\hline",
            " & ".join(["method", *(in_latex(METRICS[name].label) for name in METRICS)]) + r" \\",
            r"\hline",
        ]
        for method, cells in rows.groupby("method", sort=False):
            shown = [_cell(cell, r"${} \pm {}$") for cell in cells.to_dict("records")]
            lines.append(" & ".join([in_latex(str(method)), *shown]) + r" \\")
        parts.append("\n".join([*lines, r"\hline", r"\end{tabular}"]))
    return "\n\n".join(parts) + "\n"


def _over_seeds(values: Values) -> tuple[float, ...]:
    if len(values) == 0:
        return (math.nan,) * 4
    mean = float(values.mean())
    if len(values) == 1:
        return mean, math.nan, math.nan, math.nan
    return mean, float(values.std(ddof=1)), *interval(values)[1:]


def interval(values: Values, level: float = LEVEL) -> tuple[float, float, float]:
    """Mean, and the ends of Student's interval; without a spread the ends are the mean."""
    mean, std = float(values.mean()), float(values.std(ddof=1))
    reach = float(student.ppf((1 + level) / 2, len(values) - 1)) * std / math.sqrt(len(values))
    return mean, mean - reach, mean + reach


def _cell(cell: Mapping[Any, Any], form: str) -> str:
    if math.isnan(cell["mean"]):
        return "undefined"
    mean = f"{cell['mean']:.3f}"
    shown = mean if math.isnan(cell["std"]) else form.format(mean, f"{cell['std']:.3f}")
    return f"{shown} ({cell['rank']:.0f})"


def in_latex(label: str) -> str:
    """A label with the signs that LaTeX takes for its own written out."""
    return "".join(_LATEX.get(sign, sign) for sign in label)
