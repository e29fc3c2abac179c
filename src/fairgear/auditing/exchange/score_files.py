"""Scores of another program: CSV or Parquet by id or name, or .npy in the order of the rows."""

from __future__ import annotations

import csv as text_csv
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import compute, csv, parquet

from fairgear.auditing.exchange.arrays import array_of
from fairgear.errors import FileError
from fairgear.evidence import note_content
from fairgear.metrics.inputs import Floats, Integers
from fairgear.reading import content_of, regular_file

SCORE_ENDINGS = (".csv", ".parquet", ".npy")
_KINDS = {"node_id": pa.int64(), "node_name": pa.string(), "score": pa.float64()}
_LONGEST = 60
# Bytes that a file of scores may have: for what stands at its ends, and for each person.
_ENDS, _EACH = 2**20, 2**10
# Bytes of a line in memory: a key and a score.
_LEAST = 16


def read_scores(path: Path, people: pd.DataFrame, rows: Integers, *, what: str) -> Floats:
    """The scores of the people in `rows`, in their order; the kind of file is seen by its content.

    Args:
        path: a table with the columns node_id and score, in any order, for everyone or at least
            for those in `rows`; or a NumPy file with one score for every node. Where people have
            names, a column node_name can replace node_id.
        people: everyone in the order of the graph, as `person_ids` gives them.
        rows: row numbers of the people.
        what: names the scores in messages.
    """
    size, most = regular_file(path), _ENDS + _EACH * len(people)
    if size > most:
        got, step = f"{size:,} bytes", "write node_id,score and nothing else"
        raise _unfit(what, f"{got}, where {most:,} are room enough", step)
    content = content_of(path)
    note_content(path, content)
    if content.startswith(b"\x93NUMPY"):
        return _in_order(content, len(people), what)[rows]
    named = "node_name" in people
    if content.startswith(b"PAR1"):
        keys, scores = _parquet(content, what, most, named=named)
    else:
        keys, scores = _csv(content, what, named=named)
    shown = people.iloc[:, -1].to_numpy()
    return scores[_lines(keys, pd.Index(people[_key(keys)].to_numpy()), shown, rows, what)]


def _lines(
    keys: NDArray[Any], known: pd.Index, people: NDArray[Any], rows: Integers, what: str
) -> Integers:
    """The line of each of `rows`; no two lines may be of the same person.

    `keys` says whose each line is; `known` has everybody's key and `people` everybody's name, both
    in the order of the graph.
    """
    index = pd.Index(keys)
    twice = index.duplicated()
    owners = known.get_indexer(index)
    if twice.any():
        first = int(np.flatnonzero(twice)[0])
        who = keys[first] if owners[first] < 0 else people[owners[first]]
        got = f"{twice.sum()} repeated nodes, the first {_called(who)}"
        raise _unfit(what, got, "write each node once")
    strange = keys[owners < 0]
    if len(strange):
        got = f"{len(strange)} nodes that the graph does not have, the first {_called(strange[0])}"
        raise _unfit(what, got, f"score the nodes of this graph, by their {_key(keys)}")
    place: Integers = index.get_indexer(known[rows])
    missing = people[rows][place < 0]
    if len(missing):
        got = f"no score of {len(missing)} nodes, the first {_called(missing[0])}"
        raise _unfit(what, got, "score every node")
    return place


def _key(keys: NDArray[Any]) -> str:
    return "node_name" if keys.dtype == object else "node_id"


def _csv(content: bytes, what: str, *, named: bool) -> tuple[NDArray[Any], Floats]:
    text = content.decode("utf-8-sig", errors="replace").strip()
    if not text:
        raise _unfit(what, "nothing", "write a line a node, after the line node_id,score")
    first = text.splitlines()[0]
    try:
        header = next(text_csv.reader([first]))
    except text_csv.Error:
        # Such as a cell of hundreds of thousands of characters.
        header = []
    key = _key_column(header, named=named)
    if "\0" in first or "\ufffd" in first or key is None:
        several = len(header) > 1 and first.isprintable()
        got = f"the columns {_shown(', '.join(header))}" if several else f"the line {_shown(first)}"
        raise _unfit(what, got, "write node_id,score in the first line")
    try:
        table = csv.read_csv(
            pa.BufferReader(f"{text}\n".encode()),
            csv.ReadOptions(use_threads=False),
            csv.ParseOptions(newlines_in_values=key == "node_name"),
            convert_options=csv.ConvertOptions(
                include_columns=[key, "score"],
                # As text: a number made of an id could lose its last digits.
                column_types=dict.fromkeys((key, "score"), pa.string()),
                strings_can_be_null=False,
            ),
        )
    except pa.ArrowException as error:
        got = "lines with more or fewer cells than the first"
        raise _unfit(what, got, "write as many cells in every line") from error
    keys, cells = table[key], compute.utf8_trim_whitespace(table["score"])
    if key == "node_id":
        # Ids that passed through floats elsewhere end in .0.
        trimmed = compute.utf8_trim_whitespace(keys)
        keys = compute.replace_substring_regex(trimmed, r"^(-?[0-9]+)\.0+$", r"\1")
    unknown = compute.is_in(cells, pa.array(["", "NA", "<NA>", "null", "None"]))
    scores = compute.if_else(unknown, "nan", cells)
    return _converted(key, keys, what), _converted("score", scores, what)


