"""Intervals hold the truth as often as they say, on people whose outcomes go together."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from fairgear.metrics import (
    accuracy,
    auroc,
    cluster_bootstrap,
    delta_dp,
    delta_eo,
    difference_interval,
    evaluate_predictions,
    f1,
    r2,
    rate_interval,
)
from fairgear.metrics.inputs import Floats, Integers

# Nominal 0.95; with 500 repetitions the Monte Carlo standard error of a coverage is 0.01.
LEAST = 0.93


def cluster_labels(rng: np.random.Generator, count: int, mean_size: float) -> Integers:
    """Communities of very unequal size."""
    sizes = np.maximum(1, np.round(mean_size * np.exp(rng.normal(-0.18, 0.6, count))))
    return np.repeat(np.arange(count), sizes.astype(np.int64))


def clustered(
    rng: np.random.Generator, clusters: Integers, rate: float, correlation: float
) -> Floats:
    """The chance of each node, beta-distributed over communities (so hits are beta-binomial)."""
    count = int(clusters.max()) + 1
    if correlation == 0:
        return np.full(len(clusters), rate)
    total = (1 - correlation) / correlation
    return np.asarray(rng.beta(rate * total, (1 - rate) * total, count)[clusters])


@pytest.mark.parametrize(
    ("count", "mean_size", "rate", "correlation"),
    [
        (60, 30, 0.2, 0.05),
        (60, 30, 0.02, 0.05),
        (60, 30, 0.01, 0.2),
        (60, 30, 0.002, 0.05),
        (60, 30, 0.002, 0.3),
        (200, 3, 0.02, 0.1),
        (25, 20, 0.1, 0.1),
        (60, 30, 0.98, 0.05),
        (60, 30, 0.05, 0.0),
    ],
)
def test_rates(count: int, mean_size: float, rate: float, correlation: float) -> None:
    rng = np.random.default_rng(1)
    repetitions, covered, widths = 500, 0, []
    for _ in range(repetitions):
        clusters = cluster_labels(rng, count, mean_size)
        hits = rng.random(len(clusters)) < clustered(rng, clusters, rate, correlation)
        interval = rate_interval(hits, clusters)
        covered += rate in interval
        widths.append(interval.high - interval.low)
    assert covered / repetitions >= LEAST
    # Covering by saying nothing does not count.
    spread = math.sqrt(rate * (1 - rate) * (1 + mean_size * correlation) / (count * mean_size))
    assert np.median(widths) < 4 * spread + 5 / count


def test_rates_of_nobody() -> None:
    """Where a whole community flips or none of it, most samples show no flip at all."""
    rng = np.random.default_rng(2)
    repetitions, covered, nobody = 500, 0, 0
    for _ in range(repetitions):
        clusters = cluster_labels(rng, 60, 30)
        hits = (rng.random(60) < 0.005)[clusters]
        nobody += not hits.any()
        covered += 0.005 in rate_interval(hits, clusters)
    assert nobody / repetitions > 0.6
    assert covered / repetitions >= LEAST


def test_resampling_nodes_does_not_cover() -> None:
    rng = np.random.default_rng(3)
    repetitions, rate, correlation = 600, 0.2, 0.1
    right = nodes = exact = 0
    for seed in range(repetitions):
        clusters = cluster_labels(rng, 60, 20)
        chance = clustered(rng, clusters, rate, correlation)
        hits = (rng.random(len(clusters)) < chance).astype(np.float64)

        def mean(weights: Floats, hits: Floats = hits) -> Floats:
            return np.asarray(weights @ hits / weights.sum(axis=1))

        right += rate in cluster_bootstrap(mean, clusters, draws=200, seed=seed)
        nodes += rate in cluster_bootstrap(mean, np.arange(len(hits)), draws=50, seed=seed)
        exact += rate in rate_interval(hits, np.arange(len(hits)))
    # With 2,000 repetitions it held 0.94: rates are skewed, which is why they have their own rule.
    assert right / repetitions >= LEAST - 0.01
    assert nodes / repetitions < 0.8
    assert exact / repetitions < 0.8


@pytest.mark.parametrize(
    ("mean_size", "zero", "one"),
    [(20, 0.3, 0.4), (20, 0.4, 0.4), (20, 0.01, 0.03), (20, 0.002, 0.002), (6, 0.1, 0.2)],
)
def test_differences_between_groups(mean_size: float, zero: float, one: float) -> None:
    rng = np.random.default_rng(4)
    repetitions, covered = 800, 0
    for _ in range(repetitions):
        clusters = cluster_labels(rng, 60, mean_size)
        group = (rng.random(len(clusters)) < rng.beta(1, 1, 60)[clusters]).astype(np.int64)
        chance = np.where(
            group == 1, clustered(rng, clusters, one, 0.1), clustered(rng, clusters, zero, 0.1)
        )
        hits = rng.random(len(clusters)) < chance
        interval = difference_interval(hits, clusters, sensitive_features=group, draws=200)
        covered += (one - zero) in interval
    assert covered / repetitions >= LEAST


def population(rng: np.random.Generator, count: int) -> tuple[NDArray[Any], ...]:
    """Labels, scores, predictions, groups, summaries and clusters, all clustered."""
    clusters = cluster_labels(rng, count, 15)
    n = len(clusters)
    summary = rng.beta(2, 2, count)[clusters]
    group = (rng.random(n) < summary).astype(np.int64)
    latent = rng.normal(size=n) + rng.normal(0, 0.6, count)[clusters] + 0.3 * group
    scores = latent + 0.9 * rng.normal(size=n) + rng.normal(0, 0.6, count)[clusters]
    return (latent > 0.2) * 1, scores, (scores > 0.2) * 1, group, summary, clusters


def test_all_estimates_of_one_model() -> None:
    rng = np.random.default_rng(5)
    y, scores, pred, group, summary, _ = population(rng, 40_000)
    truth = {
        "accuracy": accuracy(y, pred),
        "f1": f1(y, pred),
        "auroc": auroc(y, scores),
        "delta_eo": delta_eo(y, pred, sensitive_features=group),
        "delta_dp": delta_dp(pred, sensitive_features=group),
        "r2": r2(pred, summary),
    }
    repetitions = 400
    covered = dict.fromkeys(truth, 0)
    for _ in range(repetitions):
        y, scores, pred, group, summary, clusters = population(rng, 50)
        estimates = evaluate_predictions(
            y,
            scores,
            pred,
            sensitive_features=group,
            summary=summary,
            clusters=clusters,
            draws=200,
        )
        for name, value in truth.items():
            covered[name] += value in estimates[name].interval
    rates = {name: hit / repetitions for name, hit in covered.items()}
    assert min(rates.values()) >= LEAST, rates
