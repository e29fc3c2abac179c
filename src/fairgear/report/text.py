"""Text as a page may show it: what cannot be seen is written out, and figures keep their signs."""

from __future__ import annotations

import re
from typing import Any

from markupsafe import Markup

from fairgear import text

# A line must not break between a figure and its sign.
_SIGN = re.compile(r"(?<=\d) (?=%)")
_UNBROKEN = "\u00a0"


def visible(value: Any) -> Any:
    """Text in which invisible characters that steer direction or terminals are written out.

    A name with a direction mark could otherwise turn round the text beside it. Other values, and
    markup of our own, stay as they are.
    """
    if isinstance(value, Markup) or not isinstance(value, str):
        return value
    return text.visible(value)


def on_page(value: Any) -> Any:
    """The same, with figures kept beside their signs."""
    found = visible(value)
    if isinstance(found, Markup) or not isinstance(found, str):
        return found
    return _SIGN.sub(_UNBROKEN, found)
