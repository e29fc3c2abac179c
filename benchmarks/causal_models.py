"""What each causal model does to Bail and Credit: edges added and removed, and how long it takes.

    OMP_NUM_THREADS=1 .venv/bin/python benchmarks/causal_models.py    # five minutes on one core
    .venv/bin/python benchmarks/causal_models.py --table              # the table from the rows

One row a graph, a model and an intervention. The paper's cosine runs with its gate off: with it,
no edge would move on either graph. Seconds are of one counterfactual of a model that is fitted.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import pandas as pd
from plan import RESULTS, _commit

ROWS = RESULTS / "causal_models.csv"
GRAPHS = ("bail", "credit")
RATES = {"all 0": 0.0, "all 1": 1.0, "half": 0.5}
MODELS = ("similarity, shift", "similarity, quantile", "paper's cosine")


def makers() -> dict[str, Callable[[], Any]]:
    """The models by their names in the table, unfitted."""
    from fairgear.causal import FittedCausalModel, SimilarityCausalModel

    made: tuple[Callable[[], Any], ...] = (
        SimilarityCausalModel,
        lambda: SimilarityCausalModel("quantile"),
        lambda: FittedCausalModel(edges="cosine", gate=False),
    )
    return dict(zip(MODELS, made, strict=True))


def measure(name: str, graph: Any, make: Callable[[], Any]) -> list[dict[str, Any]]:
    """The three rows of one model on one graph."""
    from fairgear.causal import at_rate

    start = time.perf_counter()
    model = make().fit(graph)
    fit_seconds = time.perf_counter() - start
    rows = []
    for effect in model.diagnostics().effects:
        sens = at_rate(graph, RATES[effect.intervention])
        start = time.perf_counter()
        model.counterfactual(graph, sens)
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
                "label_homophily_before": effect.before.label_homophily,
                "label_homophily_after": effect.after.label_homophily,
                "isolated_after": effect.after.isolated,
                "highest_degree_after": effect.after.degree_quantiles[-1],
                "fit_seconds": fit_seconds,
                "seconds": time.perf_counter() - start,
                "commit": _commit(),
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
        import fairgear as fg

        rows: list[dict[str, Any]] = []
        for name in GRAPHS:
            graph = fg.datasets.load(name)
            for model, make in makers().items():
                rows += measure(model, graph, make)
        RESULTS.mkdir(parents=True, exist_ok=True)
        pd.DataFrame(rows).round(4).to_csv(ROWS, index=False)
    print(table(pd.read_csv(ROWS)))


if __name__ == "__main__":
    main()
