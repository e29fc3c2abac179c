"""Rows of trials in a CSV file, and the table of them."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from dataclasses import astuple, fields
from pathlib import Path

from tests.torture.trial import Row
from tests.torture.verdicts import FAILED, REFUSED, RESUMED, WORKED

NAMES = [field.name for field in fields(Row)]
_HEADS = ("what is done", "trials", WORKED, "refused in one line", RESUMED, FAILED, "seconds")


def read(path: Path) -> list[Row]:
    """The rows of an earlier call; none if there is no file."""
    if not path.exists():
        return []
    with path.open(encoding="utf-8", newline="") as file:
        return [
            Row(
                r["kind"],
                r["trial"],
                r["verdict"],
                float(r["seconds"]),
                int(r["megabytes"]),
                r["said"],
            )
            for r in csv.DictReader(file)
        ]


def write(path: Path, rows: Iterable[Row]) -> None:
    """All rows, in order."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(NAMES)
        writer.writerows(astuple(row) for row in rows)


def table(rows: Sequence[Row], words: dict[str, str]) -> str:
    """A line for each kind and one for all, as Markdown."""
    lines = [f"| {' | '.join(_HEADS)} |", "|---" + "|---:" * (len(_HEADS) - 1) + "|"]
    for kind in words:
        part = [row for row in rows if row.kind == kind]
        if part:
            lines.append(_line(words[kind], part))
    return "\n".join([*lines, _line("**all**", rows)]) + "\n"


def _line(name: str, rows: Sequence[Row]) -> str:
    counts = [
        sum(row.verdict == verdict for row in rows)
        for verdict in (WORKED, REFUSED, RESUMED, FAILED)
    ]
    seconds = f"{sum(row.seconds for row in rows):,.0f}"
    return f"| {' | '.join([name, f'{len(rows):,}', *(f'{n:,}' for n in counts), seconds])} |"
