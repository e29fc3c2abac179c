"""Encoders with the decision threshold at one half, and at the most accurate on validation people.

    .venv/bin/python benchmarks/threshold_trials.py             # all rows, about forty minutes
    .venv/bin/python benchmarks/threshold_trials.py --jobs 0    # docs/gear.md from the rows so far

The synthetic graph, split `released` of seeds that no table has, test people, on a CPU.
"""

from __future__ import annotations

import argparse
from typing import Any

from plan import COLUMNS, RESULTS, carry_out, table

from fairgear.files import write_text
from fairgear.report.blocks import with_blocks

ROWS = RESULTS / "threshold_trials.csv"
PAGE = RESULTS.parent / "gear.md"
ENCODERS = ("graphsage", "gin", "gcn", "jk")
THRESHOLDS = ("half", "validation")
SEEDS = (100, 101, 102)
PLAN: list[tuple[str, Any, int]] = [
    (f"{encoder}, {threshold}", "synthetic", seed)
    for seed in SEEDS
    for encoder in ENCODERS
    for threshold in THRESHOLDS
]


def measure(name: str, graph_name: Any, seed: int) -> dict[str, Any]:
    """One row: a model trained and evaluated."""
    import torch

    import fairgear as fg
    from fairgear.progress import quiet

    torch.set_num_threads(1)
    encoder, threshold = name.split(", ")
    graph = fg.datasets.load_split(graph_name, split="released", seed=seed)
    with quiet():
        model = fg.Gear(encoder=encoder, threshold=threshold, seed=seed, device="cpu").fit(graph)
        metrics = fg.auditing.evaluate(model, graph, seed=seed).metrics
    values = {key: round(metrics[key], 6) for key in COLUMNS}
    return {"method": name, "graph": graph_name, "seed": seed, **values}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=2, help="models at a time; 0 for none")
    rows = carry_out(ROWS, PLAN, measure, jobs=parser.parse_args().jobs)
    text = table(rows.sort_values("method", kind="stable"), ("method",), COLUMNS) + "\n"
    write_text(PAGE, with_blocks(PAGE.read_text(encoding="utf-8"), {"threshold": text}))
