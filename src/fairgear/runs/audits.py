"""One audit from settings to its folder; exporting worlds, and auditing the scores that return."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import torch
from torch import Tensor

from fairgear.auditing import (
    Adapter,
    Audit,
    FolderAdapter,
    ScoresAdapter,
    Worlds,
    audit,
    export_worlds,
)
from fairgear.auditing.exchange import read_manifest
from fairgear.auditing.people import person_ids
from fairgear.auditing.provenance import Stages
from fairgear.auditing.worlds import judged_by
from fairgear.causal import CausalModel, named
from fairgear.errors import FileError, ParameterError
from fairgear.evidence import FileHash, note_content, reading
from fairgear.graph import SensitiveGraph
from fairgear.progress import log
from fairgear.reading import content_of
from fairgear.runs.audit_config import PARTS, AuditConfig, audit_config
from fairgear.runs.folder import AuditFolder


def run_audit(
    config: AuditConfig,
    model: Adapter,
    folder: AuditFolder,
    *,
    against: Adapter | None = None,
    encoding: Path | None = None,
    note: str | None = None,
    files: Sequence[FileHash] = (),
) -> Audit:
    """Audit a model, and compare it with `against` if given; writes the folder.

    Args:
        config: on what data and how.
        model: what is audited.
        folder: where to write.
        against: another model, audited on the same counterfactuals.
        encoding: the folder of a saved model; a file is encoded as the model's training data.
        note: a sentence to read with the results.
        files: those of the models.
    """
    stages = Stages()
    if note is not None:
        log(note)
        for adapter in filter(None, (model, against)):
            adapter.notes = (note, *adapter.notes)
    with stages.stage("loading the graph"), reading(_roles(config)) as read:
        scores = model.factual_only
        graph = _load(config, encoding, linked=not scores)
        if against is not None and not graph.target.is_binary:
            got, step = f"labels of {graph.target.words}", "audit the two one after the other"
            raise ParameterError("--against", got, "labels of two classes", step)
        if against is not None and against.factual_only and not scores:
            got, allowed = "a file of scores beside a model", "another model"
            raise ParameterError("--against", got, allowed, "audit the two one after the other")
        worlds = Worlds(graph, seed=config.seed, factual_only=True) if scores else None
        worlds = worlds or _worlds(config, graph)
        nodes = None if scores and config.nodes == "all" else _people(config, graph)
    stages.files = (*read.files, *files)
    return _audited(config, worlds, nodes, model, folder, stages, against=against)


def export_audit(config: AuditConfig, folder: Path, *, graph_format: str) -> int:
    """Write every world of an audit for others to score; returns how many."""
    graph = _load(config)
    worlds = _worlds(config, graph)
    others = [worlds.attribute_only]
    if config.other_causal_models and worlds.causal_model is not None:
        others = worlds.family.members[1:]
    manifest = export_worlds(
        worlds,
        folder,
        nodes=_people(config, graph),
        self_people=50 if config.self_people is None else config.self_people,
        format=graph_format,
        about={"audit": config.resolved().to_dict()},
        extra=[world for other in others for world in other.all_worlds()],
    )
    return len(manifest.worlds)


def audit_scores(
    exported: Path, folder: AuditFolder, *, threshold: float | None = None, name: str | None = None
) -> Audit:
    """Audit the scores in a folder of exported worlds; writes the folder of the audit."""
    with reading(default="manifest") as read:
        manifest = read_manifest(exported)
    settings = manifest.about.get("audit")
    if not isinstance(settings, Mapping):
        got = "worlds that were not exported by fairgear audit export"
        allowed = "its folder, whose key names the data"
        step = "use fairgear.audit(FolderAdapter(folder), graph) in Python"
        raise FileError(f"folder {exported}", got, allowed, step)
    config = audit_config(settings, listed=False)
    model = FolderAdapter(exported, name=name, threshold=threshold)
    stages = Stages()
    with stages.stage("loading the graph"), reading(_roles(config)) as data:
        graph = _load(config)
        worlds = _worlds(config, graph)
        model.check(worlds)
        # The people of the export, whatever a file of ids says by now.
        audited = torch.isin(graph.node_id, torch.tensor(manifest.audited))
    stages.files = (*data.files, *read.files)
    return _audited(config, worlds, audited, model, folder, stages)


def _audited(
    config: AuditConfig,
    worlds: Worlds,
    nodes: Tensor | None,
    model: Adapter,
    folder: AuditFolder,
    stages: Stages,
    *,
    against: Adapter | None = None,
) -> Audit:
    def audited(adapter: Adapter) -> Audit:
        with stages.stage(f"auditing {adapter.name}"), reading(default="scores") as read:
            found = audit(
                adapter,
                worlds,
                nodes=nodes,
                self_people=config.self_people,
                affected_people=config.affected_people,
                what_if_people=config.what_if_people,
                other_causal_models=config.other_causal_models,
                level=config.level,
            )
        # Not what a command wrote in between.
        if isinstance(adapter, FolderAdapter | ScoresAdapter):
            stages.files = (*stages.files, *read.files)
        return replace(found, config=config.to_dict())

    first = audited(model)
    second = None if against is None else audited(against)
    provenance = stages.provenance(worlds.graph, worlds.seed)
    if second is not None:
        first = first.compared(second)
        second = replace(second, provenance=provenance)
    first = replace(first, provenance=provenance)
    folder.write(first, second)
    return first


def _roles(config: AuditConfig) -> dict[str, str]:
    """What the files that the settings name are read as."""
    named = {config.nodes: "list of people", config.causal: "causal model"}
    return {**config.roles(), **{path: role for path, role in named.items() if Path(path).exists()}}


def _load(config: AuditConfig, model: Path | None = None, *, linked: bool = True) -> SensitiveGraph:
    """The graph; a file is not split unless a part of the split is audited."""
    split = config.needs_split or not config.is_path
    return config.load(split=split, model=model, linked=linked)


def _worlds(config: AuditConfig, graph: SensitiveGraph) -> Worlds:
    return Worlds(
        graph,
        None if config.causal == "own" else _causal_model(config, graph),
        draws=config.draws,
        seed=config.seed,
        protocol=config.protocol,
        released_share=config.released_share,
    )


def _causal_model(config: AuditConfig, graph: SensitiveGraph) -> CausalModel:
    return named(config.causal, graph, None if config.protocol == "released" else judged_by(graph))


def _people(config: AuditConfig, graph: SensitiveGraph) -> Tensor:
    """Rows or mask of the people to audit."""
    if config.nodes == "all":
        return torch.arange(len(graph.x))
    if config.nodes in PARTS:
        mask: Tensor = graph[f"{config.nodes}_mask"]
        return mask
    return _listed(Path(config.nodes), graph)


def _listed(path: Path, graph: SensitiveGraph) -> Tensor:
    """The rows of the people whose ids or names a file lists, one a line."""
    try:
        content = content_of(path, "list of people")
        note_content(path, content)
        # Lines end as on any system; each is stripped below.
        lines = re.split(r"[\r\n]", content.decode("utf-8"))
    except UnicodeDecodeError:
        lines = ["no text"]
    wanted = [line.strip() for line in lines if line.strip()]
    if wanted and wanted[0] in ("node_id", "node_name"):
        wanted = wanted[1:]
    # The last column: names where there are any, else ids.
    known = {str(person): row for row, person in enumerate(person_ids(graph).iloc[:, -1])}
    missing = [one for one in wanted if one not in known]
    if missing or not wanted:
        got = "no ids"
        if missing:
            got = f"{len(missing)} ids that are not in the graph, the first {missing[0]!r}"
        allowed = "ids of the graph's people, one a line"
        step = "check that the file and the graph belong together"
        raise ParameterError(f"--nodes {path}", got, allowed, step)
    return torch.tensor(sorted({known[one] for one in wanted}))
