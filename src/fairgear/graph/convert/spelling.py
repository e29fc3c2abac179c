"""How values read as text, the same from every source, and in what order they come."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal

import numpy as np

# Bits of a whole number that Python still spells, well below its limit.
_LONG = 10_000


def spelled(value: object) -> str:
    """The text of a value: 1, 1.0 and numpy's 1 are all "1"."""
    if isinstance(value, (bool, np.bool_)):
        return str(bool(value))
    if isinstance(value, (float, np.floating)) and float(value).is_integer():
        return str(int(value))
    if isinstance(value, int) and value.bit_length() > _LONG:
        # Python refuses to spell numbers of thousands of digits by itself.
        return format(Decimal(value), "f")
    return str(value).strip()


def in_order(values: Iterable[str]) -> list[str]:
    """Numbers by size, anything else by the alphabet."""
    found = list(values)
    try:
        return sorted(found, key=lambda value: (float(value), value))
    except ValueError:
        return sorted(found)


def listed(values: Iterable[str], most: int = 5) -> str:
    """The first few values for a message."""
    found = list(values)
    more = f" and {len(found) - most} more" if len(found) > most else ""
    return ", ".join(repr(value) for value in found[:most]) + more
