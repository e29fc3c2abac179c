"""One command in several processes that torchrun starts: what is shared, lost and resumed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import yaml

from fairgear.cli import main
from fairgear.errors import ParameterError
from fairgear.runs.config import RunConfig
from tests.cli.test_run import small
from tests.graph.people import PEOPLE

FILES = {
    *("config.yaml", "metrics.json", "people.parquet", "predictions.parquet"),
    *("model", "report.html", "model-card.md"),
}
TORCHRUN = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]


def test_micro_batches_follow_the_processes_unless_they_are_set() -> None:
    config = RunConfig(settings={"micro_batches": 4}).completed()
    assert config.for_processes(2, chosen=True) == config
    assert config.for_processes(1, chosen=True) == config
    assert RunConfig().completed().for_processes(3, chosen=False).settings["micro_batches"] == 3
    other = RunConfig(method="gcn").completed()
    assert other.for_processes(3, chosen=False) == other
    with pytest.raises(ParameterError, match="4 for 3 processes"):
        config.for_processes(3, chosen=True)


def command(out: Path, *more: str) -> list[str]:
    flags = {"--label": "approved", "--sensitive": "sex", "--similarity": 0.7}
    # With a split, the file need not be searched for masks.
    flags |= {"--split": "sixty-twenty-twenty", "--out": out}
    words = [str(word) for pair in flags.items() for word in pair]
    return ["run", str(PEOPLE), *words, *small(60, 30), *more]


def results(out: Path) -> dict[str, Any]:
    read: dict[str, Any] = json.loads((out / "metrics.json").read_text())
    return read


def own_lines(err: str) -> list[str]:
    """What fairgear has said, without torchrun's own report."""
    return [line for line in err.splitlines() if line.startswith("fairgear: ")]


def children(process: subprocess.Popen[str]) -> list[int]:
    """The processes that it has started, in their order."""
    listed = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text()
    return sorted(int(word) for word in listed.split())


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

    done = subprocess.run(typed, check=True, capture_output=True, text=True)
    two = results(out)
    # Only rank 0 prints and logs.
    assert json.loads(done.stdout) == two
    assert done.stderr.count("training:") == 1
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
    done = subprocess.run(
        [*TORCHRUN, "-m", "fairgear", *wrong], check=False, capture_output=True, text=True
    )
    assert (done.returncode, done.stdout) == (1, "")
    (line,) = own_lines(done.stderr)
    assert "micro_batches: got 3 for 2 processes" in line
    assert not (tmp_path / "job").exists()
