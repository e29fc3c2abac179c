"""Who is who: ids as exact whole numbers or as names, never through a float."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairgear.errors import GraphError
from fairgear.graph.convert.columns import TableColumns
from fairgear.graph.convert.spelling import spelled

Rows = NDArray[np.int64]
# Columns that are taken for ids where nobody says otherwise.
ID_NAMES = ("id", "node_id")
_WHOLE = re.compile(r"-?(0|[1-9][0-9]*)(\.0+)?")
_LONGEST = 2**63 - 1
# Its digits, a sign and one more; Python refuses to read numbers of thousands of digits.
_MOST_DIGITS = 21


@dataclass(frozen=True, eq=False)
class Identity:
    """The people of a table.

    Args:
        node_id: one a row; the row number where ids are names.
        names: the ids as text, at place `node_id`; None where ids are whole numbers.
    """

    node_id: Rows
    names: tuple[str, ...] | None = None

    def rows_of(self, ids: pd.Series) -> Rows:
        """The rows of these ids, −1 for nobody's."""
        if self.names is not None:
            known = pd.Index(self.names, dtype=object)
            return known.get_indexer(pd.Index(_texts(ids), dtype=object)).astype(np.int64)
        numbers = [_whole(text) for text in _texts(ids)]
        found = pd.Index(self.node_id).get_indexer(
            pd.Index([0 if number is None else number for number in numbers], dtype=np.int64)
        )
        return np.where([number is None for number in numbers], -1, found).astype(np.int64)


def id_column(names: Iterable[Hashable], columns: TableColumns) -> str | None:
    """The column that holds the ids, of a table with columns `names`."""
    if columns.id is not None:
        return columns.id
    taken = {columns.sensitive, columns.label, *columns.drop}
    for name in names:
        if str(name).lower() in ID_NAMES and name not in taken:
            return str(name)
    return None


def identify(ids: pd.Series | None, count: int, column: str = "id") -> Identity:
    """The people with these ids, each of whom may occur once; row numbers without any."""
    if ids is None:
        return Identity(np.arange(count))
    lacking = int(ids.isna().sum())
    texts = _texts(ids)
    lacking += texts.count("")
    if lacking:
        raise GraphError(
            f"id column {column!r}",
            f"{lacking} rows without an id",
            "an id in every row",
            "give everybody an id, or name another column with --id",
        )
    numbers = [_whole(text) for text in texts]
    whole = None not in numbers
    repeated = pd.Series(numbers if whole else texts, dtype=object).duplicated()
    if repeated.any():
        first = texts[int(np.flatnonzero(repeated)[0])]
        raise GraphError(
            f"id column {column!r}",
            f"{int(repeated.sum())} repeated ids, the first {first!r}",
            "each id once",
            f"remove the repeated rows, or name another column with --id, "
            f"or leave it out with --drop {column}",
        )
    if whole:
        return Identity(np.array(numbers, dtype=np.int64))
    return Identity(np.arange(count), tuple(texts))


def _texts(ids: pd.Series) -> list[str]:
    values = ids.tolist()
    held = getattr(ids.dtype, "numpy_dtype", ids.dtype)
    # A column forgets its precision when its values become Python's floats.
    column = held.type if isinstance(held, np.dtype) and held.kind == "f" else None
    for value in values:
        if isinstance(value, (float, np.floating)):
            kind = column or (type(value) if isinstance(value, np.floating) else np.float64)
            check_exact(float(value), float(np.finfo(kind).eps))
    return [spelled(value) for value in values]


def check_exact(value: float, epsilon: float) -> None:
    """Refuse an id in a floating-point number that may have been another before it was rounded.

    Args:
        value: the id.
        epsilon: of its kind of number: the step after 1.
    """
    first_rounded = 2 / epsilon
    if abs(value) >= first_rounded:
        raise GraphError(
            f"id {value!r}",
            "a floating-point number at or beyond "
            f"2^{round(np.log2(first_rounded))}, whose last digits are lost",
            "whole numbers or text",
            "read the ids as whole numbers or as text from the start",
        )


def _whole(text: str) -> int | None:
    """The whole number that a text spells; None where it is a name, such as 007."""
    if _WHOLE.fullmatch(text):
        digits = text.partition(".")[0]
        number = int(digits) if len(digits) <= _MOST_DIGITS else _LONGEST + 1
        if -_LONGEST <= number <= _LONGEST:
            return number
    return None
