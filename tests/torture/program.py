"""The program as a process that may be ended, limited and watched.

A process is a fork of one that has imported everything and done nothing: it starts in milliseconds
and is otherwise a process like any. `Program.executed` starts a new interpreter.
"""

from __future__ import annotations

import atexit
import ctypes
import os
import resource
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from fairgear.cli import main
from tests.torture.verdicts import Failed

Before = Callable[[], object]
# Data that a process may have beyond what it begins with, so that the machine outlives a bomb.
MOST_DATA = 3 * 2**30
_SUBREAPER = 36


@dataclass(frozen=True)
class Ended:
    """How a process ended; a negative status is a signal, `peak` is in megabytes."""

    status: int
    out: str
    err: str
    seconds: float
    peak: int


class Program:
    """A process that runs in `place`, with its temporary files below it."""

    def __init__(self, pid: int, place: Path, said: str = "") -> None:
        self.pid, self.place, self._name = pid, place, said
        self._begun = time.monotonic()

    @classmethod
    def forked(
        cls,
        place: Path,
        work: Callable[[], int | None],
        before: Before | None = None,
        *,
        said: str = "",
    ) -> Program:
        """A process that calls `before`, then `work`, whose answer is its status.

        What it says is in `place`, under names of its own where two are there at once.
        """
        sys.stdout.flush()
        sys.stderr.flush()
        pid = os.fork()
        if pid == 0:
            status = 70
            try:
                atexit._clear()
                _prepare(place, said)
                if before is not None:
                    before()
                status = work() or 0
            except BaseException:
                # The interpreter's own way to say it.
                sys.excepthook(*sys.exc_info())
            finally:
                atexit._run_exitfuncs()
                for stream in (sys.stdout, sys.stderr):
                    with suppress(Exception):
                        stream.flush()
                os._exit(status & 0xFF)
        return cls(pid, place, said)

    @classmethod
    def of(
        cls, place: Path, typed: Sequence[str], before: Before | None = None, *, said: str = ""
    ) -> Program:
        """`fairgear` with what was typed."""
        return cls.forked(place, lambda: main(list(typed)), before, said=said)

    @classmethod
    def executed(
        cls,
        place: Path,
        typed: Sequence[str],
        environment: Mapping[str, str] | None = None,
        wrapper: Sequence[str] = (),
    ) -> Program:
        """The same as a new interpreter, started by another program where there is one."""
        words = [*wrapper, sys.executable, "-m", "fairgear", *typed]
        changed = {**os.environ, **_environment(place), **(environment or {})}
        (place / "tmp").mkdir(exist_ok=True)
        with (place / ".out").open("wb") as out, (place / ".err").open("wb") as err:
            process = subprocess.Popen(words, cwd=place, env=changed, stdout=out, stderr=err)
        # Waited for here alone.
        process.returncode = 0
        return cls(process.pid, place)

    def signal(self, number: int) -> None:
        """Send it a signal, if it still runs."""
        with suppress(ProcessLookupError):
            os.kill(self.pid, number)

    def wait(self, seconds: float) -> Ended:
        """How it ended; `Failed` where it does not within the time that an idle machine needs."""
        handle = os.pidfd_open(self.pid)
        try:
            left = max(0.0, self._begun + seconds * slowness() - time.monotonic())
            late = not select.select([handle], [], [], left)[0]
            if late:
                self.signal(signal.SIGKILL)
            _, status, used = os.wait4(self.pid, 0)
        finally:
            os.close(handle)
        if late:
            raise Failed(f"no end after {seconds:g} s; it said {self._said('.err')[-300:]!r}")
        return Ended(
            os.waitstatus_to_exitcode(status),
            self._said(".out"),
            self._said(".err"),
            time.monotonic() - self._begun,
            used.ru_maxrss // 1024,
        )

    def _said(self, name: str) -> str:
        path = self.place / (name + self._name)
        return path.read_bytes().decode("utf-8", "replace") if path.exists() else ""


def slowness() -> float:
    """How many times longer everything takes on this machine than if it were idle."""
    return max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))


def adopt_orphans() -> None:
    """Processes whose parent ends become children of this one, so that it sees what is left."""
    ctypes.CDLL(None).prctl(_SUBREAPER, 1, 0, 0, 0)


def children() -> list[int]:
    """The processes that this one still has, but for those that wait to be buried."""
    found = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
    return [int(pid) for pid in found if _runs(int(pid))]


def children_after(seconds: float) -> list[int]:
    """Those that are still there after some time on an idle machine."""
    end = time.monotonic() + seconds * slowness()
    while (left := children()) and time.monotonic() < end:
        time.sleep(0.05)
    return left


def end_children() -> None:
    """End them all, and those that become orphans by that."""
    for _ in range(20):
        left = children()
        for pid in left:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        while _buried():
            pass
        if not left:
            return
        time.sleep(0.01)


def _buried() -> bool:
    try:
        return os.waitpid(-1, os.WNOHANG)[0] > 0
    except ChildProcessError:
        return False


def _runs(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state not in "ZX"


def _environment(place: Path) -> dict[str, str]:
    return {
        "TMPDIR": str(place / "tmp"),
        "FAIRGEAR_CACHE": str(place / "cache"),
        "HOME": str(place),
    }


def _prepare(place: Path, said: str) -> None:
    os.chdir(place)
    (place / "tmp").mkdir(exist_ok=True)
    os.environ.update(_environment(place))
    tempfile.tempdir = None
    for name, descriptor in ((".out", 1), (".err", 2)):
        opened = os.open(place / (name + said), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666)
        os.dup2(opened, descriptor)
        os.close(opened)
    sys.stdout = os.fdopen(1, "w", encoding="utf-8", closefd=False)
    sys.stderr = os.fdopen(2, "w", encoding="utf-8", closefd=False)
    # Whoever started the harness may ignore some.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    begun = int(Path("/proc/self/status").read_text().split("VmData:")[1].split()[0]) * 1024
    resource.setrlimit(resource.RLIMIT_DATA, (begun + MOST_DATA,) * 2)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
