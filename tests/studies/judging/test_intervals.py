"""Intervals over seeds that share people: formulas by hand, and how often they cover."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import norm

from fairgear.metrics import Interval
from fairgear.metrics.inputs import Floats
from fairgear.metrics.rates import exact_interval
from fairgear.studies.judging.intervals import Reach, corrected_variance, over_splits

SEEDS, POOL, TEST, CUT = 5, 80, 300, 0.75
TRAIN = round(CUT * POOL)


def test_the_variance_is_nadeau_and_bengios_and_the_jackknifes() -> None:
    values = np.array([1.0, 2.0, 4.0])
    spread = ((values - 7 / 3) ** 2).sum() / 2
    # 90 % training, 10 % test people of each split's own.
    assert corrected_variance(values, 10 / 90) == pytest.approx((1 / 3 + 1 / 9) * spread)
    # The mean of subsets of the same people varies as the mean of all of them, and a little more.
    rng = np.random.default_rng(0)
    found = []
    for _ in range(3000):
        people = rng.normal(size=40)
        drawn = np.array([rng.permutation(people)[:30].mean() for _ in range(SEEDS)])
        found.append((drawn.mean(), corrected_variance(drawn, 30 / 10)))
    means, variances = np.array(found).T
    assert variances.mean() == pytest.approx(means.var(), rel=0.08)


def test_reaches_are_added_in_squares_by_side() -> None:
    values = np.array([0.10, 0.12])
    people = Reach.mean(values, [Interval(0.06, 0.20), Interval(0.10, 0.20)])
    assert (people.below, people.above) == pytest.approx((0.03, 0.09))
    found = over_splits(values, people, drawn_to_left=3.0)
    # Student's quantile with one degree of freedom is tan(0.475 π).
    reach = math.tan(0.475 * math.pi) * math.sqrt(3.5 * 0.0002)
    assert found.value == pytest.approx(0.11)
    assert found.interval.low == pytest.approx(0.11 - math.hypot(reach, 0.03))
    assert found.interval.high == pytest.approx(0.11 + math.hypot(reach, 0.09))


def test_one_seed_or_an_undefined_figure_has_no_interval() -> None:
    assert not over_splits(np.array([0.1]), Reach(0.1, 0.1)).interval.defined
    assert not over_splits(np.array([0.1, math.nan]), Reach(0.1, 0.1)).interval.defined
    assert not over_splits(np.array([0.1, 0.2]), Reach(math.nan, 0.1)).interval.defined


def directions(rng: np.random.Generator, noise: float) -> Floats:
    """A linear rule for each seed, from overlapping parts of the same open people."""
    y = rng.integers(0, 2, POOL)
    x = rng.normal(size=(POOL, 4))
    x[:, 0] += 1.2 * (2 * y - 1) / 2
    parts = [rng.permutation(POOL)[:TRAIN] for _ in range(SEEDS)]
    rules = [(x[part] * (2 * y[part] - 1)[:, None]).mean(axis=0) for part in parts]
    return np.stack(rules) + noise * rng.normal(size=(SEEDS, 4))


def errors(rules: Floats) -> Floats:
    """The share of all people that each rule gets wrong, exactly."""
    along = 0.6 * rules[:, 0] / np.linalg.norm(rules, axis=1)
    wrong: Floats = norm.sf(along)
    return wrong


def covered(factor: float, noise: float, runs: int = 200) -> float:
    """How often an interval covers the mean error of a rule, over open and sealed people."""
    rng = np.random.default_rng(1)
    truth = float(np.mean([errors(directions(rng, noise)).mean() for _ in range(1500)]))
    hits = 0
    for _ in range(runs):
        rules = directions(rng, noise)
        y = rng.integers(0, 2, TEST)
        x = rng.normal(size=(TEST, 4))
        x[:, 0] += 1.2 * (2 * y - 1) / 2
        wrong = ((x @ rules.T > 0) != (y == 1)[:, None]).mean(axis=0)
        people = Reach.mean(wrong, [exact_interval(float(rate), TEST) for rate in wrong])
        hits += truth in over_splits(wrong, people, drawn_to_left=factor).interval
    return hits / runs


def covered_by_training_alone(factor: float, noise: float, runs: int = 600) -> float:
    """The same with so many sealed people that only the open ones matter."""
    rng = np.random.default_rng(2)
    truth = float(np.mean([errors(directions(rng, noise)).mean() for _ in range(3000)]))
    found = [errors(directions(rng, noise)) for _ in range(runs)]
    exact = Reach(0.0, 0.0)
    return float(
        np.mean([truth in over_splits(one, exact, drawn_to_left=factor).interval for one in found])
    )


@pytest.mark.parametrize("noise", [0.0, 0.1])
def test_intervals_cover_where_sealed_people_are_few(noise: float) -> None:
    assert covered(3.0, noise) >= 0.95


def test_intervals_cover_where_training_people_are_all_that_varies() -> None:
    assert covered_by_training_alone(3.0, 0.0) >= 0.92
    assert covered_by_training_alone(3.0, 0.1) >= 0.95
    # Without the correction, and with the one for test people who differ by split.
    assert covered_by_training_alone(0.0, 0.0) < 0.65
    assert covered_by_training_alone(1 / 3, 0.0) < 0.85
