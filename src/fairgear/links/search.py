"""The best of many vectors: exact lists where a score is a product of two vectors.

Products in float32, tile by tile, find the few people who may be among the best k; the model then
scores these alone. What a product's rounding could hide is kept, so nobody is missed, and neither
the tiles nor the order of rows can be seen in a list.
"""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from fairgear.compiled import compiled
from fairgear.errors import ParameterError

Floats = NDArray[np.float32]
Row = Floats
Scores = NDArray[np.float64]
Integers = NDArray[np.int64]
Marks = NDArray[np.bool_]
# A tile of 512 × 8,192 float32 products is 16 MiB, whatever the number of people.
ROWS, _COLUMNS = 512, 8192
# How many candidates a list keeps, in multiples of its length and at least.
_ROOM, _LEAST = 4, 64


class Factors:
    """Two vectors for each person, whose products are scores: as a first end and as a second.

    Args:
        first: (n, d), by number of the graph's canonical order.
        second: the same of second ends.
    """

    def __init__(self, first: Tensor, second: Tensor) -> None:
        d = first.shape[-1]
        self._second = second.float().contiguous()
        self._first = self._second if first is second else first.float().contiguous()
        norms = [vectors.norm(dim=-1) for vectors in (self._first, self._second)]
        finite = all(bool(torch.isfinite(norm).all()) for norm in norms)
        if first.shape != second.shape or first.dim() != 2 or not finite:
            got = f"shapes {tuple(first.shape)} and {tuple(second.shape)}, or infinite numbers"
            step = "let the model give finite vectors"
            raise ParameterError("vectors of people", got, "finite, of one shape", step)
        # A little more than they are: norms are rounded too.
        longest = 1.001 * float(norms[1].max())
        # Twice the error of two products, ours and the model's: Higham's bound for a sum of d
        # rounded products of rounded factors, and what numbers below the smallest normal one lose.
        self._slack = 4.004 * (d + 4) * 2.0**-24 * longest * norms[0].double() + d * 2.0**-123

    def candidates(self, numbers: Tensor, k: int, out: tuple[Integers, Integers]) -> _Found:
        """Who may be among the best k of some people.

        Args:
            numbers: the people, at most `ROWS` at a time.
            k: the length of a list.
            out: places in `numbers` and people who are left out there, each place's together.
        """
        rows = self._first[numbers]
        begin, hidden = _lists(out, len(rows))
        found = _Found(len(rows), k, self._slack[numbers].numpy())
        buffer = torch.empty(len(rows), _COLUMNS)
        for left in range(0, len(self._second), _COLUMNS):
            tile = self._second[left : left + _COLUMNS]
            products = buffer[:, : len(tile)]
            if len(tile) < _COLUMNS:
                products = torch.empty(len(rows), len(tile))
            torch.mm(rows, tile.T, out=products)
            _scan(
                products.numpy(),
                left,
                k,
                found.slack,
                begin,
                hidden,
                found.values,
                found.numbers,
                found.counts,
                found.crowded,
            )
        return found


class _Found:
    """Candidates of some people."""

    def __init__(self, people: int, k: int, slack: Scores) -> None:
        room = _ROOM * k + _LEAST
        self.k, self.slack = k, slack
        self.values = np.full((people, room), -np.inf, dtype=np.float32)
        self.numbers = np.empty((people, room), dtype=np.int64)
        self.counts = np.zeros(people, dtype=np.int64)
        self.crowded = np.zeros(people, dtype=np.bool_)
        """Whose candidates score too much alike for a few to be told from the rest."""

    def pairs(self) -> tuple[Integers, Integers]:
        """Places and candidates of all who are not crowded."""
        room = self.values.shape[1]
        counts = np.where(self.crowded, 0, self.counts)
        filled = np.arange(room) < counts[:, None]
        values = np.where(filled, self.values, -np.inf).astype(np.float64)
        lowest = np.partition(values, room - self.k, axis=1)[:, room - self.k] - self.slack
        kept = filled & (values >= lowest[:, None])
        return np.nonzero(kept)[0], self.numbers[kept]


def _lists(out: tuple[Integers, Integers], people: int) -> tuple[Integers, Integers]:
    """Where each place's people begin, and the people, rising."""
    order = np.lexsort((out[1], out[0]))
    begin = np.searchsorted(out[0][order], np.arange(people + 1))
    return begin.astype(np.int64), out[1][order]


@compiled
def _scan(
    products: Floats,
    left: int,
    k: int,
    slack: Scores,
    begin: Integers,
    hidden: Integers,
    values: Floats,
    numbers: Integers,
    counts: Integers,
    crowded: Marks,
) -> None:
    """Put into each row's candidates who of a tile may be among its best k."""
    for row in range(products.shape[0]):
        if not crowded[row]:
            one = hidden[begin[row] : begin[row + 1]]
            counts[row] = _scan_row(
                products[row], left, k, slack[row], one, values[row], numbers[row], counts[row]
            )
            crowded[row] = counts[row] < 0


@compiled
def _scan_row(
    products: Row,
    left: int,
    k: int,
    slack: float,
    hidden: Integers,
    values: Row,
    numbers: Integers,
    count: int,
) -> int:
    """The number of candidates after a tile; −1 if there are too many."""
    lowest = _lowest(values[:count], k, slack)
    at = np.searchsorted(hidden, left)
    for column in range(len(products)):
        if products[column] < lowest:
            continue
        while at < len(hidden) and hidden[at] < left + column:
            at += 1
        if at < len(hidden) and hidden[at] == left + column:
            continue
        if count == len(values):
            lowest = _lowest(values, k, slack)
            count = _keep(values, numbers, lowest)
            # Clearing costs a pass, so each must make room.
            if 4 * count > 3 * len(values):
                return -1
        values[count] = products[column]
        numbers[count] = left + column
        count += 1
    return count


@compiled
def _keep(values: Row, numbers: Integers, lowest: float) -> int:
    """Move those of at least this value to the front: how many they are."""
    count = 0
    for place in range(len(values)):
        if values[place] >= lowest:
            values[count] = values[place]
            numbers[count] = numbers[place]
            count += 1
    return count


@compiled
def _lowest(values: Row, k: int, slack: float) -> float:
    """What a product must at least be, if these were found so far."""
    if len(values) < k:
        return -np.inf
    return np.float64(np.partition(values, len(values) - k)[len(values) - k]) - slack
