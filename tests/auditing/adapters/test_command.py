from __future__ import annotations

import os
import shlex
import signal
import sys
import tempfile
import textwrap
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
import torch

from fairgear.auditing.adapters import CommandAdapter
from fairgear.auditing.world import World
from fairgear.auditing.worlds import Worlds
from fairgear.errors import FairgearError, ParameterError
from tests.auditing.models import small_graph
from tests.processes import exit_code

SOME = torch.tensor([5, 2, 40])
WHERE = "the model 'mine' in the world 'factual-unchanged-draw-0': "
ALLOWED = "; allowed: node_id,score for every node, or a .npy file with a score a row. Next: "
Program = Callable[[str], str]

# Between a program and the audit is its supervisor.
BEFORE = """\
import sys, time, os
with open(f"/proc/{os.getppid()}/stat") as file:
    AUDIT = int(file.read().rpartition(")")[2].split()[1])
"""


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Program:
    """Writes a program, and gives the command that runs it; temporary folders are watched."""
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))

    def written(source: str) -> str:
        file = tmp_path / "a program.py"
        file.write_text(BEFORE + textwrap.dedent(source))
        return f"{shlex.quote(sys.executable)} {shlex.quote(str(file))}"

    return written


def left(tmp_path: Path) -> list[str]:
    return os.listdir(tmp_path / "temporary")


SCORES_SENS = """
    lines = [line.split(",") for line in open(sys.argv[1] + "/nodes.csv")][1:]
    lines = ["%s,%g" % (line[0], 0.2 + 0.5 * int(line[1])) for line in lines][::-1]
"""


def expected(world: World) -> list[float]:
    return [0.2 + 0.5 * value for value in world.graph.sens[SOME].tolist()]


def test_scores_from_a_file(program: Program, other: World, tmp_path: Path) -> None:
    write = 'open(sys.argv[2], "w").write("node_id,score\\n" + "\\n".join(lines))'
    command = program(SCORES_SENS + "    " + write)
    adapter = CommandAdapter(command + " {graph} {scores}")
    assert adapter.name == command + " {graph} {scores}"
    assert (adapter.kind, adapter.default_self_people, adapter.original) == ("command", 50, None)
    assert adapter.scores(other, SOME).tolist() == expected(other)
    assert left(tmp_path) == []


def test_scores_from_standard_output(program: Program, other: World, tmp_path: Path) -> None:
    printing = 'print("\\ufeffscore,extra,node_id"); [print(b, "x", a, sep=",") for a, b in lines]'
    command = program(
        SCORES_SENS
        + '    lines = [line.split(",") for line in lines]\n'
        + '    print("chatter" * 100000, file=sys.stderr)\n'
        + '    sys.stdout.reconfigure(encoding="utf-8")\n    '
        + printing
    )
    assert CommandAdapter(command + " {graph}").scores(other, SOME).tolist() == expected(other)
    assert left(tmp_path) == []


@pytest.mark.parametrize("form", ["parquet", "npz"])
def test_other_forms(program: Program, other: World, form: str) -> None:
    source = {
        "parquet": """
            import pandas
            nodes = pandas.read_parquet(sys.argv[1] + "/nodes.parquet")
            nodes["score"] = 0.2 + 0.5 * nodes["s"]
            nodes[["score", "node_id"]].to_parquet(sys.argv[2])
        """,
        "npz": """
            import numpy
            numpy.save(sys.argv[2], 0.2 + 0.5 * numpy.load(sys.argv[1])["sens"])
        """,
    }[form]
    adapter = CommandAdapter(program(source) + " {graph} {scores}", format=form)
    np.testing.assert_allclose(adapter.scores(other, SOME), expected(other))


