"""Results as tables: for the terminal, and as blocks of a page."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from benchmarks.bench.limits import NEEDED, bound

Row = Mapping[str, Any]
MACHINE = "machine"
HEADS = ("graph", "side", "time", "ratio", "memory", "of the limit", "remark")
STAGES = ("graph", "people", "stage", "seconds", "peak memory", "remark")
LIMITS = ("limit", "device", "threads", "rate")
_POWERS = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))


def case_table(rows: Sequence[Row], case: str) -> list[tuple[str, ...]]:
    """The sides of a benchmark on all graphs, in the order in which they were measured."""
    rates = rates_of(rows)
    return [_cells(row, rates) for row in rows if row["case"] == case]


def stage_table(rows: Sequence[Row]) -> list[tuple[str, ...]]:
    """The stages of the pipeline."""
    return [
        (
            str(row["kind"]),
            f"{int(row['n']):,}",
            str(row["side"]),
            f"{number(row, 'seconds'):,.1f}",
            memory(number(row, "process_mb")),
            text(row, "note"),
        )
        for row in rows
        if row["case"] == "pipeline"
    ]


def limit_table(rows: Sequence[Row]) -> list[tuple[str, ...]]:
    """What the machine can do."""
    return [
        (
            str(row["side"]),
            str(row["device"]),
            str(row["threads"]),
            f"{_short(number(row, 'rate') or 0.0)}{row['unit']}",
        )
        for row in rows
        if row["case"] == MACHINE
    ]


def markdown(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table of a page."""
    lines = ["| " + " | ".join(heads) + " |", "|---" * len(heads) + "|"]
    lines += ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join(lines) + "\n"


def blocks(rows: Sequence[Row]) -> dict[str, str]:
    """The text of every block of the page, by its name."""
    cases = dict.fromkeys(str(row["case"]) for row in rows)
    found = {MACHINE: markdown(LIMITS, limit_table(rows)), "made": made(rows)}
    for case in cases:
        if case == "pipeline":
            found[case] = markdown(STAGES, stage_table(rows))
        elif case != MACHINE:
            found[case] = markdown(HEADS, case_table(rows, case))
    return found


def ratios(rows: Sequence[Row], kind: str = "scale-free") -> str:
    """Time of every side on one kind of graph, sizes side by side, with the ratio to fairgear's."""
    own = [row for row in rows if row["kind"] == kind and row["case"] != "pipeline"]
    sizes = sorted({int(row["n"]) for row in own})
    found: dict[tuple[str, str], dict[int, str]] = {}
    for row in own:
        seconds, ratio = number(row, "seconds"), number(row, "ratio")
        if seconds is not None:
            times = "" if ratio is None else f" ({ratio:.3g} ×)"
            cells = found.setdefault((f"{row['case']}, per {row['unit']}", str(row["side"])), {})
            cells[int(row["n"])] = duration(seconds) + times
    heads = ("what", "how", *(f"{n:,} people" for n in sizes))
    return markdown(heads, ((*key, *(at.get(n, "") for n in sizes)) for key, at in found.items()))


def made(rows: Sequence[Row]) -> str:
    """At which commits, when, and with how many threads the rows were measured."""

    def all_of(column: str) -> str:
        return ", ".join(dict.fromkeys(str(row[column]) for row in rows if row[column]))

    days = sorted({str(row["measured"])[:10] for row in rows if row["measured"]})
    span = " to ".join(dict.fromkeys([*days[:1], *days[-1:]])) or "never"
    return (
        f"{len(rows)} rows, measured {span} at commit {all_of('commit')} "
        f"with {all_of('threads')} thread(s), on {all_of('device')}.\n"
    )


def duration(seconds: float | None) -> str:
    """Three digits and a unit."""
    if seconds is None:
        return ""
    for least, unit, factor in ((1.0, "s", 1.0), (1e-3, "ms", 1e3), (0.0, "µs", 1e6)):
        if seconds >= least:
            return f"{seconds * factor:.3g} {unit}" if seconds < 1000 else f"{seconds:,.0f} s"
    return ""


def memory(megabytes: float | None) -> str:
    """Megabytes, or gigabytes from a thousand on."""
    if megabytes is None:
        return ""
    return f"{megabytes:,.0f} MB" if megabytes < 1000 else f"{megabytes / 1024:.2f} GB"


def number(row: Row, column: str) -> float | None:
    """A number of a row; None where it has none, however that is written."""
    value = row.get(column)
    if value is None or value == "" or value != value:
        return None
    return float(value)


def text(row: Row, column: str) -> str:
    """The words of a row."""
    value = row.get(column)
    return "" if value is None or value != value else str(value)


def _cells(row: Row, rates: Mapping[str, float]) -> tuple[str, ...]:
    ratio = number(row, "ratio")
    here = {limit: rates.get(f"{limit} {row['device']}", 0.0) for limit in NEEDED}
    counted = {name: number(row, name) for name in (*NEEDED.values(), "seconds")}
    # What is needed was counted for fairgear's way; others may do more, or other work.
    reached = None if text(row, "against") else bound(counted, here)
    peak = number(row, "gpu_mb")
    held = f"{memory(peak)} of the GPU" if peak is not None else memory(number(row, "peak_mb"))
    seconds = number(row, "seconds")
    return (
        f"{row['kind']} {int(row['n']):,}",
        str(row["side"]),
        "" if seconds is None else f"{duration(seconds)} a {row['unit']}",
        "" if ratio is None else f"{ratio:.3g} ×",
        held,
        "" if reached is None else f"{100 * reached[1]:.3g} % of {reached[0]}",
        "; ".join(part for part in (text(row, "note"), text(row, "checks")) if part),
    )


def _short(rate: float) -> str:
    for least, letter in _POWERS:
        if rate >= least:
            return f"{rate / least:.3g} {letter}"
    return f"{rate:.3g} "


def rates_of(rows: Iterable[Row]) -> dict[str, float]:
    """The machine's limits by name and device, such as "GEMM cpu"."""
    return {
        f"{row['side']} {row['device']}": float(row["rate"])
        for row in rows
        if row["case"] == MACHINE and row["rate"]
    }
