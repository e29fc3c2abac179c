"""The cache: what can be made or fetched again, kept so that it need not be.

It has parts, each a folder whose files are known by their names. `fairgear cache` lists and clears
those files and no others.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

from fairgear.errors import FileError
from fairgear.files import discard, remove_leftovers
from fairgear.progress import log

# As their writers name them: `similarity_mechanism`, `code_cache` and `verification`.
_EDGES = re.compile(r"[0-9a-f]{64}\.safetensors")
_CODE = re.compile(r"\w{1,60}-[0-9a-f]{32}\.code")
_NOTE = re.compile(r"[0-9a-f]{32}\.txt")


def cache_folder() -> Path:
    """$FAIRGEAR_CACHE if set, else $XDG_CACHE_HOME/fairgear, else ~/.cache/fairgear."""
    if chosen := os.environ.get("FAIRGEAR_CACHE"):
        # Unlike Path.expanduser, this leaves a user whom nobody knows as it is.
        return Path(os.path.expanduser(chosen))
    shared = os.environ.get("XDG_CACHE_HOME", "")
    # The XDG specification has relative paths ignored.
    if os.path.isabs(shared):
        return Path(shared, "fairgear")
    try:
        return Path.home() / ".cache" / "fairgear"
    except RuntimeError:
        # A user without a home, as in some containers: no cache can be kept anywhere of theirs.
        return Path(os.devnull, "fairgear")


def code_folder() -> Path:
    """The folder of this user's compiled functions."""
    shared = os.environ.get("NUMBA_CACHE_DIR")
    user = f"-{os.geteuid()}" if hasattr(os, "geteuid") else ""
    return (Path(shared) if shared else cache_folder()) / f"compiled{user}"


@dataclass(frozen=True)
class CachedFile:
    """One file of the cache."""

    path: Path
    size: int
    """In bytes."""
    modified: float
    """Seconds since 1970."""


@dataclass(frozen=True)
class CachePart:
    """One kind of file in the cache."""

    name: str
    what: str
    folder: Path
    is_ours: Callable[[str], object]
    """Whether fairgear gave a file this name, which is its path below the folder."""

    def files(self) -> list[CachedFile]:
        """Its files; links and whatever others have put there are left out."""
        return sorted(self._found(), key=lambda file: file.path)

    def _found(self) -> Iterator[CachedFile]:
        for folder, _, names in os.walk(self.folder):
            for name in names:
                path = Path(folder, name)
                if not self.is_ours(path.relative_to(self.folder).as_posix()):
                    continue
                try:
                    found = os.lstat(path)
                except OSError:
                    # Another process has just removed it.
                    continue
                if stat.S_ISREG(found.st_mode):
                    yield CachedFile(path, found.st_size, found.st_mtime)

    def clear(self) -> tuple[list[CachedFile], list[CachedFile]]:
        """Remove its files: those that are gone, and those that a process still needs."""
        if not self.folder.is_dir():
            return [], []
        removed, stay = list[CachedFile](), list[CachedFile]()
        for file in self.files():
            (removed if discard(file.path) else stay).append(file)
        # Folders and the secret of compiled functions stay: others may be writing there.
        remove_leftovers(self.folder)
        return removed, stay


def cache_parts(dataset_files: Collection[str]) -> list[CachePart]:
    """All parts; `dataset_files` are the paths of the files that datasets download."""
    root = cache_folder()
    own = os.environ.get("FAIRGEAR_DATA")
    datasets = root / "datasets"
    # What is in a folder of the user's is theirs, wherever that is.
    theirs = bool(own) and os.path.realpath(os.path.expanduser(own or "")) == os.path.realpath(
        datasets
    )
    files = frozenset[str]() if theirs else frozenset(dataset_files)
    return [
        CachePart("datasets", "downloaded files of datasets", datasets, files.__contains__),
        CachePart("edges", "edges that a similarity rule joins", root / "edges", _EDGES.fullmatch),
        CachePart("compiled", "compiled functions", code_folder(), _CODE.fullmatch),
        CachePart(
            "verified", "which stored graphs were checked", root / "verified", _NOTE.fullmatch
        ),
    ]


def keep(path: Path, write: Callable[[Path], None]) -> bool:
    """Whether `write` could put a file at `path` in the cache; if not, a log line says why.

    The cache saves work and is never needed, so that an unwritable one stops nobody.
    """
    try:
        write(path)
    except FileError as error:
        log(f"going on without a cache: {error.what} ({error.got}); FAIRGEAR_CACHE names another")
        return False
    return True
