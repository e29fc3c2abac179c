"""Graphs larger than memory: built from files in pieces, opened as memory maps."""

from fairgear.graph.stored.build import build_stored
from fairgear.graph.stored.folder import is_stored, open_stored, read_meta, write_stored

__all__ = ["build_stored", "is_stored", "open_stored", "read_meta", "write_stored"]
