"""Graphs in GraphML files, read by NetworkX."""

from __future__ import annotations

import importlib
import io
from pathlib import Path
from typing import Any

from fairgear.errors import FileError
from fairgear.graph.reading.source import content, unreadable


def read_graphml(path: Path) -> Any:
    """A NetworkX graph."""
    try:
        networkx = importlib.import_module("networkx")
    except ImportError as error:
        raise FileError(
            f"file {path}",
            "no package networkx to read GraphML with",
            "fairgear with its extra [networkx]",
            "pip install 'fairgear[networkx]'",
        ) from error
    found = content(path)
    try:
        return networkx.read_graphml(io.BytesIO(found))
    # The reader lets any error of its parsers through.
    except Exception as error:
        raise unreadable(
            path, "no graph in GraphML", "a GraphML file", "write it again, or use an edge list"
        ) from error
