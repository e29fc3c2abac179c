"""Parts of a run or an audit, read with care: missing ones are empty, misshapen ones refused."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from fairgear.errors import ParameterError

Part = Mapping[str, Any]
_NEXT = "pass what metrics.json of a run folder holds, or an audit as it was saved"


def whole(value: object, what: str) -> None:
    """Refuse what cannot be a run or an audit at all."""
    if not isinstance(value, Mapping):
        raise ParameterError(what, type(value).__name__, "an object with named entries", _NEXT)


def notes(parent: Part) -> list[str]:
    """The plain sentences that the numbers must be read with."""
    return [str(note) for note in sequence(mapping(parent, "details"), "notes")]


def mapping(parent: Part, key: str) -> Part:
    """The object under `key`; empty where there is none."""
    value = parent.get(key)
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise _misshapen(key, value, "an object with named entries, or null")
    return value


def rows(parent: Part, key: str) -> list[Part]:
    """The list of objects under `key`; empty where there is none."""
    values = sequence(parent, key)
    for value in values:
        if not isinstance(value, Mapping):
            raise _misshapen(key, value, "a list of objects, or null")
    return values


def sequence(parent: Part, key: str) -> list[Any]:
    """The list under `key`; empty where there is none."""
    value = parent.get(key)
    if value is None:
        return []
    if isinstance(value, str) or not isinstance(value, Sequence):
        raise _misshapen(key, value, "a list, or null")
    return list(value)


def finite(value: object) -> float | None:
    """A number that can be drawn; None for null, NaN, infinities and everything else."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        return float(value) if math.isfinite(value) else None
    except OverflowError:
        return None


def number(parent: Part, key: str) -> float | None:
    """The finite number under `key`, or None."""
    return finite(parent.get(key))


def interval(value: object) -> tuple[float, float] | None:
    """Both ends of an interval, or None where either is undefined."""
    if isinstance(value, str) or not isinstance(value, Sequence) or len(value) != 2:
        return None
    low, high = finite(value[0]), finite(value[1])
    return None if low is None or high is None else (low, high)


def _misshapen(key: str, value: object, allowed: str) -> ParameterError:
    return ParameterError(f"{key} of a run or an audit", type(value).__name__, allowed, _NEXT)
