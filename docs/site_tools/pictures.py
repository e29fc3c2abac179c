"""Pictures of the gallery: the figure that is the last line of a block, as in a notebook."""

from __future__ import annotations

from typing import Any

from matplotlib.figure import Figure
from sphinx_gallery.scrapers import figure_rst


def scrape(block: Any, variables: dict[str, Any], settings: dict[str, Any]) -> str:
    """Save that figure and return the lines that show it; nothing else is a picture."""
    figure = variables["example_globals"].pop("___", None)
    if not isinstance(figure, Figure):
        return ""
    path = next(variables["image_path_iterator"])
    figure.savefig(path, dpi=120, facecolor="white")
    lines: str = figure_rst([path], settings["src_dir"])
    return lines
