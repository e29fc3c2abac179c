"""Methods side by side: each on every dataset with every seed, and tables of the results."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd

from fairgear.datasets import DATASETS
from fairgear.datasets.source import FileOptions, GraphSource
from fairgear.errors import ParameterError
from fairgear.files import write_text
from fairgear.graph import SPLITS
from fairgear.graph.splits import GIVEN
from fairgear.methods import METHODS
from fairgear.metrics import METRICS
from fairgear.progress import quiet
from fairgear.runs.config import GEAR
from fairgear.studies.published import SPLIT, beside_published
from fairgear.studies.recipe import varied
from fairgear.studies.records import Records, write_csv
from fairgear.studies.spec import Cell, Entry, Study
from fairgear.studies.tables import (
    comparison_latex,
    comparison_markdown,
    published_markdown,
    summary,
)

ALL = "all"
# The metrics by which a method without a graph may be better than all others.
_FLOORS = ("auroc", "accuracy", "delta_cf")
# The setting of Gear that asks for alike answers.
_WEIGHT = "fairness_weight"


def comparison(
    datasets: Sequence[str],
    methods: Sequence[str],
    seeds: Sequence[int],
    *,
    split: str | None = None,
    columns: Mapping[str, Any] | None = None,
    quick: bool = False,
) -> Study:
    """A checked comparison, each dataset and method once.

    Args:
        datasets: names from `DATASETS`, or your own files.
        methods: see `Entry`; "all" stands for every method with its defaults.
        seeds: each with its own split.
        split: for all; None for `released`, and for your own files what `fairgear run` takes.
        columns: what the columns of your own files mean.
        quick: train for a few steps only.
    """
    names = [name for text in methods for name in (METHODS if text == ALL else (text,))]
    entries = [varied(name, {}, quick=True) if quick else Entry.parse(name) for name in names]
    options = FileOptions.from_dict(columns or {})
    named = [GraphSource(name) for name in dict.fromkeys(datasets)]
    own = any(source.is_path for source in named)
    # Without a file, `checked` refuses the options of one.
    sources = [
        _checked(replace(source, data=options) if source.is_path or not own else source, split)
        for source in named
    ]
    cells = [
        Cell(entry, entry.config(source, seed))
        for seed in seeds
        for source in sources
        for entry in {entry.label: entry for entry in entries}.values()
    ]
    return Study({"comparison": cells})


def _checked(source: GraphSource, split: str | None) -> GraphSource:
    """The source with its split; a wrong name fails before any work is done."""
    source = source.checked()
    if split is not None:
        source = replace(source, split=split)
    elif source.is_path:
        source = source.with_default_split()
    else:
        source = replace(source, split=SPLIT)
    if not source.is_path:
        _ = DATASETS[source.dataset]
    if not source.is_path or source.split != GIVEN:
        _ = SPLITS[source.split]
    if source.is_path:
        _check_labels(source)
    return source


def _check_labels(source: GraphSource) -> None:
    """Refuse labels that are not of two classes: the tables have the measures of those."""
    with quiet():
        target = source.load(split=False).target
    if not target.is_binary:
        got, step = f"{target.words} in {source.dataset}", "use fairgear run for each method"
        raise ParameterError("labels of a comparison", got, "two classes", step)


def write_comparison(study: Study, records: Records, folder: Path) -> pd.DataFrame:
    """Write the tables of all runs that are done; returns their summary."""
    rows = records.of(study.cells)
    found = summary(rows)
    write_csv(found, folder / "summary.csv")
    entries = list({cell.entry.label: cell.entry for cell in study.cells}.values())
    write_text(folder / "table.md", comparison_markdown(found, remarks(found, entries)))
    write_text(folder / "table.tex", comparison_latex(found))
    both = beside_published(summary(rows[rows["split"] == SPLIT]))
    if both.empty:
        # Those of an earlier study with other methods say nothing about this one.
        for name in ("published.md", "published.csv"):
            (folder / name).unlink(missing_ok=True)
    else:
        write_csv(both, folder / "published.csv")
        write_text(folder / "published.md", published_markdown(both))
    return found


def remarks(table: pd.DataFrame, entries: Sequence[Entry]) -> dict[str, list[str]]:
    """Sentences by dataset on the means: where no graph is needed, and where Gear stands.

    Args:
        table: see `summary`.
        entries: its methods.
    """
    reads = {entry.label for entry in entries if entry.reads_graph}
    # Without the weight that makes Gear fair, it counts as another method.
    ours = [e.label for e in entries if e.method == GEAR and e.settings.get(_WEIGHT) != 0]
    found: dict[str, list[str]] = {}
    for dataset, rows in table.groupby("dataset", sort=False):
        means = rows.pivot(index="method", columns="metric", values="mean")
        graph = means[means.index.isin(reads)]
        floors = means[~means.index.isin(reads)]
        sentences = [_floor(name, floors[name].dropna(), graph[name].dropna()) for name in _FLOORS]
        rivals = graph.index[~graph.index.isin(ours)]
        sentences += [
            _standing(label, graph.loc[[label, *rivals]]) for label in ours if label in graph.index
        ]
        found[str(dataset)] = [sentence for sentence in sentences if sentence]
    return found


def _floor(name: str, floors: pd.Series[float], graph: pd.Series[float]) -> str:
    """Where the best method without a graph is better than the best with one."""
    if floors.empty or graph.empty:
        return ""
    metric = METRICS[name]
    floor, best = _best(name, floors), _best(name, graph)
    if not metric.better(floors[floor], graph[best]):
        return ""
    return (
        f"Without a graph, `{floor}` has the better {metric.label}: {floors[floor]:.3f} against "
        f"{graph[best]:.3f} of `{best}`, the best that reads the graph."
    )


def _standing(label: str, means: pd.DataFrame) -> str:
    """Whether a Gear is fairer than all other graph methods, and as accurate."""
    others = means.drop(index=label)
    own = {name: float(means.loc[[label], name].iloc[0]) for name in ("delta_cf", "auroc")}
    rivals = {name: others[name].dropna() for name in own}
    if any(values.empty for values in rivals.values()) or any(map(math.isnan, own.values())):
        return ""
    fair, exact = (_best(name, values) for name, values in rivals.items())
    least, most = rivals["delta_cf"][fair], rivals["auroc"][exact]
    label_of = METRICS["delta_cf"].label
    fairer = (
        f"a lower {label_of} than every method but gear that reads the graph "
        f"({own['delta_cf']:.3f}; next `{fair}` {least:.3f})"
        if own["delta_cf"] < least
        else f"no lower {label_of} than `{fair}`, which reads the graph too "
        f"({own['delta_cf']:.3f}; {least:.3f})"
    )
    exacter = (
        f"an AUROC no lower than theirs ({own['auroc']:.3f}; best `{exact}` {most:.3f})"
        if own["auroc"] >= most
        else f"a lower AUROC than the best of them ({own['auroc']:.3f}; `{exact}` {most:.3f})"
    )
    return f"`{label}` has {fairer}, and {exacter}."


def _best(name: str, values: pd.Series[float]) -> str:
    return str(values.idxmax() if METRICS[name].direction == "higher" else values.idxmin())