def test_answers_and_logits(program: Program, worlds: Worlds) -> None:
    command = program('print("node_id,score"); [print(i, i % 2, sep=",") for i in range(60)]')
    adapter = CommandAdapter(command + " {graph}")
    assert adapter.scores(worlds.factual, SOME).tolist() == [1, 0, 0]
    assert adapter.notes == ("It gives answers, not scores: AUROC ranks by them.",)
    command = program('print("node_id,score"); [print(i, i - 9, sep=",") for i in range(60)]')
    adapter = CommandAdapter(command + " {graph}", threshold=0)
    assert adapter.scores(worlds.factual, SOME).tolist() == [-4, -7, 31]
    with pytest.raises(ParameterError) as caught:
        CommandAdapter(command + " {graph}", name="mine").scores(worlds.factual, SOME)
    assert str(caught.value) == (
        WHERE + "got scores from -7 to 31; allowed: 0 to 1, unless a threshold is given. "
        "Next: pass a threshold, such as 0 for logits, or keep them within 0 and 1."
    )


HEADER = 'print("node_id,score")\n'
FAULTS = {
    "exit status": (
        'print("first", file=sys.stderr); print("it broke", file=sys.stderr); sys.exit(3)',
        "got exit status 3: it broke; allowed: a program that ends with exit status 0. "
        "Next: run the command by hand on one graph.",
    ),
    "silent": (
        "sys.exit(1)",
        "got exit status 1; allowed: a program that ends with exit status 0. "
        "Next: run the command by hand on one graph.",
    ),
    "killed": (
        "os.kill(os.getpid(), 9)",
        "got signal 9; allowed: a program that ends with exit status 0. "
        "Next: run the command by hand on one graph.",
    ),
    "nothing": (
        "pass",
        f"got nothing{ALLOWED}write a line a node, after the line node_id,score.",
    ),
    "rubbish": (
        'print("Loading the model " + "." * 90)',
        f"got the line 'Loading the model {'.' * 42}…'{ALLOWED}"
        "write node_id,score in the first line.",
    ),
    "binary": (
        "sys.stdout.buffer.write(bytes(range(5)) * 9)",
        f"got the line '{'?' * 45}'{ALLOWED}write node_id,score in the first line.",
    ),
    "columns": (
        'print("id,probability")',
        f"got the columns 'id, probability'{ALLOWED}write node_id,score in the first line.",
    ),
    "column twice": (
        'print("node_id,score,score")',
        f"got the columns 'node_id, score, score'{ALLOWED}write node_id,score in the first line.",
    ),
    "no rows": (
        HEADER,
        f"got no score of 3 nodes, the first 5{ALLOWED}score every node.",
    ),
    "missing": (
        HEADER + '[print(i, 0.5, sep=",") for i in range(30)]',
        f"got no score of 1 nodes, the first 40{ALLOWED}score every node.",
    ),
    "repeated": (
        HEADER + '[print(i % 59, 0.5, sep=",") for i in range(60)]',
        f"got 1 repeated nodes, the first 0{ALLOWED}write each node once.",
    ),
    "strange": (
        HEADER + '[print(i + 2, 0.5, sep=",") for i in range(60)]',
        f"got 2 nodes that the graph does not have, the first 60{ALLOWED}"
        "score the nodes of this graph, by their node_id.",
    ),
    "text": (
        HEADER + '[print(i, "high", sep=",") for i in range(60)]',
        f"got 'high' in the column score{ALLOWED}write numbers as score.",
    ),
    "names": (
        HEADER + '[print("p%d" % i, 0.5, sep=",") for i in range(60)]',
        f"got 'p0' in the column node_id{ALLOWED}write numbers as node_id.",
    ),
    "ragged": (
        HEADER + 'print("1,2,3")',
        f"got lines with more or fewer cells than the first{ALLOWED}"
        "write as many cells in every line.",
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_faults(program: Program, worlds: Worlds, tmp_path: Path, fault: str) -> None:
    source, message = FAULTS[fault]
    adapter = CommandAdapter(program(source) + " {graph}", name="mine")
    with pytest.raises(FairgearError) as caught:
        adapter.scores(worlds.factual, SOME)
    status = fault in ("exit status", "silent", "killed")
    assert str(caught.value) == ("" if status else "scores of ") + WHERE + message
    assert left(tmp_path) == []


@pytest.mark.parametrize("missing", ["nan", "", "NA", "inf"])
def test_nodes_without_a_number(program: Program, worlds: Worlds, missing: str) -> None:
    rows = f'[print(i, "{missing}" if i in (2, 40) else 0.5, sep=",") for i in range(60)]'
    adapter = CommandAdapter(program(HEADER + rows) + " {graph}", name="mine")
    with pytest.raises(ParameterError) as caught:
        adapter.scores(worlds.factual, SOME)
    assert str(caught.value) == (
        WHERE + "got 2 NaN or infinite scores, the first of node 2; allowed: finite numbers. "
        "Next: find out why the model gives no score there."
    )


def test_no_scores_file(program: Program, worlds: Worlds, tmp_path: Path) -> None:
    adapter = CommandAdapter(program("") + " {graph} --to={scores}", name="mine")
    with pytest.raises(ParameterError) as caught:
        adapter.scores(worlds.factual, SOME)
    assert str(caught.value) == (
        WHERE + "got no file where {scores} is; allowed: a program that writes its scores there. "
        "Next: write node_id,score to that path, or leave {scores} out and print them."
    )
    assert left(tmp_path) == []


def test_a_program_that_is_not_there(worlds: Worlds, tmp_path: Path) -> None:
    (tmp_path / "text").write_text("no program")
    for path, reason in (
        ("/no/such/program", "no such file or directory"),
        (tmp_path / "text", "permission denied"),
    ):
        with pytest.raises(ParameterError) as caught:
            CommandAdapter(f"{path} {{graph}}", name="mine").scores(worlds.factual, SOME)
        assert str(caught.value) == (
            WHERE + f"got '{path}': {reason}; allowed: a program that can be run. "
            "Next: check its name and path, and whether it may be executed."
        )


@pytest.mark.parametrize(
    ("command", "got"),
    [
        ("score", "'score'"),
        ("", "''"),
        ("score '{graph}", 'no closing quotation in "score \'{graph}"'),
    ],
)
def test_commands_that_cannot_be_run(command: str, got: str) -> None:
    with pytest.raises(ParameterError) as caught:
        CommandAdapter(command)
    assert str(caught.value) == (
        f"command: got {got}; allowed: a program and its arguments, {{graph}} among them, and "
        "{scores} if it writes a file. Next: write it such as 'python score.py {graph} {scores}'."
    )


def test_settings_are_checked() -> None:
    with pytest.raises(ParameterError) as caught:
        CommandAdapter("score {graph}", format="xlsx")
    assert str(caught.value) == (
        "format of graphs: got 'xlsx'; allowed: csv, parquet, npz. "
        "Next: use csv where the other program reads tables."
    )
    with pytest.raises(ParameterError) as caught:
        CommandAdapter("score {graph}", timeout=0)
    assert str(caught.value) == ("timeout: got 0; allowed: more than 0 seconds. Next: use 300.")


# Starts a child that would go on for a minute; both write down who they are.
SLOW = """
    import subprocess
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    open(sys.argv[2], "w").write("%d %d" % (os.getpid(), child.pid))
    time.sleep(60)
"""


def alive(pid: int) -> bool:
    """Whether a process runs; one that only waits for its parent to notice does not."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state not in "ZX"


def gone(file: Path) -> bool:
    pids = [int(word) for word in file.read_text().split()]
    assert len(pids) == 2
    end = time.monotonic() + 5
    while any(alive(pid) for pid in pids) and time.monotonic() < end:
        time.sleep(0.01)
    return not any(alive(pid) for pid in pids)


def test_the_timeout_ends_children_too(program: Program, worlds: Worlds, tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    command = f"{program(SLOW)} {{graph}} {shlex.quote(str(pids))}"
    started = time.monotonic()
    with pytest.raises(ParameterError) as caught:
        CommandAdapter(command, name="mine", timeout=0.5).scores(worlds.factual, SOME)
    assert time.monotonic() - started < 20
    assert str(caught.value) == (
        WHERE + "got no end after 0.5 seconds; allowed: at most 0.5 seconds a world. "
        "Next: give it a longer timeout, or make it faster."
    )
    assert gone(pids)
    assert left(tmp_path) == []


def test_ctrl_c_ends_the_program(program: Program, worlds: Worlds, tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    # The program itself plays the person at the keyboard, once its child runs.
    source = SLOW.replace("    time.sleep(60)\n", "    os.kill(AUDIT, 2)\n    time.sleep(60)")
    command = f"{program(source)} {{graph}} {shlex.quote(str(pids))}"
    # Whoever runs the tests in the background has them ignore the keyboard.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            CommandAdapter(command, name="mine").scores(worlds.factual, SOME)
    finally:
        signal.signal(signal.SIGINT, before)
    assert gone(pids)
    assert left(tmp_path) == []


def test_what_runs_on_in_the_background_is_ended(
    program: Program, worlds: Worlds, tmp_path: Path
) -> None:
    pids = tmp_path / "pids"
    answers = HEADER + '[print(i, 0.5, sep=",") for i in range(60)]\n'
    source = textwrap.dedent(SLOW).replace("time.sleep(60)\n", answers)
    command = f"{program(source)} {{graph}} {shlex.quote(str(pids))}"
    CommandAdapter(command).scores(worlds.factual, SOME)
    assert gone(pids)


# Ends whoever runs it, as a scheduler would, once its child runs.
TERMINATES = SLOW.replace("    time.sleep(60)\n", "    os.kill(AUDIT, 15)\n    time.sleep(60)")


def test_sigterm_ends_the_program_first(program: Program, worlds: Worlds, tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    adapter = CommandAdapter(f"{program(TERMINATES)} {{graph}} {shlex.quote(str(pids))}")
    heard: list[tuple[int, list[str], bool]] = []

    def handler(number: int, frame: object) -> None:
        heard.append((number, left(tmp_path), gone(pids)))

    before = signal.signal(signal.SIGTERM, handler)
    try:
        with pytest.raises(SystemExit) as caught:
            adapter.scores(worlds.factual, SOME)
        assert signal.getsignal(signal.SIGTERM) is handler
    finally:
        signal.signal(signal.SIGTERM, before)
    assert caught.value.code == 143
    assert heard == [(15, [], True)]


def test_whoever_ignores_sigterm_goes_on(program: Program, worlds: Worlds) -> None:
    source = 'os.kill(AUDIT, 15)\nprint("node_id,score")\n'
    source += '[print(i, 0.5, sep=",") for i in range(60)]'
    adapter = CommandAdapter(program(source) + " {graph}")
    before = signal.signal(signal.SIGTERM, signal.SIG_IGN)
    try:
        assert adapter.scores(worlds.factual, SOME).tolist() == [0.5] * 3
        assert signal.getsignal(signal.SIGTERM) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGTERM, before)


def test_other_threads_may_run_programs(program: Program, worlds: Worlds) -> None:
    answers = HEADER + '[print(i, 0.5, sep=",") for i in range(60)]'
    adapter = CommandAdapter(program(answers) + " {graph}")
    with ThreadPoolExecutor(1) as pool:
        found = pool.submit(adapter.scores, worlds.factual, SOME).result()
    assert found.tolist() == [0.5] * 3


def ask(command: str, temporary: Path) -> None:
    tempfile.tempdir = str(temporary)
    CommandAdapter(command).scores(Worlds(small_graph(60)).factual, SOME)


def test_a_process_that_is_terminated_leaves_nothing(program: Program, tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    command = f"{program(TERMINATES)} {{graph}} {shlex.quote(str(pids))}"
    assert exit_code(ask, command, tmp_path / "temporary") == -signal.SIGTERM
    assert gone(pids)
    assert left(tmp_path) == []


def test_people_by_name(program: Program, worlds: Worlds) -> None:
    graph = worlds.graph.replace()
    graph["node_names"] = tuple(f"p {i}" for i in range(60))
    world = Worlds(graph, draws=1).factual
    source = """
        rows = [line.split(",") for line in open(sys.argv[1] + "/nodes.csv")][1:]
        print("node_name,score")
        [print(row[1], int(row[0]) / 100, sep=",") for row in rows[: int(sys.argv[2])]]
    """
    adapter = CommandAdapter(program(source) + " {graph} 60", name="mine")
    assert adapter.scores(world, SOME).tolist() == [0.05, 0.02, 0.4]
    adapter = CommandAdapter(program(source) + " {graph} 30", name="mine")
    with pytest.raises(FairgearError, match="got no score of 1 nodes, the first 'p 40'; allowed"):
        adapter.scores(world, SOME)
