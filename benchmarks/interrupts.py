"""How soon a command ends after Ctrl-C or SIGTERM, at random moments of long phases.

    .venv/bin/python -m benchmarks.interrupts                        # all phases, many minutes
    .venv/bin/python -m benchmarks.interrupts training --times 20    # one of them

Each trial starts a command in a session of its own, with a cache and a temporary folder of its own,
and signals it at a random moment. It must end within two seconds with status 130 or 143 and one
line, leave no temporary file, and no process a second later. A line of the table tells the median
and the largest number of seconds, without those in which other programs had the core, and what was
wrong with trials.
"""

from __future__ import annotations

import argparse
import os
import random
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import numpy as np
import pandas as pd

FAIRGEAR = [sys.executable, "-m", "fairgear"]
MOST, GRACE = 2.0, 1.0


@dataclass(frozen=True)
class Phase:
    """What a command is doing when it is interrupted.

    Attributes:
        words: of the command; {inputs} and {out} are folders.
        first, last: seconds after the start between which the signal comes.
        fresh: compile everything again.
        prepare: makes the inputs.
    """

    words: str
    first: float
    last: float
    fresh: bool = False
    prepare: Callable[[Path], None] = lambda folder: None


def table(folder: Path, people: int, features: int = 10) -> pd.DataFrame:
    """People with a group, an answer and numbers."""
    random = np.random.default_rng(0)
    found = pd.DataFrame(random.normal(size=(people, features)).astype(np.float32))
    found.columns = [f"x{number}" for number in range(features)]
    found.insert(0, "sex", random.choice(["f", "m"], people))
    found.insert(0, "approved", random.integers(0, 2, people))
    found.insert(0, "id", np.arange(people))
    return found


def links(people: int, each: int = 5) -> pd.DataFrame:
    """Random links."""
    random = np.random.default_rng(1)
    return pd.DataFrame(random.integers(0, people, (people * each, 2)), columns=["a", "b"])


def wide(folder: Path) -> None:
    """A large table of text."""
    if not (folder / "wide.csv").exists():
        table(folder, 700_000, 30).to_csv(folder / "wide.csv", index=False)


def words(folder: Path) -> None:
    """A large table of words and names."""
    if not (folder / "words.csv").exists():
        found = table(folder, 1_500_000, 2)
        found["id"] = "person " + found.id.astype(str)
        found["town"] = "town " + (found.index % 50).astype(str)
        found.to_csv(folder / "words.csv", index=False)


def stored(folder: Path) -> None:
    """A table and links in Parquet."""
    if not (folder / "links.parquet").exists():
        table(folder, 3_000_000).to_parquet(folder / "people.parquet")
        links(3_000_000).to_parquet(folder / "links.parquet")


def alike(folder: Path) -> None:
    """A table whose people are linked by similarity."""
    if not (folder / "alike.csv").exists():
        table(folder, 60_000).to_csv(folder / "alike.csv", index=False)


def scoring(folder: Path) -> None:
    """A model that takes no time."""
    (folder / "scoring.py").write_text("def model(graph):\n    return graph.x[:, 0].sigmoid()\n")


def large(folder: Path) -> None:
    """A table with links."""
    if not (folder / "large.csv").exists():
        table(folder, 300_000).to_csv(folder / "large.csv", index=False)
        links(300_000).to_csv(folder / "large-links.csv", index=False)


_YOURS = "--label approved --sensitive sex --device cpu --out {out}"
_LARGE = f"run {{inputs}}/large.csv --edges {{inputs}}/large-links.csv {_YOURS}"
PHASES = {
    "starting": Phase("run synthetic --device cpu --out {out}", 0.0, 3.0),
    "compiling": Phase("run synthetic --device cpu --out {out}", 3.0, 25.0, fresh=True),
    "text": Phase(f"run {{inputs}}/wide.csv --similarity 0.9 {_YOURS}", 1.0, 20.0, prepare=wide),
    "words": Phase(f"run {{inputs}}/words.csv --similarity 0.9 {_YOURS}", 1.0, 20.0, prepare=words),
    "parquet": Phase(
        f"run {{inputs}}/people.parquet --edges {{inputs}}/links.parquet {_YOURS}",
        1.0,
        15.0,
        prepare=stored,
    ),
    "store": Phase(
        "store --features {inputs}/people.parquet --edges {inputs}/links.parquet "
        "--label approved --sensitive sex --memory 64 --out {out}",
        1.0,
        12.0,
        prepare=stored,
    ),
    "similarity": Phase(
        f"run {{inputs}}/alike.csv --similarity 0.9 {_YOURS}", 2.0, 25.0, prepare=alike
    ),
    "egos": Phase(_LARGE, 5.0, 40.0, prepare=large),
    "training": Phase("run bail --device cpu --out {out}", 5.0, 40.0),
    "credibility": Phase("run bail --quick --device cpu --out {out}", 5.0, 40.0),
    "fitted edges": Phase(
        "audit scoring:model credit --causal fitted --device cpu --out {out}",
        5.0,
        40.0,
        prepare=scoring,
    ),
    "compare": Phase("compare --datasets bail --methods gear graphsage --out {out}", 5.0, 40.0),
    "reproduce": Phase("reproduce all --quick --out {out}", 5.0, 30.0),
    "judge": Phase(
        "judge search --datasets bail --methods graphsage --device cpu --rows {out}/rows.csv",
        5.0,
        30.0,
    ),
    "command": Phase("audit 'sh -c \"sleep 60\" {graph}' synthetic --out {out}", 8.0, 25.0),
}


