"""The label column of a table: two classes, several, or numbers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairgear.column_names import listed
from fairgear.errors import GraphError
from fairgear.graph.tables.values import (
    TwoValues,
    Value,
    gaps,
    known_codes,
    levels_of,
    numbers_of,
    two_labels,
)
from fairgear.graph.targets import MOST_CLASSES

CLASSIFICATION, REGRESSION = TASKS = ("classification", "regression")
# Up to as many different numbers are taken for classes, unless the task is said.
FEW = 10
_NUMBERS = ("integer", "floating", "mixed-integer-float", "decimal")


@dataclass(frozen=True, eq=False)
class LabelColumn:
    """Class numbers (−1 where unknown) with their names, or numbers (NaN) without."""

    values: NDArray[np.int64] | NDArray[np.float64]
    names: tuple[str, ...] = ()

    @property
    def is_number(self) -> bool:
        """Whether labels are numbers."""
        return self.values.dtype.kind == "f"

    def note(self, column: str) -> str:
        """How the column was read, in a line."""
        if self.is_number:
            known = self.values[~np.isnan(self.values)]
            ends = f"from {known.min():g} to {known.max():g}" if len(known) else "none known"
            return f"{column}: numbers, {ends}; --task classification makes classes of them"
        if len(self.names) == 2:
            return f"{column}: {self.names[1]} counts as 1, {self.names[0]} as 0"
        return f"{column}: {len(self.names)} classes, {listed(self.names)}"


def no_labels(count: int) -> LabelColumn:
    """Of a table without a label column."""
    return LabelColumn(np.full(count, -1, dtype=np.int64), ("0", "1"))


def label_column(
    column: pd.Series, name: str, task: str | None, positive: Value | None
) -> LabelColumn:
    """The label; any number of rows may have none.

    Two values are two classes. More are classes if they are text or at most `FEW` different
    numbers, else numbers; `task` decides otherwise.
    """
    codes, found = levels_of(column, name)
    if not found:
        return LabelColumn(codes, ("0", "1"))
    numbers = pd.api.types.infer_dtype(column.dropna(), skipna=True) in _NUMBERS
    many = numbers and len(found) > FEW
    if task == REGRESSION or (task is None and many):
        _no_positive(positive, name, "numbers")
        return LabelColumn(as_numbers(column, name))
    if len(found) == 2:
        two: TwoValues = two_labels(codes, (found[0], found[1]), name, positive)
        return LabelColumn(two.codes, two.names)
    _check_count(found, codes, name, numbers)
    _no_positive(positive, name, f"{len(found)} classes")
    return LabelColumn(codes, found)


def known_label(column: pd.Series, name: str, task: str, classes: tuple[str, ...]) -> LabelColumn:
    """The label of other people, read as that of a model's training table."""
    if task == REGRESSION:
        return LabelColumn(as_numbers(column, name))
    step = "recode it, or leave such cells empty"
    return LabelColumn(known_codes(column, name, classes, step), classes)


def as_numbers(column: pd.Series, name: str) -> NDArray[np.float64]:
    """Finite numbers, NaN where missing."""
    what = f"label column {name!r}"
    return numbers_of(column, what, "leave --task out, or correct the column")


def _check_count(
    found: tuple[str, ...], codes: NDArray[np.int64], name: str, numbers: bool
) -> None:
    """Refuse a single class, and so many that it is no label."""
    count = len(found)
    if 1 < count <= MOST_CLASSES:
        return
    step = "name another column with --label"
    if count > MOST_CLASSES and numbers:
        step = "use --task regression, or recode the label"
    raise GraphError(
        f"label column {name!r}",
        f"{count} values: {listed(found)}{gaps(codes)}",
        f"two to {MOST_CLASSES} classes, or numbers, and nothing where the label is unknown",
        step,
    )


def _no_positive(positive: Value | None, name: str, got: str) -> None:
    if positive is not None:
        what, allowed = f"--positive for the label column {name!r}", "a label of two values"
        raise GraphError(what, got, allowed, "leave --positive out")
