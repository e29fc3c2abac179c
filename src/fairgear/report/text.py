"""Text from outside as a page may show it: what cannot be seen is written out."""

from __future__ import annotations

import unicodedata
from typing import Any

from markupsafe import Markup


def visible(value: Any) -> Any:
    """Text in which invisible characters that steer direction or terminals are written out.

    A name with a direction mark could otherwise turn round the text beside it. Other values, and
    markup of our own, stay as they are.
    """
    if isinstance(value, Markup) or not isinstance(value, str) or value.isprintable():
        return value
    return _written_out(value)


def _written_out(text: str) -> str:
    return "".join(_shown(one) for one in text)


def _shown(one: str) -> str:
    # Joiners shape letters and pictures, and are wanted.
    hidden = unicodedata.category(one) in ("Cc", "Cf", "Cs", "Co") and one not in "\n\t\u200c\u200d"
    return f"‹U+{ord(one):04X}›" if hidden else one
