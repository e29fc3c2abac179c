"""CPU seconds that the first run of a version compiles for, by function.

    python -m benchmarks.compiling
    python -m benchmarks.compiling run synthetic --method gear-paper --quick

runs a command of fairgear, by default `run synthetic`, with an empty cache of compiled functions.
A function's own seconds leave out those of the functions that it calls; numba's own parts, such as
sorting, are in the list too.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections import defaultdict
from contextlib import suppress
from pathlib import Path

DEFAULT = ("run", "synthetic")


def measured(command: list[str]) -> tuple[dict[str, float], float]:
    """Seconds by function while a command runs in a folder of its own, and those of all of it."""
    from numba.core import event

    from fairgear.cli.app import main

    seconds: defaultdict[str, float] = defaultdict(float)
    # Of each function that is being compiled: its name, its begin, and the seconds of its parts.
    waiting: list[tuple[str, float, list[float]]] = []

    class Seconds(event.Listener):  # type: ignore[misc]  # numba has no types
        def on_start(self, event: event.Event) -> None:
            function = event.data["dispatcher"].py_func
            name = f"{function.__module__}.{function.__qualname__}"
            waiting.append((name, time.process_time(), []))

        def on_end(self, event: event.Event) -> None:
            name, begun, parts = waiting.pop()
            taken = time.process_time() - begun
            seconds[name] += taken - sum(parts)
            if waiting:
                waiting[-1][2].append(taken)

    begun = time.process_time()
    with event.install_listener("numba:compile", Seconds()), suppress(SystemExit):
        main(command)
    whole = time.process_time() - begun
    return dict(sorted(seconds.items(), key=lambda one: -one[1])), whole


def main() -> None:
    """Print a line for each function, and the sums."""
    command = sys.argv[1:] or list(DEFAULT)
    with tempfile.TemporaryDirectory() as folder:
        os.environ["NUMBA_CACHE_DIR"] = str(Path(folder) / "compiled")
        if "--out" not in command:
            command += ["--out", str(Path(folder) / "run")]
        seconds, whole = measured(command)
    for name, own in seconds.items():
        print(f"{own:7.2f} s  {name}")
    print(f"{sum(seconds.values()):7.2f} s  in all, of {whole:.1f} s of the command")


if __name__ == "__main__":
    main()
