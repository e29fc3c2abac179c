"""Why some networks do better here than in the published Table 2: what is done to the features.

    .venv/bin/python benchmarks/features_as_given.py             # all rows, a quarter of an hour
    .venv/bin/python benchmarks/features_as_given.py --jobs 0    # the table from the rows so far

Split `released`, seed 0, test people, accuracy and AUROC alone. The networks bring every
column to zero mean and unit variance; here they are also trained on columns brought to [-1, 1] by
their least and greatest value, and on columns as the files have them.
"""

from __future__ import annotations

import argparse
from contextlib import nullcontext
from typing import Any
from unittest.mock import patch

from plan import RESULTS, carry_out, table

ROWS = RESULTS / "features_as_given.csv"
COLUMNS = {"accuracy": "accuracy", "auroc": "AUROC"}
FEATURES = ("unit variance", "[-1, 1]", "as given")
CELLS = (("gin", "bail"), ("gin", "credit"), ("nifty-gcn", "credit"), ("nifty-sage", "credit"))
PLAN: list[tuple[str, Any, int]] = [
    (f"{method}, {features}", graph, seed)
    for seed in range(1)
    for method, graph in CELLS
    for features in FEATURES
]


def measure(name: str, graph_name: Any, seed: int) -> dict[str, Any]:
    """One row: a model trained and scored."""
    import torch
    from sklearn.metrics import roc_auc_score

    from fairgear import datasets
    from fairgear.methods import METHODS
    from fairgear.methods.inputs import FeatureScaler
    from fairgear.progress import quiet

    torch.set_num_threads(1)
    method, _, features = name.partition(", ")

    def fit(self: Any, graph: Any, order: Any = None) -> Any:
        x = self.columns(graph)
        if features == "[-1, 1]":
            low, high = x.min(dim=0).values, x.max(dim=0).values
            self.mean.copy_((low + high) / 2)
            self.scale.copy_(((high - low) / 2).clamp(min=1e-9))
        return self

    usual = (
        nullcontext() if features == "unit variance" else patch.object(FeatureScaler, "fit", fit)
    )
    graph = datasets.load_split(graph_name, split="released", seed=seed)
    with quiet(), usual:
        model = METHODS[method](seed=seed).fit(graph)
    y = graph.y[graph.test_mask].numpy()
    scores = model.predict_proba(graph, nodes=graph.test_mask)[:, 1]
    values = {"accuracy": ((scores > 0.5) == y).mean(), "auroc": roc_auc_score(y, scores)}
    rounded = {key: round(float(value), 6) for key, value in values.items()}
    return {"method": name, "graph": graph_name, "seed": seed, **rounded}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=2, help="models at a time; 0 for none")
    rows = carry_out(ROWS, PLAN, measure, jobs=parser.parse_args().jobs)
    print(table(rows, ("graph", "method"), COLUMNS))
