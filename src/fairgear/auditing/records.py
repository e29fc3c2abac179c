"""Records: dataclasses of results to JSON and back. NaN is null, an interval is a pair."""

from __future__ import annotations

import types
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

from fairgear.metrics import Interval, from_json_number, to_json_number

T = TypeVar("T")


def to_json(value: Any) -> Any:
    """`value` as JSON can hold it: dataclasses become objects, tuples lists, NaN null."""
    if isinstance(value, Interval):
        return value.to_json()
    if is_dataclass(value):
        return {item.name: to_json(getattr(value, item.name)) for item in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): to_json(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [to_json(entry) for entry in value]
    return to_json_number(value) if isinstance(value, float) else value


def from_json(kind: type[T], data: Mapping[str, Any]) -> T:
    """The dataclass that `to_json` turned into `data`; a KeyError where a field is missing."""
    hints = get_type_hints(kind)
    names = [item.name for item in fields(kind)]  # type: ignore[arg-type]
    return kind(**{name: _typed(hints[name], data[name]) for name in names})


def _typed(hint: Any, value: Any) -> Any:
    origin, inner = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        if value is None:
            return None
        kinds = [kind for kind in inner if kind is not type(None)]
        return _typed(kinds[0], value) if len(kinds) == 1 else value
    if hint is Interval:
        return Interval.from_json(value)
    if hint is float:
        return from_json_number(value)
    if is_dataclass(hint):
        return from_json(hint, value)  # type: ignore[arg-type]
    if origin is tuple:
        return tuple(_typed(inner[0], entry) for entry in value)
    if origin is list:
        return [_typed(inner[0], entry) for entry in value]
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return {key: _typed(inner[1], entry) for key, entry in value.items()}
    return value
