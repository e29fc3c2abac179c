"""Names of columns that a table does not have, and what was meant. Imports no torch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from fairgear.column_names import near, said_kinds, sensitive_columns
from fairgear.datasets.source import FileOptions


def corrected(options: FileOptions, names: Sequence[str]) -> FileOptions | None:
    """The settings with every column called by the nearest name; None where nothing is near."""
    if not names:
        return None
    found: dict[str, Any] = {
        name: _nearest(getattr(options, name), names) for name in ("label", "id")
    }
    for name in ("drop", "categorical"):
        found[name] = [_nearest(one, names) for one in getattr(options, name)]
    kinds = said_kinds(options.sensitive_kind)
    meant = [_nearest(one, names) for one in kinds]
    found["sensitive_kind"] = [
        f"{name}={kind}" for name, kind in zip(meant, kinds.values(), strict=True)
    ]
    found["sensitive"] = _sensitive(options.sensitive, names)
    if None in (
        found["sensitive"],
        found["label"],
        found["id"],
        *found["drop"],
        *found["categorical"],
        *meant,
    ):
        return None
    return replace(options, **found)


def _sensitive(text: str, names: Sequence[str]) -> str | None:
    """One column, perhaps in a comparison, or several."""
    parts = sensitive_columns(text, names)
    meant = [one for one in (_nearest(part, names) for part in parts) if one is not None]
    if len(meant) < len(parts):
        return None
    return text.replace(parts[0], meant[0], 1) if len(parts) == 1 else ",".join(filter(None, meant))


def _nearest(name: str, names: Sequence[str]) -> str | None:
    if not name or name in names:
        return name
    return next(iter(near(name, names)), None)
