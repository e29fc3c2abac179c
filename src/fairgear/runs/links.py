"""From a list of edges to an audit of links: split, train or take a model, audit, write."""

from __future__ import annotations

import re
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from fairgear.auditing.provenance import Stages
from fairgear.auditing.worlds import Worlds, judged_by
from fairgear.causal import named
from fairgear.errors import FileError, ParameterError
from fairgear.evidence import TRAINED, FileHash, file_hash, folder_hashes, reading
from fairgear.graph import SensitiveGraph
from fairgear.links import (
    LINK_METHODS,
    GivenLinks,
    LinkAudit,
    LinkModel,
    LinkSplit,
    Pairs,
    audit_links,
    edge_times,
    load_link_model,
    split_links,
)
from fairgear.links.given import read_pairs
from fairgear.links.pairs import pair_keys
from fairgear.progress import log
from fairgear.runs.audit_config import is_scores
from fairgear.runs.link_config import LinkConfig
from fairgear.runs.link_folder import LinkFolder
from fairgear.runs.link_models import given_model
from fairgear.runs.model_spec import files_of, saved_model

QUICK = (
    "This was a quick run: a few training steps and a smaller audit. It shows that everything "
    "works, not how good the method is."
)
_CODE = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_][\w.]*")


def run_links(config: LinkConfig, folder: LinkFolder) -> LinkAudit:
    """Train or take a model of links, audit it, and write everything to a folder.

    What was trained and finished is loaded; what was interrupted resumes. A model of the user's is
    asked again.
    """
    stages = Stages()
    check_model(config)
    with ExitStack() as held:
        begun = folder.begun()
        if begun:
            folder.claim(config)
            held.enter_context(folder.alone())
            finished = folder.results() if config.trains and folder.report.exists() else None
            if finished is not None:
                log(f"{folder.path} holds these results, finished; nothing to do")
                return finished
        with stages.stage("loading the graph"), reading(config.roles()) as read:
            graph = config.load(split=False)
            split = _split(config, graph)
        model, unseen = (None, ()) if config.trains else given_model(config, split)
        # Only now: data or a model that cannot be used must leave no folder.
        folder.claim(config)
        if not begun:
            held.enter_context(folder.alone())
        if model is None:
            with stages.stage("training"):
                model = _trained(config, split, folder)
        with stages.stage("audit"), reading(default="scores") as scores:
            found = _audited(config, model, split)
        stages.files = (*read.files, *scores.files, *_files(config, folder))
        found = replace(
            found,
            training=dict(getattr(model, "history_", {})),
            config=config.to_dict(),
            provenance=stages.provenance(graph, config.seed, config.device),
            notes=(*((QUICK,) if config.quick else ()), *unseen, *found.notes),
        )
        folder.write(found)
    return found


def check_model(config: LinkConfig) -> None:
    """Refuse what names no model, before any data are read."""
    text = config.method
    known = "{graph}" in text or _CODE.fullmatch(text) or config.trains or saved_model(text)
    if is_scores(text) and not Path(text).is_file():
        raise FileError(f"file {text}", "no file", "source,target,score by pair", "check the path")
    if not known and not is_scores(text):
        allowed = f"{', '.join(LINK_METHODS)}; the folder of a saved model, MODULE:NAME, a command "
        allowed += "with {graph} in it, or a file of pairs and scores"
        step = "check the name; see fairgear links --help for examples"
        raise ParameterError("--method", repr(text), allowed, step)


def _split(config: LinkConfig, graph: SensitiveGraph) -> LinkSplit:
    """The pairs in question: drawn, by time, or those that were scored."""
    if is_scores(config.method):
        return _scored(Path(config.method), graph)
    times = edge_times(config.data.edges, config.time, graph) if config.time else None
    return split_links(
        graph,
        seed=config.seed,
        train=config.train,
        val=config.val,
        test=config.test,
        negatives=config.negatives,
        per_link=config.per_link,
        times=times,
    )


def _scored(path: Path, graph: SensitiveGraph) -> LinkSplit:
    """All pairs of a file for test, none to train on."""
    ends = read_pairs(path, graph, f"file {path}").ends
    keys, edges = (
        pair_keys(one.cpu(), len(graph.x), directed=graph.directed)
        for one in (ends, graph.edge_index)
    )
    none = Pairs(torch.empty(2, 0, dtype=torch.int64), torch.empty(0, dtype=torch.int64))
    return LinkSplit(graph, none, none, Pairs(ends, torch.isin(keys, edges).long()))


def _trained(config: LinkConfig, split: LinkSplit, folder: LinkFolder) -> LinkModel:
    """A method of ours, trained now or loaded where an earlier call got that far."""
    kind: Any = LINK_METHODS[config.method]
    if (folder.model / "model.json").exists():
        loaded: LinkModel = load_link_model(folder.model, device=config.device)
        return loaded
    folder.clear_model()
    made = kind(seed=config.seed, device=config.device, **config.settings)
    model: LinkModel = made.fit(split, checkpoint=folder.checkpoint)
    made.save(folder.model)
    return model


def _audited(config: LinkConfig, model: Any, split: LinkSplit) -> LinkAudit:
    graph, given = split.graph, isinstance(model, GivenLinks)
    causal = None
    if config.causal != "own" and not given:
        causal = named(config.causal, graph, judged_by(graph))
    worlds = Worlds(graph, causal, draws=config.draws, seed=config.seed, factual_only=given)
    return audit_links(
        model,
        split,
        worlds=worlds,
        name=None if config.trains else config.method,
        threshold=config.threshold,
        self_pairs=config.self_pairs,
        list_people=config.list_people,
        k=config.k,
        level=config.level,
    )


def _files(config: LinkConfig, folder: LinkFolder) -> tuple[FileHash, ...]:
    """The files of the model."""
    if config.trains:
        return folder_hashes(folder.model, TRAINED, name=folder.model.name)
    if is_scores(config.method):
        return (file_hash(Path(config.method), "scores"),)
    return files_of(config.method)
