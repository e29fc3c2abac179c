"""The cache of compiled functions: machine code of one user, checked before it is loaded.

What numba keeps is a pickle, so whoever can write it runs code as whoever reads it. numba puts it
in the package's own folder and loads whatever is there. Here it is in `compiled-USER` below the
cache folder, or below $NUMBA_CACHE_DIR: a folder and files that only their owner may read, each
file with an HMAC-SHA256 under a secret of its owner. A file is unpickled only if that agrees.

Not loaded, but compiled again and replaced, is therefore
  - a file that another user, an unpacked archive or a shared folder has put there, or that was
    copied from another function, machine or version: its HMAC is under another secret or another
    key (function, argument types, processor, sources, versions of fairgear, numba and Python);
  - a file that is damaged or cut short.

A folder that belongs to somebody else, or is a link, is not used at all. Who can write as this
user, or as root, is not stopped: they could as well change the program.

Where nothing can be written, functions are compiled in memory, and a log line says so once.
"""

from __future__ import annotations

import hashlib
import hmac
import inspect
import os
import pickle
import secrets
import shutil
import stat
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import llvmlite
import numba
from numba.core.compiler import CompileResult
from numba.core.serialize import dumps

from fairgear.caching import code_folder, keep
from fairgear.files import create, remove_leftovers, replacing, unwritable, write_errors
from fairgear.version import installed_version

# Raised when what is written changes.
_FORMAT = 1
_SECRET = "secret"
_BYTES = 32
# No function is nearly as large.
_MOST = 64 * 2**20
_state: dict[str, Any] = {"writes": True, "cleaned": set()}


class CodeCache:
    """The compiled versions of one function, with the methods that a numba dispatcher calls.

    Args:
        function: the Python function.
        sources: a hash of everything that it is compiled from.
    """

    def __init__(self, function: Callable[..., object], sources: str) -> None:
        self._name = function.__qualname__
        self._key = (function.__module__, self._name, inspect.getfile(function))
        self._sources = sources

    @property
    def cache_path(self) -> str:
        """Where the files are."""
        return str(code_folder())

    def load_overload(self, signature: Any, target_context: Any) -> Any:
        """The function compiled for these argument types; None if that must be done again."""
        path, stamp = self._place(signature, target_context.codegen())
        content = _checked(path, stamp)
        if content is None:
            return None
        target_context.refresh()
        try:
            return CompileResult._rebuild(target_context, *pickle.loads(content))
        except Exception:
            # What was written can be read, by this version: anything else is a miss like others.
            return None

    def save_overload(self, signature: Any, result: Any) -> None:
        """Keep what was compiled, if it can be."""
        if not _state["writes"] or result.lifted or result.library.has_dynamic_globals:
            return
        path, stamp = self._place(signature, result.library.codegen)
        content = dumps(result._reduce())
        # One line is enough for all functions.
        _state["writes"] = keep(path, lambda path: _write(path, stamp, content))

    def enable(self) -> None:
        """Nothing: it always works."""

    def disable(self) -> None:
        """Nothing: `numba.njit` alone gives a function without a cache."""

    def flush(self) -> None:
        """Nothing: what is stale is replaced when it is compiled again."""

    def _place(self, signature: Any, codegen: Any) -> tuple[Path, bytes]:
        """The file of a version of the function, and what it must be made of."""
        key = (*self._key, sys.implementation.cache_tag, str(signature), codegen.magic_tuple())
        digest = hashlib.sha256(repr(key).encode()).hexdigest()
        stamp = hashlib.sha256(repr((digest, self._sources, _versions())).encode()).digest()
        name = "".join(sign for sign in self._name if sign.isalnum() or sign == "_")
        return code_folder() / f"{name[:60]}-{digest[:32]}.code", stamp


@cache
def _versions() -> tuple[object, ...]:
    packages = (installed_version(), numba.__version__, llvmlite.__version__)
    return (_FORMAT, *packages, sys.version)


def _checked(path: Path, stamp: bytes) -> bytes | None:
    """The content of a file that this user wrote from `stamp`; None for any other."""
    secret = _secret(path.parent)
    if secret is None:
        return None
    held = _read(path)
    if held is None or not hmac.compare_digest(held[:_BYTES], _mac(secret, stamp, held[_BYTES:])):
        return None
    return held[_BYTES:]


def _write(path: Path, stamp: bytes, content: bytes) -> None:
    secret = _prepared(path.parent)
    if path.is_dir():
        _remove(path)
    with replacing(path, by_all=True, private=True) as temporary:
        temporary.write_bytes(_mac(secret, stamp, content) + content)


def _mac(secret: bytes, stamp: bytes, content: bytes) -> bytes:
    made = hmac.new(secret, stamp, "sha256")
    made.update(content)
    return made.digest()


def _prepared(folder: Path) -> bytes:
    """The secret of a folder that is made, or made private again, where it must be."""
    with write_errors(folder):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        found = os.lstat(folder)
        if not _is_own(found, stat.S_ISDIR):
            raise unwritable(folder, "a link, or somebody else's folder")
        if _others_may(found):
            os.chmod(folder, 0o700)
        if folder not in _state["cleaned"]:
            remove_leftovers(folder)
            _state["cleaned"].add(folder)
        path, fresh = folder / _SECRET, secrets.token_bytes(_BYTES)
        if not create(path, fresh, by_all=True, private=True) and _secret(folder) is None:
            # Others may have read it, or it is damaged: what it vouched for is made again.
            _remove(path)
            create(path, fresh, by_all=True, private=True)
    secret = _secret(folder)
    if secret is None:
        raise unwritable(folder / _SECRET, "a file that does not stay")
    return secret


def _secret(folder: Path) -> bytes | None:
    """What this user's files are recognised by; None where it may be known to others."""
    try:
        if not _is_own(os.lstat(folder), stat.S_ISDIR):
            return None
    except OSError:
        return None
    found = _read(folder / _SECRET, private=True)
    return found if found is not None and len(found) == _BYTES else None


def _read(path: Path, *, private: bool = False) -> bytes | None:
    """The content of a regular file of this user; None if there is none."""
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    try:
        handle = os.open(path, flags | getattr(os, "O_BINARY", 0))
    except OSError:
        return None
    try:
        found = os.fstat(handle)
        if not _is_own(found, stat.S_ISREG) or (private and _others_may(found)):
            return None
        with open(handle, "rb", closefd=False) as file:
            return file.read(_MOST)
    except OSError:
        return None
    finally:
        os.close(handle)


def _is_own(found: os.stat_result, kind: Callable[[int], bool]) -> bool:
    """Whether it is of that kind and this user's; Windows tells nobody whose it is."""
    return kind(found.st_mode) and (sys.platform == "win32" or found.st_uid == os.geteuid())


def _others_may(found: os.stat_result) -> bool:
    """Whether anybody else may read or write it."""
    return os.name != "nt" and bool(stat.S_IMODE(found.st_mode) & 0o077)


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
