"""Worlds as files for models that run elsewhere, and the scores that return."""

from fairgear.auditing.exchange.export import export_worlds
from fairgear.auditing.exchange.graph_files import write_graph
from fairgear.auditing.exchange.manifest import read_manifest
from fairgear.auditing.exchange.score_files import read_scores

__all__ = ["export_worlds", "read_manifest", "read_scores", "write_graph"]
