"""Whether the files of a stored graph hold what was written, and what a graph may hold.

Both are checked when a folder is opened, by reading all of it once. That it was found good is
remembered in the cache, by the size, times and inode number of each file, so that the next process
opens the folder without reading it. A folder that this machine has just built is remembered too. A
disk that loses bits changes none of these: `open_stored(verify=True)` reads everything again.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from fairgear.caching import cache_folder
from fairgear.errors import FileError, GraphError
from fairgear.files import file_stamp, settles_in, write_text
from fairgear.graph import validation
from fairgear.graph.attributes import Attributes
from fairgear.graph.canonical import check_csr
from fairgear.graph.stored.neighbours import row_of_edges
from fairgear.progress import bar
from fairgear.streams import raw_bytes

# Raised when more is checked.
_CHECKS = 1
# Bytes at a time.
_PIECE = 2**23
_good: set[str] = set()


def stamp_of(folder: Path, names: list[str], fingerprint: str) -> str:
    """Another one as soon as any of these files has changed."""
    found = [(name, file_stamp(folder / name)) for name in sorted(names)]
    wait = max(settles_in(stamp) for _, stamp in found)
    if wait > 0:
        time.sleep(wait)
        return stamp_of(folder, names, fingerprint)
    return hashlib.sha256(json.dumps([_CHECKS, fingerprint, found]).encode()).hexdigest()


def is_verified(folder: Path, stamp: str) -> bool:
    """Whether the files of this stamp have been found good."""
    if stamp in _good:
        return True
    try:
        if _note(folder).read_text(encoding="utf-8") != stamp:
            return False
    except (OSError, ValueError):
        return False
    _good.add(stamp)
    return True


def remember(folder: Path, stamp: str) -> None:
    """Note that they are good, for this process and, where there is a cache, for others.

    The stamp is one from before they were read.
    """
    _good.add(stamp)
    # Without a note the next process reads the folder again, and that is all.
    with suppress(FileError):
        write_text(_note(folder), stamp)


def check_bytes(
    folder: Path, arrays: Mapping[str, NDArray[Any]], meta: Mapping[str, Any]
) -> str | None:
    """The first file whose content is not that which was written; None if there is none."""
    total = sum(array.nbytes for array in arrays.values())
    with bar("checking the graph", total) as shown:
        for key, array in arrays.items():
            digest = hashlib.sha256()
            raw = raw_bytes(array)
            for begin in range(0, len(raw), _PIECE):
                digest.update(raw[begin : begin + _PIECE])
                shown.advance(min(_PIECE, len(raw) - begin))
            if digest.hexdigest() != meta["arrays"][key]["sha256"]:
                return f"{key}.npy"
    for name, expected in meta.get("files", {}).items():
        # Folders of earlier versions have no hashes of these.
        if file_sha256(folder / name) != expected:
            return str(name)
    return None


def check_content(
    arrays: Mapping[str, NDArray[Any]], meta: Mapping[str, Any], attributes: Attributes | None
) -> None:
    """Refuse what the constructor of a graph takes on trust: features, groups and edges."""
    x, indptr, indices = (arrays[key] for key in ("x", "indptr", "indices"))
    if meta.get("nodes", len(x)) != len(x):
        raise GraphError("nodes", meta["nodes"], f"{len(x)}, as features have", "build it again")
    directed = bool(meta.get("directed", False))
    piece = max(1, _PIECE // max(1, x[:1].nbytes))
    for begin in range(0, max(1, len(x)), piece):
        validation.check_features(torch.from_numpy(x[begin : begin + piece]))
    if len(indptr) != len(x) + 1:
        raise GraphError("indptr", f"{len(indptr)} entries", f"{len(x) + 1}", "build it again")
    check_csr(indptr, indices, directed=directed)
    edge_index, done = arrays["edge_index"], 0
    same = edge_index.dtype == np.int64 and edge_index.shape == (2, len(indices))
    for source in row_of_edges(indptr, _PIECE // 8) if same else ():
        end = done + len(source)
        same = same and np.array_equal(edge_index[0, done:end], source)
        same = same and np.array_equal(edge_index[1, done:end], indices[done:end])
        done = end
    if not same:
        raise GraphError(
            "edge_index", "other edges", "those of indptr and indices", "build it again"
        )
    edges = torch.from_numpy(edge_index)
    if "edge_weight" in arrays:
        weight = torch.from_numpy(arrays["edge_weight"])
        validation.check_weights(weight, edges, len(x), directed=directed)
    sens, groups = torch.from_numpy(arrays["sens"]), 2 if attributes is None else len(attributes)
    validation.check_sensitive(sens, torch.from_numpy(x), meta["sens_column"], groups)


def file_sha256(path: Path) -> str:
    """The SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _note(folder: Path) -> Path:
    name = hashlib.sha256(str(folder.resolve()).encode(errors="surrogatepass")).hexdigest()
    return cache_folder() / "verified" / f"{name[:32]}.txt"
