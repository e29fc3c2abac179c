from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairgear.errors import ParameterError
from fairgear.metrics import UNDEFINED, Interval, paired_interval, rate_interval
from fairgear.metrics.rates import combined_interval, design_effect, informative_clusters

shares = st.lists(
    st.tuples(*(st.sampled_from([0.0, 1 / 3, 0.5, 1.0]),) * 2, st.integers(0, 5)),
    min_size=1,
    max_size=60,
)


@given(shares)
def test_the_difference_lies_in_its_interval_and_turns_with_the_models(
    table: list[tuple[float, float, int]],
) -> None:
    first, second, clusters = (np.array(column) for column in zip(*table, strict=True))
    low, high = paired_interval(first, second, clusters)
    assert -1 <= low <= first.mean() - second.mean() + 1e-12
    assert first.mean() - second.mean() - 1e-12 <= high <= 1
    turned = paired_interval(second, first, clusters)
    assert (-turned.high, -turned.low) == pytest.approx((low, high))
    wider = paired_interval(first, second, clusters, level=0.99)
    assert wider.low <= low + 1e-12
    assert high <= wider.high + 1e-12


def test_nobody_differs_is_no_proof_that_nobody_would() -> None:
    n, clusters = 1000, np.arange(1000) // 20
    alike = np.random.default_rng(0).integers(0, 2, n)
    low, high = paired_interval(alike, alike, clusters)
    # The bound of a rate of which nobody was seen, either way.
    bound = rate_interval(np.zeros(n), clusters).high
    assert (low, high) == pytest.approx((-bound, bound))
    assert high == pytest.approx(1 - 0.025 ** ((1 + 19 * 0.2) / n))


def test_what_both_models_do_alike_does_not_count() -> None:
    rng = np.random.default_rng(0)
    n, clusters = 2000, np.arange(2000) // 5
    base = rng.random(n) < 0.5
    change = rng.random(n) < 0.05
    paired = paired_interval(base ^ change, base, clusters)
    alone = [rate_interval(values, clusters) for values in (base ^ change, base)]
    assert paired.high - paired.low < 0.7 * max(one.high - one.low for one in alone)


def test_a_single_sided_difference_is_a_rate_with_room_on_the_other_side() -> None:
    rng = np.random.default_rng(1)
    clusters = np.arange(2000) // 5
    hits = rng.random(2000) < 0.1
    paired = paired_interval(hits, np.zeros(2000), clusters)
    rate = rate_interval(hits, clusters)
    assert paired.high == pytest.approx(rate.high)
    assert 0 < paired.low < rate.low


def test_shares_that_go_together_in_communities_widen_the_interval() -> None:
    rng = np.random.default_rng(2)
    clusters = np.arange(1000) // 20
    spread, bunched = rng.random(1000) < 0.3, (rng.random(50) < 0.3)[clusters]
    nobody = np.zeros(1000)
    narrow, wide = (paired_interval(nobody, hits, clusters) for hits in (spread, bunched))
    assert wide.high - wide.low > 1.5 * (narrow.high - narrow.low)


def test_the_design_effect_of_a_difference_by_leaving_communities_out() -> None:
    rng = np.random.default_rng(3)
    change = rng.integers(-1, 2, 400).astype(np.float64)
    clusters = np.arange(400) // 8
    change += np.where(clusters % 3 == 0, 1, 0)
    change = np.clip(change, -1, 1)
    means = [change[clusters != c].mean() for c in range(50)]
    jackknife = 49 / 50 * np.sum((np.array(means) - change.mean()) ** 2)
    independent = (np.mean(change != 0) - change.mean() ** 2) / 400
    assert informative_clusters(change, clusters) == 50
    assert design_effect(change, clusters) == pytest.approx(jackknife / independent, rel=1e-9)


def test_regions_that_go_together_widen_the_interval() -> None:
    rng = np.random.default_rng(4)
    clusters, regions = np.arange(1000) // 10, np.arange(1000) // 100
    up = rng.random(1000) < np.array([0.05, 0.4])[regions % 2]
    alone = paired_interval(up, np.zeros(1000), clusters)
    wide = paired_interval(up, np.zeros(1000), clusters, regions=regions)
    assert wide.low < alone.low < alone.high < wide.high


@pytest.mark.parametrize(
    ("values", "telling"),
    [
        ([0, 0, 0, 0], 0),
        ([1, 1, 1, 1], 0),
        ([-1, -1, -1, -1], 0),
        ([1, 1, -1, -1], 1),
        ([0, 0, 0, -0.5], 1),
        ([1, 0.5, -1, 0], 2),
    ],
)
def test_communities_that_tell_of_a_difference(values: list[float], telling: int) -> None:
    assert informative_clusters(np.array(values), np.array([0, 0, 1, 1])) == telling


def test_combined_intervals() -> None:
    first, second = Interval(0.4, 0.7), Interval(0.1, 0.4)
    free = combined_interval(0.5, first, 0.2, second)
    assert tuple(free) == pytest.approx((0.3 - math.hypot(0.1, 0.2), 0.3 + math.hypot(0.2, 0.1)))
    apart = combined_interval(0.5, first, 0.2, second, correlation=-1.0)
    assert tuple(apart) == pytest.approx((0.0, 0.6))
    assert not combined_interval(0.5, UNDEFINED, 0.2, second).defined


def test_bad_input_is_refused() -> None:
    with pytest.raises(ParameterError, match="first and second"):
        paired_interval([0, 1], [0, 1, 1], [0, 1])
    with pytest.raises(ParameterError, match="second: got values from"):
        paired_interval([0, 1], [0, 2], [0, 1])
    with pytest.raises(ParameterError, match="clusters"):
        paired_interval([0, 1], [0, 1], [0, 1, 2])
    with pytest.raises(ParameterError, match="level"):
        paired_interval([0, 1], [0, 1], [0, 1], level=95)
