"""Audited commands that never end, print without end, leave children behind or write no scores."""

from __future__ import annotations

import random
import signal
import sys
import textwrap
import time
from collections.abc import Iterator
from pathlib import Path

from tests.hostile.inputs import ESCAPE, TURNED
from tests.torture.program import Program, slowness
from tests.torture.shared import DATA, FEW, Shared
from tests.torture.trial import Bench, Trial, Work
from tests.torture.verdicts import REFUSED, answer, must, nothing_left

_HEAD = "import os, sys, time\ngraph, scores = sys.argv[1:3]\n"
_RIGHT = """
import csv
with open(graph + "/nodes.csv") as file:
    rows = [row["node_id"] for row in csv.DictReader(file)]
"""
_PRINTS = _RIGHT + 'print("node_id,score"); [print(row, 0.5, sep=",") for row in rows]\n'
_WRITES = (
    _RIGHT
    + """
with open(scores, "w") as file:
    file.write("node_id,score\\n" + "".join(row + ",0.5\\n" for row in rows))
"""
)
_DEAF = "import signal; [signal.signal(n, signal.SIG_IGN) for n in (2, 15)]; time.sleep(1000)"
_MANY = "f = open(scores, 'w'); [f.write('1,0.5\\n' * 10**6) for _ in range(100)]"
_LOUD = "[sys.stderr.write('x' * 10**7) for _ in range(60)]"
_EMPTIES = "open(graph + '/nodes.csv', 'w').close()"
_REMOVES = "import shutil; shutil.rmtree(os.path.dirname(graph))"
# A child in a session of its own, which nobody's process group holds.
_CHILD = """
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.closerange(0, 3)
        time.sleep(300)
    os._exit(0)
os.wait()
"""
_NPY = """
import struct
head = b"{'descr': '<f8', 'fortran_order': False, 'shape': (%s,), }"
with open(scores, "wb") as file:
    file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head)
"""
# By name: the program, whether it writes its scores to a file, whether it must be refused; None
# where that depends on the machine.
PROGRAMS: dict[str, tuple[str, bool, bool | None]] = {
    "600 MB on stdout": ("[sys.stdout.write('x,1' * 10**6) for _ in range(200)]", False, True),
    "lines without end on stdout": ("while True: print('1,0.5')", False, True),
    "600 MB of scores": (_MANY, True, True),
    "600 MB on stderr": (_PRINTS + _LOUD, False, None),
    "lines on stderr, then failure": ("sys.stderr.write('x\\n' * 10**7); sys.exit(1)", False, True),
    "scores in a pipe": ("os.mkfifo(scores)", True, True),
    "scores in a folder": ("os.mkdir(scores)", True, True),
    "scores in a device": ("os.symlink('/dev/zero', scores)", True, True),
    "scores in a link to a secret": ("os.symlink('/etc/passwd', scores)", True, True),
    "a file of a terabyte": ("open(scores, 'w').truncate(2**40)", True, True),
    "never ending": ("time.sleep(1000)", False, True),
    "never ending, deaf to signals": (_DEAF, False, True),
    "a child in another session": (_CHILD + _PRINTS, False, False),
    "a child in another session, never ending": (_CHILD + "time.sleep(1000)", False, True),
    "a child that keeps stdout": ("if os.fork() == 0: time.sleep(300)\n" + _PRINTS, False, False),
    "escape on stderr": (f"sys.stderr.write({ESCAPE + TURNED!r}); sys.exit(3)", False, True),
    "escape on stdout": (f"print({ESCAPE + TURNED!r})", False, True),
    "no UTF-8": ("os.write(1, b'node_id,score\\n\\xff\\xfe,1\\n')", False, True),
    "NUL": ("os.write(1, b'node_id,score\\n\\0,1\\n')", False, True),
    "killed": ("os.kill(os.getpid(), 9)", False, True),
    "stopped": ("os.kill(os.getpid(), 19)", False, True),
    "writes into the graph": (_PRINTS + _EMPTIES, False, False),
    "removes everything": (_WRITES + _REMOVES, True, True),
    "locks its folder": (_PRINTS + "os.chmod(os.path.dirname(graph), 0)", False, False),
}  # fmt: skip
# As an array: the npz form reads .npy.
_BOMBS = {"10**12 scores": 10**12, "10**30 scores": 10**30, "-1 scores": -1}
_LIMIT = 3.0


def trials(shared: Shared, seed: random.Random) -> Iterator[Trial]:
    """Each program, arrays that claim much, and Ctrl-C while one runs."""
    for name, (source, to_file, refused) in PROGRAMS.items():
        yield Trial(name, ran(source, to_file=to_file, refused=refused))
    for name, count in _BOMBS.items():
        yield Trial(f"an array of {name}", ran(_NPY % count, to_file=True, form="npz"))
    for one in (signal.SIGINT, signal.SIGTERM):
        yield Trial(f"{one.name} while it runs", _signalled("time.sleep(1000)", one))
        yield Trial(
            f"{one.name} while its child runs", _signalled(_CHILD + "time.sleep(1000)", one)
        )


def _words(bench: Bench, source: str, *, to_file: bool, form: str = "csv") -> list[str]:
    (bench.place / "own.py").write_text(_HEAD + textwrap.dedent(source))
    command = f"{sys.executable} -I -S own.py {{graph}} {'{scores}' if to_file else 'none'}"
    rest = ["--timeout", f"{_LIMIT * slowness():.1f}", "--graph-format", form, "--out", "out"]
    return [
        "audit",
        command,
        *DATA,
        *FEW[:5],
        "--affected-people",
        "0",
        "--what-if-people",
        "0",
        *rest,
    ]


def ran(source: str, *, to_file: bool, refused: bool | None = True, form: str = "csv") -> Work:
    """It is over soon after its limit, with nothing left of it, of its children or its files."""

    def work(bench: Bench) -> str:
        words = _words(bench, source, to_file=to_file, form=form)
        ended = bench.run(words, seconds=60)
        verdict = bench.judged(ended)
        must("fairgear --help" not in ended.err, "nothing was audited")
        must(refused is None or (verdict == REFUSED) == refused, verdict)
        if verdict == REFUSED:
            must(ended.seconds < 20 * slowness(), f"{ended.seconds:.0f} s")
            must(not (bench.place / "out").exists(), "a folder was made")
        return verdict

    return work


def _signalled(source: str, one: signal.Signals) -> Work:
    def work(bench: Bench) -> str:
        ready = bench.place / "ready"
        source_ready = source.replace(
            "time.sleep(1000)", f"open({str(ready)!r}, 'w'); time.sleep(1000)"
        )
        program = Program.of(bench.place, _words(bench, source_ready, to_file=False))
        _wait_for(ready, program)
        begun = time.monotonic()
        program.signal(one)
        ended = bench.wait(program, 60)
        seconds = time.monotonic() - begun
        must(seconds < 3 * slowness(), f"{seconds:.1f} s until it heard")
        if one == signal.SIGINT:
            answer(ended, [130])
        else:
            must(ended.status in (-one, 128 + one), f"status {ended.status}")
        nothing_left(bench.place)
        return REFUSED

    return work


def _wait_for(path: Path, program: Program) -> None:
    end = time.monotonic() + 30 * slowness()
    while not path.exists():
        if time.monotonic() > end:
            program.signal(signal.SIGKILL)
            must(False, f"the command was not started: {program.wait(60).err[-300:]!r}")
        time.sleep(0.02)
