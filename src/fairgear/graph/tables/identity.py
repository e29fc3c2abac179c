"""Ids of people, exact integers or names but never floats, and edge lists in terms of them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from torch import Tensor

from fairgear.errors import GraphError
from fairgear.graph.edges import undirected_edges
from fairgear.graph.tables.values import spelled

Rows = NDArray[np.int64]
_INTEGER = re.compile(r"-?(0|[1-9][0-9]*)(\.0+)?")
# A whole number as numpy.savetxt writes it; 1e5 is more likely a name.
_FLOAT = re.compile(r"-?[0-9]\.[0-9]{3,}e[+-][0-9]{2,3}")
_LARGEST = 2**63 - 1
# Its digits, a sign and one more; Python refuses to parse integers of thousands of digits.
_MOST_DIGITS = 21
_COMMON_HEADER = re.compile(
    r"(source|target|from|to|src|dst|dest|destination|u|v|start|end|head|tail|sender|receiver"
    r"|follower|followee|user|friend|node|person|id)([ _.-]?(id|node|name|user|person))?",
    re.IGNORECASE,
)


@dataclass(frozen=True, eq=False)
class Identity:
    """The people of a table.

    Args:
        node_id: one a row; the row number where ids are names.
        names: the ids as text, at place `node_id`; None where ids are integers.
    """

    node_id: Rows
    names: tuple[str, ...] | None = None

    @classmethod
    def of(cls, ids: pd.Series | None, count: int, column: str | None = None) -> Identity:
        """People with these ids, all different; row numbers if there are none."""
        column = column or "id"
        if ids is None:
            return cls(np.arange(count))
        texts = _texts(ids)
        missing = int(ids.isna().sum()) + texts.count("")
        if missing:
            raise GraphError(
                f"id column {column!r}",
                f"{missing} rows without an id",
                "an id in every row",
                "give everybody an id, or name another column with --id",
            )
        numbers = [_integer(text) for text in texts]
        exact = None not in numbers
        repeated = pd.Series(numbers if exact else texts, dtype=object).duplicated()
        if repeated.any():
            first = texts[int(np.flatnonzero(repeated)[0])]
            raise repeated_ids(column, int(repeated.sum()), first)
        if exact:
            return cls(np.array(numbers, dtype=np.int64))
        return cls(np.arange(count), tuple(texts))

    def rows_of(self, ids: pd.Series) -> Rows:
        """The rows of these ids, −1 for unknown ones."""
        if ids.dtype == object:
            # 1 and True are equal, and are spelled differently.
            return self._rows_of(ids)
        # A list of edges names everybody several times.
        codes, distinct = pd.factorize(ids, use_na_sentinel=False)
        return self._rows_of(pd.Series(distinct))[codes]

    def _rows_of(self, ids: pd.Series) -> Rows:
        if self.names is not None:
            known = pd.Index(self.names, dtype=object)
            return known.get_indexer(pd.Index(_texts(ids), dtype=object)).astype(np.int64)
        numbers = [_integer(text) for text in _texts(ids)]
        found = pd.Index(self.node_id).get_indexer(
            pd.Index([0 if number is None else number for number in numbers], dtype=np.int64)
        )
        return np.where([number is None for number in numbers], -1, found).astype(np.int64)

    def pairs(self, edges: pd.DataFrame, *, header: bool, notes: list[str]) -> Rows:
        """The rows (2, m) that a list of edges, ids in its first two columns, joins.

        `header` says whether its first row may hold the names of the columns.
        """
        if edges.shape[1] < 2:
            raise GraphError(
                "edges",
                f"{edges.shape[1]} columns",
                "two columns: one id at each end",
                "write one edge a line, both ids separated by a comma",
            )
        if edges.shape[1] > 2:
            notes.append(
                "edges: only the first two columns are read; weights are not used without --weight"
            )
        ends = edges.iloc[:, :2]
        rows = np.stack([self.rows_of(ends.iloc[:, end]) for end in (0, 1)])
        if header and len(ends) and (rows[:, 0] < 0).all():
            first = [spelled(value) for value in ends.iloc[0]]
            if self._is_header(first, known=bool((rows[:, 1:] >= 0).all(axis=0).any())):
                notes.append(f"edges: the first line names the columns: {', '.join(first)}")
                ends, rows = ends.iloc[1:], rows[:, 1:]
        unknown = (rows < 0).any(axis=0)
        if unknown.any():
            line = int(np.flatnonzero(unknown)[0])
            first_id = spelled(ends.iloc[line, int(rows[0, line] >= 0)])
            count = len(self.node_id)
            numbered = not self.names and np.array_equal(self.node_id, np.arange(count))
            raise GraphError(
                "edges",
                f"{int(unknown.sum())} of {unknown.size} with an end that is nobody's id, "
                f"the first {first_id!r}",
                f"0 to {count - 1}, the rows of the node table"
                if numbered
                else "ids of the node table",
                "correct the list, or name the column of the ids with --id"
                + (", or call the columns source and target" if header and line == 0 else ""),
            )
        return rows

    def _is_header(self, first: Sequence[str], *, known: bool) -> bool:
        """Whether two texts, both nobody's ids, are names of columns.

        Common names are. Others are if no id looks like them and another line joins people
        (`known`): an edge whose ends are both misspelt must not be taken for a header.
        """
        if all(_COMMON_HEADER.fullmatch(text) for text in first):
            return True
        if not known or any(_is_number(text) for text in first):
            return False
        shapes = {"0"} if self.names is None else {_shape(name) for name in self.names}
        return not any(_shape(text) in shapes for text in first)


def repeated_ids(column: str, count: int, first: object) -> GraphError:
    """The error for ids that are not all different."""
    return GraphError(
        f"id column {column!r}",
        f"{count} repeated ids, the first {first!r}",
        "each id once",
        f"remove the repeated rows, or name another column with --id, "
        f"or leave it out with --drop {column}",
    )


def edges_between(pairs: Rows, keep: NDArray[np.bool_], notes: list[str]) -> Tensor:
    """Both directions of each pair of kept rows, renumbered, without loops and repeats."""
    stay = keep[pairs].all(axis=0)
    if not stay.all():
        notes.append(f"edges: left out {int((~stay).sum()):,} at people who were left out")
    place = np.cumsum(keep) - 1
    pairs = place[pairs[:, stay]].astype(np.int64)
    count = int(keep.sum())
    loops = int((pairs[0] == pairs[1]).sum())
    pairs = pairs[:, pairs[0] != pairs[1]]
    one_way = np.unique(pairs[0] * count + pairs[1])
    edge_index = undirected_edges(torch.from_numpy(pairs), count)
    repeats = pairs.shape[1] - len(one_way)
    if loops or repeats:
        notes.append(f"edges: dropped {loops:,} self-loops and {repeats:,} repeats")
    both = 2 * len(one_way) - edge_index.shape[1]
    if 0 < both < len(one_way):
        notes.append("edges: some are listed one way and some both ways; all count both ways")
    return edge_index


def check_exact(value: float, epsilon: float) -> None:
    """Refuse a floating-point id so large that it may have been rounded.

    `epsilon` is that of its type: the step after 1.
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


