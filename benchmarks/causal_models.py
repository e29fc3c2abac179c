"""What each causal model does to Bail and Credit: edges added and removed, and how long it takes.

    .venv/bin/python -m benchmarks.causal_models             # all rows, five minutes of one core
    .venv/bin/python -m benchmarks.causal_models --table     # the table from the rows

One row a graph, a model and an intervention. The paper's cosine runs with its gate off: with it,
no edge would move on either graph. Seconds are CPU time, of one counterfactual of a fitted model.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import pandas as pd

import fairgear as fg
from benchmarks import RESULTS
from fairgear.auditing.provenance import source_commit
from fairgear.causal import (
    CausalModel,
    FittedCausalModel,
    SimilarityCausalModel,
    at_rate,
    edge_changes,
)
from fairgear.graph import SensitiveGraph

Row = dict[str, Any]
Changes = list[set[tuple[int, ...]]]

ROWS = RESULTS / "causal_models.csv"
GRAPHS = ("bail", "credit")
RATES = {"all 0": 0.0, "all 1": 1.0, "half": 0.5}
MODELS: dict[str, Callable[[], CausalModel]] = {
    "similarity, shift": SimilarityCausalModel,
    "similarity, quantile": lambda: SimilarityCausalModel("quantile"),
    "paper's cosine": lambda: FittedCausalModel(edges="cosine", gate=False),
}


def measure(name: str, graph: SensitiveGraph, rule: dict[str, Changes]) -> list[Row]:
    """The three rows of one model on one graph.

    `rule` keeps the edges that the first model, which runs the rule, adds and removes in each
    world: what the others share with it.
    """
    start = time.process_time()
    model = MODELS[name]().fit(graph)
    fit_seconds = time.process_time() - start
    rows = []
    for effect in model.diagnostics().effects:
        sens = at_rate(graph, RATES[effect.intervention])
        start = time.process_time()
        world = model.counterfactual(graph, sens)
        seconds = time.process_time() - start
        changes = [set(zip(*pairs.tolist(), strict=True)) for pairs in edge_changes(graph, world)]
        known = rule.setdefault(effect.intervention, changes)
        rows.append(
            {
                "graph": graph.name,
                "model": name,
                "world": effect.intervention,
                "people_set": effect.people_set,
                "people_moved": effect.people_moved,
                "feature_change": effect.feature_change,
                "edges_before": effect.before.edges,
                "edges_after": effect.after.edges,
                "added": effect.edges_added,
                "removed": effect.edges_removed,
                "added_share": effect.added_share,
                "removed_share": effect.removed_share,
                "added_by_shift_too": len(changes[0] & known[0]),
                "removed_by_shift_too": len(changes[1] & known[1]),
                "label_homophily_before": effect.before.label_homophily,
                "label_homophily_after": effect.after.label_homophily,
                "isolated_after": effect.after.isolated,
                "highest_degree_after": effect.after.degree_quantiles[-1],
                "fit_seconds": fit_seconds,
                "seconds": seconds,
                "commit": source_commit(),
            }
        )
    return rows


def table(rows: pd.DataFrame) -> str:
    """The rows in Markdown."""
    lines = [
        "| graph (edges) | model | world | people moved | added | removed | label homophily "
        "| seconds |",
        "|---" * 8 + "|",
    ]
    for graph in GRAPHS:
        mine = rows[rows["graph"] == graph]
        for at, row in enumerate(mine.to_dict("records")):
            first = f"{graph.capitalize()} ({row['edges_before']:,})" if at == 0 else ""
            cells = [
                first,
                row["model"] if at % len(RATES) == 0 else "",
                row["world"],
                f"{row['people_moved']:.1%}",
                f"{row['added']:,} ({row['added_share']:.1%})",
                f"{row['removed']:,} ({row['removed_share']:.1%})",
                f"{row['label_homophily_before']:.3f} → {row['label_homophily_after']:.3f}",
                f"{row['seconds']:.1f}",
            ]
            lines.append("|".join(["", *(f" {cell} " if cell else " " for cell in cells), ""]))
    return "\n".join(lines).replace("%", " %")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--table", action="store_true", help="measure nothing, show the rows")
    if not parser.parse_args().table:
        rows: list[Row] = []
        for name in GRAPHS:
            graph = fg.datasets.load(name)
            rule: dict[str, Changes] = {}
            for model in MODELS:
                rows += measure(model, graph, rule)
        RESULTS.mkdir(parents=True, exist_ok=True)
        pd.DataFrame(rows).round(4).to_csv(ROWS, index=False)
    print(table(pd.read_csv(ROWS)))


if __name__ == "__main__":
    main()
