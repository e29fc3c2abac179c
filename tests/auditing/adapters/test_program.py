"""Programs that write without end, hide their children, or outlive the audit."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import textwrap
import time
from pathlib import Path

import pytest
import torch

from fairgear.auditing.adapters import CommandAdapter
from fairgear.auditing.adapters import program as program_module
from fairgear.auditing.adapters.program import NotStarted, Program, TooMuch, TooSlow
from fairgear.auditing.worlds import Worlds
from fairgear.errors import FairgearError
from tests.auditing.models import small_graph
from tests.processes import started

MOST = 2**20
# What the worst may put on the disk before it is ended, on a slow machine.
ROOM = 2**30


def python(folder: Path, source: str, *, timeout: float = 60, most: int = MOST) -> Program:
    place = folder / "place"
    place.mkdir()
    begin = f"import os, subprocess, sys, time\nplace = {str(place)!r}\n"
    words = [sys.executable, "-c", begin + textwrap.dedent(source)]
    return Program(words, place, timeout, most)


def alive(pid: int) -> bool:
    """Whether a process runs; one that only waits for its parent to notice does not."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state not in "ZX"


def wait_until(done: object, seconds: float = 20) -> None:
    end = time.monotonic() + seconds
    while not done():  # type: ignore[operator]
        assert time.monotonic() < end
        time.sleep(0.01)


def named(folder: Path) -> list[int]:
    """The processes that wrote their number to a file of their own."""
    return [int(file.name.removeprefix("pid")) for file in folder.glob("pid*")]


def test_how_a_program_ends(tmp_path: Path) -> None:
    program = python(tmp_path, "print('out'); print('err', file=sys.stderr); sys.exit(7)")
    assert program.run() == 7
    assert (program.stdout.read_text(), program.stderr.read_text()) == ("out\n", "err\n")
    assert Program(["sh", "-c", "kill -9 $$"], program.folder, 60, MOST).run() == -9
    assert Program(["true"], program.folder, 60, MOST).run() == 0
    with pytest.raises(NotStarted, match="No such file or directory"):
        Program(["/no/such/program"], program.folder, 60, MOST).run()


def test_a_program_meets_what_it_meets_without_a_supervisor(tmp_path: Path) -> None:
    # Python ignores SIGPIPE, and the supervisor has pipes of its own.
    words = ["sh", "-c", "grep SigIgn /proc/$$/status; ls /proc/$$/fd; env | grep -v ^_="]
    program = Program(words, tmp_path, 60, MOST)
    assert program.run() == 0
    ignored, *found = program.stdout.read_text().splitlines()
    plain = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    expected, *others = plain.stdout.splitlines()
    assert found == others
    # The C library has two signals for itself.
    inside = 2**31 | 2**32
    assert int(ignored.split()[1], 16) | inside == int(expected.split()[1], 16) | inside


ENDLESS = {
    "stdout": "while True: os.write(1, b'y' * 65536)",
    "stderr": "while True: os.write(2, b'y' * 65536)",
    "a file": "file = open(place + '/scores.csv', 'wb')\nwhile True: file.write(b'y' * 65536)",
    "many files": """
        for number in range(10**9):
            open(f"{place}/{number}", "wb").write(b"y" * 65536)
    """,
    "a folder": """
        os.makedirs(place + "/deep/down")
        while True: open(place + "/deep/down/file", "ab").write(b"y" * 65536)
    """,
    "a hole": "os.truncate(os.open(place + '/scores.csv', os.O_CREAT | os.O_RDWR), 10**12)",
    "a child": """
        subprocess.Popen([sys.executable, "-c", "while True: print('y' * 9999)"])
        time.sleep(60)
    """,
    "quickly": "os.write(1, b'y' * 2**20 + b'y')",
}


@pytest.mark.parametrize("case", ENDLESS)
def test_what_a_program_writes_is_bounded(tmp_path: Path, case: str) -> None:
    program = python(tmp_path, ENDLESS[case])
    (program.folder / "graph").write_bytes(b"ours" * MOST)
    begun = time.monotonic()
    with pytest.raises(TooMuch):
        program.run()
    assert time.monotonic() - begun < 20
    if case != "a hole":
        files = [path for path in program.folder.rglob("*") if path.is_file()]
        assert sum(path.stat().st_size for path in files) < ROOM


def test_as_much_as_it_may(tmp_path: Path) -> None:
    program = python(tmp_path, "os.write(1, b'y' * 2**20)")
    (program.folder / "graph").write_bytes(b"ours" * MOST)
    assert program.run() == 0


def test_endless_output_of_a_command_is_one_line(tmp_path: Path) -> None:
    source = tmp_path / "program.py"
    source.write_text("import os\nwhile True: os.write(1, b'y' * 65536)")
    adapter = CommandAdapter(f"{sys.executable} {source} {{graph}}", name="mine")
    with pytest.raises(FairgearError) as caught:
        adapter.scores(Worlds(small_graph(60)).factual, torch.tensor([1]))
    assert str(caught.value) == (
        "the model 'mine' in the world 'factual-unchanged-draw-0': got more output than that; "
        "allowed: at most 67,170,304 bytes for 60 people. "
        "Next: print or write node_id,score, and little else."
    )


