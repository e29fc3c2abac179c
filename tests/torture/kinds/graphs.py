"""Graphs and tables at the edge of what is one: nobody, one person, one group, stars, copies."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from tests.torture.shared import Shared
from tests.torture.trial import Bench, Trial, Work
from tests.torture.verdicts import REFUSED, must

_N = 60
Parts = dict[str, Any]


def _clique(first: int) -> Tensor:
    return torch.combinations(torch.arange(first, first + 6)).T


def _product(one: Tensor, other: Tensor) -> Tensor:
    return torch.cartesian_prod(one, other).T


def _loops(n: int) -> Tensor:
    return torch.arange(n).repeat(2, 1)


# Of the parts of a fine graph: other edges, features, groups, labels, numbers of people.
_LINKS: dict[str, Callable[[int], Tensor]] = {
    "no edges": lambda n: torch.zeros(2, 0, dtype=torch.int64),
    "one edge": lambda n: torch.tensor([[0], [n - 1]]),
    "complete": lambda n: torch.combinations(torch.arange(n)).T,
    "a star": lambda n: torch.stack([torch.zeros(n - 1, dtype=torch.int64), torch.arange(1, n)]),
    "two stars": lambda n: torch.stack([torch.arange(2, n) % 2, torch.arange(2, n)]),
    "a path": lambda n: torch.stack([torch.arange(n - 1), torch.arange(1, n)]),
    "a ring": lambda n: torch.stack([torch.arange(n), (torch.arange(n) + 1) % n]),
    "pairs": lambda n: torch.arange(n).reshape(-1, 2).T,
    "cliques": lambda n: torch.cat([_clique(first) for first in range(0, n, 6)], dim=1),
    "bipartite": lambda n: _product(torch.arange(n // 2), torch.arange(n // 2, n)),
    "between the groups alone": lambda n: _product(torch.arange(0, n, 2), torch.arange(1, n, 2)),
    "within the groups alone": lambda n: torch.stack([torch.arange(n - 2), torch.arange(2, n)]),
    "self-loops": lambda n: _loops(n),
    "self-loops and a ring": lambda n: torch.cat([_loops(n), _LINKS["a ring"](n)], dim=1),
    "every edge a hundred times": lambda n: _LINKS["a ring"](n).repeat(1, 100),
    "a past end": lambda n: torch.tensor([[0], [n]]),
    "a negative end": lambda n: torch.tensor([[0], [-1]]),
}  # fmt: skip
FEATURES: dict[str, Callable[[int], Tensor]] = {
    "constants": lambda n: torch.ones(n, 3),
    "zeros": lambda n: torch.zeros(n, 3),
    "one column": lambda n: torch.arange(n).float()[:, None],
    "no columns": lambda n: torch.zeros(n, 0),
    "alike columns": lambda n: torch.arange(n).float()[:, None].repeat(1, 4),
    "alike people": lambda n: torch.ones(n, 1) * torch.arange(4).float(),
    "200 columns": lambda n: torch.arange(n * 200).reshape(n, 200).float().sin(),
    "huge": lambda n: torch.arange(3.0 * n).reshape(n, 3) * 1e30,
    "beyond float32": lambda n: torch.arange(3.0 * n, dtype=torch.float64).reshape(n, 3) * 1e300,
    "tiny": lambda n: torch.arange(3.0 * n).reshape(n, 3) * 1e-42,
    "one NaN": lambda n: _with(torch.ones(n, 3), torch.nan),
    "one infinity": lambda n: _with(torch.ones(n, 3), torch.inf),
    "the group itself": lambda n: (torch.arange(n) % 2).float()[:, None],
    "the label itself": lambda n: (torch.arange(n) // 2 % 2).float()[:, None],
    "whole numbers": lambda n: torch.arange(3 * n).reshape(n, 3),
    "truth values": lambda n: torch.arange(3 * n).reshape(n, 3) % 2 == 0,
}
_GROUPS: dict[str, Callable[[int], Tensor]] = {
    "one group": lambda n: torch.zeros(n, dtype=torch.int64),
    "one person alone": lambda n: (torch.arange(n) == 5).long(),
    "two persons alone": lambda n: (torch.arange(n) < 2).long(),
    "a group each": lambda n: torch.arange(n),
    "61 groups": lambda n: torch.arange(n) % 61,
    "ten groups": lambda n: torch.arange(n) % 10,
    "negative": lambda n: -(torch.arange(n) % 2),
    "NaN": lambda n: _with((torch.arange(n) % 2).float(), torch.nan),
    "fractions": lambda n: torch.arange(n) % 2 + 0.5,
    "all unknown": lambda n: torch.full((n,), torch.nan),
}
LABELS: dict[str, Callable[[int], Tensor]] = {
    "one class": lambda n: torch.zeros(n, dtype=torch.int64),
    "one positive": lambda n: (torch.arange(n) == 5).long(),
    "three positives": lambda n: (torch.arange(n) < 3).long(),
    "a class each": lambda n: torch.arange(n),
    "NaN": lambda n: _with((torch.arange(n) // 2 % 2).float(), torch.nan),
    "the group": lambda n: torch.arange(n) % 2,
    "against the group": lambda n: 1 - torch.arange(n) % 2,
    "none known": lambda n: torch.full((n,), -1),
    "infinite numbers": lambda n: _with(torch.arange(n).float() / 7, torch.inf),
}
_SIZES = (0, 1, 2, 3, 4, 5, 8, 13, 20, 30)
METHODS = ("logistic", "gear", "gear-paper", "graphsage", "boosting")


def trials(shared: Shared, seed: random.Random) -> Iterator[Trial]:
    """Each part with two of the methods; sizes; masks."""
    fields = {"edge_index": _LINKS, "x": FEATURES, "sex": _GROUPS, "y": LABELS}
    for field, parts in fields.items():
        for name, made in parts.items():
            for method in seed.sample(METHODS, 2):
                yield Trial(f"{field}: {name}, {method}", trained({field: made}, method))
    for n in _SIZES:
        for method in seed.sample(METHODS, 1):
            yield Trial(f"{n} people, {method}", trained({}, method, n))
    for name, masks in _MASKS.items():
        yield Trial(f"masks: {name}", trained(masks, "logistic"))


def trained(changes: dict[str, Callable[[int], Any]], method: str, n: int = _N) -> Work:
    """A run ends soon, with results or one line; its audit too."""

    def work(bench: Bench) -> str:
        _write(bench.place / "x.pt", n, changes)
        small = ["--set", "steps=3"] if method in ("gear", "gear-paper") else []
        words = ["run", "x.pt", "--label", "y", "--sensitive", "sex", "--method", method, *small]
        ended = bench.run([*words, "--device", "cpu", "--quick", "--out", "out"], seconds=90)
        verdict = bench.judged(ended)
        if verdict == REFUSED:
            must(not (bench.place / "out").exists(), "a folder was made")
        return verdict

    return work


def _write(path: Path, n: int, changes: dict[str, Callable[[int], Any]]) -> None:
    draw = torch.Generator().manual_seed(0)
    parts: Parts = {
        "x": torch.randn(n, 3, generator=draw),
        "y": torch.arange(n) // 2 % 2,
        "sex": torch.arange(n) % 2,
        "edge_index": torch.randint(0, max(n, 1), (2, 2 * n), generator=draw),
    }
    torch.save(parts | {name: made(n) for name, made in changes.items()}, path)


def _with(values: Tensor, odd: float) -> Tensor:
    values.view(-1)[7 % max(values.numel(), 1)] = odd
    return values


def _mask(which: Callable[[Tensor], Tensor]) -> Callable[[int], Tensor]:
    return lambda n: which(torch.arange(n))


_PARTS = ("train", "val", "test")
_MASKS: dict[str, dict[str, Callable[[int], Any]]] = {
    "nobody to train": {
        "train_mask": _mask(lambda i: i < 0),
        "val_mask": _mask(lambda i: i < 20),
        "test_mask": _mask(lambda i: i >= 20),
    },
    "nobody to test": {
        "train_mask": _mask(lambda i: i < 40),
        "val_mask": _mask(lambda i: i >= 40),
        "test_mask": _mask(lambda i: i < 0),
    },
    "everybody in all": {f"{part}_mask": _mask(lambda i: i >= 0) for part in _PARTS},
    "one person each": {
        f"{part}_mask": _mask(lambda i, r=row: i == r)  # type: ignore[misc]
        for row, part in enumerate(_PARTS)
    },
    "another length": {f"{p}_mask": lambda n: torch.ones(3, dtype=torch.bool) for p in _PARTS},
}  # fmt: skip
