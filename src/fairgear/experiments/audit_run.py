"""One audit from settings to its folder; exporting worlds, and scoring what comes back."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from fairgear.auditing import (
    Adapter,
    Audit,
    AuditFolder,
    FolderAdapter,
    Worlds,
    audit_in,
    export_worlds,
)
from fairgear.auditing.exchange import read_manifest
from fairgear.errors import FileError
from fairgear.experiments.audit_config import AuditConfig, audit_config
from fairgear.experiments.audit_data import load_audit_graph, people_of, worlds_of
from fairgear.experiments.provenance import Stages, provenance
from fairgear.progress import log


def execute_audit(
    config: AuditConfig,
    model: Adapter,
    folder: AuditFolder,
    *,
    against: Adapter | None = None,
    encoding: Path | None = None,
    note: str | None = None,
) -> dict[str, Any]:
    """Audit a model, and another beside it; returns what `audit.json` holds.

    Args:
        config: on what data and how.
        model: what is audited.
        folder: where to write.
        against: another model, audited on the same counterfactuals and compared.
        encoding: the folder of a model that was trained on one's own data: read as these were.
        note: a sentence that the results must be read with.
    """
    stages = Stages()
    if note is not None:
        log(note)
        for adapter in filter(None, (model, against)):
            adapter.notes = (note, *adapter.notes)
    with stages.stage("loading the graph"):
        graph = load_audit_graph(config, encoding)
        worlds = worlds_of(config, graph)
        nodes = people_of(config, graph)
    return _audited(config, worlds, nodes, model, folder, stages, against=against)


def execute_export(config: AuditConfig, folder: Path, *, graph_format: str) -> int:
    """Write every world of an audit for others to score; returns how many."""
    graph = load_audit_graph(config)
    worlds = worlds_of(config, graph)
    others = [worlds.attribute_only]
    if config.other_causal_models and worlds.causal_model is not None:
        others = worlds.alternatives
    extra = [world for other in others for draws in other.worlds.values() for world in draws]
    manifest = export_worlds(
        worlds,
        folder,
        nodes=people_of(config, graph),
        self_people=50 if config.self_people is None else config.self_people,
        format=graph_format,
        about={"audit": config.resolved().to_dict()},
        extra=extra,
    )
    return len(manifest.worlds)


def execute_score(
    exported: Path, folder: AuditFolder, *, threshold: float | None = None, name: str | None = None
) -> dict[str, Any]:
    """Audit the scores in a folder of exported worlds; returns what `audit.json` holds."""
    manifest = read_manifest(exported)
    settings = manifest.about.get("audit")
    if not isinstance(settings, Mapping):
        raise FileError(
            f"folder {exported}",
            "worlds that were not exported by fairgear audit export",
            "its folder, whose manifest names the data",
            "use fairgear.audit(FolderAdapter(folder), graph) in Python",
        )
    config = audit_config(settings, listed=False)
    model = FolderAdapter(exported, name=name, threshold=threshold)
    stages = Stages()
    with stages.stage("loading the graph"):
        graph = load_audit_graph(config)
        worlds = worlds_of(config, graph)
        model.check(worlds)
        # Those whose scores were asked for, whatever has become of a list of ids since.
        audited = torch.isin(graph.node_id, torch.tensor(manifest.audited))
    return _audited(config, worlds, audited, model, folder, stages)


def _audited(
    config: AuditConfig,
    worlds: Worlds,
    nodes: Tensor,
    model: Adapter,
    folder: AuditFolder,
    stages: Stages,
    *,
    against: Adapter | None = None,
) -> dict[str, Any]:
    def audited(adapter: Adapter) -> Audit:
        with stages.stage(f"auditing {adapter.name}"):
            return audit_in(
                worlds,
                adapter,
                nodes=nodes,
                self_people=config.self_people,
                affected_people=config.affected_people,
                other_causal_models=config.other_causal_models,
                level=config.level,
            )

    first, comparison = audited(model), None
    if against is not None:
        second = audited(against)
        comparison = first.compare(second, level=config.level)
        folder.against.write(second, provenance=_provenance(worlds, stages))
    return folder.write(first, against=comparison, provenance=_provenance(worlds, stages))


def _provenance(worlds: Worlds, stages: Stages) -> dict[str, Any]:
    return provenance(worlds.seed, worlds.graph.fingerprint(), stages)
