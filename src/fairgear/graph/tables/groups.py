"""The sensitive attribute of a table as groups: two values, several, or several columns crossed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairgear.column_names import listed, sensitive_columns, unknown_column
from fairgear.errors import GraphError, ParameterError
from fairgear.graph.attributes import Attribute, Attributes
from fairgear.graph.tables.columns import TableColumns
from fairgear.graph.tables.encoding import Encoding
from fairgear.graph.tables.values import Value, coded, gaps, known_codes, levels_of

# Numbers with more values than this are quantities, and so are no groups.
_FEW = 12
# More groups than this are no groups at all.
_MOST = 60


@dataclass(frozen=True, eq=False)
class Groups:
    """The group of each row, −1 where missing, and the names of the groups."""

    codes: NDArray[np.int64]
    names: tuple[str, ...]

    def note(self, column: str) -> str:
        """What the groups are, for the user."""
        if len(self.names) == 2:
            return f"{column}: {self.names[1]} counts as 1, {self.names[0]} as 0"
        return f"{column}: {len(self.names)} groups, {listed(self.names, 12)}"

    def numbered_as(self, attributes: Attributes) -> Groups:
        """The same groups in the order of the attributes that make them."""
        place = [attributes.names.index(name) for name in self.names]
        return Groups(np.array([*place, -1], dtype=np.int64)[self.codes], attributes.names)


def groups_of(column: pd.Series, name: str, one: Value | None) -> Groups:
    """The groups of a training table, sorted by name; `one` is that which counts as 1 of two."""
    codes, found = levels_of(column, name)
    what = f"sensitive column {name!r}"
    if len(found) == 2:
        two = coded(codes, found, one, what, "--sensitive-one")
        return Groups(two.codes, two.names)
    shown = f"{len(found)} values: {listed(found)}{gaps(codes)}" if found else "no value at all"
    if len(found) < 2:
        step = "name a column with several groups with --sensitive"
        raise GraphError(what, shown, "two or more groups", step)
    if len(found) > (_FEW if _are_numbers(found) else _MOST):
        step = f'compare with a number, --sensitive "{name}<40", or use --sensitive-against VALUE'
        step = "name fewer columns" if ", " in name else step
        allowed = f"up to {_MOST} groups, or {_FEW} where they are numbers"
        raise GraphError(what, shown, allowed, step)
    if one is not None:
        got = f"{one!r}, with {len(found)} groups in {name!r}"
        raise ParameterError(
            "--sensitive-one", got, "with two groups", "use --sensitive-against, or none"
        )
    return Groups(codes, found)


def known_groups(column: pd.Series, name: str, encoding: Encoding) -> Groups:
    """The groups as in a model's training table."""
    step = "recode the column, or leave those rows out"
    return Groups(known_codes(column, name, encoding.groups, step), encoding.groups)


def crossed_names(text: str, names: Sequence[str]) -> list[str]:
    """The columns that `--sensitive race,sex` names; one where it is a column's own name."""
    parts = sensitive_columns(text, names)
    if len(parts) == 1:
        return [text]
    for part in parts:
        if part not in names:
            raise unknown_column(names, part, "sensitive")
    if len(set(parts)) < len(parts):
        raise ParameterError("--sensitive", repr(text), "each column once", "name it once")
    return parts


def with_crossed(
    nodes: pd.DataFrame, columns: TableColumns, encoding: Encoding | None
) -> tuple[pd.DataFrame, TableColumns, Attributes | None]:
    """The table with one column for the groups that several columns make together.

    It stands where the first of them stood. A value that is missing in one is missing in the group.
    """
    parts = crossed_names(columns.sensitive, list(nodes.columns))
    if len(parts) == 1:
        return nodes, columns, None
    if columns.against is not None:
        got = f"{columns.against!r} beside --sensitive {columns.sensitive}"
        raise ParameterError(
            "--sensitive-against", got, "with one column of groups", "leave one out"
        )
    title = ", ".join(parts)
    roles = replace(columns, sensitive=parts[0])
    for part in parts:
        replace(roles, sensitive=part).check_table(list(nodes.columns), len(nodes))
    if encoding is not None and encoding.attributes is not None:
        each = list(encoding.attributes.each)
        step = "recode the column, or leave those rows out"
        codes = [known_codes(nodes[a.name], a.name, a.values, step) for a in each]
        attributes = encoding.attributes
    else:
        found = [levels_of(nodes[part], part) for part in parts]
        each = [Attribute(part, of) for part, (_, of) in zip(parts, found, strict=True)]
        codes = [code for code, _ in found]
        table = np.stack(codes, axis=1)
        attributes, _ = Attributes.crossed(each, table[(table >= 0).all(axis=1)])
    missing = np.any([code < 0 for code in codes], axis=0)
    texts = [np.array([*a.values, ""], dtype=object)[c] for a, c in zip(each, codes, strict=True)]
    named = pd.Series([", ".join(row) for row in zip(*texts, strict=True)], index=nodes.index)
    found_table = nodes.assign(**{parts[0]: named.astype(object).where(~missing)})
    found_table = found_table.drop(columns=parts[1:]).rename(columns={parts[0]: title})
    return found_table, replace(columns, sensitive=title), attributes


def _are_numbers(values: Sequence[str]) -> bool:
    try:
        return bool([float(value) for value in values])
    except ValueError:
        return False
