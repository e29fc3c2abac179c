"""Target: what a graph's labels are: one of two classes, one of several, or a number."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from fairgear.errors import GraphError

BINARY_KIND, MULTICLASS, REGRESSION = KINDS = ("binary", "multiclass", "regression")
# More classes than this are more likely a number, or a name.
MOST_CLASSES = 100
# Parts of equal size in which numbers are split into training, validation and test people.
_BINS, _PER_BIN = 10, 10


@dataclass(frozen=True)
class Target:
    """What is predicted.

    Attributes:
        kind: "binary", "multiclass" or "regression".
        classes: what the data call the classes, by number; none for numbers.
        mean, sd: of the known labels, for numbers; differences are told in units of `sd`.

    Example:
        >>> from fairgear.graph import Target
        >>> from fairgear.testing import toy_graph
        >>> Target().is_binary
        True
        >>> toy_graph("multiclass").target.classes
        ('a', 'b', 'c')
    """

    kind: str = BINARY_KIND
    classes: tuple[str, ...] = ("0", "1")
    mean: float = 0.0
    sd: float = 1.0

    @classmethod
    def of(cls, y: Tensor, names: Sequence[str] | None = None) -> Self:
        """The target of labels that were checked; `names` are those of the classes."""
        if y.is_floating_point():
            return cls(REGRESSION, ()).over(y)
        most = int(y.max()) + 1 if len(y) else 0
        found = tuple(names or ())
        found += tuple(str(number) for number in range(len(found), max(most, 2)))
        return cls(BINARY_KIND if len(found) == 2 else MULTICLASS, found)

    def over(self, y: Tensor) -> Self:
        """The same with mean and standard deviation of these labels, where they are numbers."""
        if not self.is_number:
            return self
        known = y[~y.isnan()].double().cpu()
        if not len(known):
            return replace(self, mean=0.0, sd=1.0)
        spread = float(known.std(correction=0))
        return replace(self, mean=float(known.mean()), sd=spread if spread > 0 else 1.0)

    @property
    def is_number(self) -> bool:
        """Whether labels are numbers."""
        return self.kind == REGRESSION

    @property
    def is_binary(self) -> bool:
        """Whether there are two classes."""
        return self.kind == BINARY_KIND

    @property
    def outputs(self) -> int:
        """How many numbers a model computes for a person: one, or one for each of many classes."""
        return len(self.classes) if self.kind == MULTICLASS else 1

    @property
    def words(self) -> str:
        """For messages."""
        return "numbers" if self.is_number else f"{len(self.classes)} classes"


BINARY = Target()


def known_labels(y: Tensor) -> Tensor:
    """Whose label is known: not −1, or not NaN where labels are numbers."""
    return ~y.isnan() if y.is_floating_point() else y >= 0


def is_known(y: NDArray[np.int64] | NDArray[np.float64]) -> NDArray[np.bool_]:
    """The same for NumPy."""
    found: NDArray[np.bool_] = ~np.isnan(y) if y.dtype.kind == "f" else y >= 0
    return found


def labels_differ(one: Tensor, other: Tensor) -> Tensor:
    """Whose labels differ; an unknown number equals another."""
    return (one != other) & (known_labels(one) | known_labels(other))


def strata(y: NDArray[np.int64] | NDArray[np.float64]) -> NDArray[np.int64]:
    """Parts that every part of a split should have people of: classes, or tenths of the numbers.

    −1 where the label is unknown. Equal numbers are divided by their order.
    """
    if y.dtype.kind != "f":
        return y.astype(np.int64)
    found, known = np.full(len(y), -1, dtype=np.int64), np.flatnonzero(~np.isnan(y))
    bins = max(1, min(_BINS, len(known) // _PER_BIN))
    ranks = np.empty(len(known), dtype=np.int64)
    ranks[np.argsort(y[known], kind="stable")] = np.arange(len(known))
    found[known] = ranks * bins // max(len(known), 1)
    return found


def check_labels(y: Tensor, num_nodes: int, names: Sequence[str] | None) -> None:
    """Labels are classes from 0 (int64, −1 where unknown) or finite numbers (float64, NaN)."""
    if tuple(y.shape) != (num_nodes,) or y.dtype not in (torch.int64, torch.float64):
        raise GraphError(
            "labels y",
            f"{y.dtype} of shape {tuple(y.shape)}",
            f"int64 (classes) or float64 (numbers) of shape ({num_nodes},)",
            "pass one value a node",
        )
    if y.is_floating_point():
        infinite = int(y.isinf().sum())
        if infinite:
            got, allowed = f"{infinite} infinite numbers", "finite numbers, or NaN where unknown"
            raise GraphError("labels y", got, allowed, "correct them, or make them NaN")
        return
    most = max(len(names or ()), 2) if names else MOST_CLASSES
    outside = torch.unique(y[(y < -1) | (y >= most)])
    if len(outside):
        shown = ", ".join(str(int(v)) for v in outside[:5])
        allowed = f"classes from 0 to {most - 1}, or -1 where unknown"
        next_step = "recode the label, or pass numbers as float64"
        raise GraphError("labels y", f"the values {shown}", allowed, next_step)
