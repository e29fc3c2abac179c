"""The first reading of a table on disk, column by column: how its cells become features."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairgear.errors import GraphError, ParameterError
from fairgear.graph.convert.columns import TableColumns
from fairgear.graph.convert.encoding import Encoding
from fairgear.graph.convert.features import FeatureColumn, NumberColumn, feature_column
from fairgear.graph.convert.identity import id_column
from fairgear.graph.convert.known_columns import ColumnCode
from fairgear.graph.convert.missing import without_missing
from fairgear.graph.convert.roles import check_table
from fairgear.graph.convert.two_values import TwoValues, label_values, sensitive_values
from fairgear.graph.stored.feature_files import FeatureFile


@dataclass(frozen=True, eq=False)
class Survey:
    """What must be known of all rows before any of them can be encoded."""

    encoding: Encoding
    label: TwoValues
    group: TwoValues
    node_id: NDArray[np.int64]


def survey(
    table: FeatureFile, columns: TableColumns, encoding: Encoding | None, notes: list[str]
) -> Survey:
    """Read every column by itself; memory is for one of them at a time.

    Args:
        table: the people.
        columns: what the columns mean.
        encoding: of the table that a model was trained on, by which this one is read.
        notes: where to say what was done.
    """
    _check(table, columns)
    if encoding is not None:
        encoding.check(table.names, columns)
    node_id = _node_ids(table, columns, notes)
    label = TwoValues(np.full(table.rows, -1, dtype=np.int64), ("0", "1"))
    if columns.label is not None:
        label = label_values(table.column(columns.label), columns.label, columns.positive)
    held = table.column(columns.sensitive)
    if encoding is not None:
        group = encoding.groups_of(held)
    else:
        group = sensitive_values(held, columns.sensitive, columns.sensitive_one)
    without_missing([], group.codes < 0, sensitive=columns.sensitive, policy="refuse", notes=notes)
    if encoding is None:
        encoding = _encoding(table, columns, group, notes)
    return Survey(encoding, label, group, node_id)


def _check(table: FeatureFile, columns: TableColumns) -> None:
    if columns.missing == "drop":
        raise ParameterError(
            "--missing",
            "'drop'",
            "refuse or impute: rows keep their places in a stored graph",
            "use --missing impute, or leave those rows out of the file",
        )
    # One row of nothing: only names are compared.
    check_table(pd.DataFrame([[None] * len(table.names)], columns=table.names), columns)


def _encoding(
    table: FeatureFile, columns: TableColumns, group: TwoValues, notes: list[str]
) -> Encoding:
    aside = {columns.label, id_column(table.names, columns), *columns.drop}
    codes: list[ColumnCode] = []
    low: list[float] = []
    high: list[float] = []
    for name in table.names:
        if name in aside:
            continue
        column = _column(table, name, columns, group, notes)
        code = ColumnCode.of(column)
        if not code.features:
            notes.append(f"left out column {name!r}: everybody has the same value")
            continue
        codes.append(code)
        for values in column.encoded().values():
            low.append(float(values.min()))
            high.append(float(values.max()))
    _check_features([name for code in codes for name in code.features], columns.sensitive)
    return Encoding(tuple(codes), columns.sensitive, group.names, tuple(low), tuple(high))


def _column(
    table: FeatureFile, name: str, columns: TableColumns, group: TwoValues, notes: list[str]
) -> FeatureColumn:
    """A column without gaps."""
    if name == columns.sensitive:
        return NumberColumn(name, group.codes.astype(np.float64))
    column = feature_column(table.column(name), name, categorical=name in columns.categorical)
    nobody = np.zeros(table.rows, np.bool_)
    (filled,), _ = without_missing(
        [column], nobody, sensitive=columns.sensitive, policy=columns.missing, notes=notes
    )
    return filled


def _check_features(names: Sequence[str], sensitive: str) -> None:
    repeated = {name for name in names if names.count(name) > 1}
    if repeated:
        raise GraphError(
            "features",
            f"two called {min(repeated)!r}",
            "names that differ",
            "rename a column, or leave it out with --drop",
        )
    if set(names) <= {sensitive}:
        raise GraphError(
            "features",
            f"no column besides the sensitive one, {sensitive!r}",
            "at least one more",
            "add columns, or drop fewer",
        )


def _node_ids(table: FeatureFile, columns: TableColumns, notes: list[str]) -> NDArray[np.int64]:
    """Whole numbers, one a row; the row number where the table has no ids."""
    name = id_column(table.names, columns)
    if name is None:
        return np.arange(table.rows)
    if columns.id is None:
        notes.append(f"column {name!r} holds the ids")
    held = table.column(name)
    if held.isna().any() or not pd.api.types.is_integer_dtype(held.dtype):
        gaps = int(held.isna().sum())
        raise GraphError(
            f"id column {name!r}",
            f"{gaps} rows without an id" if gaps else f"values of the kind {held.dtype}",
            "a whole number in every row",
            f"number the people, or leave it out with --drop {name} where edges are "
            "given by row numbers from 0",
        )
    node_id = held.to_numpy().astype(np.int64)
    order = np.sort(node_id)
    repeated = order[1:][order[1:] == order[:-1]]
    if len(repeated):
        raise GraphError(
            f"id column {name!r}",
            f"{len(repeated)} repeated ids, the first {int(repeated[0])}",
            "each id once",
            "remove the repeated rows, or name another column with --id",
        )
    return node_id
