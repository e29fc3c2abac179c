"""Text from outside, such as a column's name or a server's answer, as it may be shown."""

from __future__ import annotations

import unicodedata

# Control characters, marks of direction, halves of characters, private use, ends of lines.
_HIDDEN = ("Cc", "Cf", "Cs", "Co", "Zl", "Zp")
# Joiners shape letters and pictures, and are wanted.
_KEPT = "\n\t\u200c\u200d"


def visible(text: str) -> str:
    """The text with invisible characters that steer terminals or direction written out.

    A name could otherwise colour the terminal, retitle it, or turn round the text beside it.
    """
    if text.isprintable():
        return text
    return "".join(f"‹U+{ord(one):04X}›" if _is_hidden(one) else one for one in text)


def on_one_line(text: str) -> str:
    """The same on one line."""
    return visible(" ".join(text.splitlines()))


def _is_hidden(one: str) -> bool:
    return unicodedata.category(one) in _HIDDEN and one not in _KEPT
