"""The key to exported worlds: what each is, and where its scores belong.

It stays with the auditor, beside the folder that is handed over.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from fairgear.auditing.worlds import Worlds
from fairgear.decoding import from_json
from fairgear.documents import json_of, unsealed
from fairgear.errors import FairgearError, FileError
from fairgear.evidence import note_content
from fairgear.files import json_ready
from fairgear.reading import DAMAGE, content_of

MANIFEST = "key.json"
FORMAT = 5
# In earlier formats, which told those who score which graph is the real one.
_EARLIER = "manifest.json"
# What determines the worlds. A difference in an earlier line explains those in later ones.
_CAUSES = (
    ("about", "graph_format", "draws", "seed", "protocol", "released_share"),
    ("graph", "features", "node_names"),
    ("causal_model",),
    ("audited",),
    ("worlds",),
    ("fingerprint",),
)
# Fields whose names do not say what differs.
_WORDS = {
    "audited": "people to audit",
    "sha256": "content of the files",
    "worlds": "people for self, or other causal models",
    "fingerprint": "labels or split",
}


@dataclass(frozen=True)
class WorldEntry:
    """One world: what it is, and where its graph and its scores are, seen from the folder.

    The paths do not tell what it is: they end in a code.
    """

    name: str
    protocol: str
    intervention: str
    draw: int
    path: str
    scores: str


@dataclass(frozen=True)
class Manifest:
    """Everything needed to read the scores.

    Attributes:
        secret: random; the codes of the worlds follow from it.
        graph_format: "csv", "parquet" or "npz".
        fingerprint: of the worlds; scores of other worlds are refused.
        graph: fingerprint of edges, sens and node ids of the factual graph.
        features: fingerprint of its features.
        causal_model: name and fingerprint; None without one.
        draws, seed, protocol, released_share: of the worlds.
        node_ids: everyone, in the order of the rows.
        node_names: their names in the same order; None where ids are whole numbers.
        audited: the ids of the people to audit.
        about: other JSON data of the exporter.
        worlds: each one.
    """

    secret: str = field(repr=False)
    graph_format: str
    fingerprint: str
    graph: str
    features: str
    causal_model: dict[str, str] | None
    draws: int
    seed: int
    protocol: str
    released_share: float | None
    node_ids: list[int] = field(repr=False)
    node_names: list[str] | None = field(repr=False)
    audited: list[int] = field(repr=False)
    about: dict[str, Any]
    worlds: list[WorldEntry] = field(repr=False)

    def __post_init__(self) -> None:
        """Refuse what no export writes."""
        names = self.node_names if self.node_names is not None else self.node_ids
        if len(set(self.node_ids)) < len(self.node_ids) or len(names) != len(self.node_ids):
            raise ValueError("people twice, or other names than people")
        for path in (path for world in self.worlds for path in (world.path, world.scores)):
            if Path(path).is_absolute() or ".." in Path(path).parts:
                raise ValueError(f"{path}, outside the folder")

    def to_dict(self) -> dict[str, Any]:
        """As it is in the file."""
        found: dict[str, Any] = json_ready({"format": FORMAT, **asdict(self)})
        return found


def settled_by(worlds: Worlds) -> dict[str, Any]:
    """The fields of a manifest that identify the worlds."""
    graph, model = worlds.graph, worlds.causal_model
    named = model and {"name": model.name, "fingerprint": model.fingerprint()}
    return {
        "fingerprint": worlds.fingerprint,
        "graph": graph.fingerprint("edge_index", "sens", "node_id"),
        "features": graph.fingerprint("x"),
        "causal_model": named,
        "draws": worlds.draws,
        "seed": worlds.seed,
        "protocol": worlds.protocol,
        "released_share": worlds.released_share,
    }


def differences(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """The names of what differs between two manifests, without what only follows from it.

    `now` may be a part of a manifest, such as `settled_by` gives.
    """
    for causes in _CAUSES:
        found: dict[str, None] = {}
        for key in causes:
            if key not in now or before[key] == now[key]:
                continue
            for name in _leaves(before[key], now[key]) if key == "about" else [key]:
                found[_WORDS.get(name, name.replace("_", " "))] = None
        if found:
            return list(found)
    return []


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
    """The key in a folder that `export_worlds` wrote."""
    try:
        content = content_of(folder / MANIFEST)
        note_content(folder / MANIFEST, content)
        found = unsealed(json_of(content))
        if found.pop("format") != FORMAT:
            raise ValueError("another format")
        return from_json(Manifest, found)
    except (*DAMAGE, FairgearError, KeyError, TypeError, AttributeError) as error:
        got, step = f"no {MANIFEST} of exported worlds in it", "check the path"
        if (folder / _EARLIER).is_file():
            got, step = "worlds that an earlier version exported", "install that version"
        allowed = f"a folder that fairgear exported worlds to, with {MANIFEST} in it"
        raise FileError(
            f"folder {folder}", got, allowed, f"{step}, or export the worlds again"
        ) from error
