"""The figures of the paper's tables, and how far a comparison's are from those of its Table 2."""

from __future__ import annotations

import math
from collections.abc import Mapping
from importlib.resources import files
from typing import Any

import pandas as pd

from fairgear.experiments.compare_table import table_head
from fairgear.metrics import METRICS

# The split that the published figures belong to.
SPLIT = "released"
# Published standard deviations within which a mean counts as reproduced.
NEAR = 2.0

# As the paper names methods, and as they are called here.
_NAMES = {
    "GCN": "gcn",
    "GraphSAGE": "graphsage",
    "GIN": "gin",
    "C-ENC": "c-enc",
    "FairGNN": "fairgnn",
    "NIFTY-GCN": "nifty-gcn",
    "NIFTY-SAGE": "nifty-sage",
    "GEAR": "gear",
}
# The authors' code measures δCF in the softened worlds.
PUBLISHED_METRICS = {
    "accuracy": "accuracy",
    "f1": "f1",
    "auroc": "auroc",
    "delta_eo": "delta_eo",
    "delta_dp": "delta_dp",
    "delta_cf": "delta_cf_released",
    "r2": "r2",
}


def published(table: str) -> pd.DataFrame:
    """`table2`, `table3` or `tableS1`: `dataset method metric published published_std`.

    Methods are named as the paper names them, metrics as they are here.
    """
    wide = _read("published.csv")
    wide = wide[wide["table"] == table]
    parts = [
        pd.DataFrame(
            {
                "dataset": wide["dataset"],
                "method": wide["method"],
                "metric": ours,
                "published": wide[f"{theirs}_mean"],
                "published_std": wide[f"{theirs}_std"],
            }
        )
        for theirs, ours in PUBLISHED_METRICS.items()
    ]
    return pd.concat(parts, ignore_index=True)


def published_statistics() -> pd.DataFrame:
    """The paper's Table 1: one row a dataset, columns as `datasets.statistics` names them."""
    return _read("published_statistics.csv")


def with_difference(both: pd.DataFrame) -> pd.DataFrame:
    """Adds `off`: the difference of the means in published standard deviations."""
    return both.assign(off=(both["mean"] - both["published"]) / both["published_std"])


def beside_published(table: pd.DataFrame) -> pd.DataFrame:
    """The rows of a `summary` that the paper's Table 2 has too, with its figures."""
    theirs = published("table2")
    theirs = theirs.assign(method=theirs["method"].map(_NAMES))
    return with_difference(table.merge(theirs, on=["dataset", "method", "metric"], how="inner"))


def published_markdown(both: pd.DataFrame) -> str:
    """One table a dataset: measured (published ± std, difference in published deviations).

    What is further off than `NEAR` is in bold.
    """
    parts = []
    for dataset, rows in both.groupby("dataset", sort=False):
        names = [name for name in METRICS if name in set(rows["metric"])]
        lines = table_head(str(dataset), names)
        for method, cells in rows.groupby("method", sort=False):
            of = cells.set_index("metric").to_dict("index")
            shown = " | ".join(_cell(of[name]) for name in names)
            lines.append(f"| `{method}` | {shown} |")
        parts.append("\n".join(lines))
    return "\n\n".join(parts) + "\n"


def _cell(cell: Mapping[Any, Any]) -> str:
    if math.isnan(cell["mean"]):
        return f"undefined ({cell['published']:.3f} ± {cell['published_std']:.3f})"
    about = f"{cell['published']:.3f} ± {cell['published_std']:.3f}, {cell['off']:+.1f} σ"
    within = abs(cell["off"]) <= NEAR
    return f"{cell['mean']:.3f} ({about})" if within else f"**{cell['mean']:.3f}** ({about})"


def _read(name: str) -> pd.DataFrame:
    source = files("fairgear.experiments") / name
    with source.open(encoding="utf-8") as file:
        return pd.read_csv(file)
