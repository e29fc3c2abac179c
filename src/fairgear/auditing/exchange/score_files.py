"""Scores from another program: CSV or Parquet by node_id, or .npy in the order of the rows."""

from __future__ import annotations

import csv as text_csv
import io
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import compute, csv, parquet

from fairgear import files
from fairgear.errors import FileError
from fairgear.metrics.inputs import Floats, Integers

SCORE_ENDINGS = (".csv", ".parquet", ".npy")
_COLUMNS = ["node_id", "score"]
_LONGEST = 60


def read_scores(path: Path, node_ids: Integers, rows: Integers, *, what: str) -> Floats:
    """The scores of the people in `rows`, in their order; what kind of file it is, it says itself.

    Args:
        path: a table with the columns node_id and score, in any order, for everyone or at least
            for those in `rows`; or a NumPy file with one score for every node.
        node_ids: of all nodes, in the order of the graph.
        rows: row numbers of those who are asked about.
        what: names the scores in messages.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise files.unreadable(path, error) from error
    if content.startswith(b"\x93NUMPY"):
        return _in_order(content, len(node_ids), what)[rows]
    table = _parquet(content, what) if content.startswith(b"PAR1") else _csv(content, what)
    return _by_id(*table, node_ids, rows, what)


def _by_id(ids: Integers, scores: Floats, node_ids: Integers, rows: Integers, what: str) -> Floats:
    index = pd.Index(ids)
    repeated = index[index.duplicated()]
    if len(repeated):
        raise _unfit(
            what, f"{len(repeated)} repeated nodes, the first {repeated[0]}", "write each node once"
        )
    strange = ids[~np.isin(ids, node_ids)]
    if len(strange):
        raise _unfit(
            what,
            f"{len(strange)} nodes that the graph does not have, the first {strange[0]}",
            "score the nodes of this graph, by their node_id",
        )
    asked = node_ids[rows]
    place = index.get_indexer(pd.Index(asked))
    missing = asked[place < 0]
    if len(missing):
        raise _unfit(
            what, f"no score of {len(missing)} nodes, the first {missing[0]}", "score every node"
        )
    return scores[place]


def _csv(content: bytes, what: str) -> tuple[Integers, Floats]:
    text = content.decode("utf-8-sig", errors="replace").strip()
    if not text:
        raise _unfit(what, "nothing", "write a line a node, after the line node_id,score")
    first = text.splitlines()[0]
    try:
        header = next(text_csv.reader([first]))
    except text_csv.Error:
        # A cell of hundreds of thousands of letters, say.
        header = []
    if "\0" in first or "\ufffd" in first or not _named_once(header):
        several = len(header) > 1 and first.isprintable()
        got = f"the columns {_shown(', '.join(header))}" if several else f"the line {_shown(first)}"
        raise _unfit(what, got, "write node_id,score in the first line")
    try:
        table = csv.read_csv(
            pa.BufferReader(f"{text}\n".encode()),
            csv.ReadOptions(use_threads=False),
            convert_options=csv.ConvertOptions(
                include_columns=_COLUMNS,
                # As text: a number made of an id could lose its last digits.
                column_types=dict.fromkeys(_COLUMNS, pa.string()),
                strings_can_be_null=False,
            ),
        )
    except pa.ArrowException as error:
        got = "lines with more or fewer cells than the first"
        raise _unfit(what, got, "write as many cells in every line") from error
    cells = [compute.utf8_trim_whitespace(table[name]) for name in _COLUMNS]
    # Ids that passed through floats on the other side end in .0.
    ids = compute.replace_substring_regex(cells[0], r"^(-?[0-9]+)\.0+$", r"\1")
    unknown = compute.is_in(cells[1], pa.array(["", "NA", "<NA>", "null", "None"]))
    scores = compute.if_else(unknown, "nan", cells[1])
    return _converted("node_id", ids, what), _converted("score", scores, what)


def _parquet(content: bytes, what: str) -> tuple[Integers, Floats]:
    try:
        table = parquet.read_table(pa.BufferReader(content))
    except (pa.ArrowException, OSError) as error:
        raise _unfit(what, "a damaged Parquet file", "write it again") from error
    if not _named_once(table.column_names):
        got = f"the columns {_shown(', '.join(table.column_names))}"
        raise _unfit(what, got, "name the columns node_id and score")
    return _converted("node_id", table["node_id"], what), _converted("score", table["score"], what)


def _in_order(content: bytes, count: int, what: str) -> Floats:
    try:
        values: NDArray[Any] = np.load(io.BytesIO(content), allow_pickle=False)
    except (ValueError, EOFError, OSError) as error:
        raise _unfit(what, "a NumPy file without numbers", "save one array of scores") from error
    if values.dtype.kind not in "biuf" or values.shape not in ((count,), (count, 1)):
        raise _unfit(
            what,
            f"{values.dtype} of shape {values.shape}",
            f"save {count} scores, one a node, in the order of the graph",
        )
    return values.reshape(count).astype(np.float64)


def _converted(name: str, column: pa.ChunkedArray, what: str) -> NDArray[Any]:
    """A column as the numbers that it must hold; a missing score is NaN."""
    kind = pa.int64() if name == "node_id" else pa.float64()
    try:
        whole = column.cast(kind)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        first = next(cell for cell in column if not _is_a(kind, cell))
        got = f"{_shown(str(first))} in the column {name}"
        raise _unfit(what, got, f"write numbers as {name}") from error
    if name == "node_id" and whole.null_count:
        raise _unfit(what, "lines without a node_id", "write whose score it is in every line")
    numbers: NDArray[Any] = whole.to_numpy()
    return numbers


def _is_a(kind: pa.DataType, cell: pa.Scalar) -> bool:
    try:
        cell.cast(kind)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return False
    return True


def _named_once(header: list[str]) -> bool:
    return all(header.count(name) == 1 for name in _COLUMNS)


def _shown(text: str) -> str:
    printable = "".join(letter if letter.isprintable() else "?" for letter in text)
    short = printable if len(printable) <= _LONGEST else f"{printable[:_LONGEST]}…"
    return repr(short)


def _unfit(what: str, got: str, next_step: str) -> FileError:
    return FileError(
        what,
        got=got,
        allowed="node_id,score for every node, or a .npy file with a score a row",
        next_step=next_step,
    )
