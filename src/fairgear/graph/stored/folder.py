"""The folder of a stored graph: written whole or not at all, opened as memory maps of its files."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from fairgear.decoding import from_json
from fairgear.documents import json_of, read_json
from fairgear.errors import FairgearError, FileError
from fairgear.files import json_ready, new_folder, write_errors, write_json
from fairgear.graph.attributes import Attributes
from fairgear.graph.canonical import Csr
from fairgear.graph.sensitive_graph import MASKS, SensitiveGraph
from fairgear.graph.stored.neighbours import write_neighbours
from fairgear.graph.stored.verification import (
    check_bytes,
    check_content,
    file_sha256,
    is_verified,
    remember,
    stamp_of,
)
from fairgear.graph.tables.encoding import ENCODING, Encoding
from fairgear.progress import log
from fairgear.reading import DAMAGE
from fairgear.settings import Range
from fairgear.streams import NpyWriter

META = "meta.json"
NAMES = "node_names.json"
KIND = "fairgear stored graph"
# To be raised when the files of a folder change.
FORMAT = 1
FIELDS = ("x", "edge_index", "y", "sens", "node_id", *MASKS)
# Of graphs that have them.
WEIGHTS, KNOWN, TOLD = _SOME = ("edge_weight", "sens_known", "sens_told")
CSR = ("indptr", "indices")
# What a file that was not written by `write_stored` may raise.
_BROKEN = (*DAMAGE, KeyError, TypeError, IndexError, AttributeError)
# Facts of `meta.json` that tell no graph from another.
_NOT_CONTENT = ("fingerprint", "files", "made_from")
# Edges in memory at a time.
_PIECE = 2**20


@dataclass(frozen=True)
class _Array:
    """What `meta.json` says of an array."""

    dtype: str
    shape: tuple[Annotated[int, Range(0, 2**62)], ...]
    sha256: str


@dataclass(frozen=True)
class _Meta:
    """The types of what `meta.json` holds."""

    name: str
    nodes: Annotated[int, Range(0, 2**62)]
    edges: Annotated[int, Range(0, 2**62)]
    feature_names: tuple[str, ...]
    sens_column: Annotated[int, Range(0, 2**31)] | None
    sens_kind: str
    label_names: tuple[str, ...] | None
    sens_names: tuple[str, ...] | None
    masks: bool
    arrays: Mapping[str, _Array]
    fingerprint: str
    directed: bool = False
    attributes: Attributes | None = None


@dataclass(eq=False, repr=False)
class StoredArrays:
    """Tensors whose content was checked and hashed when it was written.

    A graph keeps it when some of its fields are replaced; `holds` says which are still those of
    the files. Changes in place are noticed only if made through the tensor itself, not through
    `.numpy()` or `.data`.

    Args:
        folder: of the files.
        tensors: fields of the graph, mapped.
        digests: the SHA-256 of the bytes of each.
        csr: the sorted neighbours of each row.
        sens_column: the column of the features that was compared with the attribute.
        directed: whether the edges were checked as arcs.
    """

    folder: Path
    tensors: Mapping[str, Tensor]
    digests: Mapping[str, str]
    csr: Csr
    sens_column: int | None
    directed: bool = False

    def __post_init__(self) -> None:
        self._versions = {key: tensor._version for key, tensor in self.tensors.items()}

    def __repr__(self) -> str:
        return f"StoredArrays({str(self.folder)!r})"

    def holds(self, key: str, value: Tensor | None) -> bool:
        """Whether `value` is the mapped field, unchanged."""
        return (
            value is not None
            and self.tensors.get(key) is value
            and value._version == self._versions[key]
        )

    def digest(self, key: str, value: Tensor) -> str | None:
        """The SHA-256 of the bytes of a field; None if it is not that of the file."""
        return self.digests[key] if self.holds(key, value) else None

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        # Copied tensors are no maps of the files.
        return self


def is_stored(path: Path | str) -> bool:
    """Whether it is the folder of a stored graph; an interrupted build leaves none."""
    return os.path.isfile(Path(path) / META)


def read_meta(folder: Path) -> dict[str, Any]:
    """The content of `meta.json`."""
    got, allowed = f"no {META} of a stored graph", "a folder that fairgear store wrote"
    step = "check the path, or build it with fairgear store"
    if not is_stored(folder):
        raise FileError(f"folder {folder}", got, allowed, step)
    meta = read_json(folder / META, got, allowed, step, what="stored graph's")
    if not isinstance(meta, dict) or meta.get("kind") != KIND:
        raise FileError(f"folder {folder}", got, allowed, step)
    if meta.get("format") != FORMAT:
        raise _damaged(folder, f"a {META} of format {meta.get('format')!r}")
    try:
        from_json(_Meta, meta)
    except ValueError as error:
        raise _damaged(folder, f"a damaged {META} ({error})") from error
    if meta["fingerprint"] != _fingerprint(meta):
        raise _damaged(folder, f"{META} with other content than was written")
    return dict(meta)


def open_stored(folder: Path | str, *, verify: bool = False) -> SensitiveGraph:
    """The graph; its arrays are read from disk when they are used.

    All of them are read once, and compared with the hashes in `meta.json`, when a folder is opened
    that this machine has neither built nor opened before, or whose files have changed since.
    Changes in memory are never written to the files.

    Args:
        folder: that `build_stored` or `write_stored` wrote.
        verify: read and compare everything now.

    Example:
        >>> from fairgear.graph import open_stored, write_stored
        >>> from fairgear.testing import toy_graph
        >>> meta = write_stored(toy_graph(), "stored")
        >>> graph = open_stored("stored")
        >>> graph.num_nodes
        160
    """
    folder = Path(folder)
    meta = read_meta(folder)
    try:
        return _opened(folder, meta, verify)
    except FileError:
        raise
    except FairgearError as error:
        raise _damaged(folder, f"{error.what}: {error.got}") from error
    except _BROKEN as error:
        raise _damaged(folder, f"files that are missing or cut short ({error})") from error


def _opened(folder: Path, meta: dict[str, Any], verify: bool) -> SensitiveGraph:
    extra: dict[str, Any] = {
        key: tuple(meta[key]) for key in ("label_names", "sens_names") if meta[key]
    }
    fields = [*FIELDS, *(key for key in _SOME if key in meta["arrays"])]
    arrays = {key: _mapped(folder, key, meta["arrays"][key]) for key in (*fields, *CSR)}
    digests = {key: str(meta["arrays"][key]["sha256"]) for key in arrays}
    held = meta.get("attributes")
    attributes = None if held is None else Attributes.from_dict(held)
    stamp = _stamp(folder, meta)
    names = folder / NAMES if (folder / NAMES).exists() else None
    if verify or not is_verified(folder, stamp):
        wrong = check_bytes(folder, arrays, meta)
        if wrong is not None:
            raise _damaged(folder, f"{wrong} with other content than was written")
        check_content(arrays, meta, attributes)
        if names is not None:
            _check_names(names)
        remember(folder, stamp)
    if names is not None:
        # As it was checked: to look at a million names again takes as long as to read them.
        extra["node_names"] = tuple(json.loads(names.read_bytes()))
    tensors: dict[str, Any] = {key: torch.from_numpy(arrays[key]) for key in fields}
    csr = arrays["indptr"], arrays["indices"]
    # Folders of earlier versions do not say it.
    directed = bool(meta.get("directed", False))
    return SensitiveGraph(
        **tensors,
        sens_column=meta["sens_column"],
        sens_kind=meta["sens_kind"],
        attributes=attributes,
        name=meta["name"],
        feature_names=meta["feature_names"],
        stored=StoredArrays(folder, tensors, digests, csr, meta["sens_column"], directed),
        directed=directed,
        encoding=Encoding.of_folder(folder),
        **extra,
    )


def _stamp(folder: Path, meta: Mapping[str, Any]) -> str:
    others = [name for name in (NAMES, ENCODING) if (folder / name).exists()]
    names = [*(f"{key}.npy" for key in meta["arrays"]), *others]
    return stamp_of(folder, names, meta["fingerprint"])


def _check_names(path: Path) -> None:
    found = json_of(path.read_bytes())
    if not isinstance(found, list) or not all(isinstance(name, str) for name in found):
        raise ValueError(f"{path.name} is no list of names")


def _mapped(folder: Path, key: str, expected: dict[str, Any]) -> NDArray[Any]:
    # Copy on write: torch needs writable memory, and nothing reaches the disk.
    path = folder / f"{key}.npy"
    if path.exists() and not path.is_file():
        raise ValueError(f"{path.name} is no file")
    try:
        held = np.load(path, mmap_mode="c", allow_pickle=False)
    except Exception as error:
        # A header that is damaged raises whatever Python's own parser does.
        raise ValueError(f"{path.name}: {error}") from error
    if held.dtype != expected["dtype"] or list(held.shape) != expected["shape"]:
        raise ValueError(f"{key}.npy is {held.dtype} of shape {held.shape}")
    return np.asarray(held)


def _damaged(folder: Path, got: str) -> FileError:
    return FileError(
        f"stored graph {folder}",
        got,
        f"files as fairgear store wrote them, format {FORMAT}",
        "build it again with fairgear store",
    )


def write_stored(graph: SensitiveGraph, folder: Path | str) -> dict[str, Any]:
    """Write a graph to a new folder; returns the content of its `meta.json`.

    Fields, masks, names and encoding are kept. What made the graph is not: the counterfactual
    worlds of a stored graph are those of a fitted model.

    Example:
        >>> from fairgear.graph import write_stored
        >>> from fairgear.testing import toy_graph
        >>> meta = write_stored(toy_graph(), "stored")
        >>> meta["nodes"]
        160
    """
    lost = [key for key in ("mechanism", "latent", "raw") if graph.get(key) is not None]
    folder = Path(folder)
    check_new(folder)
    with new_folder(folder) as partial:
        digests, _ = write_neighbours(partial, _keys(graph), len(graph.x), _PIECE)
        fields = [key for key in FIELDS if key != "edge_index"]
        fields += [key for key in _SOME if graph.get(key) is not None]
        digests |= write_arrays(partial, {key: graph[key].detach().cpu().numpy() for key in fields})
        if graph.get("encoding") is not None:
            graph["encoding"].write(partial / ENCODING)
        if graph.get("node_names") is not None:
            write_json(partial / NAMES, list(graph["node_names"]))
        kept = ("name", "feature_names", "sens_column", "sens_kind", "label_names", "sens_names")
        masks = all(bool(graph[key].any()) for key in MASKS)
        facts = {key: graph.get(key) for key in kept} | {"masks": masks}
        if graph.attributes is not None:
            facts["attributes"] = graph.attributes.to_dict()
        facts |= {"directed": True} if graph.directed else {}
        meta = write_meta(partial, digests, facts)
    remember_new(folder, meta)
    if lost:
        log(f"{graph.name}: not stored: {', '.join(lost)}; its worlds will be a fitted model's")
    return meta


def check_new(path: Path) -> None:
    """Refuse to write a stored graph where there is anything already."""
    with write_errors(path):
        taken = path.exists() and not (path.is_dir() and not any(path.iterdir()))
    if taken:
        raise FileError(
            f"folder {path}",
            "a folder with files in it" if path.is_dir() else "a file of that name",
            "a new or empty folder",
            "choose another --out, or remove it",
        )


def write_arrays(folder: Path, arrays: Mapping[str, NDArray[Any]]) -> dict[str, str]:
    """Write each array to an NPY file; returns their SHA-256."""
    digests = {}
    for key, values in arrays.items():
        with NpyWriter(folder / f"{key}.npy", values.dtype, values.shape[1:]) as writer:
            writer.append(values)
            digests[key] = writer.finish(len(values))
    return digests


def write_meta(
    folder: Path, digests: Mapping[str, str], facts: Mapping[str, Any]
) -> dict[str, Any]:
    """Write `meta.json`, the last file of a folder, and return its content.

    Args:
        folder: with the arrays.
        digests: the SHA-256 of each array.
        facts: fields of the graph that are no arrays, by the names in `_Meta`; `masks` says
            whether no mask is empty.
    """
    arrays: dict[str, Any] = {}
    for key in sorted(digests):
        held = np.load(folder / f"{key}.npy", mmap_mode="r", allow_pickle=False)
        arrays[key] = {"dtype": held.dtype.name, "shape": held.shape, "sha256": digests[key]}
    meta = {
        "kind": KIND,
        "format": FORMAT,
        "nodes": arrays["x"]["shape"][0],
        "edges": arrays["indices"]["shape"][0] // (1 if facts.get("directed") else 2),
        "sens_kind": "binary",
        "masks": False,
        "arrays": arrays,
        **facts,
    }
    others = [name for name in (NAMES, ENCODING) if (folder / name).exists()]
    meta["files"] = {name: file_sha256(folder / name) for name in others}
    meta["fingerprint"] = _fingerprint(meta)
    write_json(folder / META, meta)
    return meta


def remember_new(folder: Path, meta: Mapping[str, Any]) -> None:
    """Note that a folder that was just written need not be checked when it is opened."""
    with write_errors(folder):
        remember(folder, _stamp(folder, meta))


def _fingerprint(meta: Mapping[str, Any]) -> str:
    content = {key: value for key, value in meta.items() if key not in _NOT_CONTENT}
    return hashlib.sha256(json.dumps(json_ready(content), sort_keys=True).encode()).hexdigest()


def _keys(graph: SensitiveGraph) -> Iterator[NDArray[np.int64]]:
    """The edges as source · n + target; a graph keeps them sorted."""
    edges, n = graph.edge_index.cpu(), len(graph.x)
    for begin in range(0, edges.shape[1], _PIECE):
        source, target = edges[:, begin : begin + _PIECE].numpy()
        yield source * n + target
