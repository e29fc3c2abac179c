"""What the columns of a table mean: one set of names for every source, in Python and the shell."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Required, TypedDict

from fairgear.errors import ParameterError
from fairgear.graph.similarity import SimilarityRule

MISSING = ("refuse", "impute", "drop")
Value = str | int | float | bool


class ColumnOptions(TypedDict, total=False):
    """The keywords of every `from_…` function; see `TableColumns`."""

    sensitive: Required[str]
    label: str | None
    id: str | None
    positive: Value | None
    sensitive_one: Value | None
    drop: Sequence[str]
    categorical: Sequence[str]
    missing: str
    similarity: float | None
    neighbors: int | None
    standardize: bool
    name: str


@dataclass(frozen=True)
class TableColumns:
    """How a table becomes a graph of people.

    Args:
        sensitive: the column of the sensitive attribute, two values; it stays among the features.
        label: the column of the label, two values, missing where unknown; None where there is none.
        id: the column of the people's ids; a column called id or node_id if not given, else ids
            are row numbers.
        positive: the label that counts as 1; the larger one if not given.
        sensitive_one: the group that counts as 1; the larger one if not given.
        drop: columns to leave out.
        categorical: columns of numbers that are codes, to be encoded as text is.
        missing: for missing values of features: "refuse", "impute" (median, or the most frequent
            level) or "drop" (the rows, with their edges).
        similarity: joins similar rows, see `SimilarityRule`; instead of edges.
        neighbors: see `SimilarityRule`.
        standardize: give every column but the sensitive one mean 0 and variance 1 before rows are
            compared.
        name: of the graph, for people.
    """

    sensitive: str
    label: str | None = None
    id: str | None = None
    positive: Value | None = None
    sensitive_one: Value | None = None
    drop: Sequence[str] = ()
    categorical: Sequence[str] = ()
    missing: str = "refuse"
    similarity: float | None = None
    neighbors: int | None = None
    standardize: bool = False
    name: str = "graph"

    def __post_init__(self) -> None:
        if self.missing not in MISSING:
            raise ParameterError(
                "missing",
                repr(self.missing),
                ", ".join(MISSING),
                "say what to do with missing values",
            )
        self._check_kinds()
        self._check_roles()
        if self.similarity is None and (self.neighbors is not None or self.standardize):
            raise ParameterError(
                "neighbors" if self.neighbors is not None else "standardize",
                "no similarity threshold beside it",
                "together with similarity",
                "give similarity too, or leave it out",
            )
        _ = self.rule

    @property
    def rule(self) -> SimilarityRule | None:
        """The rule that joins similar rows, where there is one."""
        if self.similarity is None:
            return None
        return SimilarityRule(self.similarity, self.neighbors)

    def _check_kinds(self) -> None:
        """Names are text, thresholds numbers: whatever Python may have been given."""
        for option in ("drop", "categorical"):
            value = getattr(self, option)
            listed = isinstance(value, Iterable) and not isinstance(value, str)
            if not listed or not all(isinstance(name, str) for name in value):
                raise _wrong_kind(option, value, "a list of column names as text")
        for option in ("sensitive", "label", "id", "name"):
            value = getattr(self, option)
            if not isinstance(value, str) and (
                value is not None or option in ("sensitive", "name")
            ):
                raise _wrong_kind(option, value, "the name of a column, as text")
        for option, kind in (("similarity", Real), ("neighbors", Integral)):
            value = getattr(self, option)
            if isinstance(value, bool) or not (value is None or isinstance(value, kind)):
                raise _wrong_kind(option, value, "a number, or None")

    def _check_roles(self) -> None:
        """A column has one role."""
        roles: dict[str, str] = {}
        given = [("sensitive", self.sensitive), ("label", self.label), ("id", self.id)]
        for role, column in [*given, *(("drop", column) for column in self.drop)]:
            if column is not None and roles.setdefault(column, role) != role:
                raise ParameterError(
                    f"column {column!r}",
                    f"two roles, {roles[column]} and {role}",
                    "one role a column",
                    "correct one of the two",
                )


def _wrong_kind(option: str, value: object, allowed: str) -> ParameterError:
    return ParameterError(option, repr(value), allowed, f"change {option}")
