"""Values of a table as text and as codes; the label and the sensitive attribute as 0 and 1."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairgear.column_names import listed
from fairgear.errors import GraphError

Value = str | int | float | bool
KINDS = "numbers, text, true and false"
# Bits of an integer that Python still converts to text, well below its limit.
_LONG = 10_000


def spelled(value: object) -> str:
    """The text of a value: 1, 1.0 and numpy's 1 are all "1"."""
    if isinstance(value, (bool, np.bool_)):
        return str(bool(value))
    if isinstance(value, (float, np.floating)) and float(value).is_integer():
        return str(int(value))
    if isinstance(value, int) and value.bit_length() > _LONG:
        return format(Decimal(value), "f")
    return str(value).strip()


def unusable(name: str, got: str, allowed: str, remedy: str) -> GraphError:
    """The error for a column that cannot become features."""
    next_step = f"{remedy}, or leave it out with --drop {name}"
    return GraphError(f"column {name!r}", got, allowed, next_step)


def levels_of(column: pd.Series, name: str) -> tuple[NDArray[np.int64], tuple[str, ...]]:
    """Codes into the sorted levels of a column, −1 where missing, and the levels.

    Levels are sorted as numbers if all are, else as text.
    """
    try:
        codes, uniques = pd.factorize(column.astype(object))
    except TypeError as error:
        got = "lists or other compound values"
        raise unusable(name, got, KINDS, "keep one value in each cell") from error
    texts = [spelled(value) for value in uniques]
    levels = list(dict.fromkeys(texts))
    try:
        levels.sort(key=lambda level: (float(level), level))
    except ValueError:
        levels.sort()
    place = {text: number for number, text in enumerate(levels)}
    return np.array([*(place[text] for text in texts), -1], dtype=np.int64)[codes], tuple(levels)


def numbers_of(column: pd.Series, what: str, step: str) -> NDArray[np.float64]:
    """Finite numbers, NaN where missing; `what` the column is and what to do, for a message."""
    try:
        values = column.astype(object).where(column.notna(), np.nan).astype(np.float64)
    except (TypeError, ValueError) as error:
        shown = dict.fromkeys(spelled(value) for value in column.dropna() if isinstance(value, str))
        got = f"text, such as {listed(shown, 2)}" if shown else "values that are no numbers"
        raise GraphError(what, got, "numbers", step) from error
    found = np.asarray(values, dtype=np.float64)
    if np.isinf(found).any():
        step = "correct them, or leave such cells empty"
        raise GraphError(what, "infinite numbers", "finite numbers", step)
    return found


@dataclass(frozen=True, eq=False)
class TwoValues:
    """0 or 1 for each row, −1 where missing, and the names of 0 and 1."""

    codes: NDArray[np.int64]
    names: tuple[str, str]


def two_labels(
    codes: NDArray[np.int64], found: tuple[str, str], name: str, positive: Value | None
) -> TwoValues:
    """The label, where it has two values; any number of rows may have none."""
    return coded(codes, found, positive, f"label column {name!r}", "--positive")


def known_codes(
    column: pd.Series, name: str, levels: tuple[str, ...], next_step: str
) -> NDArray[np.int64]:
    """Codes into the levels that a model was trained on, −1 where missing; some may be absent."""
    codes, found = levels_of(column, name)
    unknown = [value for value in found if value not in levels]
    if unknown:
        got = f"{listed(unknown, 3)}, which the model was not trained on"
        raise GraphError(f"column {name!r}", got, listed(levels, 10), next_step)
    return np.array([*(levels.index(value) for value in found), -1], dtype=np.int64)[codes]


def gaps(codes: NDArray[np.int64]) -> str:
    """How many values are missing, for a message."""
    # A word such as None may have been meant as a value.
    count = int((codes < 0).sum())
    return f", and {count} missing (in text files NA, NULL, None and ? are)" if count else ""


def coded(
    codes: NDArray[np.int64], found: tuple[str, ...], one: Value | None, what: str, option: str
) -> TwoValues:
    """Codes of two values, of which `one` counts as 1; by default the second."""
    if one is None or spelled(one) == found[1]:
        return TwoValues(codes, (found[0], found[1]))
    if spelled(one) != found[0]:
        got = f"no value {spelled(one)!r}"
        raise GraphError(what, got, listed(found), f"give one of these with {option}")
    return TwoValues(np.where(codes < 0, codes, 1 - codes), (found[1], found[0]))
