"""The first pass over a table on disk, column by column: how its cells become features."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairgear.errors import GraphError, ParameterError
from fairgear.graph.stored.feature_files import FeatureFile
from fairgear.graph.tables.columns import TableColumns
from fairgear.graph.tables.encoding import (
    ColumnCode,
    Encoding,
    check_some_feature,
    repeated_feature,
)
from fairgear.graph.tables.features import (
    FeatureColumn,
    NumberColumn,
    feature_column,
    without_missing,
)
from fairgear.graph.tables.table_graph import groups
from fairgear.graph.tables.values import TwoValues, label_values, unknown_labels


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
    """Read every column, one in memory at a time.

    Args:
        table: the people.
        columns: what the columns mean.
        encoding: of a model's training table, to encode this one alike.
        notes: collects what the user should know.
    """
    if columns.missing == "drop":
        raise ParameterError(
            "--missing",
            "'drop'",
            "refuse or impute: rows keep their places in a stored graph",
            "use --missing impute, or leave those rows out of the file",
        )
    # One empty row: only the names of the columns are checked.
    columns.check_table(pd.DataFrame([[None] * len(table.names)], columns=table.names))
    if encoding is not None:
        encoding.check(table.names, columns)
    node_id = _node_ids(table, columns, notes)
    label = unknown_labels(table.rows)
    if columns.label is not None:
        label = label_values(table.column(columns.label), columns.label, columns.positive)
    group = groups(table.column(columns.sensitive), columns, encoding)
    without_missing([], group.codes < 0, sensitive=columns.sensitive, policy="refuse", notes=notes)
    if encoding is None:
        encoding = _encoding(table, columns, group, notes)
    return Survey(encoding, label, group, node_id)


def _encoding(
    table: FeatureFile, columns: TableColumns, group: TwoValues, notes: list[str]
) -> Encoding:
    aside = {columns.label, columns.id_column(table.names), *columns.drop}
    codes: list[ColumnCode] = []
    ends: dict[str, tuple[float, float]] = {}
    for name in table.names:
        if name in aside:
            continue
        column = _column(table, name, columns, group, notes)
        code = ColumnCode.of(column)
        if not code.features:
            notes.append(f"left out column {name!r}: everybody has the same value")
            continue
        codes.append(code)
        for feature, values in column.encoded().items():
            if feature in ends:
                raise repeated_feature(name, feature)
            ends[feature] = float(values.min()), float(values.max())
    check_some_feature(ends, columns.sensitive)
    low, high = zip(*ends.values(), strict=True)
    return Encoding(tuple(codes), columns.sensitive, group.names, low, high)


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


def _node_ids(table: FeatureFile, columns: TableColumns, notes: list[str]) -> NDArray[np.int64]:
    """Integers, one a row; row numbers if the table has no ids."""
    name = columns.id_column(table.names)
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
            f"number the people, or leave it out with --drop {name} if edges are given by row "
            "numbers from 0",
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
