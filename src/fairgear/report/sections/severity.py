"""How severe a share of answers that change is, given how sure it is."""

from __future__ import annotations

import math

from fairgear.metrics import Interval

# A share of answers that change, and the ends of its interval, are judged by these; see
# docs/auditing.md.
DECIDES, STRONG, CLEAR, SMALL = 0.5, 0.10, 0.02, 0.05
# From the most to the least severe.
LEVELS = ("decides", "strong", "depends", "unsure", "few", "none", "unknown")


def severity(value: float, ends: Interval) -> str:
    """One of `LEVELS`, from a share of answers that change and its interval.

    Without an interval, only a share of one half or more, or none, is judged.
    """
    if math.isnan(value):
        return "unknown"
    low, high = ends if ends.defined else (0.0, 1.0)
    if value >= DECIDES and (low > STRONG or not ends.defined):
        return "decides"
    if low > STRONG:
        return "strong"
    if low > CLEAR:
        return "depends"
    if high > STRONG or (value == 0 and high > SMALL):
        return "unsure"
    return "few" if value > 0 else "none"
