"""What a limit on R² costs on Bail, by validation people.

    .venv/bin/pip install -e '.[tune]'
    .venv/bin/python benchmarks/r2_limit_trials.py --jobs 2    # all rows
    .venv/bin/python benchmarks/r2_limit_trials.py --jobs 0    # docs/gear.md from the rows so far

Seeds 100 and 101 of the split `released`, which no table has, trained in the way that lets the
network loose. R² and accuracy are those of the labels that are predicted for validation people;
AUROC and flips, under the learned generator, are those of the step that was kept. The rows that
are kept were made on a card; a CPU's differ about as seeds do.
"""

from __future__ import annotations

import argparse
from dataclasses import asdict
from typing import Any

from plan import RESULTS, carry_out, table
from preset_search import fitted, kept_step

from fairgear.files import write_text
from fairgear.report.blocks import with_blocks

ROWS = RESULTS / "r2_limit_trials.csv"
PAGE = RESULTS.parent / "gear.md"
COLUMNS = {"auroc": "AUROC", "accuracy": "accuracy", "flips": "flips", "r2": "R²"}
TRIALS: dict[str, dict[str, Any]] = {
    f"{f'limit {limit:g}' if limit < 1 else 'no limit'}{name}": {
        "r2_limit": limit,
        "erase": erase,
        # The way, but at that end of the dial rows keep their lengths.
        "normalize_rows": erase == 1.0,
    }
    for name, erase in (("", 1.0), (", strict only", 0.0))
    for limit in (1.0, 0.05, 0.035, 0.02, 0.01)
}
PLAN: list[tuple[str, Any, int]] = [(name, "bail", seed) for name in TRIALS for seed in (100, 101)]


def measure(name: str, dataset: Any, seed: int) -> dict[str, Any]:
    """One row: a model judged."""
    from fairgear.graph import closed_neighborhood_mean
    from fairgear.methods.gear_config import Regime
    from fairgear.metrics import r2

    graph, model = fitted(dataset, seed, asdict(Regime.let_loose()) | TRIALS[name])
    kept, judges = kept_step(model), graph.val_mask
    scores = model.predict_proba(graph, nodes=judges)[:, 1]
    labels, y = scores > model.threshold_, graph.y[judges].numpy()
    around = closed_neighborhood_mean(graph.sens, graph.edge_index)[judges].numpy()
    found = {
        "auroc": kept["auroc"],
        "accuracy": float((labels == y).mean()),
        "flips": kept["flips"],
        "r2": r2(labels, around),
    }
    values = {key: round(value, 6) for key, value in found.items()}
    return {"method": name, "graph": dataset, "seed": seed, **values}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=2, help="models trained at a time; 0 for none")
    rows = carry_out(ROWS, PLAN, measure, jobs=parser.parse_args().jobs)
    page = with_blocks(
        PAGE.read_text(encoding="utf-8"), {"r2 limit": table(rows, ("method",), COLUMNS) + "\n"}
    )
    write_text(PAGE, page)
