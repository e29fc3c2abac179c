"""What a benchmark run measures: which cases, on which graphs. Imports no torch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Self

from fairgear.errors import ParameterError
from fairgear.seeds import check_seed

KINDS = ("scale-free", "similarity", "random")
CASES = (
    "pagerank",
    "egos",
    "step",
    "default step",
    "vae step",
    "embedding",
    "audit",
    "pipeline",
)
# Those whose work is done by torch and may run on a GPU.
ON_DEVICE = ("step", "default step", "vae step", "embedding", "pipeline")
SIZES = (10**4, 10**5, 10**6)
QUICK_SIZES = (10**3, 10**4)
LEAST, MOST = 500, 10**8


@dataclass(frozen=True)
class Bench:
    """The plan of a run; checked when built.

    Args:
        cases: names out of `CASES`.
        kinds: names out of `KINDS`.
        sizes: people of a graph, rising.
        threads: of torch and of compiled code.
        device: "cpu" or "cuda", for the cases of `ON_DEVICE`.
        seed: of graphs, samples and weights.
        repeats: rounds of all sides of a case, in turns.
        enough: seconds of a case after which no further round begins.
        degree: average number of neighbours.
        features: columns a person.
        steps: training steps of the pipeline's generator and of its network, each.
    """

    cases: tuple[str, ...] = CASES
    kinds: tuple[str, ...] = KINDS
    sizes: tuple[int, ...] = SIZES
    threads: int = 1
    device: str = "cpu"
    seed: int = 0
    repeats: int = 5
    enough: float = 60.0
    degree: int = 20
    features: int = 32
    steps: int = 1000

    @classmethod
    def quick(cls, **changes: Any) -> Self:
        """Small graphs of one kind, few repeats, a short pipeline: a few minutes."""
        small: dict[str, Any] = {
            "kinds": KINDS[:1],
            "sizes": QUICK_SIZES,
            "repeats": 2,
            "enough": 6.0,
            "steps": 100,
        }
        return cls(**(small | changes))

    def __post_init__(self) -> None:
        _check_names("--only", self.cases, CASES)
        _check_names("--kinds", self.kinds, KINDS)
        for size in self.sizes:
            _check_range("--sizes", size, LEAST, MOST)
        if list(self.sizes) != sorted(set(self.sizes)) or not self.sizes:
            got = " ".join(map(str, self.sizes)) or "none"
            raise _refused("--sizes", got, "numbers that rise", "sort them, each once")
        _check_range("--threads", self.threads, 1, 1024)
        _check_range("--repeats", self.repeats, 1, 1000)
        _check_range("--steps", self.steps, 1, 10**7)
        if self.device not in ("cpu", "cuda"):
            raise _refused("--device", repr(self.device), "cpu or cuda", "name one of them")
        check_seed("--seed", self.seed)

    def settings(self) -> dict[str, Any]:
        """What must be the same for two rows to be compared."""
        kept = asdict(self)
        return {name: kept[name] for name in kept if name not in ("cases", "kinds", "sizes")}


def _check_names(flag: str, names: Sequence[str], known: Sequence[str]) -> None:
    for name in names:
        if name not in known:
            raise _refused(flag, repr(name), ", ".join(known), "correct the name")
    if len(set(names)) != len(names) or not names:
        raise _refused(
            flag, " ".join(names) or "none", "each name once", "leave out what is there twice"
        )


def _check_range(flag: str, value: int, low: int, high: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise _refused(flag, value, f"{low:,} to {high:,}", f"change {flag}")


def _refused(what: str, got: object, allowed: str, next_step: str) -> ParameterError:
    return ParameterError(what, got, allowed, next_step)
