"""Being told to end while a program runs: first what was started is ended, then we are."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class _Terminated(SystemExit):
    """SIGTERM, on its way through everything that has something to clear away."""


@contextmanager
def sigterm_unwinds() -> Iterator[None]:
    """Inside, SIGTERM is an exception; outside, whoever handled it before handles it."""
    before = signal.getsignal(signal.SIGTERM)
    ours = threading.current_thread() is threading.main_thread()
    # Only the main thread may set handlers; None is one that Python did not set, and cannot put
    # back; and whoever ignores the signal wants to go on.
    if not ours or before is None or before is signal.SIG_IGN:
        yield
        return

    def unwind(number: int, frame: FrameType | None) -> None:
        # Once is enough: a second one must not interrupt the clearing away.
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        raise _Terminated(128 + number)

    signal.signal(signal.SIGTERM, unwind)
    try:
        yield
    except _Terminated:
        signal.signal(signal.SIGTERM, before)
        os.kill(os.getpid(), signal.SIGTERM)
        # A handler that lets us live has still lost us the program.
        raise
    finally:
        signal.signal(signal.SIGTERM, before)
