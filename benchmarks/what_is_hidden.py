"""What the methods of a comparison hide of s: fresh readers, and embeddings with s flipped.

    .venv/bin/fairgear compare --datasets synthetic bail credit --methods all --seeds 3
    .venv/bin/python -m benchmarks.what_is_hidden comparison   # a few minutes, the same data
    .venv/bin/python -m benchmarks.what_is_hidden              # the table from the rows so far

For every model that the comparison has saved, on the test people: the AUROC with which s is read
from their representations by a classifier that is fitted afresh (logistic regression, gradient
boosting; cross-validated in five parts), and how far the representations move when everybody's s
is flipped and nothing else changes (mean cosine distance, 0 for none).
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import pandas as pd

from benchmarks import RESULTS
from benchmarks.pages import HIDDEN, means
from fairgear.auditing.provenance import source_commit

ROWS = RESULTS / "what_is_hidden.csv"
METHODS = ("gcn", "graphsage", "gin", "c-enc", "fairgnn", "nifty-gcn", "nifty-sage", "gear")


def measure(label: str, run: Path) -> dict[str, Any]:
    """One row: a saved model on the graph of its run."""
    import fairgear as fg
    from fairgear import datasets

    config = json.loads((run / "metrics.json").read_text())["config"]
    graph = datasets.load(config["dataset"], split=config["split"], split_seed=config["seed"])
    model = fg.load_model(run / "model")
    own = model.embed(graph, nodes=graph.test_mask)
    flipped = model.embed(_flipped(graph), nodes=graph.test_mask)
    sens = graph.sens[graph.test_mask].numpy()
    return {
        "graph": config["dataset"],
        "method": label,
        "seed": config["seed"],
        **{name: round(_read(reader, own, sens), 6) for name, reader in _readers().items()},
        "moved": round(_moved(own, flipped), 6),
        "commit": source_commit(),
    }


def _runs(comparison: Path) -> list[tuple[str, Path]]:
    """Labels and folders of the runs to look at; another threshold is no other representation."""
    from fairgear.datasets.source import GraphSource
    from fairgear.studies.spec import Cell, Entry

    found = []
    for row in pd.read_csv(comparison / "runs.csv").itertuples():
        entry = Entry.parse(str(row.method))
        if entry.method in METHODS and set(entry.settings) != {"threshold"}:
            config = entry.config(GraphSource(str(row.dataset)), int(str(row.seed)))
            found.append((entry.label, Cell(entry, config).folder(comparison).path))
    return found


def _flipped(graph: Any) -> Any:
    """The same graph with everybody's s flipped, in its column too."""
    x, sens = graph.x.clone(), 1 - graph.sens
    if graph.sens_column is not None:
        x[:, graph.sens_column] = sens
    return graph.replace(x=x, sens=sens)


def _readers() -> dict[str, Any]:
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    return {
        "reader": make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)),
        "boosted_reader": HistGradientBoostingClassifier(max_iter=100, random_state=0),
    }


def _read(reader: Any, z: Any, sens: Any) -> float:
    from sklearn.metrics import roc_auc_score
    from sklearn.model_selection import StratifiedKFold, cross_val_predict

    parts = StratifiedKFold(5, shuffle=True, random_state=0)
    scores = cross_val_predict(reader, z, sens, cv=parts, method="predict_proba")[:, 1]
    return float(roc_auc_score(sens, scores))


def _moved(own: Any, flipped: Any) -> float:
    import numpy as np

    lengths = np.linalg.norm(own, axis=1) * np.linalg.norm(flipped, axis=1)
    cosine = (own * flipped).sum(axis=1) / np.maximum(lengths, 1e-12)
    return float(np.clip(1 - cosine, 0, None).mean())


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("comparison", nargs="?", type=Path, help="the folder of a comparison")
    folder = parser.parse_args().comparison
    if folder is not None:
        pd.DataFrame([measure(*run) for run in _runs(folder)]).to_csv(ROWS, index=False)
    print(means("what_is_hidden", ("graph", "method"), HIDDEN))
