"""Two groups out of any column: "age<40", or one value against all others."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairgear.column_names import Comparison, listed, near
from fairgear.errors import GraphError, ParameterError
from fairgear.graph.tables.columns import TableColumns
from fairgear.graph.tables.encoding import Encoding
from fairgear.graph.tables.spellings import days_of
from fairgear.graph.tables.values import levels_of, spelled

_SIGNS = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}


@dataclass(frozen=True)
class TwoGroups:
    """How a column becomes a column of two groups, called `name`, at the same place.

    Args:
        name: what `--sensitive` says.
        column: the column that it needs.
        groups: what the groups 0 and 1 are called.
        comparison: that with a number, if it is one.
        known: whether the value of group 0 must be in the column.
    """

    name: str
    column: str
    groups: tuple[str, str]
    comparison: Comparison | None = None
    known: bool = True

    @classmethod
    def of(
        cls, columns: TableColumns, names: Sequence[str], encoding: Encoding | None = None
    ) -> Self | None:
        """The groups that `columns` asks for in a table with columns `names`; None for a column.

        `encoding` is that of a model's training table: others may lack the value of group 0.
        """
        trained = None if encoding is None else encoding.against
        one = columns.against if trained is None else trained
        found = Comparison.parse(columns.sensitive, names)
        needed = columns.sensitive if found is None else found.column
        if (found is None and one is None) or (encoding is not None and needed not in names):
            # The encoding refuses a table without the column in its own words.
            return None
        if found is None:
            groups = spelled(one), f"not {spelled(one)}"
            return cls(columns.sensitive, needed, groups, None, encoding is None)
        if one is not None:
            got = f"{spelled(one)!r} beside --sensitive {columns.sensitive}"
            step = "leave one of the two out"
            raise ParameterError("--sensitive-against", got, "with a column of groups", step)
        return cls(columns.sensitive, needed, found.groups, found)

    @property
    def notes(self) -> list[str]:
        """What the user should know."""
        if self.comparison is None:
            return []
        return [f"{self.name} takes the place of column {self.column!r}"]

    def names(self, names: Iterable[str]) -> list[str]:
        """The columns of the table with the groups in place of their column."""
        return [self.name if name == self.column else name for name in names]

    def columns(self, columns: TableColumns, names: Sequence[str], rows: int) -> TableColumns:
        """What the columns mean once the groups are there; the column itself must have no role."""
        replace(columns, sensitive=self.column).check_table(names, rows)
        one = self.groups[1] if columns.sensitive_one is None else columns.sensitive_one
        return replace(columns, sensitive_one=one)

    def read(self, column: pd.Series) -> pd.Series:
        """The name of each person's group, missing where the column is."""
        held = self._compared(column) if self.comparison else self._others(column)
        named = pd.Series(np.where(held, self.groups[1], self.groups[0]), index=column.index)
        return named.astype(object).where(column.notna().to_numpy())

    def frame(self, table: pd.DataFrame) -> pd.DataFrame:
        """The table with the groups in place of their column."""
        groups = self.read(table[self.column])
        found = table.assign(**{self.column: groups})
        return found.rename(columns={self.column: self.name})

    def _compared(self, column: pd.Series) -> NDArray[np.bool_]:
        assert self.comparison is not None
        kind = pd.api.types.infer_dtype(column, skipna=True)
        if "date" in kind:
            column = days_of(column)
        numbers = pd.to_numeric(column.astype(object), errors="coerce").astype(np.float64)
        wrong = column[numbers.isna() & column.notna()]
        if len(wrong) or kind == "boolean":
            shown = listed(dict.fromkeys(spelled(value) for value in column.dropna()), 2)
            raise GraphError(
                f"--sensitive {self.name}",
                f"a column {self.column!r} with values that are no numbers, such as {shown}",
                "a column of numbers",
                f"name a group of it: --sensitive {self.column} --sensitive-against VALUE",
            )
        sign = _SIGNS[self.comparison.sign]
        return np.asarray(sign(numbers.to_numpy(), float(self.comparison.bound)))

    def _others(self, column: pd.Series) -> NDArray[np.bool_]:
        codes, levels = levels_of(column, self.column)
        zero = self.groups[0]
        if zero not in levels and self.known:
            meant = near(zero, levels)
            step = f"did you mean {meant[0]!r}" if meant else "choose one of its values"
            raise GraphError(
                "--sensitive-against",
                f"{zero!r}, which is nobody's {self.column}",
                listed(levels, 10),
                step,
            )
        others: NDArray[np.bool_] = codes != (levels.index(zero) if zero in levels else -2)
        return others
