"""Laws of columns along an attribute that is a number: lines between knots."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

# Knots at most, and people for each at least: chosen on simulated laws, where errors were least.
_KNOTS, _PEOPLE = 9, 80
# Spreads stay within this factor of everybody's: elsewhere few people or none say how large.
_FACTOR = 10.0
# Variances below this share of the column's are rounding.
_NONE = 1e-18
_ROUNDS = 25
_RANKS = 1025


@dataclass(frozen=True)
class Knots:
    """Values of the number at which laws are learned; between two knots they are mixed.

    Attributes:
        at: (k,), ascending quantiles, closer to each other near both ends: there lines that go on
            too far would err most.
    """

    at: Floats

    @classmethod
    def of(cls, sens: Floats) -> Knots:
        """Those for the values of some people, who have two at least."""
        count = int(np.clip(len(sens) // _PEOPLE, 2, _KNOTS))
        levels = (1 - np.cos(np.pi * (np.arange(count) + 0.5) / count)) / 2
        at = np.unique(np.quantile(sens, levels, method="inverted_cdf"))
        return cls(at if len(at) > 1 else np.array([sens.min(), sens.max()]))

    def between(self, sens: Floats, *, beyond: bool = False) -> tuple[Integers, Floats]:
        """For each person the knot below, and how far they are on the way to the next.

        Outside the knots that is 0 or 1; with `beyond`, lines go on.
        """
        low = np.clip(np.searchsorted(self.at, sens, side="right") - 1, 0, len(self.at) - 2)
        part = (sens - self.at[low]) / (self.at[low + 1] - self.at[low])
        return low, part if beyond else np.clip(part, 0.0, 1.0)

    def weights(self, sens: Floats, *, beyond: bool = False) -> Floats:
        """The share of each knot in each person's law (n, k)."""
        low, part = self.between(sens, beyond=beyond)
        found, each = np.zeros((len(sens), len(self.at))), np.arange(len(sens))
        found[each, low], found[each, low + 1] = 1 - part, part
        return found

    def mixed(self, laws: NDArray[Any], sens: Floats, *, beyond: bool = False) -> Floats:
        """Everybody's law (n, …) from those at the knots (k, …)."""
        low, part = self.between(sens, beyond=beyond)
        part = part.reshape(-1, *[1] * (laws.ndim - 1))
        found: Floats = (1 - part) * laws[low] + part * laws[low + 1]
        return found


def lines(values: Floats, weights: Floats) -> Floats:
    """The values at the knots (k, d) of the lines that fit `values` (n, d) best."""
    # Sums in the order of the rows, whatever the number of threads.
    gram, right = (
        np.stack([(share[:, None] * of).sum(axis=0) for share in weights.T])
        for of in (weights, values)
    )
    found: Floats = np.linalg.lstsq(gram, right, rcond=None)[0]
    return found


@dataclass(frozen=True)
class Scores:
    """The mean of every column follows lines along the number, and so does the log of its spread.

    Attributes:
        knots: of both.
        mean, spread: at the knots (k, d); of the spread its logarithm.
    """

    knots: Knots
    mean: Floats
    spread: Floats

    @classmethod
    def of(cls, table: Floats, sens: Floats) -> Scores:
        """Those of a table (n, d): least squares, and gamma regression of squared residuals."""
        knots = Knots.of(sens)
        mean = lines(table, knots.weights(sens, beyond=True))
        squares = (table - knots.mixed(mean, sens, beyond=True)) ** 2
        least = np.maximum(_NONE * table.var(axis=0), np.finfo(float).tiny)
        squares = np.maximum(squares, least)
        middle, weights = np.log(squares.mean(axis=0)), knots.weights(sens)
        law = np.tile(middle, (len(knots.at), 1))
        for _ in range(_ROUNDS):
            step = lines(squares / np.exp(weights @ law) - 1, weights)
            law = law + np.clip(step, -1.0, 1.0)
            law = np.clip(law, middle - 2 * np.log(_FACTOR), middle + 2 * np.log(_FACTOR))
        return cls(knots, mean, law / 2)

    def standard(self, table: Floats, sens: Floats) -> Floats:
        """Standard scores, given the number."""
        centred = table - self.knots.mixed(self.mean, sens, beyond=True)
        found: Floats = centred / np.exp(self.knots.mixed(self.spread, sens))
        return found

    def values(self, standard: Floats, sens: Floats) -> Floats:
        """The values that have these standard scores."""
        scaled = standard * np.exp(self.knots.mixed(self.spread, sens))
        found: Floats = scaled + self.knots.mixed(self.mean, sens, beyond=True)
        return found

    def state(self) -> dict[str, NDArray[Any]]:
        """Arrays by name."""
        return {"knots": self.knots.at, "mean": self.mean, "spread": self.spread}

    @classmethod
    def from_state(cls, held: dict[str, NDArray[Any]]) -> Scores:
        """What `state` gave, among other arrays."""
        return cls(Knots(held["knots"]), held["mean"], held["spread"])


def quantiles(values: Floats, weights: Floats) -> Floats:
    """The quantiles (k, ranks) of `values` (n,) among the people around each knot."""
    order = np.argsort(values, kind="stable")
    ranks = np.linspace(0, 1, _RANKS)
    found = []
    for share in weights[order].T:
        near = np.flatnonzero(share)
        middle = np.cumsum(share[near]) - share[near] / 2
        # The lowest has rank 0 and the highest 1, so that no two values have one rank.
        place = (middle - middle[0]) / max(middle[-1] - middle[0], np.finfo(float).tiny)
        found.append(np.interp(ranks, place, values[order][near]))
    return np.stack(found)


def at_same_rank(
    knots: Knots, laws: Floats, values: Floats, before: Floats, after: Floats
) -> Floats:
    """The values that have the same rank under `after`, by quantiles (k, ranks) at the knots.

    Beyond the lowest and the highest quantile, a value keeps its distance from it.
    """
    (low, part), (other, share) = knots.between(before), knots.between(after)

    def own(rank: Integers) -> Floats:
        found: Floats = (1 - part) * laws[low, rank] + part * laws[low + 1, rank]
        return found

    def there(rank: Integers) -> Floats:
        found: Floats = (1 - share) * laws[other, rank] + share * laws[other + 1, rank]
        return found

    # The last rank whose value is not above the person's, by halving.
    first = np.zeros(len(values), dtype=np.int64)
    last = np.full(len(values), laws.shape[1] - 1)
    inside = np.clip(values, own(first), own(last))
    while (last - first > 1).any():
        middle = (first + last) // 2
        below = own(middle) <= inside
        first, last = np.where(below, middle, first), np.where(below, last, middle)
    span = own(last) - own(first)
    place = np.where(span > 0, (inside - own(first)) / np.where(span > 0, span, 1.0), 0.5)
    found: Floats = there(first) + place * (there(last) - there(first)) + (values - inside)
    return found


def cumulative_shares(codes: Integers, count: int, weights: Floats) -> Floats:
    """P(code ≤ each) at the knots (k, count), by lines that are kept between 0 and 1."""
    up_to = (codes[:, None] <= np.arange(count)).astype(float)
    found = np.maximum.accumulate(np.clip(lines(up_to, weights), 0.0, 1.0), axis=1)
    found[:, -1] = 1.0
    return found
