"""Pictures of the gallery: the figure that is the last line of a block, as in a notebook."""

from __future__ import annotations

import ast
from typing import Any

from matplotlib.figure import Figure
from sphinx_gallery.scrapers import figure_rst


def scrape(block: Any, variables: dict[str, Any], settings: dict[str, Any]) -> str:
    """Save that figure and return the lines that show it; nothing else is a picture."""
    _, code, _ = block
    *_, last = ast.parse(code).body
    # The gallery keeps the value of a last line that is an expression, until there is another.
    figure = variables["example_globals"].get("___")
    if not (isinstance(last, ast.Expr) and isinstance(figure, Figure)):
        return ""
    path = next(variables["image_path_iterator"])
    figure.savefig(path, dpi=120, facecolor="white")
    lines: str = figure_rst([path], settings["src_dir"])
    return lines
