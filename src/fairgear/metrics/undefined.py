"""The value of a measure that has none: NaN, and a warning that says why."""

from __future__ import annotations

import math
import warnings

from fairgear.errors import UndefinedMetricWarning


def undefined(metric: str, why: str) -> float:
    """NaN, with a warning."""
    warnings.warn(f"{metric} is undefined: {why}", UndefinedMetricWarning, stacklevel=3)
    return math.nan
