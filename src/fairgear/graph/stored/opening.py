"""A stored graph as a `SensitiveGraph` whose tensors are maps of its files."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from fairgear.errors import FileError
from fairgear.graph.convert.encoding import ENCODING, Encoding
from fairgear.graph.sensitive_graph import MASKS, SensitiveGraph
from fairgear.graph.stored.arrays import StoredArrays
from fairgear.npy_stream import raw_bytes
from fairgear.stored_folder import damaged, read_facts

NAMES = "node_names.json"
FIELDS = ("x", "edge_index", "y", "sens", "node_id", *MASKS)
CSR = ("indptr", "indices")


def open_stored(folder: Path | str, *, verify: bool = False) -> SensitiveGraph:
    """The graph, read from the disk where and when it is looked at.

    Its content was checked when it was written and is not checked again; changes in memory are
    never written to the files.

    Args:
        folder: that `build_stored` or `write_stored` wrote.
        verify: read everything once and compare it with the hashes of the time of writing.
    """
    folder = Path(folder)
    facts = read_facts(folder)
    try:
        arrays = {key: _mapped(folder, key, facts["arrays"][key]) for key in (*FIELDS, *CSR)}
        if verify:
            for key, array in arrays.items():
                _verify(folder, key, array, facts["arrays"][key]["sha256"])
        digests = {key: str(facts["arrays"][key]["sha256"]) for key in FIELDS}
        names = _node_names(folder)
    except FileError:
        raise
    except (KeyError, TypeError, ValueError, EOFError, OSError) as error:
        raise damaged(folder, f"files that are missing or cut short ({error})") from error
    tensors = {key: torch.from_numpy(arrays[key]) for key in FIELDS}
    csr = arrays["indptr"], arrays["indices"]
    stored = StoredArrays(folder, tensors, digests, csr, facts["sens_column"])
    extra: dict[str, Any] = {
        key: tuple(facts[key]) for key in ("label_names", "sens_names") if facts[key] is not None
    }
    if (folder / ENCODING).exists():
        extra["encoding"] = Encoding.read(folder / ENCODING)
    if names is not None:
        extra["node_names"] = names
    return SensitiveGraph(
        **tensors,
        sens_column=facts["sens_column"],
        sens_kind=facts["sens_kind"],
        name=facts["name"],
        feature_names=facts["feature_names"],
        stored=stored,
        **extra,
    )


def _mapped(folder: Path, key: str, said: dict[str, Any]) -> NDArray[Any]:
    # Changed pages are this process's own: torch must be able to write, and nothing reaches disk.
    held = np.load(folder / f"{key}.npy", mmap_mode="c", allow_pickle=False)
    if held.dtype != said["dtype"] or list(held.shape) != said["shape"]:
        raise ValueError(f"{key}.npy is {held.dtype} of shape {held.shape}")
    return np.asarray(held)


def _verify(folder: Path, key: str, array: NDArray[Any], expected: str) -> None:
    if hashlib.sha256(raw_bytes(array)).hexdigest() != expected:
        raise damaged(folder, f"{key}.npy with other content than was written")


def _node_names(folder: Path) -> tuple[str, ...] | None:
    path = folder / NAMES
    if not path.exists():
        return None
    return tuple(json.loads(path.read_text(encoding="utf-8")))
