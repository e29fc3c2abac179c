"""How the way that holds Gear back was chosen: on validation data, under its own generator.

    .venv/bin/python benchmarks/gear_search.py             # all rows, about half an hour
    .venv/bin/python benchmarks/gear_search.py --jobs 0    # the table from the rows so far

A row is one model; `auroc` and `flips` are those of the validation people at the step that was
kept, flips counted between factual egos and egos perturbed by the learned generator, their edges
noisy. Neither test people nor the causal model that evaluation uses play any part.
"""

from __future__ import annotations

import argparse
from dataclasses import asdict
from typing import Any

from plan import RESULTS, carry_out, table

ROWS = RESULTS / "gear_search.csv"
SETTINGS: dict[str, dict[str, Any]] = {
    "default": {},
    "learning rate 0.003": {"learning_rate": 0.003},
    "two layers": {"layers": 2},
    "256 dimensions": {"dim": 256},
    "logit weight 0": {"logit_weight": 0.0},
    "no averaging of weights": {"averaging": 0.0},
    "edge noise 0": {"edge_noise": 0.0},
    "nothing erased, s hidden": {"erase": None},
}
PLAN = [(name, graph, seed) for seed in (0,) for graph in range(2) for name in SETTINGS]


def measure(name: str, graph_seed: int, seed: int) -> dict[str, Any]:
    """One model's validation figures."""
    import torch

    import fairgear as fg
    from fairgear.methods.gear_config import Regime
    from fairgear.progress import quiet

    torch.set_num_threads(1)
    graph = fg.datasets.load("synthetic", seed=graph_seed, split_seed=seed)
    with quiet():
        settings = asdict(Regime.held_back()) | SETTINGS[name]
        history = fg.Gear(seed=seed, **settings).fit(graph).history_["network"]
    kept = next(row for row in history.validation if row["step"] == history.best_step)
    figures = {"auroc": kept["auroc"], "flips": kept["flips"]}
    figures["tradeoff"] = figures["auroc"] - figures["flips"]
    values = {key: round(value, 6) for key, value in figures.items()}
    return {"method": name, "graph": graph_seed, "seed": seed, **values}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=2, help="models at a time; 0 for none")
    rows = carry_out(ROWS, PLAN, measure, jobs=parser.parse_args().jobs)
    headings = {"auroc": "validation AUROC", "flips": "validation flips", "tradeoff": "difference"}
    print(table(rows, ("method",), headings))
