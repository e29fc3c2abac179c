"""Scores that somebody computed for the people of a graph: a table, or an array in their order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd

from fairgear.auditing.exchange.arrays import array_of
from fairgear.auditing.people import person_ids
from fairgear.column_names import listed
from fairgear.delimited import filled
from fairgear.errors import FileError, GraphError
from fairgear.graph import SensitiveGraph, Target
from fairgear.graph.formats import read_cells, read_parquet
from fairgear.graph.tables.columns import ID_NAMES
from fairgear.graph.tables.identity import Identity
from fairgear.graph.tables.spellings import read_column
from fairgear.graph.tables.values import numbers_of, spelled
from fairgear.metrics.inputs import Floats, Integers

SCORE, ANSWER = "score", "answer"
_IN_ORDER = (
    "The scores have no column of ids: they were matched to people by the order of the rows."
)


@dataclass(frozen=True, eq=False)
class GivenScores:
    """Whose scores there are, and what they are.

    Attributes:
        rows: of the graph, one for each person with a score.
        values: (rows,), or (rows, classes) where there are several classes.
        notes: how the file was read, where that needs to be said.
        answers: whether the file has answers and no scores.
    """

    rows: Integers
    values: Floats
    notes: tuple[str, ...] = ()
    answers: bool = False

    def of(self, rows: Integers) -> tuple[Floats, Integers]:
        """The scores of the people in these rows, and the rows of those who have none."""
        place = pd.Index(self.rows).get_indexer(pd.Index(rows))
        return self.values[place], rows[place < 0]


def read_given(
    path: Path, graph: SensitiveGraph, target: Target, *, id: str | None = None
) -> GivenScores:
    """The scores in a file.

    Args:
        path: a table with a column of ids (`id`, node_name, node_id or id; without one, a line for
            every person in the order of the graph, and no ids under another name) and a column
            score, or answer, or of several classes score_CLASS for each; or a .npy with a row for
            every person.
        graph: whose people are scored.
        target: what is predicted.
        id: the column of ids in the table of people, which may have the same name here.
    """
    if path.suffix.lower() == ".npy":
        return _in_order(_array(path), graph, path, ())
    notes: list[str] = []
    if path.suffix.lower() == ".parquet":
        table, delimiter = read_parquet(path), ","
    else:
        table, delimiter = read_cells(path, notes, index=True)
    table, unnamed = _without_index(table)
    scores = [name for name in table if name in _score_columns(target)]
    answers = len(scores) < len(_score_columns(target))
    values = _values(table, delimiter, target, path)
    names = list(table.columns)
    wanted = [name for name in (id, "node_name", *names) if name is not None and name in names]
    key = next((name for name in wanted if _holds_ids(name, id)), None)
    if key is not None:
        return GivenScores(_rows(table[key], graph, path, key), values, answers=answers)
    found = _in_order(values, graph, path, (_IN_ORDER,))
    others = {f"column {name!r}": table[name] for name in names if name not in (*scores, ANSWER)}
    if unnamed is not None:
        others["the column without a name"] = unnamed
    for what, column in others.items():
        _refuse_ids(what, column, graph, path)
    return replace(found, answers=answers)


def _without_index(table: pd.DataFrame) -> tuple[pd.DataFrame, pd.Series | None]:
    """The table with a named index among its columns, and the index that has no name, if any.

    An index that numbers the lines says nothing.
    """
    index = table.index
    table = table.reset_index(drop=True).rename(columns=str)
    for level, name in enumerate(index.names):
        if name is not None and str(name) not in table:
            table[str(name)] = index.get_level_values(level)
    if index.nlevels > 1 or index.name is not None or isinstance(index, pd.RangeIndex):
        return table, None
    texts = [spelled(one) for one in index]
    counted = any(texts == [str(line + first) for line in range(len(texts))] for first in (0, 1))
    return table, None if counted else pd.Series(texts, dtype=object)


def _refuse_ids(what: str, column: pd.Series, graph: SensitiveGraph, path: Path) -> None:
    """Refuse a column that says whose the scores are under a name that is not known."""
    texts = _texts(column)
    # Half of them are too many for chance: not everybody in the file needs to be known.
    few = len(texts) / 2
    if texts.nunique() < few:
        return
    for name in ("id", "node_id"):
        try:
            rows = known_rows(texts, graph, name)
        except GraphError:
            # Numbers beyond those that ids can be.
            continue
        in_order = np.array_equal(rows, np.arange(len(graph.x)))
        if len(np.unique(rows[rows >= 0])) >= few and not in_order:
            allowed = f"ids in a column {listed(('id', 'node_id', 'node_name'))}"
            step = f"name it {name}, or leave it out if the lines are in the order of the people"
            raise _unfit(path, f"{what}, which holds ids of these people", allowed, step)


def _holds_ids(name: str, id: str | None) -> bool:
    return name in (id, "node_name") or name.lower() in ID_NAMES


def _array(path: Path) -> Floats:
    content = filled(path)
    try:
        return np.asarray(array_of(content), dtype=np.float64)
    except (ValueError, EOFError, OSError, TypeError) as error:
        allowed = "a NumPy file with a row of scores for every person"
        raise _unfit(path, "no array of numbers", allowed, "save one with numpy.save") from error


def _in_order(
    values: Floats, graph: SensitiveGraph, path: Path, notes: tuple[str, ...]
) -> GivenScores:
    count = len(graph.x)
    if values.ndim == 0 or len(values) != count:
        got = f"{len(values) if values.ndim else 'no'} rows and no ids"
        step = "add a column of ids, or give every person a row, in the order of the people"
        raise _unfit(path, got, f"ids, or {count} rows, one a person", step)
    return GivenScores(np.arange(count), values, notes)


def _rows(keys: pd.Series, graph: SensitiveGraph, path: Path, name: str) -> Integers:
    """The row of the graph that each line is about."""
    texts = _texts(keys)
    empty = int((texts == "").sum())
    if empty:
        got = f"{empty} lines without {name}"
        raise _unfit(path, got, "an id in every line", "write whose score it is")
    rows = known_rows(texts, graph, name)
    strange = np.flatnonzero(rows < 0)
    if len(strange):
        got = f"{len(strange)} ids of nobody, the first {texts[strange[0]]!r}"
        shown = person_ids(graph).iloc[:3, -1]
        allowed = f"ids of the {len(graph.x)} people, such as {listed(map(spelled, shown), 3)}"
        step = "check that the files belong together, and name the people's column with --id"
        raise _unfit(path, got, allowed, step)
    twice = pd.Series(rows).duplicated().to_numpy()
    if twice.any():
        got = f"{twice.sum()} repeated ids, the first {texts[int(np.flatnonzero(twice)[0])]!r}"
        raise _unfit(path, got, "each person once", "remove the repeated lines")
    return rows


def _texts(keys: pd.Series) -> pd.Series:
    """Ids as text, empty where there is none."""
    found = [
        "" if missing else spelled(key) for key, missing in zip(keys, keys.isna(), strict=True)
    ]
    return pd.Series(found, dtype=object)


def known_rows(keys: pd.Series, graph: SensitiveGraph, name: str) -> Integers:
    """Rows of the graph, −1 for nobody's keys; by name where people have names."""
    ids = graph.node_id.cpu().numpy()
    numbers = Identity(ids)
    if "node_names" not in graph:
        return numbers.rows_of(keys)
    found = Identity(ids, tuple(graph["node_names"])).rows_of(keys)
    row_of = np.full(len(graph["node_names"]) + 1, -1, dtype=np.int64)
    row_of[ids] = np.arange(len(ids))
    by_name = np.where(found < 0, -1, row_of[found])
    # fairgear's own tables have the number of the row beside the name.
    own = name == "node_id" and not (by_name >= 0).any()
    return numbers.rows_of(keys) if own else by_name


