"""The cache: what can be made or fetched again, kept so that it need not be."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from fairgear.errors import FileError
from fairgear.progress import log


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
