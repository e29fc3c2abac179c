"""Delimited text: its encoding, comments, separator and first line. Imports no torch, no pandas."""

from __future__ import annotations

import csv
import io
import os
import re
from dataclasses import dataclass
from pathlib import Path

from fairgear.column_names import listed
from fairgear.errors import FileError
from fairgear.evidence import note_content
from fairgear.reading import content_of

DELIMITERS = (",", ";", "\t")
COMMENTS = ("#", "%")
NUMBER = r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|[+-]?[iI]nf(?:inity)?"
# Marks at the start of text in 16 bits, as spreadsheets save "Unicode text".
_WIDE = (b"\xff\xfe", b"\xfe\xff")
# Bytes in which the first lines of a table are looked for.
_HEAD = 2**20


@dataclass(frozen=True)
class Layout:
    """How a table is laid out in a text.

    Args:
        names: of the columns, as the first line has them, or numbered where it has none.
        text: the rows without comments; the first holds the names if `header`.
        delimiter: one of `DELIMITERS`.
        notes: what the user should know.
    """

    names: list[str]
    text: str
    delimiter: str
    header: bool = True
    notes: tuple[str, ...] = ()


def wrong_content(path: Path, got: str, allowed: str, next_step: str) -> FileError:
    """The error for a file that can be read and is not what it should be."""
    return FileError(f"file {path}", got, allowed, next_step)


def filled(path: Path) -> bytes:
    """The bytes of a file that is not empty."""
    found = content_of(path)
    note_content(path, found)
    if not found.strip():
        raise wrong_content(path, "an empty file", "a file with rows", "check that it was saved")
    return found


def text_of(path: Path) -> str:
    """The text of a file in UTF-8, or in UTF-16 where a byte order mark says so."""
    found = filled(path)
    wide = found.startswith(_WIDE)
    if b"\0" in found and not wide:
        raise wrong_content(
            path,
            f"a binary file (byte {found.index(0)} is zero)",
            f"text, as its ending {path.suffix} says",
            "check what kind of file it is; a Parquet file ends in .parquet",
        )
    try:
        return found.decode("utf-16" if wide else "utf-8-sig")
    except UnicodeDecodeError as error:
        raise wrong_content(
            path,
            f"byte 0x{found[error.start]:02x} at position {error.start}, which is no UTF-8",
            "text in UTF-8",
            "save it again as UTF-8 (in a spreadsheet: CSV UTF-8)",
        ) from error


def delimiter_of(line: str, path: Path) -> str:
    """What separates the cells of a line; a comma if nothing does."""
    if path.suffix.lower() == ".tsv":
        return "\t"
    bare = re.sub(r'"[^"]*"', "", line)
    if ";" in bare or "\t" in bare:
        # Beside another separator, a comma between digits is a decimal point.
        bare = re.sub(r"(?<=[0-9]),(?=[0-9])", "", bare)
    return max(DELIMITERS, key=bare.count)


def cells_of(line: str, delimiter: str, path: Path) -> list[str]:
    """The cells of a row, which may go on over several lines."""
    try:
        found = next(csv.reader(io.StringIO(line, newline=""), delimiter=delimiter))
    except (csv.Error, StopIteration) as error:
        raise wrong_content(
            path, "no row that can be read", "rows of cells", "check the first line"
        ) from error
    return [cell.strip() for cell in found]


def spaced(text: str) -> str:
    """Lines with a tab in place of every run of spaces between cells."""
    return "\n".join(re.sub(r"\s+", "\t", line.strip()) for line in text.split("\n"))


def layout_of(text: str, path: Path) -> Layout:
    """How the table in `text` is laid out; columns without names are called x0, x1, …."""
    comments, text = _leading_comments(text)
    first = text.split("\n", 1)[0]
    delimiter = delimiter_of(first, path)
    if not any(mark in first for mark in (*DELIMITERS, '"')) and len(first.split()) > 1:
        text, delimiter = spaced(text), "\t"
    names = cells_of(text, delimiter, path)
    text, skipped = _without_comments(text, delimiter, len(names))
    # Where no comma separates cells, it may be a decimal point.
    points = names if delimiter == "," else [name.replace(",", ".") for name in names]
    header, notes = not _is_data(points), []
    if not header:
        names = _numbered(comments, len(names), delimiter)
        notes.append(f"the first line holds no names; the columns are {listed(names, 3)}")
    if skipped + len(comments):
        notes.append(f"skipped {skipped + len(comments):,} lines that begin with #")
    return Layout(names, text, delimiter, header, tuple(notes))


def names_in(path: Path) -> list[str] | None:
    """The names of a text file's columns, quickly; None where only reading it all can tell."""
    if not os.path.isfile(path):
        # Opening a pipe would wait for whoever writes to it.
        return None
    try:
        with path.open("rb") as file:
            head = file.read(_HEAD)
        # The end may be in the middle of a letter.
        whole = head[: head.rfind(b"\n") + 1] if len(head) == _HEAD else head
        layout = layout_of(whole.decode("utf-8-sig"), path)
        text = io.StringIO(layout.text, newline="")
        widths = {len(row) for row in csv.reader(text, delimiter=layout.delimiter) if row}
    except (OSError, ValueError, csv.Error):
        # A file that cannot be read, or another encoding: the reader will say.
        return None
    names = layout.names
    plain = widths == {len(names)} and len(set(names)) == len(names)
    return [name for name in names if name] if plain else None


def _leading_comments(text: str) -> tuple[list[str], str]:
    """The lines of comments before the table, and the rest.

    A single one with separators is a line of names, such as #id,age.
    """
    comments: list[str] = []
    begin = 0
    while text.startswith("#", begin):
        end = text.find("\n", begin)
        end = len(text) if end < 0 else end
        comments.append(text[begin:end])
        begin = end
        while begin < len(text) and text[begin] in "\r\n":
            begin += 1
    rest = text[begin:]
    named = len(comments) == 1 and any(mark in comments[0] for mark in DELIMITERS)
    if not rest.strip() or (named and not comments[0].startswith("# ")):
        return [], text
    return comments, rest


def _without_comments(text: str, delimiter: str, width: int) -> tuple[str, int]:
    """The text without lines that begin with # and are no row of the table, and their number."""
    if "\n#" not in text:
        return text, 0
    kept: list[str] = []
    quotes = 0
    lines = text.split("\n")
    for line in lines:
        inside = quotes % 2 == 1
        if inside or not line.startswith("#") or line.count(delimiter) == width - 1:
            quotes += line.count('"')
            kept.append(line)
    return "\n".join(kept), len(lines) - len(kept)


def _is_data(cells: list[str]) -> bool:
    """Whether a first line holds numbers, as `numpy.savetxt` writes it, and no names.

    Different whole numbers are names: pandas gives such to columns that have none.
    """
    if not all(re.fullmatch(NUMBER, cell) for cell in cells):
        return False
    return len(set(cells)) < len(cells) or not all(cell.isdecimal() for cell in cells)


def _numbered(comments: list[str], width: int, delimiter: str) -> list[str]:
    """Names for columns without any: those of a comment above the rows, as savetxt writes them."""
    for line in comments[-1:]:
        bare = line.lstrip("#").strip()
        named = bare.split(delimiter) if delimiter in bare else bare.split()
        if len(named) == len(set(named)) == width:
            return [name.strip() for name in named]
    return [f"x{place}" for place in range(width)]
