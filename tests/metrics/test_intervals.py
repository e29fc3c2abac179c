from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from fairgear.errors import ParameterError, UndefinedMetricWarning
from fairgear.metrics import (
    UNDEFINED,
    Interval,
    cluster_bootstrap,
    difference_interval,
    draws_error,
    rate_interval,
    weighted_auroc,
)
from fairgear.metrics.inputs import MOST_CLUSTERS, Floats, Integers, pooled
from fairgear.metrics.intervals import multiplicities
from fairgear.metrics.rates import effective_size, exact_interval


def test_an_interval_is_two_numbers() -> None:
    low, high = Interval(0.1, 0.3)
    assert (low, high) == (0.1, 0.3)
    assert 0.2 in Interval(0.1, 0.3)
    assert 0.4 not in Interval(0.1, 0.3)
    assert not UNDEFINED.defined
    assert 0.2 not in UNDEFINED


@pytest.mark.parametrize(
    ("signed", "absolute"),
    [
        (Interval(-0.1, 0.3), Interval(0.0, 0.3)),
        (Interval(-0.3, 0.1), Interval(0.0, 0.3)),
        (Interval(0.1, 0.3), Interval(0.1, 0.3)),
        (Interval(-0.3, -0.1), Interval(0.1, 0.3)),
        (Interval(0.0, 0.3), Interval(0.0, 0.3)),
    ],
)
def test_the_interval_of_a_gap_follows_from_the_signed_one(
    signed: Interval, absolute: Interval
) -> None:
    assert signed.absolute() == absolute
    assert not UNDEFINED.absolute().defined


def test_draws_error_is_that_of_a_mean() -> None:
    assert draws_error([0.1, 0.2, 0.6]) == pytest.approx(np.std([0.1, 0.2, 0.6], ddof=1) / 3**0.5)
    assert math.isnan(draws_error([0.1]))


def test_the_bootstrap_of_a_mean_over_single_nodes_is_the_t_interval() -> None:
    values = np.random.default_rng(0).normal(size=200)
    low, high = cluster_bootstrap(
        lambda w: w @ values / w.sum(axis=1), np.arange(200), draws=20_000, seed=1
    )
    half = 1.971957 * values.std(ddof=1) / 200**0.5
    assert low == pytest.approx(values.mean() - half, abs=0.02 * half)
    assert high == pytest.approx(values.mean() + half, abs=0.02 * half)


def test_the_bootstrap_is_reproducible_and_the_names_of_clusters_do_not_matter() -> None:
    rng = np.random.default_rng(0)
    values, clusters = rng.random(300), np.sort(rng.integers(0, 20, 300))

    def statistic(weights: Floats) -> Floats:
        return np.asarray(weights @ values / weights.sum(axis=1))

    once = cluster_bootstrap(statistic, clusters, draws=50)
    assert cluster_bootstrap(statistic, clusters, draws=50) == once
    assert cluster_bootstrap(statistic, clusters * 7 - 3, draws=50) == once
    assert cluster_bootstrap(statistic, clusters, draws=50, seed=1) != once
    wider = cluster_bootstrap(statistic, clusters, draws=50, level=0.99)
    assert wider.low < once.low < once.high < wider.high


def test_many_nodes_are_resampled_a_few_rows_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    scores = rng.random(300)
    statistic = weighted_auroc((rng.random(300) < scores).astype(int), scores)
    clusters = rng.integers(0, 30, 300)
    whole = cluster_bootstrap(statistic, clusters, draws=40)
    monkeypatch.setattr("fairgear.metrics.intervals.CHUNK", 2000)
    assert tuple(cluster_bootstrap(statistic, clusters, draws=40)) == pytest.approx(tuple(whole))


