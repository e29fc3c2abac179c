"""The sensitive attribute of a table: two groups, several, columns crossed, or a number."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray

from fairgear.column_names import (
    BINARY,
    CATEGORICAL,
    CONTINUOUS,
    listed,
    sensitive_columns,
    unknown_column,
)
from fairgear.errors import GraphError, ParameterError
from fairgear.graph.attributes import Attribute, Attributes
from fairgear.graph.tables.columns import DROP, TableColumns
from fairgear.graph.tables.encoding import Encoding
from fairgear.graph.tables.features import DATES, NUMBERS, Mask
from fairgear.graph.tables.spellings import days_of
from fairgear.graph.tables.values import coded, gaps, known_codes, levels_of, numbers_of
from fairgear.graph.targets import is_known
from fairgear.hashing import node_uniform

# More different numbers than this are a number, unless its kind is said.
_FEW = 12
# More groups than this are no groups at all.
_MOST = 60
# The attributes of others are not guessed from fewer people who told theirs.
_FEWEST_KNOWN = 30


@dataclass(frozen=True, eq=False)
class Groups:
    """The sensitive attribute of each row.

    Args:
        codes: the group, from 0, or a number; −1 or NaN where unknown, until it is `completed`.
        names: of the groups; none for a number.
        known: in whose rows it was known before that; None where in all.
    """

    codes: NDArray[np.int64] | NDArray[np.float64]
    names: tuple[str, ...]
    known: Mask | None = None

    @property
    def is_number(self) -> bool:
        """Whether it is a number."""
        return not self.names

    @property
    def in_features(self) -> bool:
        """Whether a row of features has it; codes of several groups are no quantity."""
        return len(self.names) <= 2

    @property
    def told(self) -> Mask:
        """In whose rows it is known."""
        return is_known(self.codes) if self.known is None else self.known

    def rows(self, keep: Mask | slice) -> Groups:
        """Those of some people."""
        known = None if self.known is None else self.known[keep]
        return Groups(self.codes[keep], self.names, known)

    def missing_again(self) -> Groups:
        """Without guesses."""
        codes = self.codes.copy()
        codes[~self.told] = np.nan if self.is_number else -1
        return Groups(codes, self.names)

    def completed(
        self,
        node_id: NDArray[np.int64],
        columns: TableColumns,
        fewest: int,
        possible: Mask | None = None,
    ) -> Groups:
        """With the value of some person who told it in place of each that is unknown.

        Who that is, a hash of the node id decides. Fewer than `fewest` who told theirs are refused.
        `possible` (n, groups) are the groups that what each person told allows.
        """
        told = self.told
        count, people = int(told.sum()), len(told)
        if count == people:
            return self
        if count < fewest and (columns.unknown != DROP or not count):
            allowed = f"{fewest} or more, from whom the others' is guessed"
            step = "name another column"
            step += ", or leave the others out with --unknown drop" if count else ""
            got = f"{count} of {people:,} people with a value"
            raise GraphError(f"sensitive column {columns.sensitive!r}", got, allowed, step)
        law = np.sort(self.codes[told])
        noise = node_uniform(torch.from_numpy(node_id), 0, "unknown").numpy()
        place = np.minimum((noise * count).astype(np.int64), count - 1)
        codes = self.codes.copy()
        codes[~told] = law[place[~told]]
        for allowed in () if possible is None else np.unique(possible[~told], axis=0):
            some = ~told & (possible == allowed).all(axis=1)
            among = law[allowed[law]]
            if len(among):
                places = np.minimum((noise[some] * len(among)).astype(np.int64), len(among) - 1)
                codes[some] = among[places]
        return Groups(codes, self.names, told)

    def notes(self, column: str) -> list[str]:
        """What the attribute was read as and of how many it is unknown, for the user."""
        if self.is_number:
            known = self.codes[self.told]
            said = f"a number from {known.min():.10g} to {known.max():.10g}; --sensitive "
            said += f'"{column}<{np.median(known):.10g}" makes two groups'
        elif len(self.names) == 2:
            said = f"{self.names[1]} counts as 1, {self.names[0]} as 0"
        else:
            said = f"{len(self.names)} groups, {listed(self.names, 12)}"
        unknown = int((~self.told).sum())
        found = [f"{column}: {said}"]
        if unknown:
            kept = "they stay, with a guess; --unknown drop leaves them out"
            found.append(f"{column}: unknown of {unknown:,} of {len(self.told):,} people; {kept}")
        return found

    def numbered_as(self, attributes: Attributes) -> Groups:
        """The same groups in the order of the attributes that make them."""
        place = [attributes.names.index(name) for name in self.names]
        return Groups(np.array([*place, -1], dtype=np.int64)[self.codes], attributes.names)


def fewest_known(encoding: Encoding | None) -> int:
    """How many must have told their attribute where others have not; of a model's people one."""
    return _FEWEST_KNOWN if encoding is None else 1


