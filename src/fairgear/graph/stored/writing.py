"""A graph in memory, written as a stored one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairgear.files import write_json
from fairgear.graph.convert.encoding import ENCODING
from fairgear.graph.sensitive_graph import MASKS, SensitiveGraph
from fairgear.graph.stored.facts import Described, write_facts
from fairgear.graph.stored.folder import new_folder
from fairgear.graph.stored.neighbours import write_neighbours
from fairgear.graph.stored.opening import NAMES
from fairgear.npy_stream import NpyWriter
from fairgear.progress import log

# Edges that are in hand at once.
_PIECE = 2**20


def write_stored(graph: SensitiveGraph, folder: Path | str) -> dict[str, Any]:
    """Write a graph to a new folder; what its `meta.json` says.

    Fields, masks, names and encoding are kept. What made the graph is not: the counterfactual
    worlds of a stored graph are those of a fitted model.
    """
    lost = [key for key in ("mechanism", "latent", "raw") if graph.get(key) is not None]
    with new_folder(Path(folder)) as partial:
        digests, _ = write_neighbours(partial, _keys(graph), len(graph.x), _PIECE)
        for key in ("x", "y", "sens", "node_id", *MASKS):
            values = graph[key].detach().cpu().numpy()
            with NpyWriter(partial / f"{key}.npy", values.dtype, values.shape[1:]) as writer:
                writer.append(values)
                digests[key] = writer.finish(len(values))
        if graph.get("encoding") is not None:
            graph["encoding"].write(partial / ENCODING)
        if graph.get("node_names") is not None:
            write_json(partial / NAMES, list(graph["node_names"]))
        said = Described(
            graph.name,
            graph.feature_names,
            graph.sens_column,
            graph.sens_kind,
            graph.get("label_names"),
            graph.get("sens_names"),
            all(bool(graph[key].any()) for key in MASKS),
        )
        facts = write_facts(partial, said, digests)
    if lost:
        log(f"{graph.name}: not stored: {', '.join(lost)}; its worlds will be a fitted model's")
    return facts


def _keys(graph: SensitiveGraph) -> Iterator[NDArray[np.int64]]:
    """The edges, which a graph keeps in order."""
    edges, n = graph.edge_index.cpu(), len(graph.x)
    for begin in range(0, edges.shape[1], _PIECE):
        source, target = edges[:, begin : begin + _PIECE].numpy()
        yield source * n + target
