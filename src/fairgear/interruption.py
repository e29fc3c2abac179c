"""Ctrl-C and SIGTERM: a command ends within two seconds, whatever it is doing.

Both raise an exception, which unwinds the command and cleans up. But an exception waits for
compiled code to return, which may take minutes. So the signal also wakes a thread, which waits a
little, then removes what this process was writing and ends it. Nothing is lost by that, since
files are there whole or not at all. Code that held Python's lock without a break would keep the
thread waiting too; none that is called here does so for long.
"""

from __future__ import annotations

import atexit
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import NoReturn

from fairgear.files import remove_own

# Seconds for unwinding, and for the last word and the removal of files after that.
PATIENCE, LAST = 1.5, 0.3
_SIGNALS = (signal.SIGINT, signal.SIGTERM)
# The pipes that signals wake watches through; a child that is forked must not use them.
_open: list[int] = []


class Terminated(SystemExit):
    """SIGTERM as an exception, so that open contexts clean up."""


class Watch:
    """Ends this process if it does not end by itself soon after a signal.

    Args:
        say: tells the user how the process ends, given the number of the signal.
    """

    def __init__(self, say: Callable[[int], None]) -> None:
        self._say = say
        # Whoever holds it has the last word.
        self._word = threading.Lock()
        self._left = threading.Event()
        self._woken, self._wake = os.pipe()
        os.set_blocking(self._wake, False)
        self._thread = threading.Thread(target=self._wait, daemon=True, name="interruption")

    def start(self) -> None:
        """Listen to signals from now on."""
        _open.append(self._wake)
        self._before = signal.set_wakeup_fd(self._wake, warn_on_full_buffer=False)
        self._thread.start()

    def say(self, number: int) -> None:
        """Tell the user, unless the thread does: then wait for the end."""
        self._word.acquire()
        self._say(number)

    def stop(self) -> None:
        """Listen no more."""
        self._left.set()
        signal.set_wakeup_fd(self._before, warn_on_full_buffer=False)
        _open.remove(self._wake)
        os.write(self._wake, b"\0")
        self._thread.join()
        os.close(self._woken)
        os.close(self._wake)

    def _wait(self) -> None:
        number = -1
        while number not in (0, *_SIGNALS):
            number = os.read(self._woken, 1)[0]
        if number == 0 or self._left.wait(PATIENCE):
            return
        last = [threading.Thread(target=remove_own, daemon=True)]
        if self._word.acquire(blocking=False):
            last.append(threading.Thread(target=self._say, args=(number,), daemon=True))
        # In other threads, since a disk or a terminal may take for ever.
        for thread in last:
            thread.start()
        for thread in last:
            thread.join(LAST / len(last))
        os._exit(128 + number)


@contextmanager
def watched(say: Callable[[int], None], *, to_the_end: bool) -> Iterator[None]:
    """Inside, SIGTERM raises `Terminated` as Ctrl-C does `KeyboardInterrupt`, and both are final.

    Args:
        say: tells the user that the command was interrupted, given the number of the signal.
        to_the_end: the process ends with this block.
    """
    watch = None
    # Only the main thread hears signals.
    if sys.platform != "win32" and threading.current_thread() is threading.main_thread():
        watch = Watch(say)
        watch.start()
    try:
        with _sigterm_raises():
            yield
    except (KeyboardInterrupt, Terminated) as error:
        number = signal.SIGTERM if isinstance(error, Terminated) else signal.SIGINT
        (say if watch is None else watch.say)(number)
        if to_the_end:
            _end(number)
        raise
    finally:
        if watch is not None:
            watch.stop()


def _end(number: int) -> NoReturn:
    """End this process after its last duties: taking Python apart would last seconds more."""
    with suppress(OSError, ValueError):
        sys.stdout.flush()
    # Such as those of a pool of processes.
    atexit._run_exitfuncs()
    remove_own()
    os._exit(128 + number)


@contextmanager
def sigterm_unwinds() -> Iterator[None]:
    """Inside, SIGTERM raises an exception; afterwards the previous handler gets the signal."""
    try:
        with _sigterm_raises():
            yield
    except Terminated:
        os.kill(os.getpid(), signal.SIGTERM)
        # Even if the previous handler returns, the program is gone.
        raise


@contextmanager
def _sigterm_raises() -> Iterator[None]:
    before = signal.getsignal(signal.SIGTERM)
    ours = threading.current_thread() is threading.main_thread()
    # Only the main thread may set handlers, a handler that Python did not set (None) cannot be
    # restored, and a process that ignores the signal should continue.
    if not ours or before is None or before is signal.SIG_IGN:
        yield
        return
    signal.signal(signal.SIGTERM, _terminate)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _terminate(number: int, frame: FrameType | None) -> None:
    # A second signal must not interrupt the clean-up.
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    raise Terminated(128 + number)


def _forget() -> None:
    """In a forked child, whose signals are not ours: SIGTERM ends a worker of a pool, say."""
    if not _open:
        return
    _open.clear()
    signal.set_wakeup_fd(-1)
    if signal.getsignal(signal.SIGTERM) is _terminate:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