def _parquet(content: bytes, what: str, most: int, *, named: bool) -> tuple[NDArray[Any], Floats]:
    """The columns of a table that takes at most so many bytes once it is unpacked."""
    try:
        file = parquet.ParquetFile(pa.BufferReader(content))
        names = file.schema_arrow.names
        key = _key_column(names, named=named)
        if key is None:
            got = f"the columns {_shown(', '.join(names))}"
            raise _unfit(what, got, "name the columns node_id and score")
        # A few bytes may stand for millions of rows, or for a long text.
        groups = map(file.metadata.row_group, range(file.metadata.num_row_groups))
        unpacked = sum(group.total_byte_size for group in groups)
        if max(unpacked, _LEAST * file.metadata.num_rows) > most:
            _refuse_unpacked(what, most)
        texts = [key] if key == "node_name" else None
        table = parquet.ParquetFile(pa.BufferReader(content), read_dictionary=texts).read(
            [key, "score"]
        )
    except FileError:
        raise
    except (pa.ArrowException, OSError) as error:
        raise _unfit(what, "a damaged Parquet file", "write it again") from error
    if sum(map(_text_bytes, table[key].chunks)) > most:
        _refuse_unpacked(what, most)
    return _converted(key, table[key], what), _converted("score", table["score"], what)


def _text_bytes(chunk: pa.Array) -> int:
    """What texts take of which each is held once; 0 for other values."""
    kind = chunk.type.value_type if pa.types.is_dictionary(chunk.type) else chunk.type
    if kind == chunk.type or not (pa.types.is_string(kind) or pa.types.is_large_string(kind)):
        return 0
    lengths = compute.binary_length(chunk.dictionary)
    return compute.sum(lengths.take(chunk.indices)).as_py() or 0


def _refuse_unpacked(what: str, most: int) -> NoReturn:
    got = f"Parquet that unpacks to more than {most:,} bytes"
    raise _unfit(what, got, "write node_id,score and nothing else")


def _in_order(content: bytes, count: int, what: str) -> Floats:
    try:
        values = array_of(content)
    except (ValueError, EOFError, OSError) as error:
        raise _unfit(what, "a NumPy file without numbers", "save one array of scores") from error
    if values.dtype.kind not in "biuf" or values.shape not in ((count,), (count, 1)):
        step = f"save {count} scores, one a node, in the order of the graph"
        raise _unfit(what, f"{values.dtype} of shape {values.shape}", step)
    return values.reshape(count).astype(np.float64)


def _converted(name: str, column: pa.ChunkedArray, what: str) -> NDArray[Any]:
    """A column as numbers or names; a missing score is NaN."""
    kind = _KINDS[name]
    try:
        whole = column.cast(kind)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        # Arrow says that a value cannot be converted, but not which one.
        first = next(cell for cell in column if not _is_a(kind, cell))
        got = f"{_shown(str(first))} in the column {name}"
        raise _unfit(what, got, f"write numbers as {name}") from error
    if name != "score" and whole.null_count:
        raise _unfit(what, f"lines without a {name}", "write whose score it is in every line")
    values: NDArray[Any] = whole.to_numpy()
    return values


def _is_a(kind: pa.DataType, cell: pa.Scalar) -> bool:
    try:
        cell.cast(kind)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        # There is no other way to test it.
        return False
    return True


def _key_column(header: list[str], *, named: bool) -> str | None:
    """The column of ids or names; None where it is missing or repeated."""
    keys = ("node_id", "node_name") if named else ("node_id",)
    key = next((name for name in keys if name in header), "node_id")
    return key if all(header.count(name) == 1 for name in (key, "score")) else None


def _called(person: Any) -> str:
    return _shown(person) if isinstance(person, str) else str(person)


def _shown(text: str) -> str:
    printable = "".join(letter if letter.isprintable() else "?" for letter in text)
    short = printable if len(printable) <= _LONGEST else f"{printable[:_LONGEST]}…"
    return repr(short)


def _unfit(what: str, got: str, next_step: str) -> FileError:
    return FileError(
        what, got, "node_id,score for every node, or a .npy file with a score a row", next_step
    )
