"""What holding down R² costs on Bail, by validation people.

    .venv/bin/pip install -e '.[tune]'
    .venv/bin/python benchmarks/dependence_trials.py --jobs 2    # all rows
    .venv/bin/python benchmarks/dependence_trials.py --jobs 0    # the table from the rows so far

Seeds 100 and 101 of the split `released`, which no table has. R² is that of the labels that are
predicted for validation people; AUROC and flips are those of the step that was kept. The rows that
are kept are of the commit 144a8ab, at which R² had a weight in training but none in that choice.
"""

from __future__ import annotations

import argparse
from typing import Any

from plan import RESULTS, carry_out, table
from preset_search import fitted, kept_step

ROWS = RESULTS / "dependence_trials.csv"
COLUMNS = {"auroc": "AUROC", "accuracy": "accuracy", "flips": "flips", "r2": "R²"}
WAYS: dict[str, dict[str, Any]] = {
    "": {},
    ", logit weight 6": {"logit_weight": 6.0},
    ", batches of 300": {"batch_size": 300},
    ", one layer": {"layers": 1},
}
TRIALS = {
    f"weight {weight:g}{name}": {"dependence_weight": weight, **change}
    for name, change in WAYS.items()
    for weight in (0.3, 1.0, 3.0)
}
PLAN: list[tuple[str, Any, int]] = [(name, "bail", seed) for name in TRIALS for seed in (100, 101)]


def measure(name: str, dataset: Any, seed: int) -> dict[str, Any]:
    """One row: a model judged."""
    import numpy as np

    from fairgear.graph import closed_neighborhood_mean

    graph, model = fitted(dataset, seed, TRIALS[name])
    kept, judges = kept_step(model), graph.val_mask
    scores = model.predict_proba(graph, nodes=judges)[:, 1]
    labels, y = scores > model.threshold_, graph.y[judges].numpy()
    around = closed_neighborhood_mean(graph.sens, graph.edge_index)[judges].numpy()
    found = {
        "auroc": kept["auroc"],
        "accuracy": float((labels == y).mean()),
        "flips": kept["flips"],
        "r2": float(np.corrcoef(labels, around)[0, 1] ** 2),
    }
    values = {key: round(value, 6) for key, value in found.items()}
    return {"method": name, "graph": dataset, "seed": seed, **values}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=2, help="models trained at a time; 0 for none")
    rows = carry_out(ROWS, PLAN, measure, jobs=parser.parse_args().jobs)
    print(table(rows, ("method",), COLUMNS))
