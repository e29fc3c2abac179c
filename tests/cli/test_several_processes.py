"""One command in several processes: how they are started, watched, lost and found again."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest
import yaml

from fairgear.cli import launch, main
from fairgear.cli.launch import LOST, JobConfig, start
from fairgear.errors import ParameterError
from fairgear.joining import LAUNCHED, Place, place
from fairgear.runs.config import RunConfig, with_micro_batches
from tests.graph.people import PEOPLE

TWO = JobConfig(devices=2)
FILES = {
    *("config.yaml", "metrics.json", "people.parquet", "predictions.parquet"),
    *("model", "report.html", "model-card.md"),
}


@pytest.fixture
def program(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Has the launcher run lines of Python, which know `rank`, in place of the command."""

    def runs(lines: str) -> None:
        head = "import os, sys, time, signal\nrank = int(os.environ['RANK'])\n"
        monkeypatch.setattr(launch, "COMMAND", (sys.executable, "-S", "-c", head + lines))

    monkeypatch.setattr(launch, "GRACE", 0.5)
    return runs


def test_each_process_knows_its_place_and_the_first_speaks(
    program: Any, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NUMBA_NUM_THREADS", raising=False)
    monkeypatch.setenv("OMP_NUM_THREADS", "5")
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: range(7), raising=False)
    program("import json; print(json.dumps([sys.argv[1:], dict(os.environ)])); print('x', rank)")
    several = JobConfig(devices=3, nodes=2, node_rank=0, main_address="here", main_port=1234)
    assert start(["run", "--json"], several) == 0
    first, last = capfd.readouterr().out.splitlines()
    arguments, environment = json.loads(first)
    assert last == "x 0"
    assert arguments == ["run", "--json"]
    assert place(environment) == Place(0, 3, 0, 2, "here", 1234)
    assert (environment["RANK"], environment["WORLD_SIZE"]) == ("0", "6")
    # What was set stays; else seven cores are two for each of three.
    assert (environment["OMP_NUM_THREADS"], environment["NUMBA_NUM_THREADS"]) == ("5", "2")
    assert [p.rank for p in JobConfig(devices=3, nodes=2, node_rank=1).places()] == [3, 4, 5]


@pytest.mark.parametrize("faulty", ["rank == 1", "rank == 0", "True"])
def test_bad_input_is_said_once_with_status_2(
    faulty: str, program: Any, capfd: pytest.CaptureFixture[str]
) -> None:
    program(f"if {faulty}: print('fairgear: bad', file=sys.stderr); sys.exit(2)\ntime.sleep(60)")
    assert start([], TWO) == 2
    assert capfd.readouterr().err == "fairgear: bad\n"


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (
            "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
            "if rank == 1: os.kill(os.getpid(), signal.SIGKILL)\ntime.sleep(60)",
            "rank 1 of 2 was ended by SIGKILL, and the job with it; the same command",
        ),
        (f"sys.exit(7 if rank == 1 else {LOST})", "rank 1 of 2 ended with 7, and the job"),
        (f"sys.exit({LOST})", "a process on another machine has ended, and the job"),
    ],
)
def test_one_line_says_which_process_ended_the_job_and_how(
    lines: str, said: str, program: Any, capfd: pytest.CaptureFixture[str]
) -> None:
    program(lines)
    assert start([], TWO) == 1
    line = capfd.readouterr().err
    assert line.count("\n") == 1
    assert line.startswith(f"fairgear: {said}")


def test_what_a_failed_process_had_to_say_is_shown(
    program: Any, capfd: pytest.CaptureFixture[str]
) -> None:
    program("if rank == 1: 1 / 0\ntime.sleep(60)")
    assert start([], TWO) == 1
    err = capfd.readouterr().err
    assert err.count("ZeroDivisionError") == 1
    assert "rank 1 of 2 ended with 1" in err.splitlines()[-1]


