"""The groups of a file's people, read as `fairgear run` reads them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from fairgear.column_names import Comparison
from fairgear.datasets.checkup.columns import ColumnFacts
from fairgear.datasets.checkup.finding import Finding
from fairgear.errors import FairgearError
from fairgear.graph.tables.columns import TableColumns
from fairgear.graph.tables.groups import groups_of, with_crossed
from fairgear.graph.tables.table_graph import TableSource, with_groups


def group_findings(
    source: TableSource, columns: TableColumns, facts: Sequence[ColumnFacts]
) -> Iterator[Finding]:
    """Why the sensitive columns make no groups, if so, and what would."""
    held = [one for one in facts if one.role == "sensitive"]
    try:
        if held:
            _read(source, columns)
    except FairgearError as error:
        about = f"sensitive {', '.join(repr(one.name) for one in held)}"
        change = _remedy(held[0], columns) if len(held) == 1 else {}
        advice = "name fewer columns" if len(held) > 1 else "" if change else error.next_step
        yield Finding(about, f"{error.got}; allowed: {error.allowed}", change, advice, True)


def _read(source: TableSource, columns: TableColumns) -> None:
    """Refuse what makes no groups; other columns are not looked at."""
    alone = replace(columns, label=None, id=None, drop=(), categorical=())
    nodes, crossed, _ = with_crossed(source.nodes, alone, None)
    nodes, two = with_groups(nodes, crossed, None, [])
    groups_of(nodes[two.sensitive], two.sensitive, two.sensitive_one)


def _remedy(one: ColumnFacts, columns: TableColumns) -> dict[str, Any]:
    """Two groups out of a column of very many values: halves of numbers, else the largest."""
    asked = columns.against is not None or columns.sensitive != one.name
    if asked or columns.sensitive_one is not None or one.distinct < 3:
        return {}
    known = one.codes[one.codes >= 0]
    # Nobody is below the lowest.
    half = f"{one.name}<{one.levels[max(1, int(np.median(known)))]}"
    if Comparison.parse(half) is not None and one.read_as != "categories":
        return {"sensitive": half}
    return {"against": one.levels[int(np.bincount(known).argmax())]}
