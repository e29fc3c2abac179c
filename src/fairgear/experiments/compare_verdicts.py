"""What a comparison shows, in sentences: where no graph is needed, and where Gear stands."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pandas as pd

from fairgear.experiments.compare_entry import Entry
from fairgear.methods import METHODS
from fairgear.metrics import METRICS
from fairgear.runs.config import GEAR

# What a floor may be better at, and a reader should know of.
_TOLD = ("auroc", "accuracy", "delta_cf", "delta_cf_released")


def verdicts(table: pd.DataFrame, entries: Sequence[Entry]) -> dict[str, list[str]]:
    """Sentences by dataset, all of them on means over seeds.

    Args:
        table: see `compare_table.summary`.
        entries: its methods.
    """
    reads = {entry.label for entry in entries if METHODS[entry.method].reads_graph}
    # A variant leaves out what makes it fair: it is no Gear to be praised.
    ours = [e.label for e in entries if e.method == GEAR and "variant" not in e.settings]
    found: dict[str, list[str]] = {}
    for dataset, rows in table.groupby("dataset", sort=False):
        means = rows.pivot(index="method", columns="metric", values="mean")
        graph = means[means.index.isin(reads)]
        floors = means[~means.index.isin(reads)]
        told = [_floor(name, floors[name].dropna(), graph[name].dropna()) for name in _TOLD]
        rivals = graph.index[~graph.index.isin(ours)]
        told += [
            _standing(label, graph.loc[[label, *rivals]]) for label in ours if label in graph.index
        ]
        found[str(dataset)] = [sentence for sentence in told if sentence]
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
