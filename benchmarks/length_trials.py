"""What it costs to forget a factor common to all of a person's features, by validation people.

    .venv/bin/pip install -e '.[tune]'
    .venv/bin/python benchmarks/length_trials.py --jobs 2    # all rows
    .venv/bin/python benchmarks/length_trials.py --jobs 0    # docs/gear.md from the rows so far

Seeds 100 to 102 of the split `released`, which no table has. AUROC and flips, under the learned
generator, are those of the step that was kept; `shrunk` is the share of validation people whose
label changes when all features shrink by 0.95; `unevenness` is by how much lengths differ among
people, as a share of their mean. The rows that are kept were made on a card; a CPU's differ about
as seeds do.
"""

from __future__ import annotations

import argparse
from typing import Any

from plan import RESULTS, carry_out, table
from preset_search import fitted, kept_step

from fairgear.files import write_text
from fairgear.report.blocks import with_blocks

ROWS = RESULTS / "length_trials.csv"
PAGE = RESULTS.parent / "gear.md"
COLUMNS = {"auroc": "AUROC", "flips": "flips", "shrunk": "shrunk", "unevenness": "unevenness"}
LONG, NORM, EVEN = "as long as they are", "root mean square", "even length"
PLAN: list[tuple[str, Any, int]] = [
    (name, dataset, seed)
    for dataset in ("bail", "credit")
    for name in (LONG, NORM, EVEN)
    for seed in (100, 101, 102)
]


def measure(name: str, dataset: Any, seed: int) -> dict[str, Any]:
    """One row: a model judged."""
    import torch

    from fairgear.methods import lengths

    # Each process makes rows of all three kinds.
    lengths._TAILS = (10.0, 3.0, 1.0) if name == EVEN else ()
    graph, model = fitted(dataset, seed, {"normalize_rows": False} if name == LONG else {})
    kept, judges = kept_step(model), graph.val_mask
    columns = torch.arange(graph.x.shape[1])
    factors = torch.where(columns == graph.sens_column, 1.0, 0.95)
    shrunk = model.predict(graph.replace(x=factors * graph.x), nodes=judges)
    found = {
        "auroc": kept["auroc"],
        "flips": kept["flips"],
        "shrunk": float((shrunk != model.predict(graph, nodes=judges)).mean()),
        "unevenness": _unevenness(model, graph),
    }
    values = {key: round(value, 6) for key, value in found.items()}
    return {"method": name, "graph": dataset, "seed": seed, **values}


def _unevenness(model: Any, graph: Any) -> float:
    """By how much people's lengths differ, as a share of their mean; 0 where there is none."""
    network = model._network
    if network.unit_rows is None:
        return 0.0
    x, device = model.scaler_(graph), model.torch_device()
    own = network.unit_rows._own(x, graph.sens.to(device), network.erasure)
    lengths = network.unit_rows.length(own)
    return float(lengths.std() / lengths.mean())


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=2, help="models trained at a time; 0 for none")
    rows = carry_out(ROWS, PLAN, measure, jobs=parser.parse_args().jobs)
    shown = table(rows, ("graph", "method"), COLUMNS) + "\n"
    page = with_blocks(PAGE.read_text(encoding="utf-8"), {"length": shown})
    write_text(PAGE, page)
