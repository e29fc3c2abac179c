"""Graphs from files: tables with an edge list or a similarity, PyG and GraphML."""

from fairgear.graph.reading.read_graph import read_graph

__all__ = ["read_graph"]
