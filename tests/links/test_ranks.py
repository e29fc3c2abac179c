"""How scores rank linked pairs, against scikit-learn and by counting."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import average_precision_score

from fairgear.links.ranks import average_precision, hits_at, weighted_hits, weighted_precision
from fairgear.metrics.inputs import Floats, Integers

cases = st.lists(st.tuples(st.integers(0, 1), st.integers(0, 6)), min_size=2, max_size=30).filter(
    lambda rows: sum(linked for linked, _ in rows) > 0
)


def columns(rows: list[tuple[int, int]]) -> tuple[Integers, Floats]:
    linked, scores = np.array(rows).T
    return linked.astype(np.int64), scores.astype(np.float64)


def counted_hits(linked: Integers, scores: Floats, k: int) -> float:
    """As the evaluators of the Open Graph Benchmark have it."""
    negative = sorted(scores[linked == 0], reverse=True)
    if len(negative) < k:
        return 1.0
    return float((scores[linked == 1] > negative[k - 1]).mean())


@given(cases)
@settings(max_examples=100, deadline=None)
def test_average_precision(rows: list[tuple[int, int]]) -> None:
    linked, scores = columns(rows)
    expected = average_precision_score(linked, scores)
    assert average_precision(linked, scores) == pytest.approx(expected, abs=1e-12)


@given(cases, st.integers(1, 6))
@settings(max_examples=100, deadline=None)
def test_hits(rows: list[tuple[int, int]], k: int) -> None:
    linked, scores = columns(rows)
    assert hits_at(linked, scores, k) == pytest.approx(counted_hits(linked, scores, k))


@given(cases, st.integers(1, 4), st.integers(0, 10**6))
@settings(max_examples=60, deadline=None)
def test_weights_are_repetitions(rows: list[tuple[int, int]], k: int, seed: int) -> None:
    linked, scores = columns(rows)
    weights = np.random.default_rng(seed).integers(0, 4, (5, len(rows)))
    found = [
        statistic(weights.astype(np.float64))
        for statistic in (weighted_precision(linked, scores), weighted_hits(linked, scores, k))
    ]
    for place, one in enumerate(weights):
        again, ranked = np.repeat(linked, one), np.repeat(scores, one)
        if again.sum() == 0:
            assert np.isnan(found[0][place])
            continue
        assert found[0][place] == pytest.approx(average_precision_score(again, ranked), abs=1e-12)
        assert found[1][place] == pytest.approx(counted_hits(again, ranked, k), abs=1e-12)


def test_without_linked_pairs_there_is_no_value() -> None:
    none, scores = np.zeros(3, dtype=np.int64), np.array([0.1, 0.2, 0.3])
    assert math.isnan(average_precision(none, scores))
    assert math.isnan(hits_at(none, scores, 2))
