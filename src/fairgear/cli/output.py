"""What goes to stdout: a table for people or one JSON object for programs."""

from __future__ import annotations

import json
import math
import re
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from fairgear.files import json_ready
from fairgear.text import on_one_line, visible

if TYPE_CHECKING:
    from fairgear.auditing import Audit
    from fairgear.metrics import Interval

# What is set right: a number with a unit, an interval, or nothing to show.
_NUMBER = re.compile(r"([-−+]?\d\S*( to \S+| \S{1,3})?|undefined|none|)$")
_HELP = "Print the results as JSON, nothing else on stdout."
Json = Annotated[bool, Parameter(name="--json", negative=(), show_default=False, help=_HELP)]
_FORMAT_HELP = """ll144 also writes ll144.md and ll144.csv, the tables of New York
City's Local Law 144, and prints them."""
Format = Annotated[Literal["page", "ll144"], Parameter(name="--format", help=_FORMAT_HELP)]


def say(text: str) -> None:
    """Print text on stdout; what is in it from outside cannot steer the terminal."""
    print(visible(text))  # noqa: T201


def complain(line: str) -> None:
    """Print one line on stderr, as every error is told."""
    print(f"fairgear: {on_one_line(line)}", file=sys.stderr, flush=True)  # noqa: T201


def print_json(value: Any) -> None:
    """One JSON document; NaN becomes null."""
    print(json.dumps(json_ready(value), indent=2, allow_nan=False))  # noqa: T201


def print_table(title: str, columns: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """A table on stdout; columns of numbers are set right, words left."""
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    # Brackets in a file's name are no markup, colons no emoji, and nothing steers the terminal.
    table = Table(title=escape(on_one_line(title)), title_justify="left")
    for position, column in enumerate(columns):
        cells = [str(row[position]) for row in rows]
        words = position == 0 or not all(_NUMBER.match(cell) for cell in cells)
        table.add_column(column, justify="left" if words else "right", overflow="fold")
    for row in rows:
        table.add_row(*(escape(visible(str(cell))) for cell in row))
    Console(emoji=False).print(table)


def print_metrics(title: str, audit: Audit) -> None:
    """Every metric with its interval."""
    from fairgear.metrics import EVERY_METRIC

    rows = [
        (m.label, number(audit.metrics[key]), ends(audit.intervals[key]), m.direction)
        for key, m in EVERY_METRIC.items()
        if key in audit.metrics
    ]
    print_table(title, ("metric", "value", interval_title(audit), "better"), rows)


def interval_title(audit: Audit) -> str:
    """Head of a column of intervals."""
    return f"{100 * audit.setup.level:g} % interval"


def number(value: float) -> str:
    """Four places."""
    return f"{value:.4f}" if math.isfinite(value) else "undefined"


def ends(interval: Interval) -> str:
    """Both ends of an interval; empty where it is undefined."""
    return f"{interval.low:.4f} to {interval.high:.4f}" if interval.defined else ""
