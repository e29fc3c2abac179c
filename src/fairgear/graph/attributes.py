"""The sensitive attributes of a graph: names, values, and the groups that they make together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from fairgear.errors import GraphError

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
# Groups that an audit sets everybody to; those with most people where there are more.
MOST_GROUPS = 12
# Quantiles that an audit sets everybody to where the attribute is a number.
LEVELS = (0.05, 0.25, 0.5, 0.75, 0.95)
# Feature maps of a group are learned from at least so many people.
SMALL_GROUP = 30
# Tables by group show so many equally large ranges of a number.
BANDS = 5


@dataclass(frozen=True)
class Attribute:
    """One sensitive attribute: its name and the names of its values, which are coded from 0.

    A number, such as an age, has no names of values.

    Example:
        >>> from fairgear.graph import Attribute
        >>> Attribute("race", ("Asian", "Black", "White")).values[2]
        'White'
    """

    name: str
    values: tuple[str, ...] = ()


@dataclass(frozen=True)
class Attributes:
    """One or several sensitive attributes.

    A group is a combination of values that somebody has; `sens` holds its number. With one
    attribute, groups are its values. A number stands alone and makes no groups; `sens` holds it.

    Args:
        each: the attributes.
        groups: for each group, the code of its value in every attribute; none for a number.

    Example:
        >>> from fairgear.graph import Attributes
        >>> Attributes.single("sex", ("f", "m")).names
        ('f', 'm')
        >>> Attributes.number("age").continuous
        True
    """

    each: tuple[Attribute, ...]
    groups: tuple[tuple[int, ...], ...]

    def __post_init__(self) -> None:
        if len(self.each) == 1 and not self.each[0].values and not self.groups:
            return
        fits = all(
            len(group) == len(self.each)
            and all(0 <= code < len(of.values) for code, of in zip(group, self.each, strict=True))
            for group in self.groups
        )
        if not fits or len(set(self.groups)) < len(self.groups) or len(self.groups) < 2:
            got = f"{len(self.groups)} groups of {len(self.each)} attributes"
            allowed = "two or more different groups, each with a value of every attribute"
            raise GraphError("sensitive attributes", got, allowed, "correct the groups")

    @classmethod
    def single(cls, name: str, values: Sequence[str]) -> Self:
        """One attribute."""
        groups = tuple((code,) for code in range(len(values)))
        return cls((Attribute(name, tuple(values)),), groups)

    @classmethod
    def number(cls, name: str) -> Self:
        """One attribute that is a number, such as an age."""
        return cls((Attribute(name),), ())

    @property
    def continuous(self) -> bool:
        """Whether the attribute is a number."""
        return not self.groups

    @classmethod
    def crossed(cls, each: Sequence[Attribute], codes: Integers) -> tuple[Self, Integers]:
        """Several attributes, and everybody's group, from their codes (n, attributes)."""
        found, group = np.unique(codes, axis=0, return_inverse=True)
        groups = tuple(tuple(row) for row in found.tolist())
        return cls(tuple(each), groups), group.reshape(-1).astype(np.int64)

    def __len__(self) -> int:
        return len(self.groups)

    @property
    def name(self) -> str:
        """All attributes' names, such as "race, sex"."""
        return ", ".join(one.name for one in self.each)

    @property
    def names(self) -> tuple[str, ...]:
        """The groups' names, such as "Black, female"."""
        return tuple(
            ", ".join(of.values[code] for code, of in zip(group, self.each, strict=True))
            for group in self.groups
        )

    def codes(self, sens: Integers) -> Integers:
        """(n, attributes): the value of each attribute, from everybody's group."""
        return np.array(self.groups, dtype=np.int64)[sens]

    def possible(self, told: Integers) -> NDArray[np.bool_]:
        """(n, groups): which groups people may be in who told these codes; −1 says nothing."""
        groups = np.array(self.groups, dtype=np.int64)
        held = np.ones((len(told), len(groups)), dtype=np.bool_)
        for place, codes in enumerate(told.T):
            held &= (codes[:, None] < 0) | (codes[:, None] == groups[None, :, place])
        return held

    def fewest(self, sens: Integers) -> int:
        """How many people the smallest group has.

        Of several attributes, the smallest value of one: its groups may be small, since what is
        learned of them is shrunk to what each attribute does by itself.
        """
        codes = self.codes(sens)
        counts = [
            np.bincount(column, minlength=len(of.values)).min()
            for column, of in zip(codes.T, self.each, strict=True)
        ]
        return int(min(counts))

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        return asdict(self)

    @classmethod
    def from_dict(cls, held: dict[str, Any]) -> Self:
        """What `to_dict` gave, before or after JSON."""
        each = tuple(Attribute(one["name"], tuple(one["values"])) for one in held["each"])
        return cls(each, tuple(tuple(group) for group in held["groups"]))


def largest_groups(sens: Integers, groups: int) -> list[int]:
    """The groups with most people, at most `MOST_GROUPS`, in their own order; all where few."""
    count = np.bincount(sens, minlength=groups)
    return sorted(np.argsort(-count, kind="stable")[:MOST_GROUPS].tolist())


def other_groups(sens: Integers, noise: NDArray[np.float64], groups: int) -> Integers:
    """For each person one of the other groups, by their own noise in [0, 1); 1 − s of two."""
    steps = 1 + np.minimum((noise * (groups - 1)).astype(np.int64), groups - 2)
    other: Integers = (sens + steps) % groups
    return other


def quantile_levels(sens: Floats) -> Floats:
    """The values of a number that an audit sets everybody to: the quantiles `LEVELS`."""
    found: Floats = np.quantile(sens, LEVELS, method="inverted_cdf")
    return found


@dataclass(frozen=True)
class Bands:
    """Ranges of a number, `BANDS` equally large parts of the people, in place of groups.

    Args:
        ends: the largest value of each range but the last, ascending.
        names: such as "18 to 27", from the smallest and largest value in the range.
    """

    ends: tuple[float, ...]
    names: tuple[str, ...]

    @classmethod
    def of(cls, sens: Floats) -> Self:
        """Those of some people. Where many share a value there are fewer."""
        cuts = np.quantile(sens, np.arange(1, BANDS) / BANDS, method="inverted_cdf")
        ends = np.unique(cuts[cuts < sens.max(initial=-np.inf)])
        codes = np.searchsorted(ends, sens, side="left")
        parts = [sens[codes == code] for code in range(len(ends) + 1)]
        names = tuple(f"{part.min():.4g} to {part.max():.4g}" for part in parts)
        return cls(tuple(ends.tolist()), names)

    def codes(self, sens: Floats) -> Integers:
        """The number of everybody's range, from 0."""
        return np.searchsorted(np.array(self.ends), sens, side="left").astype(np.int64)
