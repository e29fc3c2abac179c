"""The manifest of exported worlds: which graph they are of, and where each one's scores belong."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from fairgear.auditing.world import World
from fairgear.errors import FileError
from fairgear.files import json_ready, write_json
from fairgear.metrics.inputs import Integers

MANIFEST = "manifest.json"
FORMAT = 1


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
        """Whether it stands for the same question."""
        mine = (self.name, self.protocol, self.intervention, self.draw)
        return mine == (world.name, world.protocol, world.intervention, world.draw)


@dataclass(frozen=True)
class Manifest:
    """All that the scores must be read with.

    Attributes:
        graph_format: "csv", "parquet" or "npz".
        fingerprint: of edges, sens and node ids of the factual graph.
        features: fingerprint of its features.
        causal_model: name and fingerprint of what made the worlds; None where there was none.
        draws, seed, released_share: of the worlds.
        node_ids: everyone, in the order of the rows.
        audited: the ids of the people to audit.
        about: what else somebody wanted to keep.
        worlds: each one.
    """

    graph_format: str
    fingerprint: str
    features: str
    causal_model: dict[str, str] | None
    draws: int
    seed: int
    released_share: float | None
    node_ids: list[int]
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
            got="no manifest.json of exported worlds in it",
            allowed="a folder that fairgear exported worlds to",
            next_step="check the path, or export the worlds again",
        ) from error
