"""Names of columns that a table does not have, and what was meant. Imports no torch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from fairgear.column_names import near, sensitive_column
from fairgear.datasets.source import FileOptions


def corrected(options: FileOptions, names: Sequence[str]) -> FileOptions | None:
    """The settings with every column called by the nearest name; None where nothing is near."""
    if not names:
        return None
    column = sensitive_column(options.sensitive, names)
    found: dict[str, Any] = {
        name: _nearest(getattr(options, name), names) for name in ("label", "id")
    }
    for name in ("drop", "categorical"):
        found[name] = [_nearest(one, names) for one in getattr(options, name)]
    meant = _nearest(column, names)
    if meant is None or None in (
        found["label"],
        found["id"],
        *found["drop"],
        *found["categorical"],
    ):
        return None
    return replace(options, sensitive=options.sensitive.replace(column, meant, 1), **found)


def _nearest(name: str, names: Sequence[str]) -> str | None:
    if not name or name in names:
        return name
    return next(iter(near(name, names)), None)
