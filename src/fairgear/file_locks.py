"""Locks on open files; each ends with the process that holds it.

Windows has none of this kind, and needs none: a file that is open cannot be removed there.
"""

from __future__ import annotations

import errno
import os
import sys

if sys.platform == "win32":
    LOCKS = False
    """Whether files that others have open must be locked to be safe."""

    def open_itself(path: os.PathLike[str], flags: int) -> int:
        """Open `path`; raises OSError where that is not possible."""
        return os.open(path, flags | os.O_BINARY)

    def lock(handle: int, *, shared: bool = False) -> None:
        """Nothing."""

    def lock_at_once(handle: int) -> None:
        """Nothing."""

else:
    import fcntl

    LOCKS = True
    """Whether files that others have open must be locked to be safe."""

    def open_itself(path: os.PathLike[str], flags: int) -> int:
        """Open `path` unless it is a link, without waiting for the other end of a pipe."""
        return os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK)

    def lock(handle: int, *, shared: bool = False) -> None:
        """Wait for the lock of an open file; some network file systems have none to give."""
        try:
            fcntl.flock(handle, fcntl.LOCK_SH if shared else fcntl.LOCK_EX)
        except OSError:
            return

    def lock_at_once(handle: int) -> None:
        """Lock an open file, or raise BlockingIOError where another process has it locked."""
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno == errno.EACCES:
                raise BlockingIOError(error.errno, error.strerror) from error
            raise
