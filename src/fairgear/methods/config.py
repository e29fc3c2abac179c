"""Settings of a method: frozen dataclasses, checked when they are built. Imports no torch."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import Field, asdict, dataclass, fields
from typing import Any, Self

from fairgear.errors import ParameterError

# The ends of a range, or the names to choose from.
Limits = tuple[float, float] | tuple[str, ...]


@dataclass(frozen=True)
class Config:
    """Base of all settings; a subclass is a frozen dataclass that lists its `limits`.

    A number that may be None (`float | None`) may be left out: what that means is the field's to
    say.
    """

    def limits(self) -> dict[str, Limits]:
        """For each field with a limit: its range, or the names allowed."""
        return {}

    def __post_init__(self) -> None:
        limits = self.limits()
        for item in fields(self):
            value, allowed = getattr(self, item.name), limits.get(item.name)
            kind = _kind(item)
            if value is None and _optional(item):
                continue
            if not _of_kind(value, kind) or not _within(value, allowed):
                raise ParameterError(
                    f"setting {item.name}",
                    repr(value),
                    _describe(kind, allowed) + (" or none" if _optional(item) else ""),
                    f"change {item.name}",
                )

    def to_dict(self) -> dict[str, Any]:
        """As nested plain values, for JSON and YAML."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """From nested plain values; an unknown key is refused."""
        known = {field.name: field for field in fields(cls)}
        unknown = [key for key in values if key not in known]
        if unknown:
            raise ParameterError(
                f"settings of {cls.__name__}",
                f"the unknown key {unknown[0]!r}",
                ", ".join(known),
                "correct or drop that key",
            )
        built: dict[str, Any] = {}
        for key, value in values.items():
            default = _default(known[key])
            nested = isinstance(value, Mapping) and isinstance(default, Config)
            built[key] = type(default).from_dict(value) if nested else value
        return cls(**built)


def _default(item: Field[Any]) -> Any:
    return item.default_factory() if callable(item.default_factory) else item.default


def _optional(item: Field[Any]) -> bool:
    return str(item.type).endswith("| None")


def _kind(item: Field[Any]) -> type:
    """The type of a field: that of its default, or, where that is None, as annotated."""
    default = _default(item)
    if default is not None:
        return type(default)
    return {"float | None": float, "int | None": int, "bool | None": bool}[str(item.type)]


def _of_kind(value: object, kind: type) -> bool:
    """Whether a value is of the type of its field's default; a whole number serves for a float."""
    if isinstance(value, bool) and kind is not bool:
        return False
    return isinstance(value, kind) or (kind is float and isinstance(value, int))


def _within(value: Any, allowed: Limits | None) -> bool:
    if allowed is None:
        return True
    if isinstance(allowed[0], str):
        return value in allowed
    # A whole number may be too long for a float; it is finite all the same.
    finite = isinstance(value, int) or math.isfinite(value)
    return finite and bool(allowed[0] <= value <= allowed[1])


def _describe(kind: type, allowed: Limits | None) -> str:
    if allowed is not None and isinstance(allowed[0], str):
        return ", ".join(str(name) for name in allowed)
    known = {bool: "true or false", int: "a whole number", float: "a number", str: "a name"}
    words = known.get(kind, f"the fields of {kind.__name__}")
    return words if allowed is None else f"{words} from {allowed[0]} to {allowed[1]}"
