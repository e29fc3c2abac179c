"""Files that are there whole or not at all: write under a temporary name, then rename.

Before a file is renamed it is on the disk (fsync), and so is the name after it: a power cut loses
neither. A temporary file or folder is locked by the process that writes it, so that others can
tell it from what a killed process left behind.
"""

from __future__ import annotations

import errno
import glob
import json
import math
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from fairgear.errors import FileError
from fairgear.file_locks import LOCKS, lock, lock_at_once, open_itself

# What a killed process leaves behind is known by this ending, and may be removed.
TEMPORARY = ".fairgear-tmp"
# The same of folders.
PARTIAL = ".fairgear-partial"
LOCK = ".lock"
# Of a name, so that a temporary one is no longer than a file system allows.
_SHOWN = 30
# What systems answer that cannot put this file, or this folder, on the disk at once.
_NO_SYNC = (errno.EINVAL, errno.ENOTSUP, errno.EACCES)
# Nanoseconds between two times of files that are surely different.
_TICK = 10_000_000
_state = {"writes": True}
# Temporary files and folders that this process has made and not yet removed or renamed.
_own: set[Path] = set()
# Open files, until this process ends: see `hold`.
_held: dict[Path, int] = {}


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
def replacing(path: Path, *, by_all: bool = False, private: bool = False) -> Iterator[Path]:
    """A temporary path beside `path` to write to; it takes the place of `path` on success.

    Args:
        path: the file to write.
        by_all: every process of a job writes it for itself, as what it will read again: disks may
            differ from machine to machine.
        private: nobody but its owner may read it, as what holds data of single people.
    """
    path = Path(path)
    if not (writes() or by_all):
        with write_errors(path), tempfile.TemporaryDirectory() as folder:
            yield Path(folder, path.name)
        return
    with write_errors(path):
        if not path.name or path.is_dir():
            raise unwritable(path, "a folder" if path.name else "no file name")
    with write_errors(path), _temporary_file(path) as temporary:
        yield temporary
        os.chmod(temporary, 0o600 if private else 0o666 & ~umask())
        sync(temporary)
        os.replace(temporary, path)
        sync(path.parent)


def create(path: Path, content: bytes, *, by_all: bool = False, private: bool = False) -> bool:
    """Write a file in one step unless it exists; whether this call wrote it.

    Of several processes that try at once, one does. See `replacing` for the arguments.
    """
    if not (writes() or by_all):
        return True
    with write_errors(path), _temporary_file(path) as temporary:
        temporary.write_bytes(content)
        os.chmod(temporary, 0o600 if private else 0o666 & ~umask())
        sync(temporary)
        try:
            os.link(temporary, path)
        except FileExistsError:
            return False
        except OSError:
            # A file system without links: two processes at the same instant are not told apart.
            if path.exists():
                return False
            os.replace(temporary, path)
        sync(path.parent)
    return True


@contextmanager
def new_folder(path: Path) -> Iterator[Path]:
    """A temporary folder beside `path` to write to; it becomes `path` on success, else it goes.

    Only its owner may enter it. Those that killed processes left for the same `path` are removed.
    There must be nothing at `path` except an empty folder.
    """
    with write_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        begin = f".{path.name[:_SHOWN]}."
        _remove_left(path.parent, begin, PARTIAL)
        temporary, handle = _locked(lambda: tempfile.mkdtemp(PARTIAL, begin, path.parent))
        try:
            yield temporary
            for written in temporary.rglob("*"):
                sync(written)
            sync(temporary)
            os.replace(temporary, path)
            sync(path.parent)
        finally:
            _close(handle)
            shutil.rmtree(temporary, ignore_errors=True)
            _own.discard(temporary)


@contextmanager
def temporary_folder() -> Iterator[Path]:
    """A folder among the system's temporary files that only this user may read.

    It is removed at the end, or by the next process that asks for one if this one is killed.
    """
    try:
        root = Path(tempfile.gettempdir())
        _remove_left(root, "fairgear-", PARTIAL)
        temporary, handle = _locked(lambda: tempfile.mkdtemp(PARTIAL, "fairgear-", root))
    except OSError as error:
        raise unwritable(Path("a temporary folder"), error.strerror or error) from error
    try:
        yield temporary
    finally:
        _close(handle)
        shutil.rmtree(temporary, ignore_errors=True)
        _own.discard(temporary)


def sync(path: Path) -> None:
    """Have the content of a file, or the names in a folder, on the disk before going on."""
    if os.name == "nt" and path.is_dir():
        return
    handle: int | None = None
    try:
        handle = os.open(path, os.O_RDWR if os.name == "nt" else os.O_RDONLY)
        os.fsync(handle)
    except OSError as error:
        if error.errno not in _NO_SYNC:
            raise
    finally:
        _close(handle)


@contextmanager
def alone_in(folder: Path) -> Iterator[None]:
    """Nobody else may work in `folder` meanwhile; a second process is refused at once."""
    # The lock ends with the process, however that ends.
    lock = FileLock(folder / LOCK, timeout=0)
    _acquire(lock, folder)
    try:
        yield
    finally:
        lock.release()


@contextmanager
def holding(path: Path, *, wait: bool = False) -> Iterator[None]:
    """Only one process at a time holds a file or folder that stays where it is.

    Others are refused at once, or wait. Unlike `alone_in` this leaves no file. It ends with the
    process, and a file system without locks has none.
    """
    if not LOCKS:
        yield
        return
    with write_errors(path):
        handle = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    try:
        if wait:
            lock(handle)
        elif not _free(handle):
            raise _busy(path if path.is_dir() else path.parent)
        yield
    finally:
        os.close(handle)


