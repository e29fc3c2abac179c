"""Rubin's rules: one estimate from several completions of what is not known.

The estimate is the mean of those of the completions. Its variance is the mean W of theirs, plus
(1 + 1/M) times the variance B between them (Rubin, 1987). Intervals here come without a variance,
and many are asymmetric: a side's variance is the square of the distance from the estimate to that
end, divided by the t quantile with K − 1 degrees of freedom, K being the effective number of
communities. The two sides are combined apart, as Newcombe combines intervals of differences, with
Barnard and Rubin's (1999) degrees of freedom. Where completions agree exactly, nothing is added.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from fairgear.metrics.intervals import UNDEFINED, Interval, student_quantile


def combined_estimate(
    values: Sequence[float],
    intervals: Sequence[Interval],
    *,
    effective: float,
    level: float = 0.95,
    low: float = -math.inf,
    high: float = math.inf,
) -> tuple[float, Interval]:
    """The value and the interval over completions; NaN if it is in any.

    Args:
        values: of each completion.
        intervals: theirs, of the same level.
        effective: number of communities that the intervals are over.
        level: probability that the interval covers.
        low: the least possible value; the interval ends there.
        high: the largest.
    """
    value = float(np.mean(values))
    if math.isnan(value) or not all(one.defined for one in intervals):
        return value, UNDEFINED
    between = 0.0 if len(set(values)) == 1 else float(np.var(values, ddof=1))
    added = (1 + 1 / len(values)) * between
    complete = student_quantile(effective, level)
    below, above = (
        float(np.mean(np.square(distances))) / complete**2
        for distances in (
            [one - ends.low for one, ends in zip(values, intervals, strict=True)],
            [ends.high - one for one, ends in zip(values, intervals, strict=True)],
        )
    )
    degrees = degrees_of_freedom((below + above) / 2, added, len(values), effective - 1)
    reach = student_quantile(degrees + 1, level)
    ends = Interval(
        value - reach * math.sqrt(below + added), value + reach * math.sqrt(above + added)
    )
    return value, ends.clipped(low, high)


def degrees_of_freedom(within: float, added: float, completions: int, complete: float) -> float:
    """Barnard and Rubin's: `complete` of each completion, fewer the more they differ.

    Args:
        within: mean variance of the completions.
        added: (1 + 1/M) times the variance between them.
        completions: how many, M.
        complete: degrees of freedom were everything known.
    """
    if added == 0:
        return complete
    share = added / (within + added)
    observed = (complete + 1) / (complete + 3) * complete * (1 - share)
    inverse = share**2 / (completions - 1) + (1 / observed if observed > 0 else math.inf)
    return 1 / inverse
