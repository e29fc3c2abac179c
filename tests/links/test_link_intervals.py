"""Intervals of measures of pairs: ends, limits, and how often they cover."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray

from benchmarks import DOCS
from benchmarks.link_coverage import ROWS, table
from fairgear.links.clusters import PairClusters
from fairgear.links.intervals import PairBootstrap, informative, rate_of_pairs
from fairgear.metrics import Interval
from fairgear.metrics.inputs import Floats, Integers
from fairgear.metrics.rates import exact_interval

N, PER = 600, 20


@pytest.fixture(scope="module")
def ends() -> Integers:
    """Half of the pairs within a community of twenty, the others anywhere."""
    rng = np.random.default_rng(0)
    first = rng.integers(0, N, 900)
    near = first // PER * PER + rng.integers(0, PER, 900)
    second = np.where(np.arange(900) % 2 == 0, near, rng.integers(0, N, 900))
    kept = first != second
    return np.stack([first[kept], second[kept]])


@pytest.fixture(scope="module")
def clusters(ends: Integers) -> PairClusters:
    return PairClusters.of(*(ends // PER))


def drawn(ends: Integers, share: float, count: int, seed: int) -> Floats:
    """Standard normal values of pairs, a share of which is that of their ends' communities."""
    rng = np.random.default_rng(seed)
    label = ends // PER
    effect = rng.standard_normal((count, N // PER))
    both = (effect[:, label[0]] + effect[:, label[1]]) / np.where(label[0] == label[1], 2, 2**0.5)
    own = rng.standard_normal((count, ends.shape[1]))
    found: Floats = math.sqrt(share) * both + math.sqrt(1 - share) * own
    return found


def columns(*values: NDArray[Any]) -> Floats:
    return np.stack(values, axis=1).astype(np.float64)


def covered(intervals: list[Interval], truth: float) -> float:
    return float(np.mean([truth in one for one in intervals]))


@pytest.mark.parametrize("share", [0.0, 0.3])
@pytest.mark.parametrize("rate", [0.05, 0.2])
def test_rates_are_covered(
    ends: Integers, clusters: PairClusters, share: float, rate: float
) -> None:
    values = drawn(ends, share, 200, seed=1)
    hits = (values > np.quantile(np.random.default_rng(2).standard_normal(10**6), 1 - rate)) * 1.0
    found = [rate_of_pairs(one, [clusters]) for one in hits]
    assert covered(found, rate) >= 0.93
    # What takes pairs for independent is too sure where ends are shared.
    width = np.mean([one.high - one.low for one in found])
    plain = 2 * 1.96 * math.sqrt(rate * (1 - rate) / ends.shape[1])
    assert width > (1.5 if share else 1.0) * plain


def test_gaps_are_covered(ends: Integers, clusters: PairClusters) -> None:
    bootstrap = PairBootstrap(clusters)
    side = ((ends[0] * 7 + ends[1] * 3) % 2).astype(np.int64)
    cut = np.where(side == 1, 0.25, 0.5)
    truth = 0.4012937 - 0.3085375
    found = [bootstrap.gap((one > cut) * 1.0, side) for one in drawn(ends, 0.3, 40, seed=3)]
    assert covered([one.signed_interval for one in found], truth) >= 0.9
    assert all(one.interval.low <= one.value <= one.interval.high for one in found)


def test_nobody_and_everybody(clusters: PairClusters) -> None:
    nobody = rate_of_pairs(np.zeros(len(clusters)), [clusters])
    everybody = rate_of_pairs(np.ones(len(clusters)), [clusters])
    assert nobody.low == 0 < nobody.high < 0.1
    assert everybody.high == 1
    assert everybody.low == pytest.approx(1 - nobody.high)
    # No narrower than that of independent pairs: the rule of three.
    assert nobody.high > 3 / len(clusters)


def test_the_assumed_correlation_is_counted(ends: Integers) -> None:
    """1 + Σ over other pairs of 0.2 where both communities are the same, of 0.1 where one is."""
    some = PairClusters.of(*(ends[:, :60] // PER))
    units = [frozenset(pair) for pair in zip(some.first, some.second, strict=True)]
    total = 0.0
    for i, one in enumerate(units):
        for j, other in enumerate(units):
            if i != j and one & other:
                total += 0.2 if one == other else 0.1
    size = 60 / (1 + total / 60)
    high = rate_of_pairs(np.zeros(60), [some]).high
    assert high == pytest.approx(1 - 0.025 ** (1 / size), rel=1e-9)


def test_few_flips_are_between_what_is_assumed_and_what_is_seen(clusters: PairClusters) -> None:
    values = np.zeros(len(clusters))
    values[0] = 1
    few = rate_of_pairs(values, [clusters])
    assert informative(values, clusters) <= 2
    m = len(clusters)
    # The bound of nobody says what is assumed.
    assumed = math.log(0.025) / math.log(1 - rate_of_pairs(0 * values, [clusters]).high)
    assert m / assumed > 1
    assert exact_interval(1 / m, m).high < few.high < exact_interval(1 / m, assumed).high
    assert 0 < few.low < 1 / m


def test_regions_make_intervals_no_narrower(ends: Integers, clusters: PairClusters) -> None:
    regions = PairClusters.of(*(ends // 150))
    for one in drawn(ends, 0.3, 20, seed=5):
        hits = (one > 1) * 1.0
        wide, narrow = (rate_of_pairs(hits, of) for of in ([clusters, regions], [clusters]))
        assert wide.low <= narrow.low
        assert narrow.high <= wide.high


@pytest.mark.parametrize(
    "measure",
    [
        lambda b, hits, side: b.rate(hits),
        lambda b, hits, side: b.gap(hits, side),
        lambda b, hits, side: b.dependence(hits, columns(side, hits * 0.1 + side**2)),
    ],
    ids=["rate", "gap", "dependence"],
)
def test_they_repeat_and_depend_on_the_level(
    ends: Integers,
    clusters: PairClusters,
    measure: Callable[[PairBootstrap, Floats, NDArray[np.int64]], object],
) -> None:
    hits = (drawn(ends, 0.3, 1, seed=6)[0] > 0.5) * 1.0
    side = (ends[0] % 3).astype(np.int64) % 2

    def found(level: float) -> Interval:
        estimate = measure(PairBootstrap(clusters, level=level, seed=4), hits, side)
        return estimate.interval  # type: ignore[attr-defined, no-any-return]

    assert found(0.95) == found(0.95)
    assert found(0.8).low >= found(0.95).low
    assert found(0.8).high <= found(0.95).high


def test_a_single_community_says_nothing_of_a_gap() -> None:
    one = PairClusters.of(np.zeros(30, dtype=np.int64), np.zeros(30, dtype=np.int64))
    bootstrap = PairBootstrap(one)
    hits = (np.arange(30) % 3 == 0) * 1.0
    side = np.arange(30) % 2
    assert bootstrap.gap(hits, side).interval.high > 0.5
    assert not bootstrap.dependence(hits, columns(side * 1.0)).interval.defined
    assert rate_of_pairs(hits, [one]).high - rate_of_pairs(hits, [one]).low > 0.5


def test_the_largest_gap_holds_for_all_cells_at_once(
    ends: Integers, clusters: PairClusters
) -> None:
    hits = (drawn(ends, 0.0, 1, seed=8)[0] > 0) * 1.0
    cell = (ends[0] % 3).astype(np.int64)
    bootstrap = PairBootstrap(clusters)
    found = bootstrap.largest_gap(hits, cell)
    means = [hits[cell == one].mean() for one in range(3)]
    assert found.value == pytest.approx(max(means) - min(means))
    for one in range(3):
        pair = np.where(cell == one, -1, np.where(cell == (one + 1) % 3, 0, 1))
        assert bootstrap.gap(hits, pair).interval.high <= found.interval.high


def test_very_many_cells_have_a_safe_interval(ends: Integers, clusters: PairClusters) -> None:
    """Of all cells at once, no narrower than that of any two of them."""
    hits = (drawn(ends, 0.0, 1, seed=9)[0] > 0) * 1.0
    cell = (ends[0] % 30).astype(np.int64)
    bootstrap = PairBootstrap(clusters)
    found = bootstrap.largest_gap(hits, cell)
    means = [float(hits[cell == one].mean()) for one in range(30)]
    assert found.value == pytest.approx(max(means) - min(means))
    assert found.interval.low <= found.value <= found.interval.high
    two = [int(np.argmin(means)), int(np.argmax(means))]
    pair = bootstrap.gap(hits, np.where(cell == two[0], 0, np.where(cell == two[1], 1, -1)))
    assert found.interval.low <= pair.interval.low
    assert found.interval.high >= min(1.0, pair.interval.high)


def test_the_table_of_the_page_is_that_of_the_rows() -> None:
    page = (DOCS / "concepts" / "links.md").read_text(encoding="utf-8")
    assert f"<!-- coverage -->\n{table()}\n<!-- /coverage -->" in page


def test_what_is_said_of_the_rows() -> None:
    rows = pd.read_csv(ROWS)
    rates = rows["measure"].str.startswith("rate")
    steps = rows["shared"] == "two steps 0.3"
    by_region = rows["measure"].str.endswith("regions")
    assert rows[rates & by_region]["covered"].min() >= 0.945
    assert rows[rates & ~by_region & ~steps]["covered"].min() >= 0.945
    assert rows[rates & steps]["covered"].min() >= 0.875
    assert rows[~rates]["covered"].min() >= 0.905
    others = rows[~rates].groupby(["graph", "measure"])["covered"].mean()
    assert others.min() >= 0.945
