"""What a run leaves to read: the plot, and the tables in Markdown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from fairgear.bench.plot import performance_svg
from fairgear.bench.table import blocks
from fairgear.files import write_text


def write_report(rows: Sequence[Mapping[str, Any]], folder: Path) -> None:
    """Write performance.svg and performance.md."""
    write_text(folder / "performance.svg", performance_svg(rows))
    parts = [f"## {name}\n\n{text}" for name, text in blocks(rows).items()]
    write_text(folder / "performance.md", "\n".join(parts))
