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
        for size in range(1, len(found)):
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

        Where that takes too many trials, the others follow in the order of their last trial.
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
        longer = [_with(chosen, *rest[:more]) for more in range(1, len(rest) + 1)]
        answers = self._all(longer)
        return next(one for one, answer in zip(longer, answers, strict=True) if answer.other)

    def _without_idle(self, parts: Set) -> Set:
        """Without parts that the others do not need, as long as there is one."""
        while len(parts) > 1:
            best = self._best([tuple(one for one in parts if one != idle) for idle in parts])
            if not self.tried(best).other:
                break
            parts = best
        return parts

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
