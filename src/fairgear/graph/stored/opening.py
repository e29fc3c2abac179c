"""A stored graph as a `SensitiveGraph` whose tensors are memory maps of its files."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from fairgear.errors import FileError
from fairgear.graph.canonical import Csr
from fairgear.graph.sensitive_graph import MASKS, SensitiveGraph
from fairgear.graph.tables.encoding import ENCODING, Encoding
from fairgear.streams import raw_bytes

META = "meta.json"
NAMES = "node_names.json"
KIND = "fairgear stored graph"
# To be raised when the files of a folder change.
FORMAT = 1
FIELDS = ("x", "edge_index", "y", "sens", "node_id", *MASKS)
CSR = ("indptr", "indices")
_META_TYPES: dict[str, type | tuple[type, ...]] = {
    "name": str,
    "nodes": int,
    "edges": int,
    "feature_names": list,
    "sens_column": (int, type(None)),
    "sens_kind": str,
    "label_names": (list, type(None)),
    "sens_names": (list, type(None)),
    "masks": bool,
    "arrays": dict,
    "fingerprint": str,
}


class StoredArrays:
    """Tensors whose content was checked and hashed when it was written.

    A graph keeps it when some of its fields are replaced; `holds` tells which are still those of
    the files. Changes in place are noticed only if made through the tensor itself, not through
    `.numpy()` or `.data`.

    Args:
        folder: of the files.
        tensors: fields of the graph, mapped.
        digests: the SHA-256 of the bytes of each.
        csr: the sorted neighbours of each row.
        sens_column: the column of the features that was compared with the attribute.
    """

    def __init__(
        self,
        folder: Path,
        tensors: Mapping[str, Tensor],
        digests: Mapping[str, str],
        csr: Csr,
        sens_column: int | None,
    ) -> None:
        self.folder = folder
        self.csr = csr
        self.sens_column = sens_column
        self._tensors = dict(tensors)
        self._digests = dict(digests)
        self._versions = {key: tensor._version for key, tensor in tensors.items()}

    def holds(self, key: str, value: Tensor | None) -> bool:
        """Whether `value` is the mapped field, unchanged."""
        return (
            value is not None
            and self._tensors.get(key) is value
            and value._version == self._versions[key]
        )

    def digest(self, key: str, value: Tensor) -> str | None:
        """The SHA-256 of the bytes of a field; None if it is not that of the file."""
        return self._digests[key] if self.holds(key, value) else None

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        # Copied tensors are no maps of the files.
        return self


def is_stored(path: Path | str) -> bool:
    """Whether it is the folder of a stored graph; an interrupted build leaves none."""
    return (Path(path) / META).is_file()


def read_meta(folder: Path) -> dict[str, Any]:
    """The content of `meta.json`."""
    try:
        meta = json.loads((folder / META).read_text(encoding="utf-8"))
        known = isinstance(meta, dict) and meta.get("kind") == KIND
    except (OSError, ValueError):
        known = False
    if not known:
        raise FileError(
            f"folder {folder}",
            f"no {META} of a stored graph",
            "a folder that fairgear store wrote",
            "check the path, or build it with fairgear store",
        )
    if meta.get("format") != FORMAT or any(
        not isinstance(meta.get(key), kind) for key, kind in _META_TYPES.items()
    ):
        raise _damaged(folder, f"a {META} of format {meta.get('format')}, or a damaged one")
    return dict(meta)


def open_stored(folder: Path | str, *, verify: bool = False) -> SensitiveGraph:
    """The graph; its arrays are read from disk when they are used.

    They were checked when they were written and are not checked again. Changes in memory are
    never written to the files.

    Args:
        folder: that `build_stored` or `write_stored` wrote.
        verify: read everything once and compare it with the hashes in `meta.json`.
    """
    folder = Path(folder)
    meta = read_meta(folder)
    try:
        arrays = {key: _mapped(folder, key, meta["arrays"][key]) for key in (*FIELDS, *CSR)}
        digests = {key: str(meta["arrays"][key]["sha256"]) for key in arrays}
        names = _node_names(folder)
    except (KeyError, TypeError, ValueError, EOFError, OSError) as error:
        raise _damaged(folder, f"files that are missing or cut short ({error})") from error
    for key, array in arrays.items() if verify else ():
        if hashlib.sha256(raw_bytes(array)).hexdigest() != digests[key]:
            raise _damaged(folder, f"{key}.npy with other content than was written")
    tensors = {key: torch.from_numpy(arrays[key]) for key in FIELDS}
    csr = arrays["indptr"], arrays["indices"]
    stored = StoredArrays(folder, tensors, digests, csr, meta["sens_column"])
    extra: dict[str, Any] = {
        key: tuple(meta[key]) for key in ("label_names", "sens_names") if meta[key] is not None
    }
    if (folder / ENCODING).exists():
        extra["encoding"] = Encoding.read(folder / ENCODING)
    if names is not None:
        extra["node_names"] = names
    return SensitiveGraph(
        **tensors,
        sens_column=meta["sens_column"],
        sens_kind=meta["sens_kind"],
        name=meta["name"],
        feature_names=meta["feature_names"],
        stored=stored,
        **extra,
    )


def _mapped(folder: Path, key: str, said: dict[str, Any]) -> NDArray[Any]:
    # Copy on write: torch needs writable memory, and nothing reaches the disk.
    held = np.load(folder / f"{key}.npy", mmap_mode="c", allow_pickle=False)
    if held.dtype != said["dtype"] or list(held.shape) != said["shape"]:
        raise ValueError(f"{key}.npy is {held.dtype} of shape {held.shape}")
    return np.asarray(held)


def _node_names(folder: Path) -> tuple[str, ...] | None:
    path = folder / NAMES
    return tuple(json.loads(path.read_text(encoding="utf-8"))) if path.exists() else None


def _damaged(folder: Path, got: str) -> FileError:
    return FileError(
        f"stored graph {folder}",
        got,
        f"files as fairgear store wrote them, format {FORMAT}",
        "build it again with fairgear store",
    )