def _score_columns(target: Target) -> list[str]:
    if target.outputs == 1:
        return [SCORE]
    return [f"{SCORE}_{name}" for name in target.classes]


def _values(table: pd.DataFrame, delimiter: str, target: Target, path: Path) -> Floats:
    """(lines,), or (lines, classes)."""
    columns = _score_columns(target)
    if all(name in table for name in columns):
        numbers = [_numbers(table[name], delimiter, path) for name in columns]
        return numbers[0] if target.outputs == 1 else np.stack(numbers, axis=1)
    if ANSWER in table and not target.is_number:
        return _answers(table[ANSWER], target.classes, path)
    several = f"a column for every class ({listed(columns, 3)})"
    allowed = f"the column {SCORE!r}" if target.outputs == 1 else several
    allowed += "" if target.is_number else f", or the column {ANSWER!r}"
    raise _unfit(path, f"the columns {listed(map(str, table))}", allowed, "name the column so")


def _numbers(column: pd.Series, delimiter: str, path: Path) -> Floats:
    if column.dtype == object or pd.api.types.is_string_dtype(column):
        column = read_column(column.astype(str), delimiter, coded=False).values
    what = f"column {str(column.name)!r} of {path}"
    return numbers_of(column, what, "write a number in every line")


def _answers(column: pd.Series, classes: Sequence[str], path: Path) -> Floats:
    """1 for the answer: of two classes for the second, of several in the column of each."""
    texts = column.where(column.notna(), "").map(spelled)
    place = {name: number for number, name in enumerate(classes)}
    codes = texts.map(place)
    strange = texts[codes.isna()]
    if len(strange):
        got = f"{len(strange)} other answers, the first {strange.iloc[0]!r}"
        allowed = f"answers {listed(classes)}, as the label has them"
        raise _unfit(path, got, allowed, "write answers in the words of the label")
    chosen = codes.to_numpy(dtype=np.int64)
    return chosen.astype(np.float64) if len(classes) == 2 else np.eye(len(classes))[chosen]


def _unfit(path: Path, got: str, allowed: str, next_step: str) -> FileError:
    return FileError(f"scores {path}", got, allowed, next_step)