def _texts(ids: pd.Series) -> list[str]:
    values = ids.tolist()
    dtype = getattr(ids.dtype, "numpy_dtype", ids.dtype)
    # tolist() turns narrow floats into Python's and so hides how far they were rounded.
    column = dtype.type if isinstance(dtype, np.dtype) and dtype.kind == "f" else None
    for value in values:
        if isinstance(value, (float, np.floating)):
            kind = column or (type(value) if isinstance(value, np.floating) else np.float64)
            check_exact(float(value), float(np.finfo(kind).eps))
    return [spelled(value) for value in values]


def _integer(text: str) -> int | None:
    """The integer that a text spells; None for a name, such as 007."""
    if _INTEGER.fullmatch(text):
        digits = text.partition(".")[0]
        number = int(digits) if len(digits) <= _MOST_DIGITS else _LARGEST + 1
        if -_LARGEST <= number <= _LARGEST:
            return number
    if _FLOAT.fullmatch(text):
        value = float(text)
        check_exact(value, float(np.finfo(np.float64).eps))
        return int(value) if value.is_integer() else None
    return None


def _shape(text: str) -> str:
    """What a text looks like: P0042 and q7 are both a letter and a number."""
    return re.sub(r"[0-9]+", "0", re.sub(r"[^\W\d_]+", "a", text))


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
