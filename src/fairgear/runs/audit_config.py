"""The settings of an audit. Imports no torch."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, Any

from fairgear.datasets.source import FileOptions, GraphSource
from fairgear.errors import ParameterError
from fairgear.runs.config import read_yaml
from fairgear.settings import OneOf, Range

SPLIT_PARTS = ("test", "val", "train")
# What a file of scores may be; a run's or a model's folder has no such ending.
SCORE_ENDINGS = (".csv", ".tsv", ".txt", ".parquet", ".npy")
# Settings of other worlds, which no file of scores tells of.
_OF_WORLDS = ("draws", "self_people", "affected_people", "causal", "other_causal_models")
PARTS = (*SPLIT_PARTS, "all")
# What a run and an audit of its model have in common.
_SHARED = tuple(item.name for item in fields(GraphSource))


@dataclass(frozen=True)
class AuditConfig(GraphSource):
    """Everything that decides the results of `fairgear audit`, the model aside."""

    nodes: str = "test"
    """test, val, train, all, or a file of node ids. [default: test]"""
    draws: Annotated[int, Range(1, 1000)] = 3
    """Worlds per random intervention. [default: 3]"""
    self_people: Annotated[int | None, Range(0, 2**31)] = None
    """People flipped by themselves, in one world each. [default: all for a
    model of fairgear, 5,000 of over 50,000 people; 50 for a command or an
    export, else 500]"""
    affected_people: Annotated[int | None, Range(0, 2**31)] = None
    """Most affected people to examine neighbour by neighbour.
    [default: 3 for a command, else 10]"""
    what_if_people: Annotated[int | None, Range(0, 2**31)] = None
    """People shown one by one in other worlds. [default: 60, or 10 where
    each world takes the whole graph]"""
    causal: str = "own"
    """own (the graph's), shift, quantile, gaussian, …, a diagram of
    yours (.yaml, .gml, .dot), MODULE:NAME, or a saved model. [default: own]"""
    other_causal_models: bool = True
    """Measure δCF under a family of causal models. [default: yes]"""
    protocol: Annotated[str, OneOf("strict", "released")] = "strict"
    """strict, or released to add the paper's evaluation. [default: strict]"""
    level: Annotated[float, Range(0.5, 0.9999)] = 0.95
    """Of the intervals. [default: 0.95]"""

    @property
    def needs_split(self) -> bool:
        """Whether the audited people are a part of the split."""
        return self.nodes in SPLIT_PARTS


def settings_of_run(model: str) -> dict[str, Any]:
    """The data settings of a run, so that its model is audited on the run's test people.

    `model` is the folder of the run or of the model in it; the result is empty for other models.
    """
    for folder in (Path(model), Path(model).parent):
        config = folder / "config.yaml"
        if os.path.isfile(config) and os.path.isfile(folder / "model" / "model.json"):
            values = read_yaml(config)
            # Here, since it loads torch, which an audit of a run needs anyway.
            from fairgear.auditing.sums import check_sums

            check_sums(folder, {config.name: config.read_bytes()})
            return {key: values[key] for key in _SHARED if key in values}
    return {}


def on_dataset(values: Mapping[str, Any], dataset: str | None) -> dict[str, Any]:
    """The settings of a run, with another dataset if one is named."""
    if dataset is None or dataset == values.get("dataset"):
        return dict(values)
    kept = {key: value for key, value in values.items() if key in ("split", "seed")}
    if GraphSource(dataset).is_path and "data" in values:
        # Another table with the same columns, but other content.
        FileOptions.from_dict(values["data"])
        kept["data"] = {k: v for k, v in values["data"].items() if k not in ("sha256", "edges")}
    return {**kept, "dataset": dataset}


def is_scores(model: str | None) -> bool:
    """Whether the command line names a file of scores, not a model."""
    if model is None or "{graph}" in model:
        return False
    return Path(model).suffix.lower() in SCORE_ENDINGS and not Path(model).is_dir()


def of_scores(values: Mapping[str, Any], model: str, against: str | None) -> dict[str, Any]:
    """The settings of an audit of scores: of everybody, and of no other world."""
    if against is not None and not is_scores(against):
        got, allowed = f"{against} beside the scores in {model}", "another file of scores"
        raise ParameterError("--against", got, allowed, "audit the two one after the other")
    if "dataset" not in values:
        got, allowed = "none beside a file of scores", "the table of the people who were scored"
        raise ParameterError("DATA", got, allowed, f"name it: fairgear audit {model} people.csv")
    wrong = next((name for name in (*_OF_WORLDS, "protocol") if name in values), None)
    if wrong is not None:
        got, allowed = "it beside a file of scores", "a model that can be asked about other worlds"
        raise ParameterError(f"--{wrong.replace('_', '-')}", got, allowed, "leave it out")
    return {"nodes": "all", **values}


def training_people_note(run: Mapping[str, Any], config: AuditConfig) -> str | None:
    """A warning where a run's model is audited on its own data with another split."""
    if run.get("dataset") != config.dataset or config.nodes == "train":
        return None
    known = {key: value for key, value in run.items() if key in ("split", "seed")}
    if config.nodes != "all" and all(getattr(config, key) == known[key] for key in known):
        return None
    return (
        "The model was trained on some of the audited people: its accuracy is overstated. Leave "
        "out --split, --seed and --nodes to audit the test people of its run."
    )


def audit_config(values: Mapping[str, Any], *, listed: bool = True) -> AuditConfig:
    """Checked settings, with the hash of the user's files; labels are only needed for a split.

    `listed` says whether a file of node ids must exist.
    """
    config = AuditConfig.from_dict(values)
    config = config.checked(labelled=config.needs_split)
    if listed and config.nodes not in PARTS and not os.path.isfile(config.nodes):
        allowed = f"{', '.join(PARTS)}, or a file of node ids, one a line"
        step = "choose one of them, or check the path"
        raise ParameterError("--nodes", repr(config.nodes), allowed, step)
    return config if "split" in values else config.with_default_split()
