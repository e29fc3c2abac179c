"""Rows of results to JSON and back: NaN is null, an interval is a pair."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import TYPE_CHECKING, Any, TypeVar, get_type_hints

from fairgear.metrics import Interval, from_json_number, to_json_number

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

    Row = TypeVar("Row", bound=DataclassInstance)
else:
    Row = TypeVar("Row")


def to_fields(row: DataclassInstance) -> dict[str, Any]:
    """The fields of a dataclass, ready for JSON as far as they are numbers and intervals."""
    return {item.name: _plain(getattr(row, item.name)) for item in fields(row)}


def from_fields(kind: type[Row], data: Mapping[str, Any]) -> Row:
    """The row that `to_fields` described; a KeyError where a field is missing."""
    hints = get_type_hints(kind)
    return kind(**{item.name: _typed(hints[item.name], data[item.name]) for item in fields(kind)})


def _plain(value: Any) -> Any:
    if isinstance(value, Interval):
        return value.to_json()
    return to_json_number(value) if isinstance(value, float) else value


def _typed(hint: Any, value: Any) -> Any:
    if hint is Interval:
        return Interval.from_json(value)
    return from_json_number(value) if hint is float else value
