"""Lists of the best-scored people: their time and memory beside other ways to the same lists.

    python -m benchmarks.link_lists [people] [people with lists]

Everybody has 64 numbers, drawn around a few hundred centres, and a score is a product of two
people's. Each way makes the lists of the same people, ten others each without those they are linked
to, in a process of its own, forked from the one that holds vectors and graph; the ways take turns.
Memory is what a process holds at its peak, with vectors, graph and program. Slow ways make fewer
lists. Lists that differ end the benchmark.
"""

from __future__ import annotations

import resource
import sys
import time
from collections.abc import Callable
from multiprocessing import get_context

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from fairgear.graph import SensitiveGraph, undirected_edges
from fairgear.links import PairScorer, top_lists

PEOPLE, ASKED, D, K, EACH, TURNS = 1_000_000, 2048, 64, 10, 10, 2


class Dots(PairScorer):
    """Products of vectors, which `top_lists` may know."""

    def __init__(self, graph: SensitiveGraph, z: Tensor, *, known: bool) -> None:
        super().__init__(graph)
        self.z, self.known = z, known

    def pairs(self, ends: Tensor) -> NDArray[np.float64]:
        """One product after the other."""
        one, other = (self.z[end].double() for end in ends)
        found: NDArray[np.float64] = (one * other).sum(dim=1).numpy()
        return found

    def vectors(self) -> tuple[Tensor, Tensor] | None:
        """Both ends' vectors are the same."""
        return (self.z, self.z) if self.known else None


def drawn(n: int) -> tuple[SensitiveGraph, Tensor]:
    """A random graph and a vector for each person."""
    rng = np.random.default_rng(0)
    generator = torch.Generator().manual_seed(0)
    z = torch.randn(n, D, generator=generator)
    z += torch.randn(300, D, generator=generator)[torch.from_numpy(rng.integers(0, 300, n))]
    edges = undirected_edges(torch.from_numpy(rng.integers(0, n, (2, n * EACH // 2))), n)
    sens = torch.from_numpy(rng.integers(0, 2, n))
    return SensitiveGraph(sens[:, None].float(), edges, sens=sens), z


def whole_tensors(graph: SensitiveGraph, z: Tensor, rows: Tensor) -> Tensor:
    """As one would write it: products of a batch with everybody in float32, then torch.topk."""
    found = []
    for batch in rows.split(256):  # type: ignore[no-untyped-call]  # torch has no type for it
        scores = z[batch] @ z.T
        scores[torch.arange(len(batch)), batch] = -torch.inf
        for place, row in enumerate(batch.tolist()):
            low, high = np.asarray(graph.canonical.csr[0])[row : row + 2]
            scores[place, torch.from_numpy(graph.canonical.csr[1][low:high]).long()] = -torch.inf
        found.append(scores.topk(K).indices)
    return torch.cat(found)


def measured(make: Callable[[], Tensor], threads: int) -> tuple[float, float, Tensor]:
    """Seconds, gigabytes at the peak, and the lists, in a process of its own."""
    context = get_context("fork")
    mine, theirs = context.Pipe()

    def work() -> None:
        torch.set_num_threads(threads)
        begin = time.perf_counter()
        lists = make()
        took = time.perf_counter() - begin
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        theirs.send((took, peak, lists.numpy()))

    process = context.Process(target=work)
    process.start()
    took, peak, lists = mine.recv()
    process.join()
    return took, peak, torch.from_numpy(lists)


def main(n: int = PEOPLE, asked: int = ASKED) -> None:
    """Print seconds for a thousand lists and the peak of memory of each way."""
    # A process with several threads cannot be forked safely.
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    graph, z = drawn(n)
    _ = graph.canonical.csr
    rows = torch.arange(0, n, n // asked)[:asked]
    few = rows[: max(8, asked // 128)]
    fast, plain = (Dots(graph, z, known=known) for known in (True, False))
    # Compiled before anything is timed.
    small, vectors = drawn(500)
    top_lists(Dots(small, vectors, known=True), torch.arange(3), K)
    ways: dict[str, tuple[Tensor, Callable[[Tensor], Tensor]]] = {
        "fairgear": (rows, lambda some: top_lists(fast, some, K, exclude=graph)),
        "torch.topk of whole rows": (rows, lambda some: whole_tensors(graph, z, some)),
        "pair after pair": (few, lambda some: top_lists(plain, some, K, exclude=graph)),
    }
    best: dict[str, tuple[float, float]] = {}
    known: Tensor | None = None
    for _ in range(TURNS):
        for name, (some, make) in ways.items():
            took, peak, lists = measured(lambda make=make, some=some: make(some), threads)  # type: ignore[misc]
            known = lists if known is None else known
            # float32 may swap two that are nearly equal.
            alike = float((lists == known[: len(lists)]).double().mean())
            if alike < (0.999 if name.startswith("torch") else 1.0):
                raise SystemExit(f"{name}: only {alike:.2%} of the places agree")
            before = best.get(name, (float("inf"), 0.0))
            best[name] = min(before[0], 1000 * took / len(some)), max(before[1], peak)
    first = best["fairgear"][0]
    print(f"{n:,} people, {len(rows):,} lists of {K}, {threads} threads")
    for name, (took, peak) in best.items():
        print(f"{name:25} {took:9.2f} s for 1,000 lists ({took / first:6.2f} x), {peak:5.2f} GB")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
