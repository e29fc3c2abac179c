"""Intervals of means over seeds whose splits share people.

**Splits.** J splits of the same n people are not independent. Nadeau and Bengio (Machine Learning
52, 2003) replace S²/J, the variance of the mean if they were, by (1/J + n_test/n_train)·S²: where
each split draws n_test of n people, two splits have the share n_test/n of them in common, and so
their figures correlate by about as much. Their figures vary by the choice of test people.

Sealed test people are the same for every seed: what varies is who of the open people is trained on.
The same argument then gives the correlation n_train/n, and the variance (1/J + n_train/n_left)·S²,
n_left being those whom a split leaves for validation: the delete-d jackknife of Shao and Wu (Annals
of Statistics 17, 1989). So one rule, `corrected_variance`, serves both: (1/J + drawn/left)·S², the
drawn people being those whose choice makes figures vary. Training noise, such as that of initial
weights, is not shared by the splits but counts as if it were: with much of it, intervals are wide.

**People.** The mean over seeds has the sampling error of the test people, too, and more seeds do
not reduce it. Each audit has an interval over people, in communities; the mean distance to its ends
is added in squares to the reach of the splits, t · √variance with J − 1 degrees of freedom (as
Newcombe combines intervals). What is covered is the figure of the method among other people like
these, trained on as many others.

In simulations of a linear rule (`tests/studies/judging/test_intervals.py`), 5 seeds and 80 open
people, 95 % intervals covered 0.99 or more with 300 sealed people. With so many that training alone
varies, they covered 0.94, and 0.98 where training is noisy; with Nadeau and Bengio's factor in
place of the jackknife's 0.75 and 0.87, and with S²/J 0.56 and 0.75.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import t as student

from fairgear.metrics import UNDEFINED, Estimate, Interval
from fairgear.metrics.inputs import Floats
from fairgear.studies.judging.sealed import TRAIN_SHARE

LEVEL = 0.95
# Of the final splits: people drawn for training for each one left out.
DRAWN_TO_LEFT = TRAIN_SHARE / (1 - TRAIN_SHARE)


@dataclass(frozen=True)
class Reach:
    """How far the ends of an interval are from its estimate."""

    below: float
    above: float

    @classmethod
    def mean(cls, values: Floats, intervals: Sequence[Interval]) -> Reach:
        """The mean over seeds: all of them share the error of the same people."""
        below = np.mean([value - one.low for value, one in zip(values, intervals, strict=True)])
        above = np.mean([one.high - value for value, one in zip(values, intervals, strict=True)])
        return cls(max(0.0, float(below)), max(0.0, float(above)))


def corrected_variance(values: Floats, drawn_to_left: float) -> float:
    """Of the mean of figures over splits that share people; see the top of this file.

    Args:
        values: one for each split, at least two.
        drawn_to_left: people whom each split draws, for each one that it leaves: n_test/n_train
            where each split has test people of its own, n_train/n_left where all have the same.
    """
    return float((1 / len(values) + drawn_to_left) * np.var(values, ddof=1))


def over_splits(
    values: Floats,
    people: Reach,
    *,
    drawn_to_left: float = DRAWN_TO_LEFT,
    level: float = LEVEL,
) -> Estimate:
    """The mean over seeds with its interval; undefined with a single seed.

    Args:
        values: one for each seed.
        people: the error of the test people, who are the same for all seeds, at the same level.
        drawn_to_left: as for `corrected_variance`.
        level: probability that the interval covers.
    """
    mean = float(values.mean()) if len(values) else math.nan
    ends = (mean, people.below, people.above)
    if len(values) < 2 or any(math.isnan(end) for end in ends):
        return Estimate(mean, UNDEFINED)
    quantile = float(student.ppf((1 + level) / 2, len(values) - 1))
    reach = quantile * math.sqrt(corrected_variance(values, drawn_to_left))
    low, high = (math.hypot(reach, side) for side in (people.below, people.above))
    return Estimate(mean, Interval(mean - low, mean + high))
