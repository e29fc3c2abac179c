"""What a model says of everybody, some people at a time, and files of it that are so written."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from torch import Tensor

from fairgear.auditing import who
from fairgear.files import replacing
from fairgear.graph import SensitiveGraph
from fairgear.methods import Method
from fairgear.methods.network_method import NetworkMethod, probabilities
from fairgear.npy_stream import NpyWriter
from fairgear.parquet_stream import parquet_stream

# People that a method is asked about at a time, if it does not say itself how many.
CHUNK = 65_536
# Rows of a row group, at least; eight megabytes where a representation has 1,024 numbers.
GROUP = 2_048

Matrix = NDArray[np.float32]
Vector = NDArray[np.float64]


def scores_of(model: Method, graph: SensitiveGraph) -> Iterator[Vector]:
    """Everybody's probability of label 1, some people at a time."""
    if isinstance(model, NetworkMethod):
        for _, logits in model.chunks(graph):
            yield probabilities(logits)[:, 1]
    else:
        for nodes in _runs(graph):
            yield model.predict_proba(graph, nodes=nodes)[:, 1]


def representations(
    model: Method, graph: SensitiveGraph, *, scores: bool = False
) -> Iterator[tuple[Matrix, Vector | None]]:
    """Everybody's representation (m, dim), m people at a time, and beside it their scores."""
    if isinstance(model, NetworkMethod):
        for z, logits in model.chunks(graph):
            yield z.numpy(), probabilities(logits)[:, 1] if scores else None
    else:
        for nodes in _runs(graph):
            score = model.predict_proba(graph, nodes=nodes)[:, 1] if scores else None
            yield model.embed(graph, nodes=nodes), score


def write_matrix(model: Method, graph: SensitiveGraph, out: Path) -> tuple[int, int]:
    """Write the representations to an NPY file as they come; its shape."""
    found = representations(model, graph)
    with replacing(out) as temporary:
        first, _ = next(found)
        rows = len(first)
        with NpyWriter(temporary, first.dtype, first.shape[1:]) as writer:
            writer.append(first)
            for z, _ in found:
                writer.append(z)
                rows += len(z)
            writer.finish(rows)
    return rows, first.shape[1]


def write_table(
    model: Method, graph: SensitiveGraph, out: Path, *, scores: bool = False
) -> tuple[int, int]:
    """Write the representations to a Parquet file as they come; rows, and how wide they are.

    The columns are `node_id`, `node_name` where people's ids are no whole numbers, `score` with
    `scores`, and z0, z1, ….
    """
    people, done, width = who(graph), 0, 0
    with parquet_stream(out, group=GROUP) as stream:
        for z, score in representations(model, graph, scores=scores):
            width = z.shape[1]
            rows = people.iloc[done : done + len(z)].reset_index(drop=True)
            if score is not None:
                rows = rows.assign(score=score)
            frame = pd.DataFrame(z, columns=[f"z{i}" for i in range(width)])
            stream.write(pd.concat([rows, frame], axis=1))
            done += len(z)
    return done, width


def _runs(graph: SensitiveGraph) -> tuple[Tensor, ...]:
    return torch.split(torch.arange(len(graph.x)), CHUNK)
