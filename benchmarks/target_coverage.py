"""How often nominal 95 % intervals cover: several classes, numbers, and a sensitive number.

`python -m benchmarks.target_coverage [REPETITIONS]` prints a line a figure. People in 40
communities share part of their noise; the truth is that of 400,000 people of the same law.
"""

from __future__ import annotations

import sys
from collections import Counter

import numpy as np
from scipy.special import expit

from fairgear.graph import Target
from fairgear.graph.attributes import Bands
from fairgear.graph.targets import BINARY
from fairgear.metrics import AverageFlips, Estimate, largest_estimate, over_rates
from fairgear.metrics.inputs import Integers
from fairgear.metrics.target_estimates import Sample, class_estimates, number_estimates

SEVERAL = Target("multiclass", ("a", "b", "c", "d"))
NUMBERS = Target("regression", (), 0.0, 1.0)
COMMUNITIES, PEOPLE, MANY = 40, 800, 400_000
_WORLDS = ((-1, 1.4), (-1, 1.6), (-1, 2.0), (1, 2.0), (1, 1.7), (1, 1.45))
_CUTS, _CENTRES = [-1.0, 0.0, 1.0], np.array([-1.5, -0.5, 0.5, 1.5])


def sample(seed: int, target: Target, people: int = PEOPLE, draws: int = 200) -> Sample:
    """People of a known law: group 1 is answered half a unit higher than it should be.

    For two classes, the attribute is a number, and people are compared by its five ranges.
    """
    rng = np.random.default_rng(seed)
    # As many people in each community, whatever their number: the law stays the same.
    communities = COMMUNITIES * people // PEOPLE
    cluster, group = rng.integers(0, communities, people), rng.integers(0, 2, people)
    noise = 0.4 * rng.normal(size=communities)[cluster] + rng.normal(size=people)
    truth, answer = noise + rng.normal(size=people), noise + 0.5 * group
    around = group + rng.normal(size=people)
    if target.is_binary:
        age = 0.4 * rng.normal(size=communities)[cluster] + rng.normal(size=people)
        group, around = Bands.of(age).codes(age), age + rng.normal(size=people)
        y, score = (truth > 0).astype(np.int64), expit(noise + 0.3 * age)
        shares, pred = np.stack([1 - score, score], axis=1), (score > 0.5).astype(np.int64)
        return Sample(y, shares, pred, group, around, cluster, target, draws)
    if target.is_number:
        return Sample(truth, answer, answer, group, around, cluster, target, draws)
    y, pred = np.digitize(truth, _CUTS), np.digitize(answer, _CUTS)
    shares = np.exp(-np.square(answer[:, None] - _CENTRES))
    shares /= shares.sum(axis=1, keepdims=True)
    return Sample(y, shares, pred, group, around, cluster, target, draws)


def estimates(one: Sample) -> dict[str, Estimate]:
    """All that have an interval."""
    found = number_estimates(one) if one.target.is_number else class_estimates(one)
    return {name: estimate for name, estimate in found.items() if estimate.interval.defined}


def worlds(seed: int, people: int = PEOPLE) -> tuple[AverageFlips, Integers]:
    """Who flips in each of six worlds, in communities that share part of it."""
    rng = np.random.default_rng(seed)
    communities = COMMUNITIES * people // PEOPLE
    cluster = rng.integers(0, communities, people)
    latent = 0.4 * rng.normal(size=communities)[cluster] + rng.normal(size=people)
    still = np.zeros(people, dtype=np.int64)
    # Some people flip in the lower worlds, others in the higher ones; nearly as many in two.
    flipped = {
        float(at): (side * latent > cut).astype(np.int64) for at, (side, cut) in enumerate(_WORLDS)
    }
    return over_rates(still, flipped), cluster


def coverage_of_the_largest(repetitions: int) -> float:
    """The share of samples whose interval of the largest world covers."""
    law = max(one.rate for one in worlds(-1 % 2**31, MANY)[0].by_world.values())
    found = [law in largest_estimate(*worlds(seed)).interval for seed in range(repetitions)]
    return float(np.mean(found))


def coverage(target: Target, repetitions: int) -> dict[str, float]:
    """The share of samples whose intervals cover, by figure."""
    law = {name: one.value for name, one in estimates(sample(-1 % 2**31, target, MANY, 2)).items()}
    covered: Counter[str] = Counter()
    for seed in range(repetitions):
        found = estimates(sample(seed, target))
        covered.update(name for name, value in law.items() if value in found[name].interval)
    return {name: covered[name] / repetitions for name in law}


def main() -> None:
    """Print the coverage of every figure."""
    repetitions = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    for target in (SEVERAL, NUMBERS, BINARY):
        for name, share in coverage(target, repetitions).items():
            print(f"{target.kind:12} {name:16} {share:.3f}")
    print(f"{'worlds':12} {'delta_cf_world':16} {coverage_of_the_largest(repetitions):.3f}")


if __name__ == "__main__":
    main()
