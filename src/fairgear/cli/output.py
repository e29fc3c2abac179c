"""What goes to stdout: a table for people or one JSON object for programs."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from cyclopts import Parameter

Json = Annotated[bool, Parameter(name="--json", negative=())]


def print_json(value: Any) -> None:
    """One JSON document; NaN becomes null."""
    print(json.dumps(json_ready(value), indent=2, allow_nan=False))  # noqa: T201


def json_ready(value: Any) -> Any:
    """`value` with everything that JSON cannot hold replaced: NaN by null, tuples by lists."""
    if isinstance(value, Mapping):
        return {str(key): json_ready(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [json_ready(entry) for entry in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def print_table(title: str, columns: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """A table on stdout; the first column reads left, the others right."""
    from rich.console import Console
    from rich.table import Table

    table = Table(title=title, title_justify="left")
    for position, column in enumerate(columns):
        table.add_column(column, justify="left" if position == 0 else "right", overflow="fold")
    for row in rows:
        table.add_row(*(str(cell) for cell in row))
    Console().print(table)
