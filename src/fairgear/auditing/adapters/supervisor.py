"""Runs one command, and ends everything that it started. A program of its own, not imported.

    python -I -S supervisor.py CONTROL REPORT FOLDER WORD...

The audit starts it in a session of its own. On Linux orphans of the command become children of
this process, also those that have left its session, so none escapes; elsewhere the process group
is ended. It reads the pipe CONTROL: a byte ends the command; if the audit is gone, however it
ended, the command ends too and FOLDER, which holds people's data, is removed. On the pipe REPORT
it writes "status N" as `subprocess` counts it, or "error N" if the command could not be started.
"""

from __future__ import annotations

import os
import select
import signal
import sys
import time
from contextlib import suppress

_PR_SET_CHILD_SUBREAPER = 36
# Seconds that ending may take: a process of another user, or one that hangs in the system, stays.
_MOST = 2.0
# Python ignores them; a command should not.
_RESTORED = [getattr(signal, name) for name in ("SIGPIPE", "SIGXFSZ") if hasattr(signal, name)]


def main(control: int, report: int, folder: str, words: list[str]) -> None:
    """Run the command until it ends, or until CONTROL says so."""
    if sys.platform == "win32":
        raise SystemExit("there is no supervisor on Windows")
    for handle in (control, report):
        os.set_inheritable(handle, False)
    _adopt_orphans()
    woken = _signals()
    try:
        child = os.posix_spawnp(words[0], words, os.environ, setsigdef=_RESTORED)
    except OSError as error:
        os.write(report, f"error {error.errno}".encode())
        return
    gone = False
    while True:
        ready, _, _ = select.select([control, woken], [], [])
        if control in ready:
            gone = not os.read(control, 1)
            break
        if set(os.read(woken, 4096)) - {signal.SIGCHLD}:
            break
        status = _reaped(child)
        if status is not None:
            os.write(report, f"status {status}".encode())
            break
    _end_descendants()
    if gone:
        # Imported only here, since it takes as long as the rest.
        import shutil

        shutil.rmtree(folder, ignore_errors=True)
    # Itself too, and where orphans are not adopted all that it can.
    os.killpg(0, signal.SIGKILL)


def _signals() -> int:
    """A pipe that gets a byte for each signal, the number of it."""
    woken, wake = os.pipe()
    if sys.platform != "win32":
        os.set_blocking(wake, False)
        signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
            # What is ignored, under nohup say, is so for the command too.
            if signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, lambda *_: None)
    return woken


def _adopt_orphans() -> None:
    """Linux only; `ctypes` is missing from some small installations."""
    with suppress(ImportError, OSError, AttributeError):
        import ctypes

        ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def _reaped(child: int) -> int | None:
    """Clean up after processes that have ended; the status of the command if it is among them."""
    status = None
    if sys.platform == "win32":
        return status
    with suppress(ChildProcessError):
        while True:
            found, how = os.waitpid(-1, os.WNOHANG)
            if found == 0:
                break
            if found == child:
                status = os.waitstatus_to_exitcode(how)
    return status


def _end_descendants() -> None:
    if sys.platform == "win32":
        return
    end = time.monotonic() + _MOST
    while time.monotonic() < end:
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            return
        # All of them, since one that is left for the next round may start others.
        for process in _descendants():
            with suppress(OSError):
                os.kill(process, signal.SIGKILL)
        time.sleep(0.001)


def _descendants() -> list[int]:
    """Processes below this one; none where there is no /proc."""
    parents = {}
    with suppress(OSError):
        for name in filter(str.isdigit, os.listdir("/proc")):
            with (
                suppress(OSError, ValueError, IndexError),
                open(f"/proc/{name}/stat", "rb") as file,
            ):
                # The name of a program, in parentheses, may hold anything.
                parents[int(name)] = int(file.read().rpartition(b")")[2].split()[1])
    found, waiting = [], [os.getpid()]
    while waiting:
        parent = waiting.pop()
        below = [process for process, above in parents.items() if above == parent]
        found += below
        waiting += below
    return found


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], sys.argv[4:])
