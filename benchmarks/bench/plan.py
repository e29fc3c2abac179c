"""What a benchmark run measures: which cases, on which graphs. Imports no torch."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any, Self

KINDS = ("scale-free", "similarity", "random")
# Cases whose work is done by torch and may run on a GPU.
ON_DEVICE = ("step", "vae step", "embedding", "pipeline")
CASES = ("pagerank", "egos", "audit", *ON_DEVICE)


@dataclass(frozen=True)
class Plan:
    """The settings of a run.

    Args:
        cases: names out of `CASES`.
        kinds: names out of `KINDS`.
        sizes: people per graph.
        threads: of torch and of compiled code.
        device: "cpu" or "cuda", for the cases of `ON_DEVICE`.
        seed: of graphs, samples and weights.
        repeats: rounds in which the sides of a case take turns.
        enough: seconds of a case after which no further round begins.
        degree: average number of neighbours.
        features: columns per person.
        steps: training steps of the pipeline.
    """

    cases: tuple[str, ...] = CASES
    kinds: tuple[str, ...] = KINDS
    sizes: tuple[int, ...] = (10**4, 10**5, 10**6)
    threads: int = 1
    device: str = "cpu"
    seed: int = 0
    repeats: int = 5
    enough: float = 60.0
    degree: int = 20
    features: int = 32
    steps: int = 1000

    def quick(self) -> Self:
        """Small graphs of one kind, few repeats, a short pipeline: a few minutes."""
        return replace(
            self, kinds=KINDS[:1], sizes=(10**3, 10**4), repeats=2, enough=6.0, steps=100
        )

    def settings(self) -> dict[str, Any]:
        """What must be equal for two rows to be comparable."""
        kept = asdict(self)
        return {name: kept[name] for name in kept if name not in ("cases", "kinds", "sizes")}
