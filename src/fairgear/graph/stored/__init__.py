"""Graphs larger than memory: stored in a folder, built out of core, opened as maps of files."""

from fairgear.graph.stored.build import build_stored
from fairgear.graph.stored.opening import open_stored
from fairgear.graph.stored.writing import write_stored

__all__ = ["build_stored", "open_stored", "write_stored"]
