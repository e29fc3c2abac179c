"""The last file of a stored graph: what the others hold, by which they are known to be whole."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from fairgear.files import write_json
from fairgear.stored_folder import FORMAT, KIND, META


@dataclass(frozen=True)
class Described:
    """What `meta.json` says beside the files.

    Attributes:
        name: of the graph, for people.
        feature_names: one a column of x.
        sens_column: the column of x that holds the sensitive attribute.
        sens_kind: what the attribute is.
        label_names, sens_names: what 0 and 1 stand for.
        masks: whether somebody is in each mask.
    """

    name: str
    feature_names: Sequence[str]
    sens_column: int | None
    sens_kind: str = "binary"
    label_names: Sequence[str] | None = None
    sens_names: Sequence[str] | None = None
    masks: bool = False


def write_facts(folder: Path, said: Described, digests: Mapping[str, str]) -> dict[str, Any]:
    """Write `meta.json` of the arrays that are there, with the SHA-256 of each."""
    arrays = {}
    for key in sorted(digests):
        held = np.load(folder / f"{key}.npy", mmap_mode="r", allow_pickle=False)
        arrays[key] = {"dtype": held.dtype.name, "shape": held.shape, "sha256": digests[key]}
    facts = {
        "kind": KIND,
        "format": FORMAT,
        "name": said.name,
        "nodes": arrays["x"]["shape"][0],
        "edges": arrays["indices"]["shape"][0] // 2,
        "feature_names": list(said.feature_names),
        "sens_column": said.sens_column,
        "sens_kind": said.sens_kind,
        "label_names": said.label_names,
        "sens_names": said.sens_names,
        "masks": said.masks,
        "arrays": arrays,
    }
    content = json.dumps(facts, sort_keys=True)
    facts["fingerprint"] = hashlib.sha256(content.encode()).hexdigest()
    write_json(folder / META, facts)
    return facts