def test_resamples_that_are_kept_are_those_that_are_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    label = np.arange(300) % 40
    first = multiplicities(label, draws=50, seed=3)
    first[:] = 0
    again, other = multiplicities(label, draws=50, seed=3), multiplicities(label, draws=50, seed=4)
    monkeypatch.setattr("fairgear.metrics.intervals.KEPT", 0)
    assert np.array_equal(again, multiplicities(label, draws=50, seed=3))
    assert np.array_equal(again.sum(axis=1), np.full(50, 40))
    assert not np.array_equal(again, other)


def test_where_the_bootstrap_is_undefined() -> None:
    values = np.array([0.0, 1.0, 1.0])
    with pytest.warns(UndefinedMetricWarning, match="one cluster"):
        assert not cluster_bootstrap(lambda w: w @ values, [3, 3, 3]).defined
    with pytest.warns(UndefinedMetricWarning, match="the estimate has no value"):
        assert not cluster_bootstrap(lambda w: w[:, 0] * math.nan, [0, 1, 2]).defined
    with pytest.warns(UndefinedMetricWarning, match="resamples have no value"):
        assert not cluster_bootstrap(lambda w: w[:, 0] / w[:, 0], [0, 1, 2]).defined


def test_exact_bounds_are_clopper_and_pearsons() -> None:
    # Rule of three, and the values of the usual tables for 3 of 20.
    assert tuple(exact_interval(0.0, 100)) == pytest.approx((0, 1 - 0.025**0.01))
    assert tuple(exact_interval(1.0, 100)) == pytest.approx((0.025**0.01, 1))
    assert tuple(exact_interval(0.15, 20)) == pytest.approx((0.0321, 0.3789), abs=1e-4)