@pytest.mark.parametrize(
    ("how", "got"),
    [
        ("os.mkfifo(path)", "a pipe"),
        ("os.symlink('/dev/zero', path)", "a device"),
        ("os.mkdir(path)", "a folder"),
        ("os.symlink(path, path)", "no file where {scores} is"),
    ],
)
def test_scores_that_are_no_file(tmp_path: Path, how: str, got: str) -> None:
    source = tmp_path / "program.py"
    source.write_text(f"import os, sys\npath = sys.argv[2]\n{how}")
    adapter = CommandAdapter(f"{sys.executable} {source} {{graph}} {{scores}}", name="mine")
    with pytest.raises(FairgearError, match=f"got {got}"):
        adapter.scores(Worlds(small_graph(60)).factual, torch.tensor([1]))


# Each writes who it is, and would go on for a minute.
RUNS_ON = """
    def run_on():
        open(f"{place}/../pid{os.getpid()}", "w").close()
        time.sleep(60)
"""
HIDING = {
    "a child": "if not os.fork(): run_on()",
    "another session": """
        if not os.fork():
            os.setsid()
            run_on()
    """,
    "forked twice": """
        if not os.fork():
            os.setsid()
            if not os.fork(): run_on()
            os._exit(0)
        os.wait()
    """,
    "deaf": """
        import signal
        if not os.fork():
            os.setsid()
            for number in set(signal.valid_signals()) - {9, 19, 32, 33}:
                signal.signal(number, signal.SIG_IGN)
            run_on()
    """,
    "stopped": """
        import signal
        if not os.fork():
            os.setsid()
            open(f"{place}/../pid{os.getpid()}", "w").close()
            os.kill(os.getpid(), signal.SIGSTOP)
    """,
    "a family": """
        if not os.fork():
            os.setsid()
            for _ in range(3):
                if not os.fork():
                    os.setsid()
                    for _ in range(3): os.fork()
                    run_on()
            run_on()
    """,
}
COUNT = {"a family": 25}


@pytest.mark.parametrize(
    ("case", "end"), [*((case, "ends") for case in HIDING), ("a family", "hangs")]
)
def test_whatever_a_program_starts_is_ended(tmp_path: Path, case: str, end: str) -> None:
    wait = f"""
        import glob
        while len(glob.glob(place + "/../pid*")) < {COUNT.get(case, 1)}: time.sleep(0.01)
        if {end == "hangs"}: time.sleep(60)
    """
    source = "".join(map(textwrap.dedent, (RUNS_ON, HIDING[case], wait)))
    program = python(tmp_path, source, timeout=60 if end == "ends" else 2)
    if end == "ends":
        assert program.run() == 0
    else:
        with pytest.raises(TooSlow):
            program.run()
    pids = named(tmp_path)
    assert len(pids) == COUNT.get(case, 1)
    assert not any(alive(pid) for pid in pids)


def test_our_own_processes_go_on(tmp_path: Path) -> None:
    with subprocess.Popen(["sleep", "60"]) as ours:
        source = RUNS_ON + "    if not os.fork():\n        os.setsid()\n        run_on()\n"
        assert python(tmp_path, source).run() == 0
        assert ours.poll() is None
        ours.kill()


def test_without_a_supervisor_the_group_is_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = textwrap.dedent(RUNS_ON) + "if not os.fork(): run_on()\nsys.exit(3)"
    program = python(tmp_path, source)
    monkeypatch.setattr(program_module, "supervised", lambda: False)
    assert program.run() == 3
    wait_until(lambda: not any(alive(pid) for pid in named(tmp_path)))
    with pytest.raises(NotStarted, match="No such file or directory"):
        Program(["/no/such/program"], program.folder, 60, MOST).run()


def test_a_program_that_kills_its_supervisor_ends(tmp_path: Path) -> None:
    source = textwrap.dedent(RUNS_ON) + "os.kill(os.getppid(), 9)\nrun_on()"
    assert python(tmp_path, source).run() == -9
    wait_until(lambda: not any(alive(pid) for pid in named(tmp_path)))


def audit(source: str, temporary: Path) -> None:
    tempfile.tempdir = str(temporary)
    adapter = CommandAdapter(f"{sys.executable} {source} {{graph}} {{scores}}")
    adapter.scores(Worlds(small_graph(60)).factual, torch.tensor([1]))


def test_an_audit_that_is_killed_leaves_neither_processes_nor_data(tmp_path: Path) -> None:
    temporary, source = tmp_path / "temporary", tmp_path / "program.py"
    temporary.mkdir()
    begin = f"import os, time\nplace = {str(temporary)!r}\n"
    wild = "os.fork()\nos.setsid() if os.getpid() != os.getpgid(0) else None\nrun_on()"
    source.write_text(begin + textwrap.dedent(RUNS_ON) + wild)
    process = started(audit, str(source), temporary)
    wait_until(lambda: len(named(tmp_path)) == 2)
    (folder,) = temporary.iterdir()
    # People's data are nobody else's while it runs.
    assert folder.stat().st_mode & 0o077 == 0
    assert (folder / "graph").exists()
    process.kill()
    process.join()
    wait_until(lambda: not any(alive(pid) for pid in named(tmp_path)))
    wait_until(lambda: not folder.exists())


def test_a_killed_supervisor_of_a_killed_audit_leaves_no_data_for_long(tmp_path: Path) -> None:
    # The next command removes what nothing else could.
    left = tmp_path / "fairgear-abcdefgh.fairgear-partial"
    left.mkdir()
    (left / "nodes.csv").write_text("data")
    source = tmp_path / "program.py"
    source.write_text("import sys\nprint('node_id,score')\nprint('1,0.5')")
    process = started(audit, str(source), tmp_path)
    process.join()
    assert not left.exists()
