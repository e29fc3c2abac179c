"""A program of somebody else: its time and what it writes are bounded, and its children end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from fairgear.auditing.adapters import supervisor

# Seconds between two looks at what a program has written.
_LOOK_EVERY = 0.02
# Seconds in which all that it started has ended; see the supervisor.
_ENDING = 5.0


class NotStarted(Exception):
    """The system does not run it; the message says why."""


class TooSlow(Exception):
    """It took longer than it may."""


class TooMuch(Exception):
    """It wrote more than it may."""


@dataclass(frozen=True)
class Program:
    """A program that runs in a folder of its own.

    Attributes:
        words: its name and arguments.
        folder: holds `stdout` and `stderr`, and what the program is told to write there. If this
            process is killed, the folder is removed.
        timeout: seconds that it may take.
        most: bytes that it may write there.
    """

    words: Sequence[str]
    folder: Path
    timeout: float
    most: int

    @property
    def stdout(self) -> Path:
        """What it prints."""
        return self.folder / "stdout"

    @property
    def stderr(self) -> Path:
        """What it complains about."""
        return self.folder / "stderr"

    def run(self) -> int:
        """Its exit status, negative for a signal, after all that it started has ended."""
        end, most = time.monotonic() + self.timeout, _bytes_in(self.folder) + self.most
        # Files, not pipes: a program that writes much never waits for a reader.
        with (
            self.stdout.open("wb") as output,
            self.stderr.open("wb") as errors,
            self._started(output.fileno(), errors.fileno()) as (process, report),
        ):
            while True:
                ended = process.poll() is not None
                # Also afterwards: a program may be quick with too much.
                if _bytes_in(self.folder) > most:
                    raise TooMuch
                if ended:
                    return _status(process, report)
                if time.monotonic() > end:
                    raise TooSlow
                with suppress(subprocess.TimeoutExpired):
                    process.wait(_LOOK_EVERY)

    @contextmanager
    def _started(self, output: int, errors: int) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
        """The supervisor, or without one the program itself, and where the status is reported."""
        watched = supervised()
        told, control = os.pipe()
        report, reporting = os.pipe()
        before = [sys.executable, "-I", "-S", supervisor.__file__, str(told), str(reporting)]
        try:
            process = subprocess.Popen(
                [*before, str(self.folder), *self.words] if watched else self.words,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=errors,
                # Ctrl-C in a terminal is for the audit, which ends the program.
                start_new_session=True,
                pass_fds=(told, reporting) if watched else (),
            )
        except OSError as error:
            raise NotStarted(error.strerror or str(error)) from error
        finally:
            os.close(told)
            os.close(reporting)
        try:
            yield process, report
        finally:
            # Also on Ctrl-C.
            with suppress(OSError):
                os.write(control, b"x")
            if watched:
                with suppress(subprocess.TimeoutExpired):
                    process.wait(_ENDING)
            if sys.platform != "win32":
                # The supervisor does that itself, unless it was killed.
                with suppress(OSError):
                    os.killpg(process.pid, signal.SIGKILL)
            process.kill()
            process.wait()
            os.close(control)
            os.close(report)


def supervised() -> bool:
    """Whether programs get a supervisor; Windows has none, nor has Python inside a program."""
    return sys.platform != "win32" and bool(sys.executable)


def _status(process: subprocess.Popen[bytes], report: int) -> int:
    said = os.read(report, 100).split()
    if not said:
        # There is no supervisor, or it was killed.
        return process.returncode
    number = int(said[1])
    if said[0] == b"error":
        raise NotStarted(os.strerror(number))
    return number


def _bytes_in(folder: Path) -> int:
    """What the files in a folder and below it take."""
    total = 0
    for place, _, names in os.walk(folder):
        for name in names:
            # It may be gone, or renamed, by now.
            with suppress(OSError):
                total += os.lstat(os.path.join(place, name)).st_size
    return total