def test_nobody_flips_is_no_certainty() -> None:
    n = 1000
    alone, together = np.arange(n), np.arange(n) // 20
    singles = rate_interval(np.zeros(n), alone)
    assert tuple(singles) == pytest.approx((0, 1 - 0.025 ** (1 / n)))
    # Communities flip as one if told so: then only their number counts.
    whole = rate_interval(np.zeros(n), together, correlation=1.0)
    assert tuple(whole) == pytest.approx((0, 1 - 0.025 ** (1 / 50)))
    free = rate_interval(np.zeros(n), together, correlation=0.0)
    assert tuple(free) == pytest.approx(tuple(singles))
    usual = rate_interval(np.zeros(n), together)
    assert usual.high == pytest.approx(1 - 0.025 ** ((1 + 19 * 0.2) / n))
    everybody = rate_interval(np.ones(n), together)
    assert tuple(everybody) == pytest.approx((1 - usual.high, 1))
    # Nobody flips in any region either: larger groups add nothing.
    assert rate_interval(np.zeros(n), together, regions=together // 5) == usual


def test_the_effective_size_from_communities_and_regions() -> None:
    rng = np.random.default_rng(3)
    regions = np.repeat(np.arange(10), rng.integers(50, 150, 10))
    clusters = regions * 4 + rng.integers(0, 4, len(regions))
    hits = (rng.random(len(regions)) < rng.beta(1, 3, 10)[regions]).astype(np.float64)
    n, rate = len(hits), float(hits.mean())

    def effect(label: Integers) -> float:
        names, sizes = np.unique(label, return_counts=True)
        without = np.array([hits[label != name].mean() for name in names])
        jackknife = (len(names) - 1) / len(names) * np.sum((without - rate) ** 2)
        few = stats.t.ppf(0.975, n**2 / np.sum(sizes**2) - 1) / stats.norm.ppf(0.975)
        return float(jackknife / (rate * (1 - rate) / n) * few**2)

    larger = effect(regions)
    assert larger > effect(clusters) > 1
    assumed = 1 + 0.2 * (np.sum(np.bincount(clusters) ** 2) / n - 1)
    known = min(len(np.unique(clusters[hits == value])) for value in (0, 1))
    for estimated, groups in ((effect(clusters), clusters), (larger, regions)):
        size = n / ((known * estimated + 2 * assumed) / (known + 2))
        assert effective_size(hits, clusters, groups, level=0.95) == pytest.approx(size)
    wide = rate_interval(hits, clusters, regions=regions)
    assert tuple(wide) == pytest.approx(tuple(exact_interval(rate, size)))
    alone = rate_interval(hits, clusters)
    assert wide.low < alone.low < alone.high < wide.high


def test_one_region_says_nothing() -> None:
    hits, clusters = np.arange(60) % 3 == 0, np.arange(60) // 6
    one = rate_interval(hits, clusters, regions=np.zeros(60))
    assert one == rate_interval(hits, clusters)
    # With one community the assumed correlation is all there is.
    alone = rate_interval(hits, np.zeros(60))
    assert alone == exact_interval(float(hits.mean()), 60 / (1 + 59 * 0.2))


def test_flips_that_go_together_widen_the_interval() -> None:
    n = 1000
    clusters = np.arange(n) // 20
    spread = (np.arange(n) % 20 == 0) * 1.0
    bunched = (clusters % 20 == 0) * (np.arange(n) % 20 < 17) * 1.0
    assert spread.sum() == 50
    assert bunched.sum() == 51
    narrow, wide = rate_interval(spread, clusters), rate_interval(bunched, clusters)
    assert wide.high - wide.low > 2 * (narrow.high - narrow.low)


def test_a_group_in_which_nobody_is_selected_leaves_the_difference_uncertain() -> None:
    rng = np.random.default_rng(0)
    clusters, sens = np.arange(400) // 4, rng.integers(0, 2, 400)
    low, high = difference_interval(np.zeros(400), clusters, sensitive_features=sens)
    assert -0.1 < low < -0.01 < 0.01 < high < 0.1
    one_group = difference_interval(np.zeros(400), clusters, sensitive_features=sens * 0)
    assert not one_group.defined


def test_bad_input_is_refused() -> None:
    with pytest.raises(ParameterError, match="hits"):
        rate_interval([0.5, 1.5], [0, 1])
    with pytest.raises(ParameterError, match="lengths"):
        rate_interval([0, 1], [0, 1, 2])
    with pytest.raises(ParameterError, match="level"):
        rate_interval([0, 1], [0, 1], level=95)
    with pytest.raises(ParameterError, match="correlation"):
        rate_interval([0, 1], [0, 1], correlation=-1)
    with pytest.raises(ParameterError, match="regions"):
        rate_interval([0, 1], [0, 1], regions=[0, 1, 1])
    with pytest.raises(ParameterError, match="draws"):
        cluster_bootstrap(lambda w: w[:, 0], [0, 1], draws=1)


def test_a_moderate_number_of_clusters_is_resampled_one_by_one() -> None:
    clusters = np.arange(MOST_CLUSTERS)
    assert pooled(clusters) is clusters


def test_very_many_clusters_are_put_together_at_random_and_evenly() -> None:
    clusters = np.repeat(np.arange(25_000), 2)
    found = pooled(clusters)
    assert found.max() + 1 == MOST_CLUSTERS
    # Nobody leaves their cluster.
    assert (found[::2] == found[1::2]).all()
    sizes = np.bincount(found)
    assert sizes.max() - sizes.min() <= 2
    assert (pooled(clusters) == found).all()


def test_intervals_of_very_many_people_are_those_of_the_closed_form() -> None:
    rng = np.random.default_rng(3)
    people = np.arange(40_000)
    group, hits = people % 2, (rng.random(40_000) < 0.3).astype(np.int64)
    values = rng.normal(size=40_000)
    ends = cluster_bootstrap(lambda w: w @ values / w.sum(axis=1), people)
    half = 1.96 * values.std() / np.sqrt(40_000)
    assert (ends.high - ends.low) / 2 == pytest.approx(half, rel=0.08)
    gap = difference_interval(hits, people, sensitive_features=group)
    rates = [hits[group == one].mean() for one in (0, 1)]
    half = 1.96 * np.sqrt(sum(rate * (1 - rate) / 20_000 for rate in rates))
    assert (gap.high - gap.low) / 2 == pytest.approx(half, rel=0.08)
