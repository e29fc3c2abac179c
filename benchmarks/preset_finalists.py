"""What the search found and its nearest neighbours, judged by validation people.

    .venv/bin/pip install -e '.[tune]'
    .venv/bin/python benchmarks/preset_finalists.py --jobs 2    # all rows
    .venv/bin/python benchmarks/preset_finalists.py --jobs 0    # docs/gear.md from the rows so far

What `preset_search.py` found became the way that lets the network loose, but for λ, which stayed
as the paper has it. Here one setting is changed at a time, on the same scenes and by the same
measure. The way that holds the network back takes part, with the change: where there are few
labels, validation decides between the two.
"""

from __future__ import annotations

import argparse
from typing import Any

import pandas as pd
from plan import RESULTS, carry_out
from preset_search import SCENES, judged

from fairgear.files import write_text
from fairgear.report.blocks import with_blocks

ROWS = RESULTS / "preset_finalists.csv"
PAGE = RESULTS.parent / "gear.md"
# Before the weight of logits was raised.
FIRST = "λ 0.6, logit weight 1"
START: dict[str, Any] = {"logit_weight": 1.0}
CHANGES: dict[str, dict[str, Any]] = {
    FIRST: {},
    "λ 0.2": {"fairness_weight": 0.2},
    "λ 2": {"fairness_weight": 2.0},
    "1,000 steps": {"steps": 1000},
    "4,000 steps": {"steps": 4000},
    "logit weight 0.5": {"logit_weight": 0.5},
    "logit weight 2": {"logit_weight": 2.0},
    "logits themselves alike": {"consistency": "logit"},
    "dropout 0.2": {"dropout": 0.2},
    "dropout 0.5": {"dropout": 0.5},
    "no ranks": {"ranks": "unseen"},
    "ranks alone": {"ranks": "alone"},
    "128 dimensions": {"dim": 128},
    "four draws": {"neighbor_draws": 4},
    "k = 10": {"k": 10},
    "edge noise 0.5": {"edge_noise": 0.5},
    "averaging 0.995": {"averaging": 0.995},
}
PLAN: list[tuple[str, Any, int]] = [
    (name, dataset, seed) for dataset, seed in SCENES for name in CHANGES
]


def measure(name: str, dataset: Any, seed: int) -> dict[str, Any]:
    """One row: what validation says of one model."""
    found = judged(dataset, seed, START | CHANGES[name])
    found["score"] = found["auroc"] - found["flips"]
    values = {key: round(value, 6) for key, value in found.items()}
    return {"method": name, "graph": dataset, "seed": seed, **values}


def shown(rows: pd.DataFrame) -> str:
    """Means over the seeds of each dataset; over all scenes the gain with its standard error."""
    datasets = list(dict.fromkeys(dataset for dataset, _ in SCENES))
    heads = [f"{dataset}, {what}" for dataset in datasets for what in ("AUROC", "flips")]
    lines = [f"| changed | {' | '.join(heads)} | AUROC − flips, mean | more than the first |"]
    lines.append("|---" + "|---:" * (len(heads) + 2) + "|")
    scores = rows.pivot(index=["graph", "seed"], columns="method", values="score")
    for name, part in rows.groupby("method", sort=False):
        means = part.groupby("graph")[["auroc", "flips"]].mean()
        cells = [f"{means.loc[one, what]:.4f}" for one in datasets for what in means.columns]
        more = scores[name] - scores[FIRST]
        away = f"{more.mean():+.4f} ± {more.sem():.4f}" if name != FIRST else ""
        lines.append(f"| {name} | {' | '.join(cells)} | {part['score'].mean():.4f} | {away} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=2, help="models trained at a time; 0 for none")
    rows = carry_out(ROWS, PLAN, measure, jobs=parser.parse_args().jobs)
    text = "Made by `.venv/bin/python benchmarks/preset_finalists.py`, rows with their commits in\n"
    text += "[results/preset_finalists.csv](results/preset_finalists.csv); two seeds a dataset:\n\n"
    page = with_blocks(PAGE.read_text(encoding="utf-8"), {"finalists": text + shown(rows)})
    write_text(PAGE, page)