def test_an_audit_that_meets_a_condition_is_no_failure(
    program: Any, capfd: pytest.CaptureFixture[str]
) -> None:
    program("sys.exit(3 if rank == 0 else 0)")
    assert start([], TWO) == 3
    assert capfd.readouterr().err == ""


def test_an_interrupt_reaches_every_process_once(
    program: Any, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    program(
        "def note(*args): open(f'{sys.argv[1]}/{rank}', 'a').write('i'); sys.exit(1)\n"
        "signal.signal(signal.SIGINT, note)\n"
        "open(f'{sys.argv[1]}/ready{rank}', 'w').close()\ntime.sleep(60)"
    )

    def interrupt() -> None:
        while len(list(tmp_path.glob("ready*"))) < 2:
            time.sleep(0.02)
        os.kill(os.getpid(), signal.SIGINT)

    # A shell that starts something in the background has it ignore interrupts, tests too.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    threading.Thread(target=interrupt, daemon=True).start()
    try:
        with pytest.raises(KeyboardInterrupt):
            start([str(tmp_path)], TWO)
    finally:
        signal.signal(signal.SIGINT, before)
    assert [(tmp_path / name).read_text() for name in "01"] == ["i", "i"]
    assert capfd.readouterr().err == ""


def test_a_process_ends_with_its_launcher() -> None:
    code = "from fairgear.joining import _end_with_launcher as wait; wait()"
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE) as process:
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(timeout=1.0)
        assert process.stdin is not None
        process.stdin.close()
        assert process.wait(timeout=60) == -signal.SIGTERM


SLURM = {
    "SLURM_STEP_ID": "0",
    "SLURM_JOB_ID": "1234567",
    "SLURM_NTASKS": "8",
    "SLURM_NNODES": "2",
    "SLURM_PROCID": "5",
    "SLURM_LOCALID": "1",
    "SLURM_NODEID": "1",
}


@pytest.mark.parametrize(
    ("nodes", "first"),
    [
        ("a", "a"),
        ("a,b[1-2]", "a"),
        ("gpu[07-09,12],b", "gpu07"),
        ("gpu[3,5]", "gpu3"),
        ("n[1].site.org", "n1.site.org"),
    ],
)
def test_the_place_in_a_step_of_slurm(nodes: str, first: str) -> None:
    told = {**SLURM, "SLURM_JOB_NODELIST": nodes}
    assert place(told) == Place(1, 4, 1, 2, first, 20000 + 1234567 % 20000)
    chosen = place({**told, "MASTER_ADDR": "other", "MASTER_PORT": "99"})
    assert chosen == Place(1, 4, 1, 2, "other", 99)


def test_who_is_no_process_of_a_job() -> None:
    assert place({}) is None
    # A script of sbatch that has not called srun; a step of one; a shell that torch was used in.
    assert place({key: value for key, value in SLURM.items() if "STEP" not in key}) is None
    assert place({**SLURM, "SLURM_NTASKS": "1"}) is None
    assert place({"RANK": "1", "WORLD_SIZE": "2"}) is None
    with pytest.raises(ParameterError, match="9 on 2 machines"):
        place({**SLURM, "SLURM_NTASKS": "9"})


def test_the_place_that_torchrun_and_our_launcher_tell() -> None:
    told = {"LOCAL_RANK": "1", "LOCAL_WORLD_SIZE": "4", "RANK": "5", "WORLD_SIZE": "8"}
    told |= {"GROUP_RANK": "1", "MASTER_ADDR": "m", "MASTER_PORT": "7"}
    where = place({**told, "TORCHELASTIC_RUN_ID": "none"})
    assert where == Place(1, 4, 1, 2, "m", 7)
    assert (where.rank, where.size) == (5, 8)
    assert place({**where.environment(), LAUNCHED: "1"}) == where


