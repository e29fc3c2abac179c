"""Tables in Markdown and LaTeX: of a comparison, and beside what the paper has."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pandas as pd

from fairgear.metrics import METRICS
from fairgear.studies.published import NEAR

# In the paper's order; δCF as its code measures it, then as its text defines it.
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
Cells = Mapping[Any, Mapping[Any, Any]]
_LATEX = {"Δ": r"$\Delta$", "δ": r"$\delta$", "λ": r"$\lambda$", "²": "$^2$", "ₛ": "$_s$"}
_LATEX |= {"−": "$-$", "·": r"$\cdot$"}
_LATEX |= {sign: rf"\{sign}" for sign in "_%&#${}"}
_LATEX |= {"~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "\\": r"\textbackslash{}"}


def comparison_markdown(
    table: pd.DataFrame, remarks: Mapping[str, Sequence[str]] | None = None
) -> str:
    """One table a dataset: methods by metrics, each "mean ± std (rank)"; then its remarks."""
    parts = []
    for dataset, lines in _by_dataset(table, "method"):
        rows = [
            [f"`{name}`", *(_ranked(of[metric], "{} ± {}") for metric in METRICS)]
            for name, of in lines
        ]
        told = [f"- {remark}" for remark in (remarks or {}).get(dataset, ())]
        text = _markdown(dataset, _labels(METRICS), rows)
        parts.append("\n".join([text, *([""] if told else []), *told]))
    return "\n\n".join(parts) + "\n"


def comparison_latex(table: pd.DataFrame) -> str:
    """The same as one tabular a dataset."""
    parts = []
    for dataset, lines in _by_dataset(table, "method"):
        rows = [
            [in_latex(name), *(_ranked(of[metric], r"${} \pm {}$") for metric in METRICS)]
            for name, of in lines
        ]
        parts.append(_latex(dataset, _labels(METRICS), rows))
    return "\n\n".join(parts) + "\n"


def published_markdown(both: pd.DataFrame) -> str:
    """One table a dataset: measured (published ± std, difference in published deviations).

    What is further off than `NEAR` is in bold.
    """
    parts = []
    for dataset, lines in _by_dataset(both, "method"):
        names = [name for name in METRICS if any(name in of for _, of in lines)]
        rows = [[f"`{name}`", *(_against(of[metric]) for metric in names)] for name, of in lines]
        parts.append(_markdown(dataset, _labels(names), rows))
    return "\n\n".join(parts) + "\n"


def paper_markdown(table: pd.DataFrame) -> str:
    """One table a dataset, the published figures under ours; see `NEAR` for what is in bold."""
    parts = []
    for dataset, lines in _by_dataset(table, "line"):
        rows = []
        for name, of in lines:
            seeds = max(int(of[metric]["seeds"]) for metric in SHOWN)
            rows.append([f"**{name}**", *(_measured(of[metric]) for metric in SHOWN), str(seeds)])
            if _has_published(of):
                rows.append(["*published*", *(_published(of[metric]) for metric in SHOWN), ""])
        parts.append(_markdown(dataset, [*_labels(SHOWN), "seeds"], rows))
    return "\n\n".join(parts) + "\n"


def paper_latex(table: pd.DataFrame) -> str:
    """The same as one tabular a dataset."""
    parts = []
    for dataset, lines in _by_dataset(table, "line"):
        rows = []
        for name, of in lines:
            rows.append([in_latex(name), *(_spread(of[one], "mean", "std") for one in SHOWN)])
            if _has_published(of):
                figures = (_spread(of[one], "published", "published_std") for one in SHOWN)
                rows.append([r"\quad published", *figures])
        parts.append(_latex(dataset, _labels(SHOWN), rows))
    return "\n\n".join(parts) + "\n"


def in_latex(label: str) -> str:
    """A label with all signs that LaTeX treats specially written out."""
    return "".join(_LATEX.get(sign, sign) for sign in label)


def _by_dataset(table: pd.DataFrame, key: str) -> list[tuple[str, list[tuple[str, Cells]]]]:
    """Datasets, their lines, and the cells of each line by metric, all in the table's order."""
    return [
        (
            str(dataset),
            [
                (str(name), cells.set_index("metric").to_dict("index"))
                for name, cells in rows.groupby(key, sort=False)
            ],
        )
        for dataset, rows in table.groupby("dataset", sort=False)
    ]


def _labels(metrics: Iterable[str]) -> list[str]:
    return [METRICS[name].label for name in metrics]


def _markdown(dataset: str, heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [f"### {dataset}", "", f"| {HEAD} | {' | '.join(heads)} |"]
    lines.append("|---|" + "---:|" * len(heads))
    return "\n".join([*lines, *(f"| {' | '.join(row)} |" for row in rows)])


def _latex(dataset: str, heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [f"% {dataset}", r"\begin{tabular}{l" + "r" * len(heads) + "}", r"\hline"]
    lines += [" & ".join([HEAD, *map(in_latex, heads)]) + r" \\", r"\hline"]
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
    told = f"{cell['published']:.3f} ± {cell['published_std']:.3f}"
    return told if math.isnan(cell["off"]) else f"{told} ({cell['off']:+.1f} σ)"


def _spread(cell: Mapping[Any, Any], mean: str, std: str) -> str:
    if math.isnan(cell[mean]):
        return ""
    spread = "" if math.isnan(cell[std]) else rf" \pm {cell[std]:.3f}"
    return f"${cell[mean]:.3f}{spread}$"
