"""Files that are there whole or not at all: write under a temporary name, then rename."""

from __future__ import annotations

import json
import math
import os
import tempfile
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from fairgear.errors import FileError

# What a killed process leaves behind is known by this ending, and may be removed.
TEMPORARY = ".fairgear-tmp"
LOCK = ".lock"
_state = {"writes": True}


def writes() -> bool:
    """Whether what this process writes is kept; of the processes of a job, one does it for all."""
    return _state["writes"]


@contextmanager
def written_elsewhere() -> Iterator[None]:
    """Inside, nothing is written or removed: another process of the same job does the same."""
    before = writes()
    _state["writes"] = False
    try:
        yield
    finally:
        _state["writes"] = before


@contextmanager
def replacing(path: Path, *, by_all: bool = False) -> Iterator[Path]:
    """A temporary path beside `path` to write to; it takes the place of `path` on success.

    Args:
        path: the file to write.
        by_all: every process of a job writes it for itself, as what it will read again: disks may
            differ from machine to machine.
    """
    path = Path(path)
    if not (writes() or by_all):
        with tempfile.TemporaryDirectory() as folder:
            yield Path(folder, path.name)
        return
    if not path.name or path.is_dir():
        raise unwritable(path, "a folder" if path.name else "no file name")
    with write_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(f"{path.suffix}{TEMPORARY}", f".{path.stem}.", path.parent)
        os.close(handle)
        temporary = Path(name)
        try:
            yield temporary
            os.chmod(temporary, 0o666 & ~umask())
            os.replace(temporary, path)
        finally:
            temporary.unlink(missing_ok=True)


@contextmanager
def alone_in(folder: Path) -> Iterator[None]:
    """Nobody else may work in `folder` meanwhile; a second process is refused at once."""
    folder.mkdir(parents=True, exist_ok=True)
    try:
        # The lock ends with the process, however that ends.
        with FileLock(folder / LOCK, timeout=0):
            yield
    except Timeout as error:
        raise FileError(
            f"folder {folder}",
            "another command that works in it",
            "one at a time",
            "wait for it, or choose another --out",
        ) from error


@contextmanager
def taking_turns(path: Path) -> Iterator[None]:
    """Only one process at a time runs this block for the file `path`; the others wait."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(path.parent / f".{path.name}{LOCK}"):
        yield


def write_text(path: Path, text: str) -> None:
    """Write `text` in one step."""
    with replacing(path) as temporary:
        # The same bytes on every system, so that their hashes are too.
        temporary.write_text(text, encoding="utf-8", newline="\n")


def write_json(path: Path, value: Any, *, dense: Collection[str] = ()) -> None:
    """Write `json_text` in one step."""
    write_text(path, json_text(value, dense=dense))


def json_text(value: Any, *, dense: Collection[str] = ()) -> str:
    """`value` as strict JSON; of a mapping, keys in `dense` on one line each."""
    ready = json_ready(value)
    if not dense:
        return json.dumps(ready, indent=2, allow_nan=False) + "\n"
    lines = [
        f"  {json.dumps(key)}: "
        + (
            json.dumps(held, separators=(",", ":"), allow_nan=False)
            if key in dense
            else json.dumps(held, indent=2, allow_nan=False).replace("\n", "\n  ")
        )
        for key, held in ready.items()
    ]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def json_ready(value: Any) -> Any:
    """`value` as JSON can hold it: NaN is null, tuples and intervals are lists."""
    if is_dataclass(value):
        if isinstance(value, Iterable):
            return [json_ready(entry) for entry in value]
        return {item.name: json_ready(getattr(value, item.name)) for item in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): json_ready(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [json_ready(entry) for entry in value]
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    return value


def remove_leftovers(folder: Path) -> None:
    """Remove what a killed process was writing, in `folder` and below it."""
    if not writes():
        return
    for path in folder.rglob(f"*{TEMPORARY}"):
        path.unlink(missing_ok=True)


@contextmanager
def read_errors(path: Path | str) -> Iterator[None]:
    """Turns errors of the system while a user's file is read into a `FileError`."""
    try:
        yield
    except FileError:
        raise
    except OSError as error:
        raise unreadable(path, error) from error


@contextmanager
def write_errors(path: Path) -> Iterator[None]:
    """Turns errors of the system while a file or folder is written into a `FileError`."""
    try:
        yield
    except FileError:
        raise
    except OSError as error:
        raise unwritable(path, error.strerror or error) from error


def unreadable(path: Path | str, error: OSError) -> FileError:
    """The error for a user's file that the system does not let us read."""
    return FileError(
        f"file {path}",
        (error.strerror or "an error").lower(),
        "a file one may read",
        "check the path",
    )


def unwritable(path: Path, reason: object) -> FileError:
    """The error for a file or folder that the system does not let us write."""
    return FileError(
        f"cannot write {path}",
        reason,
        "a file in a folder one may write to",
        "choose another place",
    )


def umask() -> int:
    """The permissions that new files do not get."""
    current = os.umask(0)
    os.umask(current)
    return current
