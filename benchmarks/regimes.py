"""Why Gear trains few labels and many differently: both ways, on validation data.

    .venv/bin/python benchmarks/regimes.py             # all rows, about half an hour
    .venv/bin/python benchmarks/regimes.py --jobs 0    # the table from the rows so far

`flips` are those under the learned generator at the step that was kept, `placebo` the share of
validation people whose label the released files' factor of 0.95 alone would change. Neither test
people nor the causal model that evaluation uses play any part.
"""

from __future__ import annotations

import argparse
from dataclasses import asdict
from typing import Any

from plan import RESULTS, carry_out, table

ROWS = RESULTS / "regimes.csv"
GRAPHS = ("synthetic 0", "synthetic 1", "bail", "credit")
METHODS = ("few", "many", "many, lengths of rows kept")
COLUMNS = {
    "auroc": "validation AUROC",
    "accuracy": "validation accuracy",
    "flips": "validation flips",
    "placebo": "placebo",
}
PLAN: list[tuple[str, Any, int]] = [(method, graph, 0) for graph in GRAPHS for method in METHODS]


def measure(name: str, graph_name: Any, seed: int) -> dict[str, Any]:
    """One model's validation figures."""
    import torch

    import fairgear as fg
    from fairgear.methods.gear_config import Regime
    from fairgear.progress import quiet

    torch.set_num_threads(1)
    dataset, _, graph_seed = graph_name.partition(" ")
    options = {"seed": int(graph_seed)} if graph_seed else {}
    settings = asdict(Regime.few() if name == "few" else Regime.many())
    if name.endswith("kept"):
        settings["normalize_rows"] = False
    with quiet():
        graph = fg.datasets.load(dataset, split_seed=seed, **options)
        gear = fg.Gear(seed=seed, **settings).fit(graph)
        labels = gear.predict(graph, nodes=graph.val_mask)
        x = 0.95 * graph.x
        x[:, graph.sens_column] = graph.x[:, graph.sens_column]
        shrunk = gear.predict(graph.replace(x=x, mechanism=None), nodes=graph.val_mask)
    history = gear.history_["network"]
    kept = next(row for row in history.validation if row["step"] == history.best_step)
    figures = {
        "auroc": kept["auroc"],
        "accuracy": float((labels == graph.y[graph.val_mask].numpy()).mean()),
        "flips": kept["flips"],
        "placebo": float((labels != shrunk).mean()),
    }
    values = {key: round(value, 6) for key, value in figures.items()}
    return {"method": name, "graph": graph_name, "seed": seed, **values}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=2, help="models at a time; 0 for none")
    rows = carry_out(ROWS, PLAN, measure, jobs=parser.parse_args().jobs)
    print(table(rows, ("graph", "method"), COLUMNS))
