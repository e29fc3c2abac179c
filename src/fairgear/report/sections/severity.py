"""How severe a share of answers that change is, given how sure it is, and which share decides."""

from __future__ import annotations

import math
from collections.abc import Mapping

from fairgear.auditing import Audit
from fairgear.metrics import UNDEFINED, Interval

# A share of answers that change, and the ends of its interval, are judged by these; see
# docs/guides/report.md.
DECIDES, STRONG, CLEAR, SMALL = 0.5, 0.10, 0.02, 0.05
# From the most to the least severe.
LEVELS = ("decides", "strong", "depends", "unsure", "few", "none", "unknown")
# The figures that may decide: a person's own value, everybody's, the largest of the bounds.
SELF, EVERYBODY, LARGEST = "delta_cf_self", "delta_cf", "delta_cf_max"

Figure = tuple[float, Interval]


def severity(value: float, ends: Interval, copying: float = math.nan) -> str:
    """One of `LEVELS`, from a share of answers that change and its interval.

    Without an interval, only a share of one half or more, or none, is judged.

    Args:
        value: the share.
        ends: its interval.
        copying: what a model that copies the attribute has, where it may be less than one half: a
            share whose interval reaches that decides too.
    """
    if math.isnan(value):
        return "unknown"
    low, high = ends if ends.defined else (0.0, 1.0)
    # Where worlds change the attribute of few people, a copy says little.
    copies = copying >= 2 * STRONG and (high if ends.defined else value) >= copying
    if (value >= DECIDES or copies) and (low > STRONG or not ends.defined):
        return "decides"
    if low > STRONG:
        return "strong"
    if low > CLEAR:
        return "depends"
    if high > STRONG or (value == 0 and high > SMALL):
        return "unsure"
    return "few" if value > 0 else "none"


def figure(audit: Audit, name: str) -> Figure:
    """A measure and its interval; NaN where it was not measured."""
    return audit.metrics.get(name, math.nan), audit.intervals.get(name, UNDEFINED)


def deciding(audit: Audit) -> dict[str, Figure]:
    """The figures that may decide, by name."""
    models = audit.causal_models
    # Bounds over models that make impossible people are shown, but do not decide.
    bounds = models is not None and models.credible
    return {key: figure(audit, key) for key in (SELF, EVERYBODY, *([LARGEST] if bounds else []))}


def judged(audit: Audit, figures: Mapping[str, Figure]) -> tuple[str, str]:
    """The level of the most severe figure, and which one that is; of equal ones the first."""
    known = audit.references.get(EVERYBODY)
    copying = {} if known is None else {EVERYBODY: known.copying}
    levels = {key: severity(*one, copying.get(key, math.nan)) for key, one in figures.items()}
    worst = min(levels, key=lambda key: LEVELS.index(levels[key]))
    return levels[worst], worst