@pytest.mark.parametrize(
    ("typed", "named"),
    [
        (["--devices", "0"], "setting devices: got 0"),
        (["--nodes", "2"], "--main-address: got none for 2 machines"),
        (["--nodes", "2", "--main-address", "a", "--node-rank", "2"], "setting node_rank: got 2"),
        (["--devices", "2", "--main-port", "0"], "setting main_port: got 0"),
        (["--devices", "2", "--gear.micro-batches", "3"], "micro_batches: got 3 for 2 processes"),
    ],
)
def test_a_job_that_cannot_be_is_refused_before_anything_is_started(
    typed: list[str],
    named: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr("fairgear.cli.app.start", lambda *given: pytest.fail("started"))
    assert main(["run", *typed]) == 2
    line = capsys.readouterr().err
    assert named in line
    assert line.count("\n") == 1


def test_one_device_is_no_job(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    seen: list[RunConfig] = []
    monkeypatch.setattr("fairgear.cli.run._run", lambda config, out, json: seen.append(config))
    assert main(["run", "--devices", "1", "--out", str(tmp_path)]) == 0
    assert seen == [RunConfig()]


def test_micro_batches_follow_the_processes_unless_they_are_set() -> None:
    config = RunConfig.from_dict({"gear": {"micro_batches": 4}})
    assert with_micro_batches(config, 2, chosen=True) == config
    assert with_micro_batches(config, 1, chosen=True) == config
    assert with_micro_batches(RunConfig(), 3, chosen=False).gear.micro_batches == 3
    other = RunConfig(method="gcn")
    assert with_micro_batches(other, 3, chosen=False) == other


def command(out: Path, *more: str) -> list[str]:
    flags = {"--label": "approved", "--sensitive": "sex", "--similarity": 0.7, "--device": "cpu"}
    flags |= {"--gear.dim": 8, "--gear.k": 6, "--gear.validate-every": 20, "--out": out}
    flags |= {"--gear.steps": 60, "--gear.generator.steps": 30}
    # Named, it need not be looked for in the file.
    flags |= {"--split": "sixty-twenty-twenty"}
    words = [str(word) for pair in flags.items() for word in pair]
    return [sys.executable, "-m", "fairgear", "run", str(PEOPLE), *words, *more]


def results(out: Path) -> dict[str, Any]:
    read: dict[str, Any] = json.loads((out / "metrics.json").read_text())
    return read


def children(process: subprocess.Popen[str]) -> list[int]:
    """The processes that it has started, in their order."""
    listed = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text()
    return sorted(int(word) for word in listed.split())


@pytest.mark.skipif(sys.platform != "linux", reason="finds the processes under /proc")
def test_a_job_that_lost_a_process_ends_and_goes_on_to_the_results_of_one_process(
    tmp_path: Path,
) -> None:
    out, alone = tmp_path / "job", tmp_path / "alone"
    typed = command(out, "--devices", "2", "--json")
    job = subprocess.Popen(typed, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    while job.poll() is None and not list(out.glob("checkpoint/*.safetensors")):
        time.sleep(0.02)
    first, second = children(job)
    os.kill(second, signal.SIGKILL)
    _, err = job.communicate(timeout=60)
    assert job.returncode == 1
    assert "rank 1 of 2 was ended by SIGKILL" in err.splitlines()[-1]
    assert "Traceback" not in err
    assert not Path(f"/proc/{first}").exists()
    assert {entry.name for entry in out.iterdir()} == {"config.yaml", "checkpoint"}

    done = subprocess.run(typed, check=True, capture_output=True, text=True)
    two = results(out)
    assert json.loads(done.stdout) == two
    assert done.stderr.count("training:") == 1
    assert {entry.name for entry in out.iterdir()} == FILES

    assert main([*command(alone)[3:], "--gear.micro-batches", "2"]) == 0
    one = results(alone)
    assert one["metrics"] == two["metrics"]
    assert one["intervals"] == two["intervals"]
    assert one["training"]["history"] == two["training"]["history"]
    assert one["config"] == two["config"] == yaml.safe_load((out / "config.yaml").read_text())
    assert one["config"]["gear"]["micro_batches"] == 2
