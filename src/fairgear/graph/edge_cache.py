"""Edges of a table, built once: kept under a key of the table's content and the rule."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from fairgear.caching import cache_folder, keep
from fairgear.errors import FileError
from fairgear.graph.edges import undirected_edges
from fairgear.graph.similarity import SimilarityRule
from fairgear.graph.similarity_kernel import Floats
from fairgear.progress import log
from fairgear.tensor_files import read_tensors, write_tensors

# To be raised with every change that gives other edges for the same table and rule.
ALGORITHM = 1


def cached_edges(table: Floats, rule: SimilarityRule) -> Tensor:
    """`rule.edges(table)`, from the cache where it is there and whole.

    Args:
        table: (n, c), as it is: the same values give the same key, whatever file they came from.
        rule: joins the rows.
    """
    key = _key(table, rule)
    path = cache_folder() / "edges" / f"{key}.safetensors"
    known = _read(path, key, len(table))
    if known is not None:
        return known
    edges = rule.edges(table)
    keep(path, lambda place: _write(place, key, edges))
    return edges


def _key(table: Floats, rule: SimilarityRule) -> str:
    said = {
        "algorithm": ALGORITHM,
        "shape": table.shape,
        "threshold": float(rule.threshold).hex(),
        "neighbors": rule.neighbors,
    }
    digest = hashlib.sha256(json.dumps(said, sort_keys=True).encode())
    # The same bytes on every machine, and in row order whatever the array's own.
    digest.update(np.ascontiguousarray(table, dtype="<f8").data)
    return digest.hexdigest()


def _write(path: Path, key: str, edges: Tensor) -> None:
    # Each edge once, and no table has 2³¹ rows: a quarter of the bytes.
    pairs = edges[:, edges[0] < edges[1]].to(torch.int32)
    write_tensors(path, {"pairs": pairs}, {"key": key, "checksum": _checksum(key, pairs)})


def _read(path: Path, key: str, n: int) -> Tensor | None:
    """The edges that `_write` left; None for a missing file, and for any that is not one of its."""
    if not os.path.isfile(path):
        return None
    try:
        tensors, said = read_tensors(path)
    except FileError:
        tensors, said = {}, {}
    pairs = tensors.get("pairs")
    if pairs is None or said.get("checksum") != _checksum(key, pairs):
        log(f"the cached edges in {path} are damaged: building them again")
        return None
    return undirected_edges(pairs.to(torch.int64), n)


def _checksum(key: str, pairs: Tensor) -> str:
    digest = hashlib.sha256(f"{key}:{pairs.dtype}:{tuple(pairs.shape)};".encode())
    digest.update(pairs.numpy().tobytes())
    return digest.hexdigest()
