"""GCN, GraphSAGE and GIN with their defaults on the named datasets, as rows of a table.

    OMP_NUM_THREADS=1 .venv/bin/python benchmarks/whole_graph.py synthetic german bail

Split `sixty-twenty-twenty` and initialisation of seeds 0 to 2; mean ± standard deviation, on the
CPU. A step is a step of training, validation included.
"""

from __future__ import annotations

import sys
import time

import numpy as np

from fairgear import SensitiveGraph, datasets
from fairgear.methods.gnn import Gcn, Gin, GraphSage
from fairgear.methods.whole_graph import WholeGraph
from fairgear.metrics import accuracy, auroc


def figures(model: WholeGraph, graph: SensitiveGraph) -> list[float]:
    """Validation AUROC, test AUROC and accuracy, milliseconds of one core a step."""
    begin = time.process_time()
    model.fit(graph)
    step = 1000 * (time.process_time() - begin) / model.config.steps
    scores, y = model.predict_proba(graph)[:, 1], graph.y.numpy()
    val, test = graph.val_mask.numpy(), graph.test_mask.numpy()
    right = accuracy(y[test], model.predict(graph)[test])
    return [auroc(y[val], scores[val]), auroc(y[test], scores[test]), right, step]


def main() -> None:
    print("| dataset | method | validation AUROC | AUROC | accuracy | CPU ms a step |")
    print("|---|---|---|---|---|---|")
    for name in sys.argv[1:]:
        for kind in (Gcn, GraphSage, Gin):
            rows = [
                figures(
                    kind(seed=seed, device="cpu"),
                    datasets.load_split(name, split="sixty-twenty-twenty", seed=seed),
                )
                for seed in range(3)
            ]
            mean, spread = np.mean(rows, axis=0), np.std(rows, axis=0, ddof=1)
            cells = [f"{mean[i]:.3f} ± {spread[i]:.3f}" for i in range(3)]
            print(f"| {name} | {kind.name} | {' | '.join(cells)} | {mean[3]:.0f} |", flush=True)


if __name__ == "__main__":
    main()
