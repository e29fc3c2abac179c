"""The graph of an audit, its worlds, and whom to audit, as the settings name them."""

from __future__ import annotations

from pathlib import Path

import torch
from torch import Tensor

from fairgear.auditing import Worlds
from fairgear.causal import named
from fairgear.errors import ParameterError
from fairgear.experiments.audit_config import PARTS, AuditConfig
from fairgear.files import unreadable
from fairgear.graph import SensitiveGraph


def load_audit_graph(config: AuditConfig, model: Path | None = None) -> SensitiveGraph:
    """The graph of an audit; a file is not split unless a part of the split is audited.

    Args:
        config: the settings.
        model: the folder of a saved model; a file is encoded as the model's training data.
    """
    return config.load(split=config.needs_split or not config.is_path, model=model)


def worlds_of(config: AuditConfig, graph: SensitiveGraph) -> Worlds:
    """The worlds of an audit."""
    return Worlds(
        graph,
        None if config.causal_model == "own" else named(config.causal_model, graph),
        draws=config.draws,
        seed=config.seed,
        released_share=config.released_share,
    )


def people_of(config: AuditConfig, graph: SensitiveGraph) -> Tensor:
    """Whom to audit."""
    if config.nodes == "all":
        return torch.arange(len(graph.x))
    if config.nodes in PARTS:
        mask: Tensor = graph[f"{config.nodes}_mask"]
        return mask
    return _listed(Path(config.nodes), graph)


def _listed(path: Path, graph: SensitiveGraph) -> Tensor:
    """The rows of the people whose ids, or names, a file lists, one a line."""
    try:
        lines = path.read_text(encoding="utf-8").split("\n")
    except OSError as error:
        raise unreadable(path, error) from error
    except UnicodeDecodeError:
        lines = ["no text"]
    wanted = [line.strip() for line in lines if line.strip()]
    if wanted and wanted[0] in ("node_id", "node_name"):
        wanted = wanted[1:]
    ids = graph.node_id.tolist()
    names = graph.get("node_names")
    known = {str(names[i]) if names is not None else str(i): row for row, i in enumerate(ids)}
    missing = [one for one in wanted if one not in known]
    if missing or not wanted:
        raise ParameterError(
            f"--nodes {path}",
            f"{len(missing)} ids that are not in the graph, the first {missing[0]!r}"
            if missing
            else "no ids",
            "ids of the graph's people, one a line",
            "check that the file and the graph belong together",
        )
    return torch.tensor(sorted({known[one] for one in wanted}))
