"""Gear's default on Bail and Credit, beside logistic regression on the same split.

    .venv/bin/python benchmarks/real_graphs.py             # all rows, about an hour and a half
    .venv/bin/python benchmarks/real_graphs.py --jobs 0    # the table from the rows so far

Split `sixty-twenty-twenty` and initialisation of seeds 0 to 4, test people. Logistic regression
sees all columns, the sensitive one among them, and no graph. δCF is that of the similarity model:
with the shift of means, and, in the column that says so, with the quantile map.
"""

from __future__ import annotations

import argparse
from typing import Any

from plan import RESULTS, carry_out, table

ROWS = RESULTS / "real_graphs.csv"
GRAPHS = ("bail", "credit")
COLUMNS = {
    "accuracy": "accuracy",
    "auroc": "AUROC",
    "delta_cf_released": "δCF released",
    "delta_cf": "δCF strict",
    "delta_cf_quantile": "δCF strict, quantile map",
    "r2": "R²",
}
PLAN: list[tuple[str, Any, int]] = [
    (method, graph, seed)
    for seed in range(5)
    for graph in GRAPHS
    for method in ("logistic regression", "default")
]


def measure(name: str, graph_name: Any, seed: int) -> dict[str, Any]:
    """One row: a model trained and evaluated."""
    import torch

    import fairgear as fg
    from fairgear.progress import quiet

    torch.set_num_threads(1)
    with quiet():
        graph = fg.datasets.load(graph_name, split_seed=seed)
        model: Any = _Logistic() if name.startswith("logistic") else fg.Gear(seed=seed)
        metrics = fg.auditing.evaluate(model.fit(graph), graph, seed=seed).metrics
        metrics["delta_cf_quantile"] = _under_quantiles(model, graph, seed)
    values = {key: round(metrics[key], 6) for key in COLUMNS}
    return {"method": name, "graph": graph_name, "seed": seed, **values}


def _under_quantiles(model: Any, graph: Any, seed: int) -> float:
    """δCF strict under the other map of features, over the same rates."""
    import fairgear as fg

    other = fg.causal.SimilarityCausalModel("quantile").fit(graph)
    worlds = fg.auditing.Worlds(graph, other, draws=1, seed=seed).strict

    def labels(world: Any) -> Any:
        return model.predict_proba(world, nodes=graph.test_mask)[:, 1] > model.threshold_

    before = labels(graph)
    flips = [(labels(world.graph) != before).mean() for draws in worlds.values() for world in draws]
    return float(sum(flips) / len(flips))


class _Logistic:
    """All columns, no graph."""

    threshold_ = 0.5

    def fit(self, graph: Any) -> _Logistic:
        from sklearn.linear_model import LogisticRegression

        train = graph.train_mask.numpy()
        self._model = LogisticRegression(max_iter=2000).fit(
            graph.x.numpy()[train], graph.y.numpy()[train]
        )
        return self

    def predict_proba(self, graph: Any, *, nodes: Any = None) -> Any:
        rows = graph.x.numpy() if nodes is None else graph.x.numpy()[nodes.numpy()]
        return self._model.predict_proba(rows)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=2, help="models at a time; 0 for none")
    rows = carry_out(ROWS, PLAN, measure, jobs=parser.parse_args().jobs)
    print(table(rows, ("graph", "method"), COLUMNS))
