"""The manifest of exported worlds: their graph, and where the scores of each belong."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from fairgear.auditing.worlds import World, Worlds
from fairgear.errors import FileError
from fairgear.files import json_ready, write_json
from fairgear.metrics.inputs import Integers

MANIFEST = "manifest.json"
FORMAT = 3
# What determines the worlds. A difference in an earlier line explains those in later ones.
_CAUSES = (
    ("about", "graph_format", "draws", "seed", "released_share"),
    ("graph", "features", "node_names"),
    ("causal_model",),
    ("audited",),
    ("worlds",),
    ("fingerprint",),
)
# Settings whose names are not words.
_WORDS = {
    "graph_format": "another format",
    "draws": "another number of draws",
    "features": "other features",
    "node_names": "other names of people",
    "audited": "other people to audit",
    "nodes": "other people to audit",
    "self_people": "another number of people for self",
    "affected_people": "another number of affected people",
    "other_causal_models": "another choice of causal models",
    "edges": "other edges",
    "neighbors": "another number of neighbors",
    "drop": "other columns left out",
    "categorical": "other columns of codes",
    "standardize": "another scaling",
    "missing": "another treatment of missing values",
    "sha256": "other content of the files",
    "worlds": "other people for self, or other causal models",
    "fingerprint": "other labels or another split",
}


@dataclass(frozen=True)
class WorldEntry:
    """One world: what it is, and where its graph and its scores are, seen from the folder."""

    name: str
    protocol: str
    intervention: str
    draw: int
    path: str
    scores: str

    def is_of(self, world: World) -> bool:
        """Whether it is the entry of this world."""
        mine = (self.name, self.protocol, self.intervention, self.draw)
        return mine == (world.name, world.protocol, world.intervention, world.draw)


@dataclass(frozen=True)
class Manifest:
    """Everything needed to read the scores.

    Attributes:
        graph_format: "csv", "parquet" or "npz".
        fingerprint: of the worlds; scores of other worlds are refused.
        graph: fingerprint of edges, sens and node ids of the factual graph.
        features: fingerprint of its features.
        causal_model: name and fingerprint; None without one.
        draws, seed, released_share: of the worlds.
        node_ids: everyone, in the order of the rows.
        node_names: their names in the same order; None where ids are whole numbers.
        audited: the ids of the people to audit.
        about: anything else that was kept.
        worlds: each one.
    """

    graph_format: str
    fingerprint: str
    graph: str
    features: str
    causal_model: dict[str, str] | None
    draws: int
    seed: int
    released_share: float | None
    node_ids: list[int]
    node_names: list[str] | None
    audited: list[int]
    about: dict[str, Any]
    worlds: list[WorldEntry]

    def to_dict(self) -> dict[str, Any]:
        """As it is in the file."""
        found: dict[str, Any] = json_ready({"format": FORMAT, **asdict(self)})
        return found

    def write(self, folder: Path) -> None:
        """Write it to its place in `folder`."""
        write_json(folder / MANIFEST, self.to_dict())

    def ids(self) -> Integers:
        """Everyone's id, in the order of the rows."""
        return np.array(self.node_ids, dtype=np.int64)

    def name_of(self, row: int) -> int | str:
        """What the data call the person in a row: their name, or else their id."""
        return self.node_ids[row] if self.node_names is None else self.node_names[row]

    def differences(self, worlds: Worlds) -> list[str]:
        """How `worlds` differ from those that were exported, in words."""
        return differences(self.to_dict(), settled_by(worlds))


def settled_by(worlds: Worlds) -> dict[str, Any]:
    """The fields of a manifest that identify the worlds."""
    graph, model = worlds.graph, worlds.causal_model
    return {
        "fingerprint": worlds.fingerprint,
        "graph": graph.fingerprint("edge_index", "sens", "node_id"),
        "features": graph.fingerprint("x"),
        "causal_model": None
        if model is None
        else {"name": model.name, "fingerprint": model.fingerprint()},
        "draws": worlds.draws,
        "seed": worlds.seed,
        "released_share": worlds.released_share,
    }


def differences(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """What differs between two manifests, in words, without what only follows from it.

    Args:
        before: a whole manifest, as it is in the file.
        now: another, or the part of it that is known.
    """
    for causes in _CAUSES:
        found: dict[str, None] = {}
        for key in causes:
            if key not in now or before[key] == now[key]:
                continue
            names = _leaves(before[key], now[key]) if key == "about" else [key]
            found |= dict.fromkeys(_in_words(name) for name in names)
        if found:
            return list(found)
    return []


def _in_words(name: str) -> str:
    return _WORDS.get(name, f"another {name.replace('_', ' ')}")


def _leaves(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """The names of the values that differ, at any depth."""
    found = []
    for key in {**before, **now}:
        old, new = before.get(key), now.get(key)
        if isinstance(old, Mapping) and isinstance(new, Mapping):
            found += _leaves(old, new)
        elif old != new:
            found.append(key)
    return found


def read_manifest(folder: Path) -> Manifest:
    """The manifest of a folder that `export_worlds` wrote."""
    try:
        found = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
        if found.pop("format") != FORMAT:
            raise ValueError("another format")
        found["worlds"] = [WorldEntry(**entry) for entry in found["worlds"]]
        return Manifest(**{field.name: found.pop(field.name) for field in fields(Manifest)})
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise FileError(
            f"folder {folder}",
            "no manifest.json of exported worlds in it",
            "a folder that fairgear exported worlds to",
            "check the path, or export the worlds again",
        ) from error
