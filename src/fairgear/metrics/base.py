"""Metric: what a measure is called, what values it can take and which way is better."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from fairgear.registry import Registry


@dataclass(frozen=True)
class Metric:
    """A measure of predictions, as tables and `metrics.json` name it.

    Attributes:
        name: the key.
        label: for people.
        low: least value it can take.
        high: greatest value it can take.
        direction: whether "higher" or "lower" is better.
    """

    name: str
    label: str
    low: float
    high: float
    direction: Literal["higher", "lower"]

    def better(self, first: float, second: float) -> bool:
        """Whether `first` is strictly better than `second`; never where either is undefined."""
        return first > second if self.direction == "higher" else first < second


METRICS: Registry[Metric] = Registry("metric")

for _metric in (
    Metric("accuracy", "Accuracy", 0.0, 1.0, "higher"),
    Metric("f1", "F1", 0.0, 1.0, "higher"),
    Metric("auroc", "AUROC", 0.0, 1.0, "higher"),
    Metric("delta_eo", "ΔEO", 0.0, 1.0, "lower"),
    Metric("delta_dp", "ΔDP", 0.0, 1.0, "lower"),
    Metric("delta_cf", "δCF (strict)", 0.0, 1.0, "lower"),
    Metric("delta_cf_released", "δCF (released)", 0.0, 1.0, "lower"),
    Metric("delta_cf_self", "δCF, own attribute", 0.0, 1.0, "lower"),
    Metric("delta_cf_neighbor", "δCF, neighbours' attributes", 0.0, 1.0, "lower"),
    Metric("delta_cf_both", "δCF, own and neighbours'", 0.0, 1.0, "lower"),
    Metric("r2", "R²", 0.0, 1.0, "lower"),
):
    METRICS.add(_metric.name, _metric)
