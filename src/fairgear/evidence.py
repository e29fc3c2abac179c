"""Evidence: which files were read, with the SHA-256 that `sha256sum` prints, and what was typed."""

from __future__ import annotations

import hashlib
import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path

from fairgear.errors import FileError

# What is read of the user's inside `reading` is this, if its path has no role of its own.
DATA = "data"
# The role of what a run has trained; the paths of such files are below the run's folder.
TRAINED = "trained model"


@dataclass(frozen=True)
class FileHash:
    """A file as it was when it was read.

    Attributes:
        role: what it was read as, such as "table" or "script".
        path: as it was named: relative to the working directory, unless it began with a slash. Of
            a dataset it is relative to the folder of datasets.
        sha256: of its content, in hexadecimal.
        bytes: how long it is.
    """

    role: str
    path: str
    sha256: str
    bytes: int


class FilesRead:
    """The files that were read, in the order in which they were read first."""

    def __init__(self, roles: Mapping[str, str], default: str) -> None:
        self._roles = {str(Path(path)): role for path, role in roles.items()}
        self._default = default
        self._found: dict[str, FileHash] = {}

    @property
    def files(self) -> tuple[FileHash, ...]:
        """Each file once, as it was when it was read last."""
        return tuple(self._found.values())

    def role(self, path: Path) -> str:
        """That of the file, or of a folder that it is in."""
        named = (self._roles.get(str(one)) for one in (path, *path.parents))
        return next(filter(None, named), self._default)

    def add(self, file: FileHash) -> None:
        """Note a file."""
        self._found[file.path] = file


_collecting: ContextVar[FilesRead | None] = ContextVar("files read", default=None)
_typed: ContextVar[str] = ContextVar("command", default="")


@contextmanager
def reading(roles: Mapping[str, str] | None = None, default: str = DATA) -> Iterator[FilesRead]:
    """Inside, the files that are read are noted.

    Args:
        roles: by path, of files or of folders.
        default: the role of other files.
    """
    found = FilesRead(roles or {}, default)
    token = _collecting.set(found)
    try:
        yield found
    finally:
        _collecting.reset(token)


def note_content(path: Path, content: bytes) -> None:
    """Note a file by the bytes that were read of it."""
    found = _collecting.get()
    if found is not None:
        digest = hashlib.sha256(content).hexdigest()
        found.add(FileHash(found.role(path), str(path), digest, len(content)))


def note_file(path: Path, role: str | None = None) -> None:
    """Note a file that was read in parts, or by others: it is read once more for its hash."""
    found = _collecting.get()
    if found is not None:
        found.add(file_hash(path, role or found.role(path)))


def note_known(role: str, path: str, sha256: str, size: int) -> None:
    """Note a file whose hash was compared when it was opened."""
    found = _collecting.get()
    if found is not None:
        found.add(FileHash(role, path, sha256, size))


def file_hash(path: Path, role: str, *, name: str | None = None) -> FileHash:
    """The hash of a file, read in chunks; `name` is its path in the result."""
    try:
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
            return FileHash(role, str(path) if name is None else name, digest, file.tell())
    except OSError as error:
        got, step = (error.strerror or "an error").lower(), "check the path"
        raise FileError(f"file {path}", got, "a file one may read", step) from error


def folder_hashes(folder: Path, role: str, *, name: str | None = None) -> tuple[FileHash, ...]:
    """Those of all files in a folder and below it; `name` is the folder's path in the results."""
    begin = Path(str(folder) if name is None else name)
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return tuple(
        file_hash(path, role, name=(begin / path.relative_to(folder)).as_posix()) for path in files
    )


def code_file(text: str) -> Path | None:
    """The source of MODULE:NAME, once it is imported: below the working directory if it is there.

    None of other texts, and of modules without a file.
    """
    module = sys.modules.get(text.partition(":")[0]) if ":" in text else None
    source = getattr(module, "__file__", None)
    if source is None:
        return None
    path, here = Path(source), Path.cwd()
    return path.relative_to(here) if path.is_relative_to(here) else path


@contextmanager
def command(words: Sequence[str]) -> Iterator[None]:
    """Inside, this is the command that was typed."""
    token = _typed.set(shlex.join(words))
    try:
        yield
    finally:
        _typed.reset(token)


def typed_command() -> str:
    """The command as a shell would take it again; empty in Python."""
    return _typed.get()
