"""Stored graphs whose hashes agree, and whose arrays hold what no graph may hold."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairgear.graph.stored.folder import META, _fingerprint

Array = NDArray[Any]


def sealed(folder: Path, arrays: dict[str, Array], **facts: Any) -> None:
    """Replace arrays and facts of a stored graph, with the hashes that belong to them."""
    meta: dict[str, Any] = json.loads((folder / META).read_text()) | facts
    for key, values in arrays.items():
        np.save(folder / f"{key}.npy", values)
        digest = hashlib.sha256(np.ascontiguousarray(values).tobytes()).hexdigest()
        shape = list(values.shape)
        meta["arrays"][key] = {"dtype": values.dtype.name, "shape": shape, "sha256": digest}
    meta["fingerprint"] = _fingerprint(meta)
    (folder / META).write_text(json.dumps(meta))


def _with(key: str, place: Any, value: float) -> Callable[[dict[str, Array]], dict[str, Array]]:
    def changed(arrays: dict[str, Array]) -> dict[str, Array]:
        values = arrays[key].copy()
        values[place] = value
        return {key: values}

    return changed


def _swapped(arrays: dict[str, Array]) -> dict[str, Array]:
    values = arrays["indices"].copy()
    begin = int(np.flatnonzero(np.diff(arrays["indptr"]) > 1)[0])
    first = arrays["indptr"][begin]
    values[[first, first + 1]] = values[[first + 1, first]]
    return {"indices": values}


def _repeated(arrays: dict[str, Array]) -> dict[str, Array]:
    values = arrays["node_id"].copy()
    values[1] = values[0]
    return {"node_id": values}


# By name, arrays to replace.
IMPOSSIBLE: dict[str, Callable[[dict[str, Array]], dict[str, Array]]] = {
    "a neighbour past the end": _with("indices", 0, 2**30),
    "a negative neighbour": _with("indices", -1, -1),
    "oneself as a neighbour": _with("indices", 0, 0),
    "unsorted neighbours": _swapped,
    "a row that ends before it begins": _with("indptr", 1, -5),
    "a row past the end": _with("indptr", 2, 2**60),
    "fewer rows than people": lambda arrays: {"indptr": arrays["indptr"][[0, -1]]},
    "an edge past the end": _with("edge_index", (0, -1), 2**40),
    "a negative edge": _with("edge_index", (1, 0), -1),
    "edges in another order": lambda arrays: {"edge_index": arrays["edge_index"][:, ::-1]},
    "edges of another shape": lambda arrays: {"edge_index": arrays["edge_index"].T},
    "NaN": _with("x", (0, 1), np.nan),
    "infinity": _with("x", (-1, -1), np.inf),
    "features of whole numbers": lambda arrays: {"x": arrays["x"].astype(np.int64)},
    "nobody": lambda arrays: {"x": arrays["x"][:0]},
    "a third group": _with("sens", 0, 2),
    "a negative group": _with("sens", 0, -1),
    "a class that is none": _with("y", 0, -7),
    "an id twice": _repeated,
    "more ids than people": lambda arrays: {"node_id": np.arange(1000)},
    "masks of numbers": lambda arrays: {"train_mask": arrays["sens"]},
}
