"""What disks, other people and power cuts do to files: for tests of any file."""

from __future__ import annotations

import os
import pickle
import resource
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path


class Bomb:
    """Unpickling it makes a file: a test that finds the file has executed what was planted."""

    def __init__(self, trace: Path) -> None:
        self.trace = trace

    def __reduce__(self) -> tuple[Callable[..., object], tuple[object, ...]]:
        return os.mkdir, (str(self.trace),)


def bomb(trace: Path) -> bytes:
    """A pickle that makes a folder at `trace` when it is loaded."""
    return pickle.dumps(Bomb(trace))


def flipped(path: Path, place: float, bit: int = 0) -> None:
    """Flip one bit; `place` is a share of the file."""
    content = bytearray(path.read_bytes())
    content[min(int(place * len(content)), len(content) - 1)] ^= 1 << bit
    path.write_bytes(bytes(content))


def truncated(path: Path, share: float) -> None:
    """Keep the first part."""
    os.truncate(path, int(share * path.stat().st_size))


def grown(path: Path) -> None:
    """One byte more."""
    path.write_bytes(path.read_bytes() + b"\0")


def as_folder(path: Path) -> None:
    """A folder with something in it, where the file was."""
    path.unlink()
    (path / "inner").mkdir(parents=True)


def as_pipe(path: Path) -> None:
    """A pipe that nobody writes to, where the file was."""
    path.unlink()
    os.mkfifo(path)


def as_link(path: Path) -> None:
    """A link to a copy, where the file was."""
    shutil.move(path, path.with_name("elsewhere"))
    path.symlink_to(path.with_name("elsewhere"))


# By name, what may become of a file that a program wrote for itself.
DAMAGE: dict[str, Callable[[Path], None]] = {
    **{f"bit flipped at {share}": lambda p, s=share: flipped(p, s) for share in (0, 0.5, 1)},  # type: ignore[misc]
    **{f"cut at {share}": lambda p, s=share: truncated(p, s) for share in (0, 0.01, 0.9)},  # type: ignore[misc]
    "grown": grown,
    "a folder": as_folder,
    "a pipe": as_pipe,
    "a link": as_link,
    "removed": Path.unlink,
}


@contextmanager
def no_file_above(size: int) -> Iterator[None]:
    """Inside, the system refuses to let any file grow beyond `size` bytes, as on a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
