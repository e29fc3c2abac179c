"""The smallest set of parts that brings another answer: step by step, then exactly."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations
from math import comb
from typing import NamedTuple

# Sets that are tried step by step, and then exactly: about a second each, of a model that scores a
# person from their surroundings.
MOST_STEPS, MOST_EXACT = 1000, 1000
Set = tuple[int, ...]


class Tried(NamedTuple):
    """What came of moving some parts alone.

    Attributes:
        other: whether the answer is the other one.
        toward: how far the score moved towards it.
        score: with these parts moved.
    """

    other: bool
    toward: float
    score: float


class Search:
    """Looks for the smallest set of parts with which the answer is another.

    Args:
        count: of parts; with all of them the answer is another.
        ask: what comes of each of several sets.
        most: how many sets are tried step by step, and how many exactly.
    """

    def __init__(
        self,
        count: int,
        ask: Callable[[Sequence[Set]], Sequence[Tried]],
        most: tuple[int, int] = (MOST_STEPS, MOST_EXACT),
    ) -> None:
        self._count, self._ask, self._most = count, ask, most
        self._known: dict[Set, Tried] = {}

    def smallest(self) -> tuple[Set, bool]:
        """The parts, and whether every smaller set was tried."""
        found = self._without_idle(self._grown())
        tried = 0
        # The first step tried every part alone.
        for size in range(2, len(found)):
            tried += comb(self._count, size)
            if tried > self._most[1]:
                return found, False
            best = self._best(list(combinations(range(self._count), size)))
            if self.tried(best).other:
                return best, True
        return found, True

    def tried(self, parts: Set) -> Tried:
        """What comes of a set."""
        return self._all([parts])[0]

    def _grown(self) -> Set:
        """Adds the part that moves the score most, until the answer is another.

        Where that takes too many trials, as many others follow as it takes, in the order of their
        last trial.
        """
        chosen: Set = ()
        rest = list(range(self._count))
        while True:
            larger = [_with(chosen, part) for part in rest]
            best = self._best(larger)
            if self.tried(best).other:
                return best
            if len(self._known) > self._most[0]:
                break
            chosen = best
            rest = [part for part in rest if part not in best]
        rest.sort(key=lambda part: -self.tried(_with(chosen, part)).toward)
        few, enough = 0, len(rest)
        while enough - few > 1:
            middle = (few + enough) // 2
            if self.tried(_with(chosen, *rest[:middle])).other:
                enough = middle
            else:
                few = middle
        return _with(chosen, *rest[:enough])

    def _without_idle(self, parts: Set) -> Set:
        """Drops parts that the others do not need, the weakest first, until each is needed."""
        while True:
            kept = parts
            for idle in sorted(parts, key=lambda part: self.tried((part,)).toward):
                fewer = tuple(part for part in kept if part != idle)
                if fewer and self.tried(fewer).other:
                    kept = fewer
            if kept == parts:
                return parts
            parts = kept

    def _best(self, sets: Sequence[Set]) -> Set:
        """The set that brings another answer or else moves the score most; of equals the first."""
        answers = self._all(sets)
        at = max(range(len(sets)), key=lambda at: (answers[at].other, answers[at].toward))
        return sets[at]

    def _all(self, sets: Sequence[Set]) -> list[Tried]:
        new = [one for one in dict.fromkeys(sets) if one not in self._known]
        self._known.update(zip(new, self._ask(new), strict=True))
        return [self._known[one] for one in sets]


def _with(parts: Set, *more: int) -> Set:
    return tuple(sorted((*parts, *more)))