def trial(phase: Phase, inputs: Path, number: int, moment: float) -> tuple[float, list[str]]:
    """Seconds until the command ended, and what is wrong."""
    with tempfile.TemporaryDirectory(prefix="interrupts") as name:
        place = Path(name)
        out, temporary, errors = place / "out", place / "tmp", place / "errors"
        temporary.mkdir()
        cache = place / "cache" if phase.fresh else inputs / "cache"
        environment = {**os.environ, "TMPDIR": str(temporary), "FAIRGEAR_CACHE": str(cache)}
        environment["PYTHONPATH"] = str(inputs)
        environment.pop("NUMBA_CACHE_DIR", None)
        places = phase.words.replace("{inputs}", str(inputs)).replace("{out}", str(out))
        with errors.open("wb") as file:
            process = subprocess.Popen(
                [*FAIRGEAR, *shlex.split(places)],
                stdout=subprocess.DEVNULL,
                stderr=file,
                env=environment,
                cwd=place,
                start_new_session=True,
                preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
            )
        with suppress(subprocess.TimeoutExpired):
            process.wait(moment)
            return 0.0, [f"ended before {moment:.1f} s with {process.returncode}"]
        if number == signal.SIGINT:
            # A terminal tells all processes of the command.
            os.killpg(process.pid, number)
        else:
            process.send_signal(number)
        seconds = _until_its_end(process)
        wrong = _wrong(process, number, errors.read_text(errors="replace"))
        if seconds > MOST:
            wrong.append(f"{seconds:.1f} s (at {moment:.1f} s)")
        time.sleep(GRACE)
        # torch keeps a cache of its own there.
        left = [path.name for path in temporary.glob("[!t]*")]
        left += [path.name for path in place.rglob("*fairgear-tmp*")]
        left += [path.name for path in place.rglob("*fairgear-partial*")]
        if left:
            wrong.append(f"left {sorted(left)[:3]}")
        others = _in_session(process.pid)
        if others:
            wrong.append(f"running: {others}")
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        return seconds, wrong


def _until_its_end(process: subprocess.Popen[bytes]) -> float:
    """Seconds, without those in which it waited for a core that other programs used."""
    begun, before = time.monotonic(), _waited(process.pid)
    waited, end = before, begun + 60
    while time.monotonic() < end:
        waited = max(waited, _waited(process.pid))
        with suppress(subprocess.TimeoutExpired):
            process.wait(0.02)
            break
    return time.monotonic() - begun - (waited - before)


def _waited(process: int) -> float:
    """Seconds for which its main thread was ready but had no core."""
    with suppress(OSError, IndexError):
        return int(Path(f"/proc/{process}/schedstat").read_text().split()[1]) / 1e9
    return 0.0


def _wrong(process: subprocess.Popen[bytes], number: int, said: str) -> list[str]:
    lines = said.splitlines()
    last = lines[-1] if lines else ""
    if not said and process.returncode == -number:
        # While Python itself starts.
        return []
    found = []
    if process.returncode != 128 + number:
        found.append(f"status {process.returncode}")
    if "Traceback" in said:
        found.append("a traceback: " + " / ".join(lines)[-2500:])
    elif not last.startswith(("fairgear: interrupted", "fairgear: ended")):
        found.append(f"said {last[:80]!r}")
    return found


def _in_session(leader: int) -> list[str]:
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        with suppress(OSError, IndexError):
            fields = Path(f"/proc/{name}/stat").read_text().rpartition(")")[2].split()
            if int(fields[3]) == leader and fields[0] not in "ZX":
                command = Path(f"/proc/{name}/cmdline").read_bytes().replace(b"\0", b" ")
                found.append(command.decode(errors="replace")[:80])
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("phases", nargs="*", default=list(PHASES))
    parser.add_argument("--times", type=int, default=4)
    parser.add_argument("--inputs", type=Path)
    given = parser.parse_args()
    inputs = (given.inputs or Path(tempfile.mkdtemp())).absolute()
    inputs.mkdir(parents=True, exist_ok=True)
    chance = random.Random(0)
    for name in given.phases:
        phase = PHASES[name]
        phase.prepare(inputs)
        seconds, wrong = [], Counter[str]()
        for turn in range(given.times):
            moment = chance.uniform(phase.first, phase.last)
            number = (signal.SIGINT, signal.SIGTERM)[turn % 2]
            took, found = trial(phase, inputs, number, moment)
            seconds.append(took)
            wrong.update(found)
        worst = f"{median(seconds):4.1f} {max(seconds):4.1f}"
        print(f"{name:14} {worst}  {dict(wrong) or 'nothing wrong'}", flush=True)
    if given.inputs is None:
        shutil.rmtree(inputs)


if __name__ == "__main__":
    main()
