"""What goes to stdout: a table for people or one JSON object for programs."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from cyclopts import Parameter

from fairgear.files import json_ready

# What is set right: a number with a unit, an interval, or nothing to show.
_NUMBER = re.compile(r"([-−+]?\d\S*( to \S+| \S{1,3})?|undefined|none|)$")
Json = Annotated[bool, Parameter(name="--json", negative=())]


def print_json(value: Any) -> None:
    """One JSON document; NaN becomes null."""
    print(json.dumps(json_ready(value), indent=2, allow_nan=False))  # noqa: T201


def print_table(title: str, columns: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """A table on stdout; columns of numbers are set right, words left."""
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    # Brackets in a file's name are no markup, and colons no emoji.
    table = Table(title=escape(title), title_justify="left")
    for position, column in enumerate(columns):
        cells = [str(row[position]) for row in rows]
        words = position == 0 or not all(_NUMBER.match(cell) for cell in cells)
        table.add_column(column, justify="left" if words else "right", overflow="fold")
    for row in rows:
        table.add_row(*(escape(str(cell)) for cell in row))
    Console(emoji=False).print(table)


def print_metrics(title: str, results: Mapping[str, Any]) -> None:
    """Every metric with its interval."""
    from fairgear.metrics import METRICS

    rows = [
        (m.label, number(results["metrics"][key]), ends(results["intervals"][key]), m.direction)
        for key, m in METRICS.items()
    ]
    columns = ("metric", "value", interval_title(results["config"]), "better")
    print_table(title, columns, rows)


def interval_title(config: Mapping[str, Any]) -> str:
    """Head of a column of intervals."""
    return f"{100 * config.get('level', 0.95):g} % interval"


def number(value: float | None) -> str:
    """Four places."""
    return "undefined" if value is None else f"{value:.4f}"


def ends(interval: Sequence[float | None]) -> str:
    """Both ends of an interval, nothing where it is undefined."""
    low, high = interval
    return "" if low is None or high is None else f"{low:.4f} to {high:.4f}"
