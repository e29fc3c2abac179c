"""One command in several processes that torchrun starts: what is shared, lost and resumed."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
import time
from contextlib import redirect_stderr, redirect_stdout
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import yaml

from fairgear.cli import main
from fairgear.errors import ParameterError
from fairgear.runs.config import RunConfig
from tests.cli.test_run import small
from tests.graph.people import PEOPLE
from tests.processes import in_processes

FILES = {
    *("config.yaml", "audit.json", "people.parquet", "predictions.parquet"),
    *("model", "report.html", "model-card.md", "people.csv", "SHA256SUMS"),
}
TORCHRUN = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]


def test_micro_batches_follow_the_processes_unless_they_are_set() -> None:
    config = RunConfig(method="gear-paper", settings={"micro_batches": 4}).completed()
    assert config.for_processes(2, chosen=True) == config
    assert config.for_processes(1, chosen=True) == config
    unset = RunConfig(method="gear-paper").completed().for_processes(3, chosen=False)
    assert unset.settings["micro_batches"] == 3
    other = RunConfig(method="gcn").completed()
    assert other.for_processes(3, chosen=False) == other
    with pytest.raises(ParameterError, match="4 for 3 processes"):
        config.for_processes(3, chosen=True)


def command(out: Path, *more: str) -> list[str]:
    flags = {"--label": "approved", "--sensitive": "sex", "--similarity": 0.7}
    # With a split, the file need not be searched for masks.
    flags |= {"--split": "sixty-twenty-twenty", "--out": out}
    words = [str(word) for pair in flags.items() for word in pair]
    method = ["--method", "gear-paper", "--set", "k=6", "--set", "generator.steps=10"]
    return ["run", str(PEOPLE), *words, *method, *small(150), "--quick", *more]


def results(out: Path) -> dict[str, Any]:
    read: dict[str, Any] = json.loads((out / "audit.json").read_text())
    return read


def own_lines(err: str) -> list[str]:
    """What fairgear has said, without torchrun's own report."""
    return [line for line in err.splitlines() if line.startswith("fairgear: ")]


def children(process: subprocess.Popen[str]) -> list[int]:
    """The processes that it has started, in their order."""
    listed = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text()
    return sorted(int(word) for word in listed.split())


def _main(typed: list[str], _: Path) -> dict[str, Any]:
    """The command's status and what it prints, in one process of a job."""
    with redirect_stdout(io.StringIO()) as out, redirect_stderr(io.StringIO()) as err:
        try:
            status: Any = main(typed)
        except SystemExit as ended:
            status = ended.code
    return {"status": status, "out": out.getvalue(), "err": err.getvalue()}


@pytest.mark.skipif(sys.platform != "linux", reason="finds the processes under /proc")
def test_a_job_that_lost_a_process_ends_and_resumes_to_the_results_of_one_process(
    tmp_path: Path,
) -> None:
    out, alone = tmp_path / "job", tmp_path / "alone"
    typed = [*TORCHRUN, "-m", "fairgear", *command(out, "--json")]
    job = subprocess.Popen(typed, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    while job.poll() is None and not list(out.glob("checkpoint/*.safetensors")):
        time.sleep(0.02)
    first, second = children(job)
    os.kill(second, signal.SIGKILL)
    stdout, err = job.communicate(timeout=60)
    assert (job.returncode, stdout) == (1, "")
    (line,) = own_lines(err)
    assert "continues from the last checkpoint" in line
    assert not Path(f"/proc/{first}").exists()
    assert {entry.name for entry in out.iterdir()} == {"config.yaml", "checkpoint"}

    again, other = in_processes(partial(_main, command(out, "--json")), 2, tmp_path)
    two = results(out)
    # Only rank 0 prints and logs.
    assert (again["status"], json.loads(again["out"])) == (0, two)
    assert again["err"].count("training:") == 1
    assert other == {"status": 0, "out": "", "err": ""}
    assert {entry.name for entry in out.iterdir()} == FILES

    assert main([*command(alone), "--set", "micro-batches=2"]) == 0
    one = results(alone)
    assert one["metrics"] == two["metrics"]
    assert one["intervals"] == two["intervals"]
    assert one["training"]["history"] == two["training"]["history"]
    assert one["config"] == two["config"] == yaml.safe_load((out / "config.yaml").read_text())
    assert one["config"]["settings"]["micro_batches"] == 2


def test_bad_input_is_said_once(tmp_path: Path) -> None:
    # Three micro-batches for two processes, which only the joined processes can know.
    wrong = command(tmp_path / "job", "--set", "micro-batches=3")
    answers = in_processes(partial(_main, wrong), 2, tmp_path)
    assert [(answer["status"], answer["out"]) for answer in answers] == [(2, "")] * 2
    (line,) = "".join(answer["err"] for answer in answers).splitlines()
    assert "micro_batches: got 3 for 2 processes" in line
    assert not (tmp_path / "job").exists()
