"""What notebooks show of an object: a table without script, readable on light and dark."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from fairgear.text import visible

# Colours are those of the notebook: text as it has it, lines a part of that.
_TABLE = (
    "border-collapse:collapse;color:inherit;background:none;margin:.3em 0;max-width:48em;"
    "overflow-wrap:anywhere"
)
_CELL = (
    "text-align:left;vertical-align:top;padding:.15em 1em .15em 0;border:0;"
    "border-bottom:1px solid #8886"
)
_HEAD = "text-align:left;padding:0 0 .3em;color:inherit;caption-side:top"


def as_table(title: str, rows: Sequence[tuple[str, ...]], sentences: Sequence[str] = ()) -> str:
    """HTML of a table: a title, sentences, and rows whose first cell names them."""
    said = "".join(f"<br>{_safe(sentence)}" for sentence in sentences)
    lines = [
        f'<tr style="background:none"><th scope="row" style="{_CELL}">{_safe(first)}</th>'
        + "".join(f'<td style="{_CELL}">{_safe(cell)}</td>' for cell in rest)
        + "</tr>"
        for first, *rest in rows
    ]
    return (
        f'<table style="{_TABLE}"><caption style="{_HEAD}"><b>{_safe(title)}</b>{said}</caption>'
        f"<tbody>{''.join(lines)}</tbody></table>"
    )


def _safe(text: str) -> str:
    return escape(visible(text))
