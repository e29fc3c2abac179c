"""Runs and audits as nobody wants them: every number undefined, every text hostile."""

from __future__ import annotations

from typing import Any

HOSTILE = "<script>alert(1)</script>\"'</style>{{ 7*7 }}"


def undefined(value: Any) -> Any:
    """The same shape with every number undefined."""
    if isinstance(value, dict):
        return {key: undefined(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [undefined(inner) for inner in value]
    return None if isinstance(value, int | float) else value


def hostile(value: Any, text: str = HOSTILE) -> Any:
    """The same shape with every string hostile."""
    if isinstance(value, dict):
        return {key: hostile(inner, text) for key, inner in value.items()}
    if isinstance(value, list):
        return [hostile(inner, text) for inner in value]
    return text if isinstance(value, str) else value
