"""Graphs as files for other programs: features, sens and edges, without labels and masks."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
import pyarrow as pa
import torch
from numpy.typing import NDArray
from pyarrow import csv, parquet

from fairgear.auditing.people import person_ids
from fairgear.errors import ParameterError
from fairgear.files import replacing
from fairgear.graph import SensitiveGraph

GraphFormat = Literal["csv", "parquet", "npz"]
_FORMATS: tuple[GraphFormat, ...] = get_args(GraphFormat)
_OWN_COLUMNS = ("node_id", "node_name", "sens")


def check_format(name: str) -> GraphFormat:
    """`name`, if it is one of the formats."""
    for known in _FORMATS:
        if name == known:
            return known
    step = "use csv where the other program reads tables"
    raise ParameterError("format of graphs", repr(name), ", ".join(_FORMATS), step)


def graph_path(folder: Path, name: str, form: GraphFormat) -> Path:
    """The path of a graph: a folder of two tables, or one file."""
    return folder / (f"{name}.npz" if form == "npz" else name)


def graph_files(path: Path, form: GraphFormat) -> tuple[Path, ...]:
    """The files of a graph at `path`."""
    return (path,) if form == "npz" else (path / f"edges.{form}", path / f"nodes.{form}")


def write_graph(graph: SensitiveGraph, path: Path, form: GraphFormat) -> None:
    """Write what a model may see of `graph`.

    Args:
        graph: its numbers are kept exactly, also as text.
        path: for "csv" and "parquet" a folder: `nodes` with node_id, sens and the features by
            name, `edges` with source and target by node_id, each edge once, and weight if edges
            have any. For "npz" a file with x, edge_index (row numbers, both directions unless the
            graph is directed), edge_weight if there is any, sens and node_id. In both, a node_name
            beside node_id where ids are not whole numbers.
        form: "csv", "parquet" or "npz".
    """
    if form == "npz":
        _write_arrays(graph, path)
        return
    pairs = graph.edge_index.cpu()
    chosen = (pairs[0] < pairs[1]) | graph.directed
    once = graph.node_id.cpu()[pairs[:, chosen]].numpy()
    links, names = [once[0], once[1]], ["source", "target"]
    if graph.edge_weight is not None:
        links.append(graph.edge_weight.detach().cpu()[chosen].numpy())
        names.append("weight")
    known = [column.to_numpy() for _, column in person_ids(graph).items()]
    columns = [*known, graph.sens.cpu().numpy(), *_features(graph).T]
    tables = (
        pa.table(links, names),
        pa.table([np.ascontiguousarray(column) for column in columns], node_columns(graph)),
    )
    for place, table in zip(graph_files(path, form), tables, strict=True):
        with replacing(place) as temporary:
            if form == "csv":
                csv.write_csv(table, temporary, csv.WriteOptions(quoting_style="needed"))
            else:
                parquet.write_table(table, temporary)


def node_columns(graph: SensitiveGraph) -> list[str]:
    """The names of the columns of `nodes`, each once."""
    taken = {*_OWN_COLUMNS, *graph.feature_names}
    names = [*person_ids(graph).columns, "sens"]
    for name in graph.feature_names:
        if name in _OWN_COLUMNS:
            while name in taken:
                name = f"{name}_feature"
            taken.add(name)
        names.append(name)
    return names


def _write_arrays(graph: SensitiveGraph, path: Path) -> None:
    # As text: objects would have to be pickled.
    known: dict[str, Any] = {
        str(name): column.to_numpy(dtype=str if name == "node_name" else None)
        for name, column in person_ids(graph).items()
    }
    if graph.edge_weight is not None:
        known["edge_weight"] = graph.edge_weight.detach().cpu().numpy()
    with replacing(path) as temporary, temporary.open("wb") as file:
        # Through a file: given a name, NumPy would add its ending.
        np.savez(
            file,
            x=_features(graph),
            edge_index=graph.edge_index.cpu().numpy(),
            sens=graph.sens.cpu().numpy(),
            **known,
        )


def _features(graph: SensitiveGraph) -> NDArray[Any]:
    # Half precision is written as single, which holds it exactly: few programs read it.
    x = graph.x.cpu() if graph.x.dtype == torch.float64 else graph.x.cpu().float()
    return x.numpy()
