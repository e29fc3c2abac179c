"""Small file systems and read-only ones, seen by the process that asks for them alone."""

from __future__ import annotations

import ctypes
import os
import resource
import subprocess
from collections.abc import Sequence
from pathlib import Path

_NEW_MOUNTS = 0x00020000


def own_mounts() -> bool:
    """Whether this process may now mount what nobody else sees."""
    if ctypes.CDLL(None, use_errno=True).unshare(_NEW_MOUNTS):
        return False
    return _done("mount", "--make-rprivate", "/")


def small_disk(place: Path, kilobytes: int) -> bool:
    """Mount an empty file system of that size; whether that was allowed."""
    place.mkdir(exist_ok=True)
    return _done("mount", "-t", "tmpfs", "-o", f"size={kilobytes}k", "tmpfs", str(place))


def grown_disk(place: Path) -> None:
    """Give it room."""
    _done("mount", "-o", "remount,size=64m", str(place))


def read_only(*places: str) -> bool:
    """Nothing below can be written any more, but for what is mounted there by itself."""
    done = True
    for place in places:
        done &= _done("mount", "--bind", place, place) if place != "/" else True
        done &= _done("mount", "-o", "remount,bind,ro", place)
    return done


def still_writable(place: Path) -> bool:
    """A mount of its own: it stays as it is when what is around it becomes read-only."""
    return _done("mount", "--bind", str(place), str(place))


def no_file_above(kilobytes: int) -> None:
    """Where nothing may be mounted: no file of this process may grow beyond that."""
    size = kilobytes * 1024
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


def _done(*words: str) -> bool:
    ended = subprocess.run(words, capture_output=True, check=False)
    return ended.returncode == 0


def as_nobody(place: Path, but: Sequence[str] = ()) -> None:
    """Go on as a user who owns nothing but this folder, and not all in it."""
    nobody = 65534
    for path in (place, *place.rglob("*")):
        if path.name not in but:
            os.chown(path, nobody, nobody, follow_symlinks=False)
    os.setgroups([])
    os.setgid(nobody)
    os.setuid(nobody)
