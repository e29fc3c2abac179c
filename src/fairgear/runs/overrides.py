"""Settings that are typed as NAME=VALUE. Imports no torch."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any

import yaml

from fairgear.errors import ParameterError


def assigned(texts: Iterable[str], where: str) -> dict[str, Any]:
    """Settings from NAME=VALUE, each value as YAML reads it; also `none` and 1e-5.

    Args:
        texts: one for each setting.
        where: what the user typed them for, for the error.
    """
    values: dict[str, Any] = {}
    for text in texts:
        typed, _, value = text.partition("=")
        name = typed.strip().replace("-", "_")
        if not name or not value.strip() or name in values:
            raise _refusal(where, text)
        values[name] = _value(value, where, text)
    return values


def nested(values: Mapping[str, Any]) -> dict[str, Any]:
    """`{"generator.steps": 5}` as `{"generator": {"steps": 5}}`."""
    found: dict[str, Any] = {}
    for name, value in values.items():
        *outer, last = name.split(".")
        inner = found
        for part in outer:
            inner = inner.setdefault(part, {})
        inner[last] = value
    return found


def _value(value: str, where: str, text: str) -> Any:
    if value.strip().lower() == "none":
        return None
    try:
        read = yaml.safe_load(value)
    except yaml.YAMLError as error:
        raise _refusal(where, text) from error
    if isinstance(read, str):
        # To YAML 1e-5 is a word.
        with suppress(ValueError):
            return float(read)
    return read


def _refusal(where: str, text: str) -> ParameterError:
    return ParameterError(
        where,
        repr(text),
        "NAME=VALUE, such as layers=2, each name once",
        "see fairgear methods show METHOD for the names",
    )
