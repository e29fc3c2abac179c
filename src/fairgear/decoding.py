"""Decoding: dataclasses from plain values, such as those of a JSON file. Types are exact."""

from __future__ import annotations

import math
import types
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from functools import cache
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from fairgear.settings import OneOf, Range

T = TypeVar("T")


class DecodingError(ValueError):
    """A value that is not of its type; the message says where it stands."""


def from_json(kind: type[T], data: Any, *, where: str = "") -> T:
    """The dataclass that `json_ready` turned into `data`.

    A whole number is accepted for a number, and null for an undefined one. A field that an earlier
    version did not write has its default; one that is not known is left out.

    Args:
        kind: a dataclass. Its annotations say what is accepted, `Annotated[int, Range(0, 9)]` too.
        data: plain values.
        where: `data` stands, for the error.
    """
    if issubclass(kind, Iterable):
        # Such as an interval, which is written as its two ends.
        data = _by_field(kind, data, where)
    if not isinstance(data, Mapping):
        raise _wrong(where, data, f"the fields of {kind.__name__}")
    key: Any = kind
    hints = _hints(key)
    found: dict[str, Any] = {}
    for item in fields(kind):  # type: ignore[arg-type]  # no bound for dataclasses
        if item.name in data:
            found[item.name] = typed(hints[item.name], data[item.name], _below(where, item.name))
        elif item.init and not _has_default(item):
            raise DecodingError(f"{_below(where, item.name)} is missing")
    try:
        return kind(**found)
    except ValueError as error:
        # What the dataclass itself checks.
        raise DecodingError(f"{where or kind.__name__}: {error}") from error


# Explained people alone have thousands of records.
@cache
def _hints(kind: Any) -> dict[str, Any]:
    return get_type_hints(kind, include_extras=True)


def _by_field(kind: type, data: Any, where: str) -> dict[str, Any]:
    names = [item.name for item in fields(kind)]
    if not isinstance(data, list | tuple) or len(data) != len(names):
        raise _wrong(where, data, f"{len(names)} values")
    return dict(zip(names, data, strict=True))


def _has_default(item: Field[Any]) -> bool:
    return item.default is not MISSING or item.default_factory is not MISSING


def typed(hint: Any, value: Any, where: str = "") -> Any:
    """`value` as an annotation such as `dict[str, float]` has it."""
    origin, inner = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return _within(inner[1:], typed(inner[0], value, where), where)
    if origin in (Union, types.UnionType):
        return _one_of(inner, value, where)
    if hint in (Any, object):
        return value
    if is_dataclass(hint):
        # Records that were made already, such as a table beside the file, stay.
        kind: Any = hint
        return value if isinstance(value, kind) else from_json(kind, value, where=where)
    if hint is float:
        return _number(value, where)
    if origin is Literal:
        return _within((OneOf(*inner),), _plain(str, value, where), where)
    if origin in (tuple, list):
        return _sequence(origin, inner, value, where)
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return _mapping(inner, value, where)
    return _plain(origin or hint, value, where)


def _within(limits: tuple[Any, ...], value: Any, where: str) -> Any:
    for limit in limits:
        if isinstance(limit, Range | OneOf) and value is not None and value not in limit:
            raise _wrong(where, value, _words(limit))
    return value


def _plain(kind: Any, value: Any, where: str) -> Any:
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        raise _wrong(where, value, kind.__name__)
    return value


def _one_of(hints: tuple[Any, ...], value: Any, where: str) -> Any:
    """The first of several types that fits; a number that is undefined only where None is not."""
    if value is None and type(None) in hints:
        return None
    kinds = [hint for hint in hints if hint is not type(None)]
    if len(kinds) == 1:
        return typed(kinds[0], value, where)
    # A whole number is an int before it is a float.
    for hint in sorted(kinds, key=lambda hint: hint is float):
        try:
            return typed(hint, value, where)
        except DecodingError:
            continue
    raise _wrong(where, value, " or ".join(getattr(kind, "__name__", str(kind)) for kind in kinds))


def _number(value: Any, where: str) -> float:
    if value is None:
        return math.nan
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise _wrong(where, value, "a number")
    try:
        return float(value)
    except OverflowError:
        raise _wrong(where, "a whole number longer than any other", "a number") from None


def _sequence(origin: Any, inner: tuple[Any, ...], value: Any, where: str) -> Any:
    if not isinstance(value, list | tuple):
        raise _wrong(where, value, "a list")
    if origin is list or inner[1:] == (...,):
        hints = (inner[0],) * len(value)
    elif len(inner) == len(value):
        hints = inner
    else:
        raise _wrong(where, value, f"{len(inner)} values")
    pairs = enumerate(zip(hints, value, strict=True))
    return origin(typed(hint, entry, _below(where, str(at))) for at, (hint, entry) in pairs)


def _mapping(inner: tuple[Any, ...], value: Any, where: str) -> dict[Any, Any]:
    if not isinstance(value, Mapping):
        raise _wrong(where, value, "a mapping")
    keys, values = inner
    return {
        typed(keys, key, where): typed(values, entry, _below(where, str(key)))
        for key, entry in value.items()
    }


def _words(limit: Range | OneOf) -> str:
    if isinstance(limit, OneOf):
        return ", ".join(limit)
    return f"{limit.low} to {limit.high}"


def _below(where: str, name: str) -> str:
    return f"{where}.{name}" if where else name


def _wrong(where: str, value: Any, wanted: str) -> DecodingError:
    said = repr(value) if value is None or isinstance(value, bool | float | str) else ""
    got = said[:40] or f"a {type(value).__name__}"
    return DecodingError(f"{where or 'the whole'} is {got}, not {wanted}")
