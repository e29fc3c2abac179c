"""A stored graph from files that need not fit into memory."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray

from fairgear.errors import GraphError, ParameterError
from fairgear.files import json_ready, new_folder
from fairgear.graph.attributes import Attributes
from fairgear.graph.sensitive_graph import MASKS
from fairgear.graph.stored.files import (
    ArrayFeatures,
    CrossedFeatures,
    FeatureFile,
    GroupedFeatures,
    ParquetFeatures,
    edge_chunks,
    most_edges,
    open_features,
)
from fairgear.graph.stored.folder import (
    KNOWN,
    TOLD,
    check_new,
    is_stored,
    read_meta,
    remember_new,
    write_arrays,
    write_meta,
)
from fairgear.graph.stored.neighbours import Keys, sorted_runs, write_neighbours
from fairgear.graph.stored.verification import file_sha256
from fairgear.graph.tables.columns import DROP, TableColumns
from fairgear.graph.tables.encoding import ENCODING, Encoding
from fairgear.graph.tables.features import (
    FeatureColumn,
    NumberColumn,
    encoded_values,
    feature_columns,
    without_missing,
)
from fairgear.graph.tables.groups import (
    Groups,
    crossed_names,
    fewest_known,
    told_codes,
    with_crossed,
)
from fairgear.graph.tables.identity import repeated_ids
from fairgear.graph.tables.labels import LabelColumn
from fairgear.graph.tables.table_graph import label_and_group, table_features
from fairgear.graph.tables.two_groups import TwoGroups
from fairgear.progress import bar, log
from fairgear.streams import NpyWriter

Ints = NDArray[np.int64]
# Bytes of buffers; one column and a few numbers a person come on top.
MEMORY = 256 * 2**20
LEAST = 2**16
# Bytes for an edge while it is read, a key while it is sorted, and a cell of the table.
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
    """Write a stored graph; returns the content of its `meta.json`.

    Edges count in both directions, or from the first end to the second if `columns` says that they
    are directed; repeats and self-loops are dropped. They name people by the id column of the
    table, or by row numbers from 0 if it has none. Weights are refused: they would have to be
    sorted with the edges.

    Args:
        folder: new or empty; it appears when everything is written.
        edges: two columns of integers: .parquet, .npy, .csv, .tsv, .txt or .edges.
        features: one row a person: .parquet, or .npy (then `columns` may name .npy files too).
        columns: what the columns mean; encoded and scaled as `from_tables` does.
        encoding: of a model's training table, to encode this one alike.
        memory: bytes of buffers, whatever the number of edges.

    Example:
        >>> import pandas as pd
        >>> from fairgear.graph import TableColumns, build_stored, open_stored
        >>> people = pd.DataFrame({"sex": [0, 1] * 4, "age": range(30, 38), "paid": [0, 1] * 4})
        >>> people.to_parquet("people.parquet")
        >>> pd.DataFrame({"a": range(7), "b": range(1, 8)}).to_parquet("edges.parquet")
        >>> columns = TableColumns(sensitive="sex", label="paid")
        >>> meta = build_stored("stored", "edges.parquet", "people.parquet", columns)
        >>> open_stored("stored").num_undirected_edges
        7
    """
    if memory < LEAST:
        raise ParameterError("memory", memory, f"{LEAST} bytes or more", "use 256 MB")
    if columns.weight is not None:
        step = "read the files with fairgear run, or write_stored a graph that has weights"
        raise ParameterError("--weight", repr(columns.weight), "no weights in fairgear store", step)
    folder = Path(folder)
    if columns.name == TableColumns.name:
        columns = replace(columns, name=folder.name)
    edges, features = Path(edges), Path(features)
    columns, vectors = _vectors(columns)
    files = [edges, features, *vectors]
    if is_stored(folder) and (known_meta := _finished(folder, files, columns, encoding)):
        log(f"{folder} holds this graph, finished; nothing to do")
        return known_meta
    check_new(folder)
    notes: list[str] = []
    given = columns
    with new_folder(folder) as partial:
        held = open_features(features, vectors)
        if held.rows >= 2**31:
            got, allowed = f"{held.rows:,}", f"fewer than {2**31:,}"
            raise GraphError(f"people in {held.path}", got, allowed, "leave some out")
        table, columns, attributes = _with_groups(held, columns, encoding, notes)
        known = _survey(table, columns, attributes, encoding, notes)
        digests = _write_people(partial, table, columns, known, memory)
        directed = bool(columns.directed)
        found, count = _write_edges(partial, edges, known.node_id, memory, directed, notes)
        known.encoding.write(partial / ENCODING)
        facts: dict[str, Any] = {
            "name": columns.name,
            "feature_names": known.encoding.feature_names,
            "sens_column": known.encoding.sens_column,
            "label_names": known.label.names or None,
            "sens_names": known.group.names or None,
            **({"directed": True} if directed else {}),
        }
        if known.attributes is not None:
            kind = "continuous" if known.group.is_number else "categorical"
            kind = "binary" if len(known.group.names) == 2 else kind
            facts |= {"sens_kind": kind, "attributes": known.attributes.to_dict()}
        facts["made_from"] = _made_from(files, given, encoding)
        meta = write_meta(partial, digests | found, facts)
    remember_new(folder, meta)
    for note in notes:
        log(f"{columns.name}: {note}")
    width = len(known.encoding.feature_names)
    log(f"{columns.name}: {table.rows:,} people, {count:,} edges, {width} features")
    return meta


def _finished(
    folder: Path, files: list[Path], columns: TableColumns, encoding: Encoding | None
) -> dict[str, Any] | None:
    """The `meta.json` of a folder that holds just what would be built; else None."""
    try:
        meta = read_meta(folder)
        same = meta.get("made_from") == _made_from(files, columns, encoding)
    except OSError:
        # Whatever is wrong is said when that folder, or that file, is refused.
        return None
    return meta if same and meta.get("made_from") else None


def _made_from(files: list[Path], columns: TableColumns, encoding: Encoding | None) -> str | None:
    """A hash of all that a graph is built from; None for what cannot be read twice."""
    if not all(path.is_file() for path in files):
        return None
    how = json_ready({"columns": columns, "encoding": encoding})
    digest = hashlib.sha256(json.dumps(how, sort_keys=True, default=str).encode())
    for path in files:
        digest.update(file_sha256(path).encode())
    return digest.hexdigest()


def _vectors(columns: TableColumns) -> tuple[TableColumns, list[Path]]:
    """The columns with the names of label and sensitive attribute, and their files if any."""
    given = {"label": columns.label, "sensitive": columns.sensitive}
    files = {
        role: Path(name) for role, name in given.items() if name and Path(name).suffix == ".npy"
    }
    names: dict[str, Any] = {role: path.stem for role, path in files.items()}
    return replace(columns, **names), list(files.values())


@dataclass(frozen=True, eq=False)
class _Survey:
    """What must be known of all rows before any of them can be encoded."""

    encoding: Encoding
    label: LabelColumn
    group: Groups
    told: Ints | None
    attributes: Attributes | None
    node_id: Ints


def _with_groups(
    table: ParquetFeatures | ArrayFeatures,
    columns: TableColumns,
    encoding: Encoding | None,
    notes: list[str],
) -> tuple[FeatureFile, TableColumns, Attributes | None]:
    """The table with the groups that `columns` asks for as its sensitive column."""
    found = TwoGroups.of(columns, table.names, encoding)
    if found is not None:
        columns = found.columns(columns, table.names, table.rows)
        notes += found.notes
        return GroupedFeatures(table, found), columns, None
    parts = crossed_names(columns.sensitive, table.names)
    replace(columns, sensitive=parts[0]).check_table(table.names, table.rows)
    frame = pd.DataFrame({part: table.column(part) for part in parts})
    coded = tuple(name for name in columns.categorical if name in parts)
    alone = replace(columns, label=None, id=None, drop=(), categorical=coded)
    crossed, alone, attributes = with_crossed(frame, alone, encoding)
    if attributes is None:
        return table, columns, None
    for part in parts[1:]:
        replace(columns, sensitive=part).check_table(table.names, table.rows)
    columns = replace(columns, sensitive=alone.sensitive)
    groups, told = crossed[alone.sensitive], told_codes(frame, attributes)
    return CrossedFeatures(table, parts, groups, told), columns, attributes


def _survey(
    table: FeatureFile,
    columns: TableColumns,
    attributes: Attributes | None,
    encoding: Encoding | None,
    notes: list[str],
) -> _Survey:
    """Read every column, one in memory at a time."""
    for option, other in (("missing", "refuse or impute"), ("unknown", "keep")):
        if getattr(columns, option) == DROP:
            raise ParameterError(
                f"--{option}",
                "'drop'",
                f"{other}: rows keep their places in a stored graph",
                f"use --{option} {other.split()[-1]}, or leave those rows out of the file",
            )
    if encoding is not None:
        encoding.check(table.names, columns)
    columns.check_table(table.names, table.rows)
    node_id = _node_ids(table, columns.id_column(table.names, notes))
    label, group = label_and_group(table.column, table.rows, columns, encoding)
    if attributes is not None:
        group = group.numbered_as(attributes)
    told = table.told if isinstance(table, CrossedFeatures) else None
    possible = None if told is None or attributes is None else attributes.possible(told)
    group = group.completed(node_id, columns, fewest_known(encoding), possible)
    notes += group.notes(columns.sensitive)
    if group.is_number:
        attributes = Attributes.number(columns.sensitive)
    if encoding is None:
        found = _columns(table, columns, group, notes)
        against = columns.against
        encoding = Encoding.of(found, columns.sensitive, group.names, notes, against=against)
        encoding = replace(encoding.for_label(label), attributes=attributes)
    if attributes is None and len(group.names) > 2:
        attributes = Attributes.single(columns.sensitive, group.names)
    return _Survey(encoding, label, group, told, attributes, node_id)


def _columns(
    table: FeatureFile, columns: TableColumns, group: Groups, notes: list[str]
) -> Iterator[FeatureColumn]:
    """The columns that become features, without gaps."""
    aside = {columns.label, columns.id_column(table.names), *columns.drop}
    nobody = np.zeros(table.rows, np.bool_)
    for name in table.names:
        if name == columns.sensitive:
            if group.in_features:
                yield NumberColumn(name, group.codes.astype(np.float64))
        elif name not in aside:
            found = feature_columns(
                [(name, table.column(name))],
                categorical=columns.categorical,
                drop_text=columns.drop_text,
                notes=notes,
            )
            yield from without_missing(
                list(found),
                nobody,
                policy=columns.missing,
                notes=notes,
            )[0]


def _node_ids(table: FeatureFile, name: str | None) -> Ints:
    """Integers, one a row; row numbers if the table has no ids."""
    if name is None:
        return np.arange(table.rows)
    held = table.column(name)
    if held.isna().any() or not pd.api.types.is_integer_dtype(held.dtype):
        gaps = int(held.isna().sum())
        raise GraphError(
            f"id column {name!r}",
            f"{gaps} rows without an id" if gaps else f"values of the kind {held.dtype}",
            "a whole number in every row",
            f"number the people, or leave it out with --drop {name} if edges are given by row "
            "numbers from 0",
        )
    node_id = held.to_numpy().astype(np.int64)
    order = np.sort(node_id)
    repeated = order[1:][order[1:] == order[:-1]]
    if len(repeated):
        raise repeated_ids(name, len(repeated), int(repeated[0]))
    return node_id


def _write_people(
    folder: Path, table: FeatureFile, columns: TableColumns, known: _Survey, memory: int
) -> dict[str, str]:
    """Write x in pieces, and everything that is one value a person."""
    encoding = known.encoding
    width = len(encoding.low)
    size = max(1, memory // (_PER_CELL * width))
    scale = encoding.scale
    # The chunks hold neither ids nor labels.
    own = replace(columns, label=None, id=None, drop=(), drop_text=False)
    done = 0
    with (
        NpyWriter(folder / "x.npy", np.float32, (width,)) as writer,
        bar("people", table.rows) as shown,
    ):
        # The attribute of everybody is in memory.
        names = [name for name in encoding.names if name != columns.sensitive]
        for rows in table.chunks(names, size):
            group = known.group.rows(slice(done, done + len(rows)))
            features, _ = table_features(rows, group, own, encoding, [])
            writer.append(scale(torch.from_numpy(encoded_values(features))).numpy())
            done += len(rows)
            shown.advance(len(rows))
        digests = {"x": writer.finish()}
    nobody = np.zeros(table.rows, np.bool_)
    vectors: dict[str, NDArray[Any]] = dict.fromkeys(MASKS, nobody)
    vectors |= {"y": known.label.values, "sens": known.group.codes, "node_id": known.node_id}
    if not known.group.told.all():
        vectors[KNOWN] = known.group.told
        vectors |= {} if known.told is None else {TOLD: known.told}
    return digests | write_arrays(folder, vectors)


def _write_edges(
    folder: Path, edges: Path, node_id: Ints, memory: int, directed: bool, notes: list[str]
) -> tuple[dict[str, str], int]:
    scratch = folder / "keys"
    scratch.mkdir()
    n, piece = len(node_id), max(1, memory // _PER_EDGE)
    keys = _keys(edges, node_id, piece, directed, notes)
    capacity = max(1, memory // _PER_KEY)
    runs = sorted_runs(keys, scratch, n * n, expected=2 * most_edges(edges), capacity=capacity)
    found = write_neighbours(folder, runs, n, piece)
    for inner in scratch.iterdir():
        inner.rmdir()
    scratch.rmdir()
    digests, arcs = found
    return digests, arcs if directed else arcs // 2


def _keys(
    edges: Path, node_id: Ints, piece: int, directed: bool, notes: list[str]
) -> Iterator[Keys]:
    """The keys of both directions of every edge, or of every arc."""
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
            # The first half goes from the first end to the second.
            yield both[: rows.shape[1]] if directed else both
            shown.advance(pairs.shape[1])
    notes.append(f"edges: {read:,} read, of which {loops:,} self-loops were dropped")


def _rows(pairs: Ints, node_id: Ints, order: Ints | None, edges: Path, read: int) -> Ints:
    """The rows of ids; `order` sorts `node_id`, None if ids are row numbers."""
    n = len(node_id)
    if order is None:
        rows, unknown = pairs, (pairs < 0) | (pairs >= n)
    else:
        place = np.searchsorted(node_id, pairs, sorter=order)
        rows = order[np.minimum(place, n - 1)]
        unknown = node_id[rows] != pairs
    if unknown.any():
        at = int(np.flatnonzero(unknown.any(axis=0))[0])
        end = int(not unknown[0, at])
        numbered = f"0 to {n - 1}, the rows of the feature table"
        raise GraphError(
            f"edges in {edges}",
            f"the end {int(pairs[end, at])} of edge {read + at + 1}, which is nobody",
            numbered if order is None else "ids of the feature table",
            "correct the list, or name the column of the ids with --id",
        )
    return rows
