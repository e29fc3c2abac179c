"""What goes to stdout: a table for people or one JSON object for programs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Annotated, Any

from cyclopts import Parameter

from fairgear.files import json_ready

Json = Annotated[bool, Parameter(name="--json", negative=())]


def print_json(value: Any) -> None:
    """One JSON document; NaN becomes null."""
    print(json.dumps(json_ready(value), indent=2, allow_nan=False))  # noqa: T201


def print_table(title: str, columns: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """A table on stdout; the first column reads left, the others right."""
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    # Brackets in a file's name are no markup, and colons no emoji.
    table = Table(title=escape(title), title_justify="left")
    for position, column in enumerate(columns):
        table.add_column(column, justify="left" if position == 0 else "right", overflow="fold")
    for row in rows:
        table.add_row(*(escape(str(cell)) for cell in row))
    Console(emoji=False).print(table)
