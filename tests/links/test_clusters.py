"""How a mean over pairs varies, against sums over all pairs of pairs, and resamples of pairs."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairgear.links.clusters import PairClusters
from fairgear.metrics.inputs import Floats


def random_clusters(m: int, count: int, seed: int) -> tuple[PairClusters, Floats]:
    rng = np.random.default_rng(seed)
    first, second = rng.integers(0, count, (2, m))
    return PairClusters.of(first, second), rng.random(m)


@given(st.integers(2, 60), st.integers(2, 12), st.integers(0, 10**6))
@settings(max_examples=60, deadline=None)
def test_the_variance_is_the_sum_over_pairs_that_share_a_cluster(
    m: int, count: int, seed: int
) -> None:
    clusters, values = random_clusters(m, count, seed)
    apart = values - values.mean()
    ends = [{a, b} for a, b in zip(clusters.first, clusters.second, strict=True)]
    shared = np.array([[bool(one & two) for two in ends] for one in ends])
    same = np.array([[one == two for two in ends] for one in ends])
    rest = np.array([1 - sum(c in one for one in ends) / m for c in range(clusters.count)])
    rest = np.maximum(rest, 1 / m)
    # Without the corrections for few clusters: Σ over pairs of pairs that share one.
    plain = sum(
        apart[i] * apart[j] * (1 if ends[i] & ends[j] else 0) for i in range(m) for j in range(m)
    )
    sums = [sum(apart[i] for i in range(m) if c in ends[i]) for c in range(clusters.count)]
    across = sum(
        apart[i] * apart[j]
        for i in range(m)
        for j in range(m)
        if ends[i] == ends[j] and len(ends[i]) == 2
    )
    assert sum(one * one for one in sums) - across == pytest.approx(plain, abs=1e-9)
    assert plain == pytest.approx(float(apart @ shared @ apart), abs=1e-9)
    corrected = sum((one / r) ** 2 for one, r in zip(sums, rest, strict=True))
    corrected = corrected * (clusters.count - 1) / clusters.count - across
    least = float(apart @ same @ apart)
    expected = max(corrected, least) / m**2
    assert clusters.variance(values) == pytest.approx(expected, abs=1e-12)


@given(st.integers(2, 40), st.integers(1, 9), st.integers(0, 10**6))
@settings(max_examples=40, deadline=None)
def test_neither_order_nor_labels_nor_orientation_matter(m: int, count: int, seed: int) -> None:
    clusters, values = random_clusters(m, count, seed)
    order = np.random.default_rng(seed).permutation(m)
    turned = PairClusters.of(clusters.second * 7 + 3, clusters.first * 7 + 3)
    shuffled = PairClusters.of(clusters.first[order], clusters.second[order])
    expected = pytest.approx(clusters.variance(values), abs=1e-12)
    assert turned.variance(values) == expected
    assert shuffled.variance(values[order]) == expected
    assert turned.effective == pytest.approx(clusters.effective)


def test_resamples_have_the_variances_that_the_formula_combines() -> None:
    """Σ S² + Σ T² by the product weights, Σ T² over pairs of different clusters by units."""
    clusters, values = random_clusters(4000, 80, 0)
    apart = values - values.mean()
    m, shared = len(values), clusters.sums(apart)
    first, second, unit = clusters.units
    across = np.bincount(unit, weights=apart)[first != second]
    product, units = clusters.resampled(lambda w: (w @ apart) / m, draws=4000, seed=0)
    assert product.var() * m**2 == pytest.approx(shared @ shared + across @ across, rel=0.1)
    assert units.var() * m**2 == pytest.approx(across @ across, rel=0.1)
    assert (product.mean(), units.mean()) == pytest.approx((0, 0), abs=4 * product.std() / 60)


def test_sums_on_resamples_are_those_of_the_weights() -> None:
    clusters, values = random_clusters(300, 12, 1)
    columns = np.stack([np.ones(300), values], axis=1)
    whole = clusters.resampled(lambda weights: weights @ columns, draws=50, seed=3)
    by_unit = clusters.resampled_sums(columns, draws=50, seed=3)
    for one, other in zip(whole, by_unit, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)


def test_a_pair_within_a_cluster_counts_as_often_as_it() -> None:
    clusters = PairClusters.of(np.array([0, 0, 1, 2]), np.array([0, 1, 2, 2]))
    (weights,) = list(clusters._products(200, 0))
    assert set(np.unique(weights[:, 0])) <= {0, 1, 2, 3}
    np.testing.assert_array_equal(weights[:, 1] > 0, (weights[:, 0] > 0) & (weights[:, 1] > 0))
    # Three communities are drawn: those of pair 2 twice each cannot be.
    assert weights[:, 2].max() == 2
    assert clusters.touching.tolist() == [2, 2, 2]


def test_pairs_within_single_clusters_vary_as_clusters_do() -> None:
    label = np.repeat(np.arange(20), 5)
    clusters = PairClusters.of(label, label)
    values = np.random.default_rng(0).random(100)
    product, units = clusters.resampled(lambda w: w @ values, draws=30, seed=0)
    assert np.ptp(units) < 1e-9
    assert np.ptp(product) > 1
