"""Overrides: settings that are typed as NAME=VALUE. Imports no torch."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from typing import Any

from fairgear.documents import yaml_of
from fairgear.errors import ParameterError


def parse_overrides(texts: Iterable[str], where: str) -> dict[str, Any]:
    """Nested settings from NAME=VALUE: `generator.steps=5` is `{"generator": {"steps": 5}}`.

    A value is read as YAML; `none` and 1e-5 are understood too.

    Args:
        texts: one for each setting.
        where: where they were typed, for the error.
    """
    values: dict[str, Any] = {}
    for text in texts:
        typed, _, value = text.partition("=")
        *outer, name = typed.strip().replace("-", "_").split(".")
        inner = values
        for part in outer:
            inner = inner.setdefault(part, {})
            if not isinstance(inner, dict):
                raise _refusal(where, text)
        if not name or not value.strip() or name in inner:
            raise _refusal(where, text)
        inner[name] = _value(value, where, text)
    return values


def _value(value: str, where: str, text: str) -> Any:
    if value.strip().lower() == "none":
        return None
    try:
        read = yaml_of(value)
    except (ValueError, RecursionError) as error:
        # A whole number of too many digits for Python is a ValueError.
        raise _refusal(where, text) from error
    if isinstance(read, str):
        # YAML reads 1e-5 as text.
        with suppress(ValueError):
            return float(read)
    return read


def _refusal(where: str, text: str) -> ParameterError:
    allowed = "NAME=VALUE, such as layers=2, each name once"
    step = "see fairgear methods show METHOD for the names"
    return ParameterError(where, repr(text), allowed, step)
