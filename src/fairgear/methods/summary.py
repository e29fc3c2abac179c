"""A method as a notebook shows it: what it was fitted to, and its settings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fairgear.methods.base import Method
from fairgear.notebook import as_table


def method_html(method: Method) -> str:
    """HTML of a method; settings that differ from their defaults are marked."""
    given, usual = _flat(method.config.to_dict()), _flat(method.config_type().to_dict())
    rows = [
        (name, f"{value!r}", "" if value == usual.get(name) else f"default {usual.get(name)!r}")
        for name, value in given.items()
    ]
    rows = [("seed", f"{method.seed}", ""), ("device", method.device, ""), *rows]
    return as_table(f"{type(method).__name__}, {_state(method)}", rows)


def _state(method: Method) -> str:
    if method.threshold_ is None:
        return "not fitted"
    groups = f"{method.groups_} groups" if method.groups_ else "a sensitive number"
    learned = f"fitted to {method.target_.words} and {groups}"
    if not method.target_.is_binary:
        return learned
    return f"{learned}, threshold {method.threshold_:.4g}"


def _flat(values: Mapping[str, Any], path: str = "") -> dict[str, Any]:
    """Nested settings by the names that lead to them."""
    found: dict[str, Any] = {}
    for name, value in values.items():
        inner = isinstance(value, Mapping)
        found |= _flat(value, f"{path}{name}.") if inner else {f"{path}{name}": value}
    return found
