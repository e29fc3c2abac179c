"""The folder of a stored graph: created whole or not at all, from a graph in memory."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairgear.errors import FileError
from fairgear.files import umask, unwritable, write_json
from fairgear.graph.sensitive_graph import MASKS, SensitiveGraph
from fairgear.graph.stored.neighbours import write_neighbours
from fairgear.graph.stored.opening import FORMAT, KIND, META, NAMES
from fairgear.graph.tables.encoding import ENCODING
from fairgear.progress import log
from fairgear.streams import NpyWriter

# The ending of folders that killed processes leave behind; they may be removed.
PARTIAL = ".fairgear-partial"
# Edges in memory at a time.
_PIECE = 2**20


def write_stored(graph: SensitiveGraph, folder: Path | str) -> dict[str, Any]:
    """Write a graph to a new folder; returns the content of its `meta.json`.

    Fields, masks, names and encoding are kept. What made the graph is not: the counterfactual
    worlds of a stored graph are those of a fitted model.
    """
    lost = [key for key in ("mechanism", "latent", "raw") if graph.get(key) is not None]
    with new_folder(Path(folder)) as partial:
        digests, _ = write_neighbours(partial, _keys(graph), len(graph.x), _PIECE)
        fields = ("x", "y", "sens", "node_id", *MASKS)
        digests |= write_arrays(partial, {key: graph[key].detach().cpu().numpy() for key in fields})
        if graph.get("encoding") is not None:
            graph["encoding"].write(partial / ENCODING)
        if graph.get("node_names") is not None:
            write_json(partial / NAMES, list(graph["node_names"]))
        meta = write_meta(
            partial,
            digests,
            name=graph.name,
            feature_names=graph.feature_names,
            sens_column=graph.sens_column,
            sens_kind=graph.sens_kind,
            label_names=graph.get("label_names"),
            sens_names=graph.get("sens_names"),
            masks=all(bool(graph[key].any()) for key in MASKS),
        )
    if lost:
        log(f"{graph.name}: not stored: {', '.join(lost)}; its worlds will be a fitted model's")
    return meta


@contextmanager
def new_folder(path: Path) -> Iterator[Path]:
    """A temporary folder beside `path` to write to; renamed on success, else removed."""
    if path.exists() and not (path.is_dir() and not any(path.iterdir())):
        raise FileError(
            f"folder {path}",
            "a folder with files in it" if path.is_dir() else "a file of that name",
            "a new or empty folder",
            "choose another --out, or remove it",
        )
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        partial = Path(tempfile.mkdtemp(PARTIAL, f".{path.name}.", path.parent))
    except OSError as error:
        raise unwritable(path, error.strerror or error) from error
    try:
        yield partial
        # mkdtemp makes it private.
        partial.chmod(0o777 & ~umask())
        os.replace(partial, path)
    except OSError as error:
        if isinstance(error, FileError):
            raise
        raise unwritable(path, error.strerror or error) from error
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def write_arrays(folder: Path, arrays: Mapping[str, NDArray[Any]]) -> dict[str, str]:
    """Write each array to an NPY file; returns their SHA-256."""
    digests = {}
    for key, values in arrays.items():
        with NpyWriter(folder / f"{key}.npy", values.dtype, values.shape[1:]) as writer:
            writer.append(values)
            digests[key] = writer.finish(len(values))
    return digests


def write_meta(
    folder: Path,
    digests: Mapping[str, str],
    *,
    name: str,
    feature_names: Sequence[str],
    sens_column: int | None,
    sens_kind: str = "binary",
    label_names: Sequence[str] | None = None,
    sens_names: Sequence[str] | None = None,
    masks: bool = False,
) -> dict[str, Any]:
    """Write `meta.json`, the last file of a folder, and return its content.

    Args:
        folder: with the arrays.
        digests: the SHA-256 of each array.
        name: of the graph, for people.
        feature_names: one a column of x.
        sens_column: the column of x that holds the sensitive attribute.
        sens_kind: what the attribute is.
        label_names, sens_names: what 0 and 1 stand for.
        masks: whether no mask is empty.
    """
    arrays = {}
    for key in sorted(digests):
        held = np.load(folder / f"{key}.npy", mmap_mode="r", allow_pickle=False)
        arrays[key] = {"dtype": held.dtype.name, "shape": held.shape, "sha256": digests[key]}
    meta = {
        "kind": KIND,
        "format": FORMAT,
        "name": name,
        "nodes": arrays["x"]["shape"][0],
        "edges": arrays["indices"]["shape"][0] // 2,
        "feature_names": list(feature_names),
        "sens_column": sens_column,
        "sens_kind": sens_kind,
        "label_names": label_names,
        "sens_names": sens_names,
        "masks": masks,
        "arrays": arrays,
    }
    content = json.dumps(meta, sort_keys=True)
    meta["fingerprint"] = hashlib.sha256(content.encode()).hexdigest()
    write_json(folder / META, meta)
    return meta


def _keys(graph: SensitiveGraph) -> Iterator[NDArray[np.int64]]:
    """The edges as source · n + target; a graph keeps them sorted."""
    edges, n = graph.edge_index.cpu(), len(graph.x)
    for begin in range(0, edges.shape[1], _PIECE):
        source, target = edges[:, begin : begin + _PIECE].numpy()
        yield source * n + target
