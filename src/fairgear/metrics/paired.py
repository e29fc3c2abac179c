"""The interval of a difference of rates between two models that were asked about the same people.

One rule from nobody to everybody, that of `rates.py`, on the differences of people: as many as
the design effect leaves are taken to differ one way, the other way or not at all, independently
of each other. The design effect is that of the differences, or that of one direction by itself
where it is larger: a model that fails whole communities at a time may do so beside another whose
failures are spread. Where nobody differs in one direction, that direction is bounded as a rate of
nobody is, which is safe and wide. In simulations with 12 to 200 communities, rates from 0 to 0.9,
on one side or both, and correlations within communities from 0 to 0.3, intervals at 95 % held at
least 0.95.
"""

from __future__ import annotations

import math

import numpy as np

from fairgear.metrics.inputs import Values, as_clusters, as_shares, check_level, same_length
from fairgear.metrics.intervals import Interval
from fairgear.metrics.rates import combined_interval, effective_size, exact_interval


def paired_interval(
    first: Values, second: Values, clusters: Values, *, level: float = 0.95
) -> Interval:
    """Interval of mean(first) − mean(second), two shares of the same people.

    The rates of those who differ one way and of those who differ the other have exact bounds,
    which are put together: p⁺ − p⁻, whose correlation is −√(p⁺p⁻ / (1−p⁺)(1−p⁻)). So there is an
    interval where nobody differs, too, and whoever differs only one way is not taken for proof
    that nobody differs the other.

    Args:
        first: 0 or 1 for each node (right or wrong), or the share of the draws in which it flips.
        second: the same of the other model.
        clusters: the community of each node.
        level: chance that the interval covers, at least.
    """
    one, other = as_shares("first", first), as_shares("second", second)
    same_length(first=one, second=other)
    label = as_clusters("clusters", clusters, len(one))
    check_level(level)
    change = one - other
    whole = effective_size(change, label, level=level)
    parts = [np.maximum(change, 0), np.maximum(-change, 0)]
    up, down = (float(part.mean()) for part in parts)
    ends = [
        exact_interval(
            float(part.mean()), min(whole, effective_size(part, label, level=level)), level=level
        )
        for part in parts
    ]
    apart = math.sqrt(up * down / ((1 - up) * (1 - down))) if up * down > 0 else 0.0
    return combined_interval(up, ends[0], down, ends[1], correlation=-apart)
