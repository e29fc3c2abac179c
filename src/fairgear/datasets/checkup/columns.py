"""What each column of a table was read as, and what is odd about it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from fairgear.column_names import listed
from fairgear.datasets.checkup.finding import Finding
from fairgear.errors import FairgearError
from fairgear.graph.tables.columns import DROP, TableColumns
from fairgear.graph.tables.features import DATES, NUMBERS, feature_column, is_text, kind_of
from fairgear.graph.tables.table_graph import TableSource
from fairgear.graph.tables.values import levels_of

Codes = NDArray[np.int64]
# Fewer different numbers than this may well be amounts.
_FEWEST_IDS = 10
# Digits of numbers that somebody was given.
_LONG = 6
_ID_NAME = re.compile(r"(^|[ _.-])(id|key|no|nr|number)$|[a-z]Id$|ID$")
# A column with fewer values than this is better left out.
_HALF = 0.5


@dataclass(frozen=True, eq=False)
class ColumnFacts:
    """What a column was read as.

    Args:
        name: in the table.
        role: "label", "sensitive", "id", "left out" or "feature".
        read_as: "numbers", "categories", "ids", "dates", "text", "percentages",
            "true and false", or "nothing" where it cannot be read.
        distinct, missing: how many different values it has, and cells without one.
        codes: of its values, −1 where missing.
        levels: its values as text, in the order of their codes.
    """

    name: str
    role: str
    read_as: str
    distinct: int
    missing: int
    codes: Codes
    levels: tuple[str, ...]

    def to_dict(self) -> dict[str, object]:
        """For JSON."""
        names = ("name", "role", "read_as", "distinct", "missing")
        return {name: getattr(self, name) for name in names}


def column_facts(
    source: TableSource, columns: TableColumns, sensitive: Sequence[str]
) -> list[ColumnFacts]:
    """The facts of all columns; `sensitive` are those that `--sensitive` needs."""
    nodes = source.nodes
    roles = dict.fromkeys(columns.drop, "left out")
    roles |= {str(columns.id_column(nodes.columns)): "id"}
    roles |= {str(columns.label): "label", **dict.fromkeys(sensitive, "sensitive")}
    return [
        _facts(nodes[name], str(name), roles.get(str(name), "feature"), columns, source.kinds)
        for name in nodes.columns
    ]


def _facts(
    column: pd.Series, name: str, role: str, columns: TableColumns, kinds: Mapping[str, str]
) -> ColumnFacts:
    kind = kind_of(column, categorical=name in columns.categorical)
    missing = int(column.isna().sum())
    try:
        codes, levels = levels_of(column, name)
    except FairgearError:
        nobody = np.full(len(column), -1, dtype=np.int64)
        return ColumnFacts(name, role, "nothing", 0, missing, nobody, ())
    read_as = _read_as(kind, kinds.get(name), codes, levels) if levels else "nothing"
    if role == "id" or (read_as == "text" and _are_words(codes, levels)):
        read_as = "ids"
    return ColumnFacts(name, role, read_as, len(levels), missing, codes, levels)


def _read_as(
    kind: str,
    known: str | None,
    codes: Codes,
    levels: tuple[str, ...],
) -> str:
    if known in ("percentages", "dates", "true and false"):
        return known
    if kind in NUMBERS:
        return "numbers"
    if kind in DATES:
        return "dates"
    if kind == "boolean":
        return "true and false"
    return "text" if is_text(codes, levels) else "categories"


def _are_words(codes: Codes, levels: tuple[str, ...]) -> bool:
    """Whether everybody has a word of their own."""
    return len(levels) == len(codes) and all(len(level.split()) == 1 for level in levels)


def _numbered(one: ColumnFacts) -> bool:
    """Whether everybody has a whole number of their own that looks like no amount.

    They are close together, or equally long, or the column is called so.
    """
    count = len(one.codes)
    whole = all(level.lstrip("-").isdecimal() for level in one.levels)
    if one.read_as != "numbers" or not whole or not count == len(one.levels) >= _FEWEST_IDS:
        return False
    close = int(one.levels[-1]) - int(one.levels[0]) < 2 * count
    long = len({len(level) for level in one.levels}) == 1 and len(one.levels[0]) >= _LONG
    return close or long or _ID_NAME.search(one.name) is not None


def column_findings(
    source: TableSource, columns: TableColumns, facts: list[ColumnFacts]
) -> Iterator[Finding]:
    """What is odd about the columns that become features."""
    for one in facts:
        if one.role == "feature":
            about = f"column {one.name!r}"
            refused = _refusal(source.nodes[one.name], one, columns)
            if one.read_as == "ids" or _numbered(one):
                said = f"everybody has a value of their own, such as {listed(one.levels[:2])}"
                advice = f"--id {one.name} if it says who is who"
                yield Finding(about, said, {"drop": [one.name]}, advice, refused is not None)
            elif one.read_as == "text":
                said = f"free text, {one.distinct:,} different ones, such as {one.levels[0][:40]!r}"
                if columns.drop_text:
                    yield Finding(about, f"{said}; it is left out")
                else:
                    yield Finding(about, said, {"drop_text": True}, "", refused is not None)
            elif refused is not None and one.missing < len(one.codes):
                said = f"{refused.got}; allowed: {refused.allowed}"
                yield Finding(about, said, {"drop": [one.name]}, "correct it", True)
            elif one.distinct == 1 and not one.missing:
                said = f"everybody has the same value, {one.levels[0]!r}"
                yield Finding(about, said, {"drop": [one.name]})


def _refusal(column: pd.Series, facts: ColumnFacts, columns: TableColumns) -> FairgearError | None:
    """Why a column cannot become features, if so."""
    kind = kind_of(column, categorical=facts.name in columns.categorical)
    try:
        feature_column(column, facts.name, kind)
    except FairgearError as error:
        return error
    return None


def copy_findings(facts: list[ColumnFacts]) -> Iterator[Finding]:
    """Columns that say the same as the label or the group."""
    for known in facts:
        for one in facts if known.role in ("label", "sensitive") else ():
            alike = _alike(one, known) if one.role == "feature" else ""
            if alike:
                said = f"{alike} the {known.role} column {known.name!r}"
                yield Finding(f"column {one.name!r}", said, {"drop": [one.name]})


def _alike(one: ColumnFacts, other: ColumnFacts) -> str:
    """How two columns say the same, if they do.

    Where nearly everybody has a value of their own, any two columns are one-to-one.
    """
    both = (one.codes >= 0) & (other.codes >= 0)
    mine, its = one.codes[both], other.codes[both]
    count = len(np.unique(mine * max(1, other.distinct) + its))
    if count < 2 or not count == len(np.unique(mine)) == len(np.unique(its)):
        return ""
    if one.levels == other.levels and np.array_equal(mine, its):
        return "identical to"
    return "one-to-one with" if 2 * count <= len(mine) else ""


def missing_findings(facts: list[ColumnFacts], columns: TableColumns) -> Iterator[Finding]:
    """Cells without a value, and what `--missing` would do to them."""
    groups = [one for one in facts if one.role == "sensitive" and one.missing]
    kept = np.ones(len(facts[0].codes) if facts else 0, dtype=np.bool_)
    for group in groups if columns.unknown == DROP else ():
        kept &= group.codes >= 0
    gaps = [
        replace(one, codes=one.codes[kept], missing=int((one.codes[kept] < 0).sum()))
        for one in facts
        if one.role == "feature" and one.distinct
    ]
    gaps = [one for one in gaps if one.missing]
    for one in facts:
        if one.role == "feature" and one.missing == len(one.codes):
            about = f"column {one.name!r}"
            yield Finding(about, "no value at all", {"drop": [one.name]}, "", True)
        elif one.role == "feature" and one.distinct and one.missing > _HALF * len(one.codes):
            said = f"{one.missing:,} of {len(one.codes):,} cells are empty"
            yield Finding(f"column {one.name!r}", said, {"drop": [one.name]})
        elif one.role == "label" and one.missing:
            said = f"{one.missing:,} people have no label: they are predicted, "
            yield Finding("label", said + "and not used for training or test")
    for group in groups:
        said = f"{group.missing:,} of {len(group.codes):,} people have no value of {group.name!r}"
        if columns.unknown == DROP:
            yield Finding("groups", f"{said}; they are left out")
        else:
            yield Finding("groups", f"{said}; they stay, with a guess", {"unknown": DROP})
    if gaps:
        yield _gaps(gaps, columns)


def _gaps(gaps: list[ColumnFacts], columns: TableColumns) -> Finding:
    rows = int(np.any([one.codes < 0 for one in gaps], axis=0).sum())
    count = len(gaps[0].codes)
    names = ", ".join(f"{one.name} ({one.missing:,})" for one in gaps[:8])
    said = f"missing cells: {names}{' and more' if len(gaps) > 8 else ''}; "
    said += f"{rows:,} of {count:,} people have one"
    if columns.missing != "refuse":
        done = "filled" if columns.missing == "impute" else "left out with their people"
        return Finding("missing", f"{said}; they are {done}")
    other = "--missing drop to leave these people out"
    return Finding("missing", said, {"missing": "impute"}, other, True)
