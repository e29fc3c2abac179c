"""The default preset and its nearest neighbours, judged by validation people.

    .venv/bin/python benchmarks/preset_finalists.py --jobs 2    # all rows
    .venv/bin/python benchmarks/preset_finalists.py --jobs 0    # the table from the rows so far

What `preset_search.py` found became the way that lets the network loose. Here one setting of it
is changed at a time, on the same scenes and by the same measure. The way that holds the network
back takes part as it always does: where there are few labels, validation decides between them.
"""

from __future__ import annotations

import argparse
from typing import Any

from plan import RESULTS, carry_out, table
from preset_search import SCENES, judged

ROWS = RESULTS / "preset_finalists.csv"
COLUMNS = {"auroc": "validation AUROC", "flips": "validation flips", "score": "difference"}
CHANGES: dict[str, dict[str, Any]] = {
    "default": {},
    "λ 0.2": {"fairness_weight": 0.2},
    "λ 2": {"fairness_weight": 2.0},
    "1,000 steps": {"steps": 1000},
    "4,000 steps": {"steps": 4000},
    "logit weight 0.5": {"logit_weight": 0.5},
    "logit weight 2": {"logit_weight": 2.0},
    "logits themselves alike": {"consistency": "logit"},
    "dropout 0.2": {"dropout": 0.2},
    "dropout 0.5": {"dropout": 0.5},
    "no ranks": {"ranks": "unseen"},
    "ranks alone": {"ranks": "alone"},
    "128 dimensions": {"dim": 128},
    "four draws": {"neighbor_draws": 4},
    "k = 10": {"k": 10},
    "edge noise 0.5": {"edge_noise": 0.5},
    "averaging 0.995": {"averaging": 0.995},
}
PLAN: list[tuple[str, Any, int]] = [
    (name, dataset, seed) for dataset, seed in SCENES for name in CHANGES
]


def measure(name: str, dataset: Any, seed: int) -> dict[str, Any]:
    """One row: what validation says of one model."""
    found = judged(dataset, seed, CHANGES[name])
    found["score"] = found["auroc"] - found["flips"]
    values = {key: round(value, 6) for key, value in found.items()}
    return {"method": name, "graph": dataset, "seed": seed, **values}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=2, help="models trained at a time; 0 for none")
    rows = carry_out(ROWS, PLAN, measure, jobs=parser.parse_args().jobs)
    print(table(rows, ("graph", "method"), COLUMNS))
    print(table(rows, ("method",), {"score": "difference, all three"}))
