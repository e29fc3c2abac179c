"""What a process asks of the system, call by call; and something that goes wrong at one of them.

Python tells audit hooks of opened, renamed, linked and removed files before it asks the system, and
an exception in a hook takes the place of the call. `fsync`, of which it tells nobody, is wrapped.
"""

from __future__ import annotations

import atexit
import errno
import json
import os
import re
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import fairgear

SOURCE = str(Path(fairgear.__file__).parent)
_HEARD = ("open", "os.rename", "os.link", "os.mkdir", "os.remove", "os.rmdir", "os.chmod")
# Files of the interpreter and of the system.
_NOT_OURS = (sys.prefix, sys.base_prefix, SOURCE, "/proc", "/sys", "/dev", "/etc", "/usr")

# In names of temporary files and of exported worlds.
_RANDOM = re.compile(r"[.][a-z0-9_]{8}(?=[.])|(?<=world-)[0-9a-f]{16}")


class Recorder:
    """Notes what is asked, and from how many places something is called."""

    def __init__(self, place: Path) -> None:
        self._place, self._events, self._sites = place, list[str](), Sites(0, lambda: None)

    def install(self) -> None:
        """Begin, in this process."""
        at_each_call(self._events.append)
        sys.setprofile(self._sites)
        atexit.register(self.write)

    def write(self) -> None:
        """Keep what was noted."""
        sys.setprofile(None)
        events, count = list(self._events), self._sites.count
        (self._place / ".events.json").write_text(json.dumps(events))
        (self._place / ".sites.json").write_text(json.dumps(count))
        (self._place / ".modules.json").write_text(json.dumps(list(sys.modules)))


class Sites:
    """A profiler that calls `act` at the first call from the n-th place of our source.

    An exception that it raises appears there, as if the call had raised it.
    """

    def __init__(self, number: int, act: Callable[[], None]) -> None:
        self._number, self._act, self.count = number, act, 0
        self._seen: set[tuple[str, int]] = set()

    def __call__(self, frame: FrameType, event: str, called: Any) -> None:
        """Hear of a call."""
        if event not in ("call", "c_call"):
            return
        where = frame if event == "c_call" else frame.f_back
        if where is None or not where.f_code.co_filename.startswith(SOURCE):
            return
        place = (where.f_code.co_filename, where.f_lineno)
        if place in self._seen:
            return
        self._seen.add(place)
        self.count += 1
        if self.count == self._number:
            sys.setprofile(None)
            self._act()


class At:
    """Something happens at the n-th call, and at some after it; or at the n-th of that name."""

    def __init__(
        self, number: int, act: Callable[[], None], *, on: int = 0, name: str | None = None
    ) -> None:
        self._left, self._act, self._again, self._name = number, act, on, name

    def __call__(self, event: str) -> None:
        """Hear of a call."""
        if self._name not in (None, event):
            return
        self._left -= 1
        if self._left < 0 and self._left >= -1 - self._again:
            self._act()

    def install(self) -> None:
        """Begin, in this process."""
        at_each_call(self)


def at_each_call(heard: Callable[[str], None]) -> None:
    """Have `heard` told of each call, before it is made, in this process from now on."""
    original, busy = os.fsync, [False]

    def tell(call: str, path: object) -> None:
        if busy[0] or not isinstance(path, str | os.PathLike | bytes):
            return
        name = os.path.abspath(os.fsdecode(path))
        # Compiled code has trials of its own.
        if name.startswith((*_NOT_OURS, os.environ.get("NUMBA_CACHE_DIR") or SOURCE)):
            return
        busy[0] = True
        try:
            heard(f"{call} {_RANDOM.sub('', os.path.basename(name))}")
        finally:
            busy[0] = False

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        if event in _HEARD and arguments:
            tell(event, arguments[1] if event in ("os.rename", "os.link") else arguments[0])

    def fsync(handle: Any) -> None:
        number = handle if isinstance(handle, int) else handle.fileno()
        tell("fsync", os.readlink(f"/proc/self/fd/{number}"))
        original(handle)

    sys.addaudithook(hook)
    os.fsync = fsync  # type: ignore[assignment]


def error(number: int) -> Callable[[], None]:
    """What a system answers that does not do it."""

    def act() -> None:
        raise OSError(number, os.strerror(number))

    return act


def no_memory() -> None:
    """What Python raises where there is none."""
    raise MemoryError


def sent(number: signal.Signals) -> Callable[[], None]:
    """The process gets a signal."""
    return lambda: os.kill(os.getpid(), number)


# By name, what a system may answer to any call.
ERRORS = {
    "no space": errno.ENOSPC,
    "input/output error": errno.EIO,
    "no permission": errno.EACCES,
    "too many open files": errno.EMFILE,
    "quota": errno.EDQUOT,
    "read-only": errno.EROFS,
}
