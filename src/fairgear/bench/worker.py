"""The other end of `python -m fairgear.bench`: starts it and asks it. Imports no torch."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from types import TracebackType
from typing import Any, Self

from fairgear.bench.config import Bench
from fairgear.errors import FairgearError
from fairgear.threads import THREADS


class Worker:
    """A process that holds one graph; without a kind it holds none, and measures the machine.

    Args:
        plan: its settings.
        kind: of the graph.
        n: people.
    """

    def __init__(self, plan: Bench, kind: str = "", n: int = 0) -> None:
        order = {"kind": kind, "n": n, "plan": plan.settings()}
        environment = {**os.environ, **dict.fromkeys(THREADS, str(plan.threads))}
        # As for every command: threads that spin while they wait take the core from the others.
        environment.setdefault("OMP_WAIT_POLICY", "passive")
        environment.setdefault("GOMP_SPINCOUNT", "10000")
        self._process = subprocess.Popen(
            [sys.executable, "-m", "fairgear.bench", json.dumps(order)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
            # A group of its own, so that it can be ended with the children that it has.
            start_new_session=True,
        )

    def __enter__(self) -> Self:
        self.edges = int(self._answer()["edges"])
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        if kind is not None:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGTERM)
        with suppress(BrokenPipeError):
            self._process.stdin.close()
        self._process.stdout.close()
        self._process.wait()

    def ask(self, case: str, side: str | None = None) -> Iterator[dict[str, Any]]:
        """Rows as they are measured: all sides' seconds, or the memory of one."""
        assert self._process.stdin is not None
        # A process that is gone is noticed when its answer does not come.
        with suppress(BrokenPipeError):
            self._process.stdin.write(json.dumps({"case": case, "side": side}) + "\n")
            self._process.stdin.flush()
        while "end" not in (answer := self._answer()):
            yield answer["row"]
        if answer["end"]:
            raise MeasurementFailed(case, side, answer["end"])

    def _answer(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise MeasurementFailed("graph", None, "its process has ended", fatal=True)
        return dict(json.loads(line))


class MeasurementFailed(FairgearError, RuntimeError):
    """A measurement whose process did not come to its end."""

    def __init__(self, case: str, side: str | None, why: str, *, fatal: bool = False) -> None:
        super().__init__(
            f"benchmark {case}" + (f", {side}" if side else ""),
            got=why,
            allowed="a process that ends by itself",
            next_step="run the same command again, with smaller --sizes where memory is short",
        )
        self.fatal = fatal
