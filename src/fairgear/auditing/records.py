"""Records: dataclasses of results, from what `json_ready` made of them."""

from __future__ import annotations

import math
import types
from collections.abc import Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from functools import cache
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

from fairgear.metrics import Interval

T = TypeVar("T")


def from_json(kind: type[T], data: Mapping[str, Any]) -> T:
    """The dataclass that `json_ready` turned into `data`.

    A field that an earlier version did not write has its default; a KeyError where it has none.
    """
    hints = _hints(kind)  # type: ignore[arg-type]  # classes are hashable
    items = fields(kind)  # type: ignore[arg-type]  # no bound for dataclasses
    names = [item.name for item in items if item.name in data or not _has_default(item)]
    return kind(**{name: _typed(hints[name], data[name]) for name in names})


# Explained people alone have thousands of records.
@cache
def _hints(kind: Any) -> dict[str, Any]:
    return get_type_hints(kind)


def _has_default(item: Field[Any]) -> bool:
    return item.default is not MISSING or item.default_factory is not MISSING


def _typed(hint: Any, value: Any) -> Any:
    origin, inner = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        if value is None:
            # A number that is undefined, where None is no value.
            return None if type(None) in inner else math.nan
        kinds = [kind for kind in inner if kind is not type(None)]
        return _typed(kinds[0], value) if len(kinds) == 1 else value
    if hint is Interval:
        low, high = (_typed(float, end) for end in value)
        return Interval(low, high)
    if hint is float:
        return math.nan if value is None else float(value)
    if is_dataclass(hint):
        return from_json(hint, value)  # type: ignore[arg-type]  # a class, never an instance
    if origin is tuple:
        return tuple(_typed(inner[0], entry) for entry in value)
    if origin is list:
        return [_typed(inner[0], entry) for entry in value]
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return {key: _typed(inner[1], entry) for key, entry in value.items()}
    return value
