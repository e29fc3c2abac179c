"""How well fitted edge models describe known graphs, and what they do to them.

    FAIRGEAR_DATA=FOLDER .venv/bin/python -m benchmarks.fitted_models    # about two minutes

One row a graph, an edge model and an intervention. The gate is off, so that edges move even where
it would hold them fixed; the column `gate` says which it would be.
"""

from __future__ import annotations

import time
from typing import Any

import pandas as pd

import fairgear as fg
from benchmarks import RESULTS
from fairgear.auditing.provenance import source_commit
from fairgear.causal import FittedCausalModel, at_rate, edge_changes
from fairgear.graph import SensitiveGraph

ROWS = RESULTS / "fitted_models.csv"
GRAPHS = ("synthetic", "german", "nba", "bail", "credit")
EDGES = ("distance", "cosine")
WORLDS = {"all 0": 0.0, "all 1": 1.0, "half": 0.5}


def rows_of(name: str, graph: SensitiveGraph, edges: str) -> list[dict[str, Any]]:
    start = time.perf_counter()
    model = FittedCausalModel(edges=edges, gate=False).fit(graph)
    fit_seconds = time.perf_counter() - start
    told = model.diagnostics()
    quality, closed = told.quality, any("gate was turned off" in note for note in told.notes)
    common = {
        "graph": name,
        "edges": edges,
        "auc": quality["auc"],
        "auc_without_degrees": quality["auc_without_degrees"],
        "expected": quality["held_out_edges"]["expected"],
        "actual": quality["held_out_edges"]["actual"],
        "misplaced": quality["misplaced"],
        "gate": "closed" if closed else "open",
        "fit_seconds": fit_seconds,
    }
    for parameter, found in quality["parameters"].items():
        common[parameter] = f"{found['value']:.2f} [{found['low']:.2f}, {found['high']:.2f}]"
    rows = []
    for world, rate in WORLDS.items():
        sens = at_rate(graph, rate)
        start = time.perf_counter()
        after = model.counterfactual(graph, sens)
        seconds = time.perf_counter() - start
        added, removed = (pairs.shape[1] for pairs in edge_changes(graph, after))
        rows.append(
            common
            | {"world": world, "added": added, "removed": removed, "seconds": seconds}
            | {"commit": source_commit()}
        )
    return rows


def main() -> None:
    rows: list[dict[str, Any]] = []
    for name in GRAPHS:
        # What made the graph is left aside: here it is to be guessed.
        graph = fg.datasets.load(name).replace(mechanism=None)
        for edges in EDGES:
            rows += rows_of(name, graph, edges)
            print(pd.DataFrame(rows[-3:]).iloc[:, :8].head(1).to_string(index=False))
    ROWS.parent.mkdir(parents=True, exist_ok=True)
    frame = pd.DataFrame(rows)
    frame.round(4).to_csv(ROWS, index=False)
    shown = ["graph", "edges", "gate", "world", "added", "removed", "seconds"]
    print(frame[shown].to_string(index=False))


if __name__ == "__main__":
    main()
