"""Reading what others wrote: whatever a file holds, the answer is a `FileError` of one line."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from fairgear.errors import FairgearError, FileError

# What foreign content raises while it is parsed. Slips of our own, such as a TypeError, are not
# among them: tests must see those.
DAMAGE = (OSError, ValueError, EOFError, OverflowError, RecursionError, MemoryError)
# Characters of a parser's own words that are shown.
_SHOWN = 120
# A file that is read as a whole may have this share of the machine's memory: what is made of it
# takes several times as much.
_SHARE = 4


@contextmanager
def reading(
    path: Path | str,
    got: str,
    allowed: str,
    next_step: str,
    *,
    what: str = "file",
    also: tuple[type[Exception], ...] = (),
) -> Iterator[None]:
    """Around the parsing of the file `path`, and nothing else.

    Args:
        path: as the user named it.
        got: what the file is if it cannot be parsed; what the parser said follows.
        allowed: what it should be.
        next_step: what its owner can do.
        what: the file is, in the user's words.
        also: what the parser raises besides `DAMAGE`; `Exception` for one that passes on anything.
    """
    kinds: tuple[type[Exception], ...] = (*DAMAGE, *also)
    try:
        yield
    except FairgearError:
        raise
    except MemoryError:
        # Without the error, whose frames hold what did not fit.
        raise FileError(
            f"{what} {path}", "more than fits into memory", allowed, "use a smaller one"
        ) from None
    except kinds as error:
        # Errors of the system have a number; those of parsers for damaged bytes have none.
        if isinstance(error, OSError) and error.errno is not None:
            got, allowed = (error.strerror or "an error").lower(), "a file one may read"
            raise FileError(f"{what} {path}", got, allowed, "check the path") from error
        raise FileError(f"{what} {path}", f"{got}{_said(error)}", allowed, next_step) from error


def regular_file(path: Path | str, what: str = "file") -> int:
    """The size of a file in bytes; a folder, a pipe or a device is refused.

    A pipe may be silent for ever, and a device such as /dev/zero never ends.
    """
    with reading(path, "no name of a file", "a file", "check the path", what=what):
        found = os.stat(path)
    if not stat.S_ISREG(found.st_mode):
        allowed, step = "a regular file", "name a file, or write it to one first"
        raise FileError(f"{what} {path}", _kind(found.st_mode), allowed, step)
    return found.st_size


def content_of(path: Path | str, what: str = "file") -> bytes:
    """The bytes of a regular file that fits into memory."""
    size = regular_file(path, what)
    if size > most_bytes():
        raise FileError(
            f"{what} {path}",
            f"{size:,} bytes",
            f"at most {most_bytes():,} bytes to be read as a whole on this machine",
            "use fairgear store, which reads Parquet in pieces, or a machine with more memory",
        )
    step = "check the path"
    with reading(path, "no file", "a file one may read", step, what=what), open(path, "rb") as file:
        return file.read(size)


def most_bytes() -> int:
    """The size of the largest file that is read as a whole."""
    return memory() // _SHARE


def memory() -> int:
    """The bytes of memory that this machine has; 8 GiB where it does not say."""
    if sys.platform != "win32":
        with suppress(ValueError, OSError):
            return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return 8 * 2**30


def _said(error: Exception) -> str:
    if isinstance(error, RecursionError):
        return " (nested too deep)"
    words = " ".join(str(error).split())
    return f" ({words[:_SHOWN]})" if words else ""


def _kind(mode: int) -> str:
    if stat.S_ISDIR(mode):
        return "a folder"
    if stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode):
        return "a pipe"
    return "a device"