def kind_of_attribute(column: pd.Series, name: str, columns: TableColumns) -> str | None:
    """What a sensitive column holds, as said or by its values; None for numbers that are text."""
    said = columns.sensitive_kind.get(name)
    if said is not None:
        return said
    if name in columns.categorical or isinstance(column.dtype, pd.CategoricalDtype):
        return CATEGORICAL
    try:
        if column.nunique() <= _FEW:
            return CATEGORICAL
    except TypeError:
        # Lists and the like are refused where the groups are made.
        return CATEGORICAL
    if pd.api.types.infer_dtype(column, skipna=True) in (*NUMBERS, *DATES):
        return CONTINUOUS
    return None if _are_numbers(levels_of(column, name)[1]) else CATEGORICAL


def groups_of(column: pd.Series, name: str, columns: TableColumns) -> Groups:
    """The attribute of a training table; groups are sorted by name."""
    kind, one = kind_of_attribute(column, name, columns), columns.sensitive_one
    if kind == CONTINUOUS:
        return _number(column, name, columns)
    codes, found = levels_of(column, name)
    what = f"sensitive column {name!r}"
    if len(found) == 2:
        two = coded(codes, found, one, what, "--sensitive-one")
        return Groups(two.codes, two.names)
    shown = f"{len(found)} values: {listed(found)}{gaps(codes)}" if found else "no value at all"
    if len(found) < 2:
        step = "name a column with several groups with --sensitive"
        raise GraphError(what, shown, "two or more groups", step)
    _check_binary(kind, found, name)
    if kind is None:
        allowed = f"numbers, or up to {_MOST} groups"
        step = f"say what it is: --sensitive-kind {name}=continuous, or {name}=categorical"
        raise GraphError(what, f"text that spells numbers, {shown}", allowed, step)
    if len(found) > _MOST:
        allowed, step = f"up to {_MOST} groups", "compare one with all others: "
        step += "--sensitive-against VALUE"
        if _are_numbers(found):
            allowed += ", or a number"
            step = f'use --sensitive-kind {name}=continuous, or --sensitive "{name}<40"'
        step = "name fewer columns" if ", " in name else step
        raise GraphError(what, shown, allowed, step)
    if one is not None:
        got = f"{one!r}, with {len(found)} groups in {name!r}"
        raise ParameterError(
            "--sensitive-one", got, "with two groups", "use --sensitive-against, or none"
        )
    return Groups(codes, found)


def _check_binary(kind: str | None, found: Sequence[str], name: str) -> None:
    if kind == BINARY and len(found) != 2:
        got = f"{name}=binary, a column of {len(found)} values"
        step = "leave it out, or compare one with all others: --sensitive-against VALUE"
        raise ParameterError("--sensitive-kind", got, "two values", step)


