"""Egos of directed and weighted graphs: their time beside that of undirected ones.

    python -m benchmarks.directed_egos [people] [edges a person]

The same pairs are edges, arcs, weighted edges and weighted arcs in turn. Nothing else changes, and
each is timed after a first call, since that compiles. Times are the processor's, and the kinds take
turns, so that other work on the machine hardly counts.
"""

from __future__ import annotations

import sys
import time

import numpy as np
import torch
from torch import Tensor

from fairgear.egos import PageRank, Structure, find_egos
from fairgear.graph import directed_edges, undirected_edges

PEOPLE, EACH, ASKED, TURNS = 20_000, 10, 400, 3
GOAL = 2.0


def structures(n: int, each: int) -> dict[str, Structure]:
    """A random graph in its four kinds, with as many edges each."""
    rng = np.random.default_rng(0)
    low, high = np.sort(rng.integers(0, n, (2, n * each)), axis=0)
    both = undirected_edges(torch.from_numpy(np.stack([low, high])), n)
    once = both[:, both[0] < both[1]]
    turned = torch.from_numpy(rng.random(once.shape[1]) < 0.5)
    arcs = directed_edges(torch.where(turned, once, once.flip(0)), n)
    weight = torch.from_numpy(np.exp(rng.normal(size=once.shape[1])))
    order = (both.min(dim=0).values * n + both.max(dim=0).values).argsort(stable=True)
    twice = torch.empty(both.shape[1], dtype=torch.float64)
    twice[order] = weight.repeat_interleave(2)
    return {
        "edges": Structure.of(both, n),
        "arcs": Structure.of(arcs, n, directed=True),
        "weighted edges": Structure.of(both, n, edge_weight=twice),
        "weighted arcs": Structure.of(arcs, n, edge_weight=weight, directed=True),
    }


def seconds(structure: Structure, how: PageRank, people: Tensor) -> float:
    """Processor time of the egos of some people."""
    begin = time.process_time()
    find_egos(structure, how, nodes=people)
    return time.process_time() - begin


def main(n: int = PEOPLE, each: int = EACH) -> None:
    """Print the times and their ratios."""
    kinds = structures(n, each)
    people = torch.arange(0, n, max(1, n // ASKED))
    for precision in ("exact", "close"):
        how = PageRank(precision=precision)
        found = dict.fromkeys(kinds, float("inf"))
        for turn in range(TURNS + 1):
            for name, one in kinds.items():
                took = seconds(one, how, people if turn else people[:20])
                found[name] = min(found[name], took if turn else found[name])
        for name, time_of in found.items():
            ratio = time_of / found["edges"]
            each_ms = 1000 * time_of / len(people)
            print(f"{precision:6} {name:15} {each_ms:8.2f} ms a person, ratio {ratio:5.2f}")
    print(f"goal: at most {GOAL} for arcs")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
