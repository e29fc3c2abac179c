"""A stored graph from files that need not fit into memory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from fairgear.errors import GraphError, ParameterError
from fairgear.graph.convert.columns import TableColumns
from fairgear.graph.convert.encoded_table import encode
from fairgear.graph.convert.encoding import ENCODING, Encoding
from fairgear.graph.convert.table_features import table_features
from fairgear.graph.convert.two_values import TwoValues
from fairgear.graph.sensitive_graph import MASKS
from fairgear.graph.stored.edge_files import edge_chunks, most_edges
from fairgear.graph.stored.facts import Described, write_facts
from fairgear.graph.stored.feature_files import FeatureFile, open_features
from fairgear.graph.stored.folder import new_folder
from fairgear.graph.stored.key_buckets import Keys, sorted_runs
from fairgear.graph.stored.neighbours import write_neighbours
from fairgear.graph.stored.survey import Survey, survey
from fairgear.npy_stream import NpyWriter
from fairgear.progress import bar, log

# Bytes of buffers; what is kept of every person and of one column comes on top.
MEMORY = 256 * 2**20
LEAST = 2**16
# Bytes that an edge needs on its way into a range, a number in a range, a cell of the table.
_PER_EDGE, _PER_KEY, _PER_CELL = 96, 48, 96


def build_stored(
    folder: Path | str,
    edges: Path | str,
    features: Path | str,
    columns: TableColumns,
    *,
    encoding: Encoding | None = None,
    memory: int = MEMORY,
) -> dict[str, Any]:
    """Write a stored graph; what its `meta.json` says.

    Edges count both ways, repeats and self-loops not at all. They name people by the id column of
    the table, or by row numbers from 0 where it has none.

    Args:
        folder: to write; new or empty. It is there when all is done, and not before.
        edges: two columns of whole numbers: .parquet, .npy, .csv, .tsv, .txt or .edges.
        features: one row a person: .parquet, or .npy (then `columns` may name .npy files too).
        columns: what the columns mean; encoded and scaled as `from_tables` does.
        encoding: of the table that a model was trained on, by which this one is read.
        memory: bytes of buffers, whatever the number of edges.
    """
    if memory < LEAST:
        raise ParameterError("memory", memory, f"{LEAST} bytes or more", "use 256 MB")
    folder = Path(folder)
    if columns.name == TableColumns.name:
        columns = replace(columns, name=folder.name)
    columns, beside = _vectors(columns)
    notes: list[str] = []
    with new_folder(folder) as partial:
        table = open_features(Path(features), beside)
        _check_size(table)
        known = survey(table, columns, encoding, notes)
        digests = _write_people(partial, table, columns, known, memory)
        found, count = _write_edges(partial, Path(edges), known.node_id, memory, notes)
        known.encoding.write(partial / ENCODING)
        names = [name for code in known.encoding.columns for name in code.features]
        said = Described(
            columns.name,
            names,
            names.index(columns.sensitive),
            label_names=known.label.names,
            sens_names=known.group.names,
        )
        facts = write_facts(partial, said, digests | found)
    for note in notes:
        log(f"{columns.name}: {note}")
    log(f"{columns.name}: {table.rows:,} people, {count:,} edges, {len(names)} features")
    return facts


def _vectors(columns: TableColumns) -> tuple[TableColumns, list[Path]]:
    """The label and the sensitive attribute by name, where they are files of their own."""
    given = {"label": columns.label, "sensitive": columns.sensitive}
    beside = {
        role: Path(name) for role, name in given.items() if name and Path(name).suffix == ".npy"
    }
    named: dict[str, Any] = {role: path.stem for role, path in beside.items()}
    return replace(columns, **named), list(beside.values())


def _check_size(table: FeatureFile) -> None:
    if table.rows >= 2**31:
        raise GraphError(
            f"people in {table.path}", f"{table.rows:,}", f"fewer than {2**31:,}", "leave some out"
        )


def _write_people(
    folder: Path, table: FeatureFile, columns: TableColumns, known: Survey, memory: int
) -> dict[str, str]:
    """x in pieces, and everything that is one value a person."""
    encoding = known.encoding
    width = len(encoding.low)
    size = max(1, memory // (_PER_CELL * width))
    done = 0
    with (
        NpyWriter(folder / "x.npy", np.float32, (width,)) as writer,
        bar("people", table.rows) as shown,
    ):
        for rows in table.chunks(encoding.names(), size):
            group = TwoValues(known.group.codes[done : done + len(rows)], known.group.names)
            # Ids and labels are not among these rows.
            own = replace(columns, label=None, id=None, drop=())
            listed, _ = table_features(rows, group, own, encoding, [])
            encoded = encode(listed, columns.sensitive, [])
            scale = encoding.scale(encoded.sens_column)
            writer.append(scale(torch.from_numpy(encoded.values)).numpy())
            done += len(rows)
            shown.advance(len(rows))
        digests = {"x": writer.finish()}
    nobody = np.zeros(table.rows, np.bool_)
    arrays = {"y": known.label.codes, "sens": known.group.codes, "node_id": known.node_id}
    for key, values in (*arrays.items(), *((mask, nobody) for mask in MASKS)):
        with NpyWriter(folder / f"{key}.npy", values.dtype) as writer:
            writer.append(values)
            digests[key] = writer.finish()
    return digests


def _write_edges(
    folder: Path, edges: Path, node_id: NDArray[np.int64], memory: int, notes: list[str]
) -> tuple[dict[str, str], int]:
    scratch = folder / "keys"
    scratch.mkdir()
    n, piece = len(node_id), max(1, memory // _PER_EDGE)
    expected = 2 * most_edges(edges)
    keys = _keys(edges, node_id, piece, notes)
    capacity = max(1, memory // _PER_KEY)
    runs = sorted_runs(keys, scratch, n * n, expected=expected, capacity=capacity)
    found = write_neighbours(folder, runs, n, piece)
    for inner in scratch.iterdir():
        inner.rmdir()
    scratch.rmdir()
    return found


def _keys(edges: Path, node_id: NDArray[np.int64], piece: int, notes: list[str]) -> Iterator[Keys]:
    """source · n + target of both directions of every pair that joins two people."""
    n = len(node_id)
    order = None if np.array_equal(node_id, np.arange(n)) else np.argsort(node_id)
    read = loops = 0
    with bar("edges", most_edges(edges)) as shown:
        for pairs in edge_chunks(edges, piece):
            rows = _rows(pairs, node_id, order, edges, read)
            read += pairs.shape[1]
            joined = rows[0] != rows[1]
            loops += int((~joined).sum())
            rows = rows[:, joined]
            both = np.empty(2 * rows.shape[1], np.int64)
            np.multiply(rows, n, out=both.reshape(2, -1))
            both.reshape(2, -1)[:] += rows[::-1]
            yield both
            shown.advance(pairs.shape[1])
    notes.append(f"edges: {read:,} read, {loops:,} of them self-loops, which do not count")


def _rows(
    pairs: NDArray[np.int64],
    node_id: NDArray[np.int64],
    order: NDArray[np.int64] | None,
    edges: Path,
    read: int,
) -> NDArray[np.int64]:
    """The rows of ids, none of which may be nobody's."""
    n = len(node_id)
    if order is None:
        rows, lost = pairs, (pairs < 0) | (pairs >= n)
    else:
        place = np.searchsorted(node_id, pairs, sorter=order)
        rows = order[np.minimum(place, n - 1)]
        lost = node_id[rows] != pairs
    if lost.any():
        at = int(np.flatnonzero(lost.any(axis=0))[0])
        end = int(not lost[0, at])
        raise GraphError(
            f"edges in {edges}",
            f"the end {int(pairs[end, at])} of edge {read + at + 1}, which is nobody",
            f"0 to {n - 1}, the rows of the feature table"
            if order is None
            else "ids of the feature table",
            "correct the list, or name the column of the ids with --id",
        )
    return rows
