"""A plan of measurements: rows added to a CSV as they are done, resumed by a second call."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from fairgear.experiments.provenance import source_commit

RESULTS = Path(__file__).parent.parent / "docs" / "results"
CELL = ("method", "graph", "seed")
# What most tables show of an evaluation.
COLUMNS = {
    "accuracy": "accuracy",
    "auroc": "AUROC",
    "delta_cf_released": "δCF released",
    "delta_cf": "δCF strict",
    "r2": "R²",
}


def carry_out(
    path: Path,
    plan: Sequence[tuple[str, int, int]],
    measure: Callable[[str, int, int], dict[str, Any]],
    *,
    jobs: int,
) -> pd.DataFrame:
    """Measure what is missing in `path`, `jobs` at a time, and return all rows in plan order."""
    rows = pd.read_csv(path).to_dict("records") if path.exists() else []
    done = {tuple(row[key] for key in CELL) for row in rows}
    order = {cell: place for place, cell in enumerate(plan)}
    path.parent.mkdir(parents=True, exist_ok=True)
    with ProcessPoolExecutor(max(1, jobs), mp_context=get_context("spawn")) as pool:
        todo = [pool.submit(measure, *cell) for cell in plan if cell not in done and jobs > 0]
        for future in as_completed(todo):
            rows.append({**future.result(), "commit": source_commit()})
            rows.sort(key=lambda row: order[tuple(row[key] for key in CELL)])
            pd.DataFrame(rows).to_csv(path, index=False)
            print(f"{len(rows)} of {len(plan)}", flush=True)
    return pd.DataFrame(rows)


def table(rows: pd.DataFrame, by: Sequence[str], columns: dict[str, str]) -> str:
    """Mean ± standard deviation in Markdown; from three rows on also the mean's 95 % t interval.

    Nothing that is shown can be negative, so intervals end at 0.

    Args:
        rows: one measurement each.
        by: the columns that tell groups apart.
        columns: key to heading of what is shown.
    """
    lines = [
        f"| {' | '.join(by)} | {' | '.join(columns.values())} | runs |",
        "|---" * (len(by) + len(columns) + 1) + "|",
    ]
    for names, part in rows.groupby(list(by), sort=False):
        cells = [str(name) for name in names]
        for key in columns:
            values = part[key].to_numpy()
            mean = values.mean()
            if len(values) == 1:
                cells.append(f"{mean:.4f}")
                continue
            spread = np.std(values, ddof=1)
            cells.append(f"{mean:.4f} ± {spread:.4f}")
            if len(values) >= 3:
                half = stats.t.ppf(0.975, len(values) - 1) * spread / np.sqrt(len(values))
                cells[-1] += f" ({max(0.0, mean - half):.3f} to {mean + half:.3f})"
        lines.append(f"| {' | '.join(cells)} | {len(part)} |")
    return "\n".join(lines)
