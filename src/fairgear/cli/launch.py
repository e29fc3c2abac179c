"""Several processes for one command: the flags, and the parent that starts and watches them."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import IO, Annotated, Any

from cyclopts import Parameter

from fairgear.cli.flags import given, options_of
from fairgear.errors import ParameterError
from fairgear.joining import LAUNCHED, Place, joined, place
from fairgear.settings import Config, Range

# Between a process and the launcher alone: ended because another had.
LOST = 75
# Seconds that the others have to end by themselves, and again when asked to: torch takes some to
# leave in good order.
GRACE = 10.0
COMMAND = (sys.executable, "-m", "fairgear")
_PAUSE = 0.05
_FINE = (0, 3)


@dataclass(frozen=True)
class JobConfig(Config):
    """The processes that share a command."""

    devices: Annotated[int | None, Range(1, 4096)] = None
    """Processes on this machine, which share the work: CUDA cards, one each, or on the CPU any
    number. [default: one, in this process]"""
    nodes: Annotated[int, Range(1, 65536)] = 1
    """Machines that share the work; start the same command on each. [default: 1]"""
    node_rank: Annotated[int, Range(0, 65535)] = 0
    """Which of these machines this is, counted from 0. [default: 0]"""
    main_address: str = ""
    """Name or address of machine 0. [default: this machine, where there is one]"""
    main_port: Annotated[int | None, Range(1, 65535)] = None
    """A free port of machine 0. [default: any where there is one machine, else 29400]"""

    @property
    def size(self) -> int:
        """Processes in all."""
        return (self.devices or 1) * self.nodes

    def places(self) -> list[Place]:
        """Those of this machine."""
        address = self.main_address or "127.0.0.1"
        port = self.main_port or (29400 if self.nodes > 1 else _free_port())
        local = self.devices or 1
        return [
            Place(rank, local, self.node_rank, self.nodes, address, port) for rank in range(local)
        ]


_Flags: Any = options_of(JobConfig)
JobFlags = Annotated[_Flags, Parameter(name="*", group="Several processes")]
ONE_PROCESS = _Flags()


class StartProcesses(Exception):
    """The command is one for several processes, and this is none of them."""

    def __init__(self, asked: JobConfig) -> None:
        super().__init__(asked)
        self.asked = asked


def processes(flags: Any) -> int:
    """How many processes share the command."""
    here = place()
    return _asked(flags).size if here is None else here.size


@contextmanager
def job(flags: Any, device: str) -> Iterator[None]:
    """Inside, this process does its part; `StartProcesses` where they are yet to be started."""
    asked, here = _asked(flags), place()
    if here is None and asked.size > 1:
        raise StartProcesses(asked)
    if here is None or here.size == 1:
        yield
        return
    if asked.devices not in (None, here.local_size):
        raise ParameterError(
            "--devices",
            asked.devices,
            f"{here.local_size}, as many as were started on this machine",
            "leave it out",
        )
    with joined(here, device):
        yield


def _asked(flags: Any) -> JobConfig:
    asked = JobConfig.from_dict(given(flags))
    if asked.nodes > 1 and not asked.main_address:
        raise ParameterError(
            "--main-address",
            f"none for {asked.nodes} machines",
            "the name or address of machine 0",
            "give the same on every machine",
        )
    if asked.node_rank >= asked.nodes:
        raise ParameterError(
            "--node-rank", asked.node_rank, f"0 to {asked.nodes - 1}", "number machines from 0"
        )
    return asked


def start(arguments: Sequence[str], asked: JobConfig) -> int:
    """Run the same command once for each process of this machine; the exit status of all."""
    with ExitStack() as stack:
        return _outcome(_watched(arguments, asked, stack))


def _watched(arguments: Sequence[str], asked: JobConfig, stack: ExitStack) -> list[_Process]:
    """Start the processes and see them to their end; those that ended by themselves."""
    started: list[_Process] = []
    try:
        for where in asked.places():
            started.append(_Process(arguments, where, stack))
        while _going_on(started):
            time.sleep(_PAUSE)
        # The others end by themselves, and may tell why. One that was killed leaves no question.
        _wait(started, 0.0 if any((p.status or 0) < 0 for p in started) else GRACE)
        return [process for process in started if process.status is not None]
    except KeyboardInterrupt:
        _ask(started, signal.SIGINT)
        _wait(started, GRACE)
        raise
    finally:
        _ask(started, signal.SIGTERM)
        _wait(started, GRACE)
        _ask(started, signal.SIGKILL)
        _wait(started, None)


class _Process:
    """One of the processes; the first of the job speaks, of the others we hear if they fail."""

    def __init__(self, arguments: Sequence[str], where: Place, stack: ExitStack) -> None:
        self.where = where
        self.complaints: IO[bytes] | None = None
        if where.rank > 0:
            file = tempfile.TemporaryFile()  # noqa: SIM115  # the stack closes it
            self.complaints = stack.enter_context(file)
        popen: subprocess.Popen[bytes] = subprocess.Popen(
            [*COMMAND, *arguments],
            env={**_cores(where.local_size), **os.environ, **where.environment(), LAUNCHED: "1"},
            # It ends when we do, however that comes about.
            stdin=subprocess.PIPE,
            stdout=None if where.rank == 0 else subprocess.DEVNULL,
            stderr=self.complaints,
            # Ctrl-C comes to us, and from us to all of them, once.
            process_group=0,
        )
        self._popen = stack.enter_context(popen)

    @property
    def status(self) -> int | None:
        return self._popen.poll()

    def send(self, number: signal.Signals) -> None:
        self._popen.send_signal(number)

    def complain(self) -> None:
        """Show what it had to say."""
        if self.complaints is not None:
            self.complaints.seek(0)
            sys.stderr.write(self.complaints.read().decode(errors="replace"))

    def end(self) -> str:
        """How it ended, in words."""
        status = self.status or 0
        how = f"was ended by {_signal_name(-status)}" if status < 0 else f"ended with {status}"
        return f"rank {self.where.rank} of {self.where.size} {how}"


def _going_on(started: Sequence[_Process]) -> bool:
    """Whether some still work and none has failed."""
    statuses = [process.status for process in started]
    return None in statuses and all(status in (None, *_FINE) for status in statuses)


def _wait(started: Sequence[_Process], seconds: float | None) -> None:
    deadline = None if seconds is None else time.monotonic() + seconds
    while any(process.status is None for process in started):
        if deadline is not None and time.monotonic() > deadline:
            return
        time.sleep(_PAUSE)


def _ask(started: Sequence[_Process], number: signal.Signals) -> None:
    for process in started:
        if process.status is None:
            process.send(number)


def _outcome(ended: Sequence[_Process]) -> int:
    """The exit status of the job; where it failed, one line on whose fault that was."""
    failed = [process for process in ended if process.status not in _FINE]
    refused = [process for process in failed if process.status == 2]
    if refused:
        # All read the same input: what the first of them says, the others say as well.
        refused[0].complain()
        return 2
    if not failed:
        return max((process.status or 0 for process in ended), default=0)
    own = [process for process in failed if process.status != LOST]
    if own:
        own[0].complain()
    said = own[0].end() if own else "a process on another machine has ended"
    print(  # noqa: T201
        f"fairgear: {said}, and the job with it; the same command goes on from the last checkpoint",
        file=sys.stderr,
    )
    return 1


def _cores(processes: int) -> Mapping[str, str]:
    """An equal part of the cores for each process; what the user has set goes before."""
    usable = getattr(os, "sched_getaffinity", None)
    cores = len(usable(0)) if usable else os.cpu_count() or 1
    share = str(max(1, cores // processes))
    return {"OMP_NUM_THREADS": share, "NUMBA_NUM_THREADS": share}


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
