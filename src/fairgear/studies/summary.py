"""Means over seeds: deviations, intervals and ranks."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import t as student

from fairgear.metrics import METRICS

LEVEL = 0.95
Values = NDArray[np.float64]


def summary(rows: pd.DataFrame) -> pd.DataFrame:
    """One row for each dataset, method and metric, from one row for each run.

    Columns: `dataset method metric mean std low high seeds rank`. `low` and `high` are Student's
    interval of the mean over seeds; `std`, `low` and `high` are NaN with a single seed. Ranks are
    among the methods of a dataset: 1 for the best mean, the same for equal means, NaN where the
    metric is undefined.
    """
    found = []
    for (dataset, method), runs in rows.groupby(["dataset", "method"], sort=False):
        for metric in METRICS:
            values = pd.to_numeric(runs[metric], errors="coerce").dropna().to_numpy(np.float64)
            mean, std, low, high = _over_seeds(values)
            found.append((dataset, method, metric, mean, std, low, high, len(values)))
    table = pd.DataFrame(
        found, columns=["dataset", "method", "metric", "mean", "std", "low", "high", "seeds"]
    )
    best_first = table["mean"].where(
        table["metric"].map(lambda name: METRICS[name].direction == "lower"), -table["mean"]
    )
    ranks = best_first.groupby([table["dataset"], table["metric"]]).rank(method="min")
    return table.assign(rank=ranks)


def interval(values: Values, level: float = LEVEL) -> tuple[float, float, float]:
    """The mean and the ends of Student's interval; without a spread the ends are the mean."""
    mean, std = float(values.mean()), float(values.std(ddof=1))
    reach = float(student.ppf((1 + level) / 2, len(values) - 1)) * std / math.sqrt(len(values))
    return mean, mean - reach, mean + reach


def _over_seeds(values: Values) -> tuple[float, ...]:
    if len(values) == 0:
        return (math.nan,) * 4
    mean = float(values.mean())
    if len(values) == 1:
        return mean, math.nan, math.nan, math.nan
    return mean, float(values.std(ddof=1)), *interval(values)[1:]
