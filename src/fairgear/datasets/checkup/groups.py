"""The groups of a file's people, read as `fairgear run` reads them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from fairgear.column_names import CONTINUOUS
from fairgear.datasets.checkup.columns import ColumnFacts
from fairgear.datasets.checkup.finding import Finding
from fairgear.errors import FairgearError
from fairgear.graph.tables.columns import DROP, TableColumns
from fairgear.graph.tables.groups import fewest_known, groups_of, with_crossed
from fairgear.graph.tables.table_graph import TableSource, with_groups


def group_findings(
    source: TableSource, columns: TableColumns, facts: Sequence[ColumnFacts]
) -> Iterator[Finding]:
    """Why the sensitive columns are no attribute, if so, and what would be."""
    held = [one for one in facts if one.role == "sensitive"]
    try:
        if held:
            _read(source, columns)
    except FairgearError as error:
        about = f"sensitive {', '.join(repr(one.name) for one in held)}"
        change = _remedy(held[0], columns) if len(held) == 1 else {}
        advice = "" if change else error.next_step
        yield Finding(about, f"{error.got}; allowed: {error.allowed}", change, advice, True)


def _read(source: TableSource, columns: TableColumns) -> None:
    """Refuse what makes no groups; other columns are not looked at."""
    coded = tuple(name for name in columns.categorical if name in source.nodes)
    alone = replace(columns, label=None, id=None, drop=(), categorical=coded)
    nodes, crossed, _ = with_crossed(source.nodes, alone, None)
    nodes, two = with_groups(nodes, crossed, None, [])
    found = groups_of(nodes[two.sensitive], two.sensitive, two)
    found.completed(np.arange(len(nodes)), two, fewest_known(None))


def _remedy(one: ColumnFacts, columns: TableColumns) -> dict[str, Any]:
    """Fewer people where too few are known; the kind, or one group against all others."""
    known = one.codes[one.codes >= 0]
    if one.distinct > 1 and len(known) < fewest_known(None) and len(known) < len(one.codes):
        return {"unknown": DROP}
    asked = columns.against is not None or columns.sensitive != one.name
    asked = asked or columns.sensitive_one is not None or bool(columns.sensitive_kind)
    if asked or one.distinct < 3:
        return {}
    if all(_is_number(level) for level in one.levels):
        return {"sensitive_kind": [f"{one.name}={CONTINUOUS}"]}
    return {"against": one.levels[int(np.bincount(known).argmax())]}


def _is_number(level: str) -> bool:
    try:
        return abs(float(level)) < float("inf")
    except ValueError:
        return False