def _number(column: pd.Series, name: str, columns: TableColumns) -> Groups:
    """The attribute as a number."""
    if columns.sensitive_one is not None:
        got, step = f"{columns.sensitive_one!r}, with the number {name!r}", "leave it out"
        raise ParameterError("--sensitive-one", got, "with two groups", step)
    found = _quantities(column, name)
    held = np.unique(found[~np.isnan(found)])
    if len(held) < 2:
        got = f"{len(held)} different numbers{gaps(np.where(np.isnan(found), -1, 0))}"
        step = "name another column with --sensitive"
        raise GraphError(f"sensitive column {name!r}", got, "two or more", step)
    return Groups(found, ())


def _quantities(column: pd.Series, name: str) -> NDArray[np.float64]:
    """Numbers, or dates as days, NaN where missing."""
    kind, what = pd.api.types.infer_dtype(column, skipna=True), f"sensitive column {name!r}"
    step = f"leave --sensitive-kind {name}=continuous out, or correct the column"
    if kind == "boolean":
        raise GraphError(what, "true and false", "numbers", step)
    return numbers_of(days_of(column) if kind in DATES else column, what, step)


def known_groups(column: pd.Series, name: str, encoding: Encoding) -> Groups:
    """The attribute as in a model's training table."""
    if encoding.continuous:
        return Groups(_quantities(column, name), ())
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
    _check_kinds(columns, parts, list(nodes.columns))
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
        kinds = [kind_of_attribute(nodes[part], part, columns) for part in parts]
        _no_number(dict(zip(parts, kinds, strict=True)))
        found = [levels_of(nodes[part], part) for part in parts]
        for part, kind, (_, of) in zip(parts, kinds, found, strict=True):
            _check_binary(kind, of, part)
        each = [Attribute(part, of) for part, (_, of) in zip(parts, found, strict=True)]
        codes = [code for code, _ in found]
        table = np.stack(codes, axis=1)
        attributes, _ = Attributes.crossed(each, table[(table >= 0).all(axis=1)])
    missing = np.any([code < 0 for code in codes], axis=0)
    held, place = np.unique(np.stack(codes, axis=1), axis=0, return_inverse=True)
    texts = [", ".join(a.values[code] for a, code in zip(each, row, strict=True)) for row in held]
    named = pd.Series(np.array(texts, dtype=object)[place.reshape(-1)], index=nodes.index)
    found_table = nodes.assign(**{parts[0]: named.where(~missing)})
    found_table = found_table.drop(columns=parts[1:]).rename(columns={parts[0]: title})
    return found_table, replace(columns, sensitive=title), attributes


def told_codes(nodes: pd.DataFrame, attributes: Attributes) -> NDArray[np.int64]:
    """(n, attributes): the code of each attribute in a table, −1 where it is unknown."""
    step = "recode the column, or leave those rows out"
    codes = [known_codes(nodes[of.name], of.name, of.values, step) for of in attributes.each]
    return np.stack(codes, axis=1).astype(np.int64)


def _check_kinds(columns: TableColumns, parts: Sequence[str], names: Sequence[str]) -> None:
    """Refuse a kind that is said of another column than a sensitive one."""
    for name in columns.sensitive_kind:
        if name not in names:
            raise unknown_column(names, name, "sensitive-kind")
        if name not in parts:
            got, step = f"{name!r}, which is not the sensitive column", "leave it out"
            raise ParameterError("--sensitive-kind", got, listed(parts), step)


def _no_number(kinds: dict[str, str | None]) -> None:
    """A number is audited by itself."""
    for name, kind in kinds.items():
        if kind not in (BINARY, CATEGORICAL):
            got = f"{','.join(kinds)!r}, of which {name!r} is a number"
            step = f'audit each by itself, or two groups of it: --sensitive "{name}<40"; a code is '
            step += f"said by --sensitive-kind {name}=categorical"
            raise ParameterError("--sensitive", got, "several columns of groups", step)


def _are_numbers(values: Sequence[str]) -> bool:
    try:
        return bool([float(value) for value in values])
    except ValueError:
        return False
