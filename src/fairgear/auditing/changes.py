"""What one model changes for whom, against another one on the same people."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairgear.hashing import node_hash
from fairgear.metrics.inputs import Floats, Integers

Booleans = NDArray[np.bool_]

# People who are listed, and points of the chart of scores.
_PEOPLE, _POINTS = 20, 400
# The group of people whose attribute is unknown.
UNKNOWN = -1


@dataclass(frozen=True)
class Both:
    """People by what is so with two models.

    Attributes:
        both: with both of them.
        first: with the first alone.
        second: with the second alone.
        neither: with none.
    """

    both: int
    first: int
    second: int
    neither: int

    @classmethod
    def of(cls, first: Booleans, second: Booleans) -> Both:
        """The counts of two columns."""
        return cls(
            int((first & second).sum()),
            int((first & ~second).sum()),
            int((~first & second).sum()),
            int((~first & ~second).sum()),
        )

    @property
    def people(self) -> int:
        """All of them."""
        return self.both + self.first + self.second + self.neither


@dataclass(frozen=True)
class GroupChanges:
    """How two models differ for one group.

    Attributes:
        group: its number, of a sensitive number that of the range; −1 of people whose attribute is
            unknown.
        answers: who gets answer 1.
        flips: of those who were asked with both models, whose answer changes with their own
            attribute alone.
    """

    group: int
    answers: Both
    flips: Both


@dataclass(frozen=True)
class ComparedPerson:
    """One person under both models.

    Attributes:
        node_id: theirs; their name where ids are not whole numbers.
        group: as in `GroupChanges`.
        y: label, −1 where unknown.
        first_score, second_score, first_label, second_label: by each model.
        apart: how far the scores, or their ranks as shares, lie apart.
    """

    node_id: int | str
    group: int
    y: int
    first_score: float
    second_score: float
    first_label: int
    second_label: int
    apart: float


@dataclass(frozen=True)
class ScorePoint:
    """Somebody's scores by both models, and their answers."""

    first: float
    second: float
    first_label: int
    second_label: int


@dataclass(frozen=True)
class Changes:
    """What the first model changes for whom, against the second.

    Attributes:
        groups: by group, with those whose attribute is unknown last.
        people: the people on whom the models differ most: those with different answers first, then
            by how far their scores, or their ranks, lie apart.
        by_rank: whether ranks are compared, since not all scores lie between 0 and 1.
        points: the scores of all people, or of a random sample of 400.
    """

    groups: tuple[GroupChanges, ...]
    people: tuple[ComparedPerson, ...]
    by_rank: bool
    points: tuple[ScorePoint, ...]


def changes(first: pd.DataFrame, second: pd.DataFrame, *, seed: int) -> Changes:
    """What the first model changes for whom.

    Args:
        first, second: their tables of people, the same people in the same order.
        seed: of the sample of scores.
    """
    groups = _groups(first)
    labels = [table["label"].to_numpy(dtype=np.int64) for table in (first, second)]
    scores = [table["score"].to_numpy(dtype=np.float64) for table in (first, second)]
    flips = [_flips(table) for table in (first, second)]
    asked = ~np.isnan(flips[0]) & ~np.isnan(flips[1])
    rows = []
    for group in sorted(set(groups.tolist()), key=lambda one: (one == UNKNOWN, one)):
        here = groups == group
        # Means over completions of unknown attributes count where most of them agree.
        changed = [share[here & asked] > 0.5 for share in flips]
        answers = [label[here] == 1 for label in labels]
        rows.append(GroupChanges(int(group), Both.of(*answers), Both.of(*changed)))
    by_rank = any(score.min() < 0 or score.max() > 1 for score in scores)
    one, other = [_ranks(score) for score in scores] if by_rank else scores
    apart = np.abs(one - other)
    order = _most_different(labels, apart)
    ids = first["node_name" if "node_name" in first else "node_id"].tolist()
    y = first["y"].to_numpy(dtype=np.int64)
    people = tuple(
        ComparedPerson(
            node_id=ids[at],
            group=int(groups[at]),
            y=int(y[at]),
            first_score=float(scores[0][at]),
            second_score=float(scores[1][at]),
            first_label=int(labels[0][at]),
            second_label=int(labels[1][at]),
            apart=float(apart[at]),
        )
        for at in order[:_PEOPLE].tolist()
    )
    noise = node_hash(first["node_id"].to_numpy(dtype=np.int64), seed, "comparison")
    points = tuple(
        ScorePoint(
            first=float(scores[0][at]),
            second=float(scores[1][at]),
            first_label=int(labels[0][at]),
            second_label=int(labels[1][at]),
        )
        for at in np.sort(noise.argsort(kind="stable")[:_POINTS]).tolist()
    )
    return Changes(tuple(rows), people, by_rank, points)


def _groups(people: pd.DataFrame) -> Integers:
    groups = people["band" if "band" in people else "sens"].to_numpy(dtype=np.int64)
    if "sens_known" not in people:
        return groups
    return np.where(people["sens_known"].to_numpy(dtype=bool), groups, UNKNOWN)


def _flips(people: pd.DataFrame) -> Floats:
    column = "flip_strict_self"
    if column not in people:
        return np.full(len(people), np.nan, dtype=np.float64)
    return people[column].to_numpy(dtype=np.float64)


def _ranks(scores: Floats) -> Floats:
    """Mean ranks, as shares."""
    return np.asarray(pd.Series(scores).rank(pct=True), dtype=np.float64)


def _most_different(labels: list[Integers], apart: Floats) -> Integers:
    """Rows of the people on whom the models differ, the most first, ties in their order."""
    other = labels[0] != labels[1]
    order = np.lexsort((-apart, ~other))
    rows: Integers = order[(other | (apart > 0))[order]]
    return rows
