"""How often nominal 95 % intervals cover where the attribute of 40 % of the people is unknown.

`python -m benchmarks.unknown_coverage [REPETITIONS]` prints ΔDP and δCF: with everybody's known,
with one completion as if it were known, and with completions combined by Rubin's rules. People are
likelier to hide it the larger their first feature is. The truth is that of the law.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator

import numpy as np
import torch
from scipy.special import expit, ndtr

from fairgear.auditing.completions import COMPLETIONS
from fairgear.graph import SensitiveGraph, undirected_edges
from fairgear.graph.unknown import Unknown
from fairgear.metrics import Interval, evaluate_predictions, rate_interval
from fairgear.metrics.inputs import Floats, Integers
from fairgear.metrics.intervals import effective_clusters
from fairgear.metrics.rubin import combined_estimate

PEOPLE, COMMUNITY, SHARE = 500, 4, 0.4
# Of the features: how far group 1 is moved, and what the model adds up and cuts.
SHIFT, WEIGHTS, CUT = np.array([1.0, 0.5, 0.0]), np.array([1.0, 1.0, 0.0]), 0.3

Measured = dict[str, tuple[float, Interval]]


def truth() -> dict[str, float]:
    """ΔDP, and δCF over everybody in group 0 and everybody in group 1."""
    spread, moved = float(np.sqrt(WEIGHTS @ WEIGHTS)), float(WEIGHTS @ SHIFT)
    rates = [float(ndtr((group * moved - CUT) / spread)) for group in (0, 1)]
    gap = rates[1] - rates[0]
    # Either world moves one of the groups, of whom that share have another answer.
    return {"delta_dp": gap, "delta_cf": gap / 2}


def people(seed: int, count: int) -> tuple[SensitiveGraph, Integers]:
    """A graph with people who hide, and everybody's true group."""
    rng = np.random.default_rng(seed)
    sens = (rng.random(count) < SHARE).astype(np.int64)
    x = rng.normal(size=(count, len(SHIFT))) + np.outer(sens, SHIFT)
    hides = rng.random(count) < 0.8 * expit(x[:, 0] - SHARE)
    edges = undirected_edges(torch.from_numpy(rng.integers(count, size=(2, 2 * count))), count)
    known, held = torch.from_numpy(~hides), torch.from_numpy(sens)
    return SensitiveGraph(torch.from_numpy(x), edges, sens=held, sens_known=known), sens


def measured(x: Floats, sens: Integers) -> Measured:
    """ΔDP with its sign, and δCF by the difference of the groups' means, with intervals."""
    scores = x @ WEIGHTS
    answer, clusters = (scores > CUT).astype(np.int64), np.arange(len(x)) // COMMUNITY
    found = evaluate_predictions(
        answer,
        scores,
        answer,
        sensitive_features=sens,
        summary=x[:, 0],
        clusters=clusters,
        draws=300,
    )
    shift = x[sens == 1].mean(axis=0) - x[sens == 0].mean(axis=0)
    worlds = [(x + np.outer(group - sens, shift)) @ WEIGHTS > CUT for group in (0, 1)]
    flips = np.mean([world != answer for world in worlds], axis=0)
    gap = found["delta_dp"]
    return {
        "delta_dp": (gap.signed, gap.signed_interval),
        "delta_cf": (float(flips.mean()), rate_interval(flips, clusters)),
    }


def covered(seed: int, count: int) -> Iterator[str]:
    """The figures whose intervals cover the truth."""
    graph, sens = people(seed, count)
    law, x, true = Unknown(graph, seed=seed), graph.x.numpy(), truth()
    each = [measured(x, law.completed(draw).sens.numpy()) for draw in range(COMPLETIONS)]
    size = effective_clusters(np.arange(count) // COMMUNITY)
    for key, value in true.items():
        values, ends = zip(*(one[key] for one in each), strict=True)
        ways = {
            "all known": measured(x, sens)[key][1],
            "one completion": ends[0],
            "combined": combined_estimate(values, ends, effective=size)[1],
        }
        yield from (f"{key}, {way}" for way, interval in ways.items() if value in interval)


def coverage(repetitions: int, count: int = PEOPLE) -> dict[str, float]:
    """The share of samples whose intervals cover, by figure."""
    found: Counter[str] = Counter()
    for seed in range(repetitions):
        found.update(covered(seed, count))
    return {name: hits / repetitions for name, hits in sorted(found.items())}


def main() -> None:
    """Print the coverage of every figure."""
    for name, share in coverage(int(sys.argv[1]) if len(sys.argv) > 1 else 300).items():
        print(f"{name}: {share:.3f}")


if __name__ == "__main__":
    main()
