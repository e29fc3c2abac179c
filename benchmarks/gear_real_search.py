"""Settings of Gear on Bail and Credit, judged by validation people under the learned generator.

    .venv/bin/python benchmarks/gear_real_search.py            # the rows, best first
    .venv/bin/python benchmarks/gear_real_search.py --add bail released 0 layers=2,dropout=0.2
    .venv/bin/python benchmarks/gear_real_search.py --check 3  # row 3 of the file measured again

A row has all that decides how hard the network is trained, the validation AUROC of the state that
was kept, and the share of validation people who flip on the egos that the VAE makes. Test people
and the causal model of the evaluation play no part. A row takes two to five minutes; those of the
file were measured on a GPU, some on a CPU, which give other digits: `check` shows how far apart.
"""

from __future__ import annotations

import argparse
from dataclasses import asdict
from typing import Any

import pandas as pd
from plan import RESULTS

from fairgear.experiments.provenance import source_commit

ROWS = RESULTS / "gear_real_search.csv"
CELL = ["graph", "split", "seed"]
FOUND = ["auroc", "flips", "best_step", "commit"]


def measure(graph: str, split: str, seed: int, settings: dict[str, Any]) -> dict[str, Any]:
    """Train a Gear and give what its validation said; what is not set is as by default."""
    import fairgear as fg

    data = fg.datasets.load_split(graph, split=split, seed=seed)
    gear = fg.Gear(seed=seed, **settings).fit(data)
    history = gear.history_["network"]
    used = gear.config.to_dict() | asdict(gear.regime_)
    (best,) = [row for row in history.validation if row["step"] == history.best_step]
    found = {key: round(best[key], 6) for key in ("auroc", "flips")}
    return {**used, **found, "best_step": history.best_step, "commit": source_commit()}


def _again(row: dict[str, Any]) -> dict[str, Any]:
    settings = {key: row[key] for key in row if key not in (*CELL, *FOUND)}
    settings = {key: None if pd.isna(value) else value for key, value in settings.items()}
    return measure(*(row[key] for key in CELL), settings)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--add", nargs=4, metavar=("GRAPH", "SPLIT", "SEED", "SETTINGS"))
    parser.add_argument("--check", type=int, metavar="ROW")
    asked = parser.parse_args()
    rows = pd.read_csv(ROWS)
    if asked.add:
        from fairgear.experiments.assigned import assigned

        graph, split, seed, text = asked.add
        settings = assigned(text.split(","), "--add")
        found = measure(graph, split, int(seed), settings)
        cell = {"graph": graph, "split": split, "seed": int(seed)}
        rows = pd.concat([rows, pd.DataFrame([{**cell, **found}])[rows.columns]])
        rows.to_csv(ROWS, index=False)
    if asked.check is not None:
        then = rows.iloc[asked.check].to_dict()
        print(pd.DataFrame([then, _again(then)], ["then", "now"])[FOUND])
    else:
        print(rows.sort_values([*CELL, "auroc"], ascending=[True] * 3 + [False]).to_string())
