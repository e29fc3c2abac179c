"""Graphs as files for other programs: people and edges, without labels and masks.

Tables hold people in the columns and the words of the table that they were read from; arrays hold
the features that fairgear made of them.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
import pandas as pd
import pyarrow as pa
import torch
from numpy.typing import NDArray
from pyarrow import csv, parquet

from fairgear.auditing.people import person_ids
from fairgear.auditing.worlds import Worlds
from fairgear.column_names import listed
from fairgear.errors import ParameterError
from fairgear.files import replacing
from fairgear.graph import SensitiveGraph
from fairgear.graph.tables import OriginalColumns

GraphFormat = Literal["csv", "parquet", "npz"]
_FORMATS: tuple[GraphFormat, ...] = get_args(GraphFormat)
_OWN_COLUMNS = ("node_id", "node_name")
_WHOLE = re.compile(r"0|-?[1-9][0-9]{0,17}")
# Of the spread of a column: less than that is rounding of single precision.
_ROUNDING = 1e-6


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


def write_graph(
    graph: SensitiveGraph, path: Path, form: GraphFormat, columns: OriginalColumns | None = None
) -> None:
    """Write what a model may see of `graph`.

    Args:
        graph: the factual one, or another world of it.
        path: for "csv" and "parquet" a folder: `nodes` as `people_table` gives it, `edges` with
            source and target by node_id, each edge once, and weight if edges have any. For "npz"
            a file with x, edge_index (row numbers, both directions unless the graph is directed),
            edge_weight if there is any, sens and node_id, and a node_name beside node_id where ids
            are not whole numbers; its numbers are kept exactly.
        form: "csv", "parquet" or "npz".
        columns: those of the factual graph; of `graph` if not given.
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
    people = people_table(graph, columns)
    tables = (
        pa.table(links, names),
        pa.table([np.ascontiguousarray(values) for values in people.values()], list(people)),
    )
    for place, table in zip(graph_files(path, form), tables, strict=True):
        with replacing(place, private=True) as temporary:
            if form == "csv":
                csv.write_csv(table, temporary, csv.WriteOptions(quoting_style="needed"))
            else:
                parquet.write_table(table, temporary)


def people_table(
    graph: SensitiveGraph, columns: OriginalColumns | None = None
) -> dict[str, NDArray[Any]]:
    """The columns of `nodes`, by name.

    The ids of the data; the sensitive attributes in words; then the other columns of the table,
    with values that people could have. Features that never were a table are kept exactly. A column
    whose name is taken ends in _feature.
    """
    columns = OriginalColumns.of(graph) if columns is None else columns
    groups = columns.attribute_columns(graph.sens)
    words = {one.name: one.values for one in columns.attributes}
    if columns.translates:
        rows = columns.frame(graph.x, graph.sens)
        words |= {one.name: one.levels for one in columns.each}
        rest = [(one.name, rows[one.name].to_numpy()) for one in columns.each]
    else:
        x = _features(graph)
        rest = [(one.name, x[:, one.features[0]]) for one in columns.each]
    found = {str(name): column.to_numpy() for name, column in person_ids(graph).items()}
    for name, values in groups.items():
        found[_free(name, {*_OWN_COLUMNS, *found}, groups)] = _as_read(values, words[name])
    taken, names = {*_OWN_COLUMNS, *found}, [name for name, _ in rest]
    for name, values in rest:
        translated = words[name] if columns.translates else ()
        found[_free(name, {*taken, *found}, names)] = _as_read(values, translated)
    return found


def _free(name: str, taken: Collection[str], others: Collection[str]) -> str:
    """A name that no column has: `name`, or longer where that is taken."""
    free = name
    while free in taken or (free != name and free in others):
        free += "_feature"
    return free


def _as_read(values: NDArray[Any], words: Sequence[str]) -> NDArray[Any]:
    """Codes of whole numbers, which are `words` to fairgear, as the numbers that they were."""
    if not words or not all(map(_WHOLE.fullmatch, words)):
        return values
    codes, held = pd.factorize(values)
    return np.array(held, dtype=np.int64)[codes]


def rounding_note(worlds: Worlds, form: GraphFormat) -> str:
    """Says that other worlds are written with rounded numbers; empty where none was rounded."""
    columns = OriginalColumns.of(worlds.graph)
    numbers = [place for place, one in enumerate(columns.each) if not one.levels]
    if form == "npz" or not columns.translates or not numbers or worlds.causal_model is None:
        return ""
    changed = set()
    for draws in worlds.strict.values():
        x = draws[0].graph.x
        values, possible = columns.values(x)[:, numbers], columns.possible(x)[:, numbers]
        spread = np.ptp(possible, axis=0)
        moved = np.abs(values - possible) > _ROUNDING * np.where(spread > 0, spread, 1)
        changed |= {columns.each[numbers[place]].name for place in np.flatnonzero(moved.any(0))}
    if not changed:
        return ""
    named = listed([one.name for one in columns.each if one.name in changed])
    return (
        f"The model was given people in the columns of the table. In other worlds, {named} were "
        "rounded to values that somebody could have, so that flips may differ slightly from "
        "those of a model that reads fairgear's features."
    )


def _write_arrays(graph: SensitiveGraph, path: Path) -> None:
    # As text: objects would have to be pickled.
    known: dict[str, Any] = {
        str(name): column.to_numpy(dtype=str if name == "node_name" else None)
        for name, column in person_ids(graph).items()
    }
    if graph.edge_weight is not None:
        known["edge_weight"] = graph.edge_weight.detach().cpu().numpy()
    with replacing(path, private=True) as temporary, temporary.open("wb") as file:
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
