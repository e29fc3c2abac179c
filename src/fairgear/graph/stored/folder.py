"""A folder that is there whole or not at all."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from fairgear.errors import FileError

# What a killed process leaves behind is known by this ending, and may be removed.
PARTIAL = ".fairgear-partial"


@contextmanager
def new_folder(path: Path) -> Iterator[Path]:
    """A folder under another name beside `path` to write to; renamed on success, else removed."""
    path = Path(path)
    if path.exists() and not (path.is_dir() and not any(path.iterdir())):
        raise FileError(
            f"folder {path}",
            "a folder with files in it" if path.is_dir() else "a file of that name",
            "a new or empty folder",
            "choose another --out, or remove it",
        )
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        partial = Path(tempfile.mkdtemp(PARTIAL, f".{path.name}.", path.parent))
    except OSError as error:
        raise _unwritable(path, error) from error
    try:
        yield partial
        # Made for one person alone; the folder is as open as others are.
        partial.chmod(0o777 & ~_umask())
        os.replace(partial, path)
    except OSError as error:
        if isinstance(error, FileError):
            raise
        raise _unwritable(path, error) from error
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def _unwritable(path: Path, error: OSError) -> FileError:
    return FileError(
        f"cannot write {path}",
        error.strerror or error,
        "a folder in a place one may write to, with room on the disk",
        "choose another place",
    )


def _umask() -> int:
    current = os.umask(0)
    os.umask(current)
    return current
