"""The figures of the paper's tables, and how far ours are from them."""

from __future__ import annotations

from importlib.resources import files

import pandas as pd

from fairgear.metrics import METRICS

# The split that the published figures belong to.
SPLIT = "released"
# A mean within so many published standard deviations counts as reproduced.
NEAR = 2.0

# The paper's name of a method to ours.
_NAMES = {
    "GCN": "gcn",
    "GraphSAGE": "graphsage",
    "GIN": "gin",
    "C-ENC": "c-enc",
    "FairGNN": "fairgnn",
    "NIFTY-GCN": "nifty-gcn",
    "NIFTY-SAGE": "nifty-sage",
    "GEAR": "gear-paper",
}


def published(table: str) -> pd.DataFrame:
    """`table2`, `table3` or `tableS1`: `dataset method metric published published_std`.

    Methods have the paper's names, metrics ours. Its code measures δCF in the softened worlds.
    """
    wide = _read("published.csv")
    wide = wide[wide["table"] == table]
    parts = [
        pd.DataFrame(
            {
                "dataset": wide["dataset"],
                "method": wide["method"],
                "metric": metric,
                "published": wide[f"{metric}_mean"],
                "published_std": wide[f"{metric}_std"],
            }
        )
        for metric in METRICS
        if f"{metric}_mean" in wide.columns
    ]
    return pd.concat(parts, ignore_index=True)


def published_statistics() -> pd.DataFrame:
    """The paper's Table 1: a row for each dataset, columns as in `datasets.statistics`."""
    return _read("published_statistics.csv")


def with_difference(both: pd.DataFrame) -> pd.DataFrame:
    """Add `off`: the difference of the means in published standard deviations."""
    return both.assign(off=(both["mean"] - both["published"]) / both["published_std"])


def beside_published(table: pd.DataFrame) -> pd.DataFrame:
    """The rows of a `summary` that the paper's Table 2 has too, with its figures."""
    theirs = published("table2")
    theirs = theirs.assign(method=theirs["method"].map(_NAMES))
    return with_difference(table.merge(theirs, on=["dataset", "method", "metric"], how="inner"))


def _read(name: str) -> pd.DataFrame:
    source = files("fairgear.studies") / "recipes" / name
    with source.open(encoding="utf-8") as file:
        return pd.read_csv(file)
