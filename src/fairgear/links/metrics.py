"""The measures of an audit of links, by name."""

from __future__ import annotations

import math
from typing import Literal

from fairgear.metrics.estimates import Metric
from fairgear.registry import Registry

LINK_METRICS: Registry[Metric] = Registry("metric of links")

_LOWER: Literal["lower"] = "lower"
for _metric in (
    Metric("accuracy", "Accuracy", 0.0, 1.0, "higher"),
    Metric("auroc", "AUROC", 0.0, 1.0, "higher"),
    Metric("average_precision", "Average precision", 0.0, 1.0, "higher"),
    Metric("hits_at_k", "Hits@k", 0.0, 1.0, "higher"),
    Metric("delta_cf", "δCF, everybody's attribute", 0.0, 1.0, _LOWER),
    Metric("delta_cf_either", "δCF, one end's attribute", 0.0, 1.0, _LOWER),
    Metric("delta_cf_both_ends", "δCF, both ends' attributes", 0.0, 1.0, _LOWER),
    Metric("delta_cf_neighbours", "δCF, everybody else's attributes", 0.0, 1.0, _LOWER),
    Metric("list_change", "change of lists, everybody's attribute", 0.0, 1.0, _LOWER),
    Metric("list_change_alone", "change of lists, own attribute", 0.0, 1.0, _LOWER),
    Metric("exposure_gap", "gap of exposure in lists", 0.0, math.inf, _LOWER),
    Metric("gap_same_different", "gap, same and different groups", 0.0, 1.0, _LOWER),
    Metric("gap_same_different_linked", "gap, same and different, true links", 0.0, 1.0, _LOWER),
    Metric("gap_cells", "largest gap, pairs of groups", 0.0, 1.0, _LOWER),
    Metric("gap_cells_linked", "largest gap, pairs of groups, true links", 0.0, 1.0, _LOWER),
    Metric("r2", "R²", 0.0, 1.0, _LOWER),
):
    LINK_METRICS.add(_metric.name, _metric)
