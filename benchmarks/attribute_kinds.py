"""Gear beside GraphSAGE on every kind of attribute, label and edge, where the truth is known.

    .venv/bin/python -m benchmarks.attribute_kinds                     # every kind
    .venv/bin/python -m benchmarks.attribute_kinds directed weighted
    .venv/bin/python -m benchmarks.attribute_kinds --set causal=shift     # further rows of Gear
    .venv/bin/python -m benchmarks.attribute_kinds --table             # the table from the rows

One row a kind, a method and a seed, which is that of the graph, of its split and of the training.
Rows that exist are not measured again. δCF is strict, under the equations that drew the graph, and
of test people: the mean over the whole-graph worlds of the share of answers that change. `labels`
is the same of the labels themselves, which an accurate model follows.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import yaml
from numpy.typing import NDArray

import fairgear as fg
from benchmarks import RESULTS
from fairgear.auditing import Worlds
from fairgear.auditing.provenance import source_commit
from fairgear.graph import SensitiveGraph, Target
from fairgear.methods import METHODS
from fairgear.metrics import over_rates
from fairgear.metrics.classes import macro_auroc
from fairgear.metrics.disagreement import Disagreement
from fairgear.metrics.numbers import prediction_r2
from fairgear.metrics.utility import auroc

Row = dict[str, Any]

ROWS = RESULTS / "attribute_kinds.csv"
COMPARED, SEEDS = ("gear", "graphsage"), 3
# Settings of the synthetic graph.
KINDS: dict[str, Row] = {
    "binary": {},
    "five groups": {"groups": 5},
    "two attributes": {"groups": 3, "second_groups": 2},
    "s a number": {"continuous": True},
    "four classes": {"classes": 4},
    "number label": {"number": True},
    "directed": {"directed": True},
    "weighted": {"weighted": True},
    "directed, weighted": {"directed": True, "weighted": True},
}
# What makes two rows the same.
KEY = ["kind", "method", "settings", "seed"]


def quality(y: NDArray[Any], scores: NDArray[np.float64], target: Target) -> float:
    """AUROC, its mean over several classes, or R² of prediction."""
    if target.is_number:
        return prediction_r2(y, scores[:, 0])
    return auroc(y, scores[:, 1]) if target.is_binary else macro_auroc(y, scores)


def measure(kind: str, seed: int, wanted: list[tuple[str, Row]]) -> Iterator[Row]:
    """The rows of some methods on one graph."""
    graph: SensitiveGraph = fg.datasets.load("synthetic", seed=seed, split_seed=seed, **KINDS[kind])
    target, rows = graph.target, graph.test_mask.nonzero()[:, 0]
    how, y = Disagreement(target), graph.y[rows].numpy()
    worlds = {
        rate: [world.graph for world in draws] for rate, draws in Worlds(graph).strict.items()
    }
    labels = {rate: [world.y[rows].numpy() for world in each] for rate, each in worlds.items()}
    own = over_rates(y, labels, how).rate
    for method, settings in wanted:
        begin = time.perf_counter()
        model = METHODS[method](seed=seed, **settings).fit(graph)
        seconds = time.perf_counter() - begin
        scores = model.scores(graph, nodes=rows)
        answers = {
            rate: [model.predict(world, nodes=rows) for world in each]
            for rate, each in worlds.items()
        }
        yield {
            "kind": kind,
            "method": method,
            "settings": shown(settings),
            "seed": seed,
            "people": len(graph.y),
            "quality": quality(y, scores, target),
            "delta_cf": over_rates(model.decide(scores), answers, how).rate,
            "labels": own,
            "fit_seconds": seconds,
            "commit": source_commit(),
        }


def shown(settings: Row) -> str:
    """Settings in a cell; "default" where none is changed."""
    return ", ".join(f"{name}={value}" for name, value in settings.items()) or "default"


def table(rows: pd.DataFrame) -> str:
    """Means over the seeds, and Gear's share of GraphSAGE's δCF."""
    lines = [
        "| graph | method | AUROC or R² | δCF strict | of GraphSAGE's | of the labels |",
        "|---|---|---:|---:|---:|---:|",
    ]
    for kind in dict.fromkeys(rows["kind"]):
        of = rows[rows["kind"] == kind].groupby(["method", "settings"])
        means = of[["quality", "delta_cf", "labels"]].mean()
        plain = means.loc[("graphsage", "default"), "delta_cf"]
        for (method, settings), one in means.iterrows():
            name = method if settings == "default" else f"{method}, `{settings}`"
            cells = (f"{one[key]:.3f}" for key in ("quality", "delta_cf"))
            share = f"{one['delta_cf'] / plain:.0%}".replace("%", " %")
            lines.append(
                f"| {kind} | {name} | {' | '.join(cells)} | {share} | {one['labels']:.3f} |"
            )
    return "\n".join(lines).replace("| 0.", "| .")


def main() -> None:
    """Measure what is missing, then show the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kinds", nargs="*", help=f"some of {', '.join(KINDS)}; all if not given")
    parser.add_argument("--set", nargs="+", help="settings of Gear, in rows of its own")
    parser.add_argument("--table", action="store_true", help="measure nothing, show the rows")
    given = parser.parse_args()
    compared: list[tuple[str, Row]] = [(method, {}) for method in COMPARED]
    if given.set:
        pairs = (one.partition("=") for one in given.set)
        compared = [("gear", {name: yaml.safe_load(value) for name, _, value in pairs})]
    found = pd.read_csv(ROWS) if ROWS.exists() else pd.DataFrame(columns=KEY)
    for kind in [] if given.table else given.kinds or list(KINDS):
        for seed in range(SEEDS):
            known = {tuple(row) for row in found[KEY].itertuples(index=False)}
            missing = [of for of in compared if (kind, of[0], shown(of[1]), seed) not in known]
            for row in measure(kind, seed, missing) if missing else ():
                print(row, flush=True)
                fresh = pd.DataFrame([row]).round(5)
                found = fresh if found.empty else pd.concat([found, fresh], ignore_index=True)
                found.to_csv(ROWS, index=False)
    print(table(found))


if __name__ == "__main__":
    main()
