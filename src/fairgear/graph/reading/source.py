"""Opening what a user names: a file that is there, can be read, and is text where it must be."""

from __future__ import annotations

from pathlib import Path

from fairgear import files
from fairgear.errors import FileError


def content(path: Path) -> bytes:
    """The bytes of a file that is not empty."""
    try:
        found = path.read_bytes()
    except OSError as error:
        raise files.unreadable(path, error) from error
    if not found.strip():
        raise unreadable(path, "an empty file", "a file with rows", "check that it was saved")
    return found


def text_of(path: Path) -> str:
    """The text of a file in UTF-8, with or without a mark at its beginning."""
    found = content(path)
    if b"\0" in found:
        raise unreadable(
            path,
            f"a binary file (byte {found.index(0)} is zero)",
            f"text, as its ending {path.suffix} says",
            "check what kind of file it is; a Parquet file ends in .parquet",
        )
    try:
        return found.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise unreadable(
            path,
            f"byte 0x{found[error.start]:02x} at position {error.start}, which is no UTF-8",
            "text in UTF-8",
            "save it again as UTF-8 (in a spreadsheet: CSV UTF-8)",
        ) from error


def unreadable(path: Path, got: str, allowed: str, next_step: str) -> FileError:
    """A file that is there and is not what it should be."""
    return FileError(f"file {path}", got, allowed, next_step)