@contextmanager
def taking_turns(path: Path) -> Iterator[None]:
    """Only one process at a time runs this block for the file `path`; the others wait."""
    lock = FileLock(path.parent / f".{path.name}{LOCK}")
    _acquire(lock, path.parent)
    try:
        yield
    finally:
        lock.release()


def write_text(path: Path, text: str, *, private: bool = False) -> None:
    """Write `text` in one step; see `replacing`."""
    with replacing(path, private=private) as temporary:
        # The same bytes on every system, so that their hashes are too.
        temporary.write_text(text, encoding="utf-8", newline="\n")


def write_json(
    path: Path, value: Any, *, dense: Collection[str] = (), private: bool = False
) -> None:
    """Write `json_text` in one step; see `replacing`."""
    write_text(path, json_text(value, dense=dense), private=private)


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


def file_stamp(path: Path) -> tuple[int, ...]:
    """Other numbers as soon as a file was written again or replaced."""
    found = os.stat(path)
    return found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino


def settles_in(stamp: tuple[int, ...]) -> float:
    """Seconds until a file can no longer change without changing its stamp; mostly 0."""
    age = time.time_ns() - stamp[2]
    return (_TICK - age) / 1e9 if 0 <= age < _TICK else 0.0


def remove_leftovers(folder: Path) -> None:
    """Remove what killed processes were writing, in `folder` and below it.

    What a living process writes stays.
    """
    if not writes():
        return
    for path in folder.rglob(f"*{TEMPORARY}"):
        _remove_if_left(path)


def hold(path: Path) -> bool:
    """Keep a file from the `discard` of other processes until this one ends; False if it is gone.

    On Windows it is enough that the file is open.
    """
    try:
        handle = os.open(path, os.O_RDONLY)
    except OSError:
        return False
    lock(handle, shared=True)
    try:
        there = os.path.samestat(os.fstat(handle), os.stat(path))
    except OSError:
        there = False
    _close(_held.pop(path, None))
    if there:
        _held[path] = handle
    else:
        _close(handle)
    return there


def discard(path: Path) -> bool:
    """Remove a file unless a process holds it; whether it is gone."""
    try:
        handle = open_itself(path, os.O_RDONLY) if LOCKS else None
        try:
            if handle is None or _free(handle):
                path.unlink(missing_ok=True)
        finally:
            _close(handle)
    except OSError:
        # It is somebody else's, or has just gone.
        pass
    return not os.path.lexists(path)


def _free(handle: int) -> bool:
    """Whether no other process holds the open file, as far as the file system knows."""
    try:
        lock_at_once(handle)
    except BlockingIOError:
        return False
    except OSError:
        # No locks here.
        return True
    return True


def remove_own() -> None:
    """Remove what this process is writing, since it is about to end."""
    for path in list(_own):
        _remove(path)


@contextmanager
def _temporary_file(path: Path) -> Iterator[Path]:
    """A new file beside `path`, locked while this process writes it; removed at the end.

    So are those that killed processes left for the same `path`.
    """
    prefix, suffix = f".{path.stem[:_SHOWN]}.", f"{path.suffix}{TEMPORARY}"

    def make() -> str:
        handle, name = tempfile.mkstemp(suffix, prefix, path.parent)
        os.close(handle)
        return name

    path.parent.mkdir(parents=True, exist_ok=True)
    if LOCKS:
        _remove_left(path.parent, prefix, suffix)
    temporary, handle = _locked(make)
    try:
        yield temporary
    finally:
        _close(handle)
        temporary.unlink(missing_ok=True)
        _own.discard(temporary)


def _locked(make: Callable[[], str]) -> tuple[Path, int | None]:
    """A path that `make` makes, and the open file that holds its lock; see `_remove_if_left`."""
    while True:
        path = Path(make())
        _own.add(path)
        if not LOCKS:
            return path, None
        handle: int | None = None
        try:
            handle = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
            lock(handle)
            # Between its making and its locking somebody may have taken it for a leftover.
            if os.path.samestat(os.fstat(handle), os.lstat(path)):
                return path, handle
        except FileNotFoundError:
            pass
        except BaseException:
            _close(handle)
            _remove(path)
            raise
        _close(handle)
        _own.discard(path)


def _close(handle: int | None) -> None:
    if handle is not None:
        os.close(handle)


def _remove_left(folder: Path, prefix: str, suffix: str) -> None:
    """Remove what killed processes left in `folder`, of those names that `tempfile` gives."""
    for path in folder.glob(f"{glob.escape(prefix)}????????{glob.escape(suffix)}"):
        _remove_if_left(path)


def _remove_if_left(path: Path) -> None:
    """Remove a temporary file or folder, unless a living process holds its lock."""
    if not LOCKS:
        _remove(path)
        return
    with suppress(OSError):
        handle = open_itself(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
        try:
            lock_at_once(handle)
            _remove(path)
        finally:
            os.close(handle)


def _remove(path: Path) -> None:
    with suppress(OSError):
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)


def _busy(folder: Path) -> FileError:
    got, step = "another command that works in it", "wait for it, or choose another --out"
    return FileError(f"folder {folder}", got, "one at a time", step)


def _acquire(lock: FileLock, folder: Path) -> None:
    with write_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
        try:
            lock.acquire()
        except Timeout as error:
            # Before the line for errors of the system, of which it is one.
            raise _busy(folder) from error
        except NotImplementedError as error:
            raise unwritable(folder, "a file system without locks") from error


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
