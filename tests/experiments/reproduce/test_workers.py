"""Workers: who makes which run, and what is left when one of the processes is killed."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from multiprocessing import Pipe
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from fairgear.auditing.provenance import COMMIT
from fairgear.cli import main
from fairgear.errors import FairgearError, UnfinishedError
from fairgear.experiments.cell import Cell
from fairgear.experiments.reproduce import one_run, study, workers
from fairgear.experiments.reproduce.one_run import folder_of, make_run
from fairgear.experiments.reproduce.records import Records
from fairgear.experiments.reproduce.revisions import REVISIONS
from fairgear.experiments.reproduce.workers import Outcome, Worker, outcomes
from fairgear.runs import WorldsCache
from fairgear.threads import THREADS
from tests.experiments.reproduce import toy
from tests.experiments.reproduce.toy import toy_study

ROOT = Path(__file__).parents[3]


@pytest.fixture(autouse=True, scope="module")
def _small() -> Iterator[None]:
    """The study of the toy, and one commit: others may change files while tests run."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(study, "recipe", toy.known)
        patch.setattr(study, "SELF_PEOPLE", toy.PEOPLE)
        patch.setenv(COMMIT, "0123456")
        yield


class Here(Worker):
    """A worker without a process: what it is given is done at once."""

    made: list[Here]

    def __init__(self, folder: Path, *, keep: bool) -> None:
        self.pipe, self.far = Pipe()
        self.cell: Cell | None = None
        self.graph: tuple[str, int] | None = None
        self.given: list[tuple[int, str]] = []
        self.ended = False
        Here.made.append(self)

    def give(self, cell: Cell) -> None:
        self.cell, self.graph = cell, workers.graph_of(cell)
        self.given.append((cell.config.seed, cell.entry.label))
        self.far.send(({"seed": cell.config.seed}, ""))

    @property
    def alive(self) -> bool:
        return True

    def end(self) -> None:
        self.ended = True
        self.pipe.close()
        self.far.close()


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> list[Here]:
    Here.made = []
    monkeypatch.setattr(workers, "Worker", Here)
    return Here.made


@pytest.mark.parametrize("jobs", [1, 2, 3, 8])
def test_every_run_is_given_once_and_worlds_are_made_as_seldom_as_can_be(
    here: list[Here], tmp_path: Path, jobs: int
) -> None:
    cells = toy_study((0, 1, 2)).cells()
    found = list(outcomes(cells, tmp_path, jobs=jobs, keep=False))
    assert sorted(outcome.cell.name for outcome in found) == sorted(cell.name for cell in cells)
    assert all(outcome.results == {"seed": outcome.cell.config.seed} for outcome in found)
    assert len(here) == min(jobs, len(cells))
    assert all(worker.ended for worker in here)
    changes = 0
    for worker in here:
        seeds = [seed for seed, _ in worker.given]
        changes += sum(one != other for one, other in zip([None, *seeds], seeds, strict=False))
    # Three graphs; at the end two workers share one rather than that one has nothing to do.
    assert changes == {1: 3, 2: 4, 3: 3, 8: 6}[jobs]


def test_a_worker_stays_with_its_graph_and_others_begin_another(
    here: list[Here], tmp_path: Path
) -> None:
    cells = toy_study((0, 1)).cells()
    list(outcomes(cells, tmp_path, jobs=2, keep=False))
    labels = ["logistic", "logistic-unaware"]
    assert [worker.given for worker in here] == [
        [(seed, label) for label in labels] for seed in (0, 1)
    ]


def test_whoever_has_no_graph_left_helps_where_most_is_to_do(
    here: list[Here], tmp_path: Path
) -> None:
    few, many = toy_study((0,)).cells(), toy_study((1,)).cells()
    list(outcomes([*few, *many, *many], tmp_path, jobs=3, keep=False))
    assert [{seed for seed, _ in worker.given} for worker in here] == [{0}, {1}, {1}]


def test_whoever_stops_listening_ends_all_workers(here: list[Here], tmp_path: Path) -> None:
    running = outcomes(toy_study().cells(), tmp_path, jobs=2, keep=False)
    next(running)
    running.close()  # type: ignore[attr-defined]  # it is a generator
    assert [worker.ended for worker in here] == [True, True]


def measured(folder: Path) -> pd.DataFrame:
    """All rows of a study but for the time that they took."""
    return pd.read_csv(folder / "rows.csv", dtype={"commit": str}).drop(columns="seconds")


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same study without any worker, from the first run to the last."""
    folder = tmp_path_factory.mktemp("whole")
    records, worlds = Records(folder / "rows.csv"), WorldsCache()
    for cell in toy_study().cells():
        records.add(cell, make_run(cell, folder, worlds, keep=False))
    return folder


def test_a_study_ends_as_it_would_have_whoever_is_killed(
    whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """First a worker, then the process that has started them; one test, for processes are slow."""
    _two_runs_are_lost(tmp_path, monkeypatch, capsys)
    _all_is_killed(tmp_path)
    assert main(toy.command(tmp_path, jobs=1)) == 0
    pd.testing.assert_frame_equal(measured(tmp_path), measured(whole), check_exact=True)
    for cell in toy_study().cells():
        run = folder_of(cell, tmp_path)
        assert {entry.name for entry in run.path.iterdir()} == {"config.yaml", "metrics.json"}
        assert json.loads(run.metrics.read_text())["provenance"]["threads"] == 1
    _nothing_is_made_anew(tmp_path, monkeypatch)


def _two_runs_are_lost(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Two workers: one is killed in its first run, and another run cannot begin."""
    plan, records = toy_study(), Records(folder / "rows.csv")
    refused, lost = plan.cells()[1], plan.cells()[2]
    foreign = folder_of(refused, folder).path
    foreign.mkdir(parents=True)
    (foreign / "thesis.txt").write_text("mine")
    give = Worker.give

    def gives(self: Worker, cell: Cell) -> None:
        give(self, cell)
        if cell == lost:
            os.kill(self.process.pid or 0, signal.SIGKILL)

    with monkeypatch.context() as patch:
        patch.setattr(Worker, "give", gives)
        # Ours; a worker has one thread all the same.
        patch.setenv(THREADS[0], "2")
        with pytest.raises(UnfinishedError, match="got 2 that did not come to their end"):
            plan.carry_out(folder, records, jobs=2)
    assert [cell in records for cell in plan.cells()] == [True, False, False, True]
    told = capsys.readouterr().err
    assert f"{lost.name}: its process ended (killed by signal 9, probably for its memory)" in told
    assert f"{refused.name}: output folder {foreign}: got no run of fairgear" in told
    assert "Traceback" not in told
    shutil.rmtree(foreign)


def _all_is_killed(folder: Path) -> None:
    """The command goes on with the two runs, and is killed while a worker makes the second."""
    program = "import sys; from tests.experiments.reproduce.toy import killed_in_the_second_run"
    program += "; killed_in_the_second_run(sys.argv[1])"
    # Workers have the same stderr: it ends with the last of all processes.
    ended = subprocess.run(
        [sys.executable, "-c", program, str(folder)],
        cwd=ROOT,
        stderr=subprocess.PIPE,
        text=True,
        timeout=300,
        check=False,
    )
    assert ended.returncode == -signal.SIGKILL, ended.stderr
    cells = toy_study().cells()
    assert [cell in Records(folder / "rows.csv") for cell in cells] == [True, True, False, True]
    # Its worker ended with it: nobody else may be in that folder.
    assert not folder_of(cells[2], folder).metrics.exists()


def _nothing_is_made_anew(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def nothing(*_: Any, **__: Any) -> Iterator[Outcome]:
        raise AssertionError("all runs are there")

    written = (folder / "rows.csv").stat().st_mtime_ns
    table = (folder / "toy.csv").read_bytes()
    with monkeypatch.context() as patch:
        patch.setattr(study, "outcomes", nothing)
        assert main(toy.command(folder, jobs=1)) == 0
    assert (folder / "rows.csv").stat().st_mtime_ns == written
    assert (folder / "toy.csv").read_bytes() == table


def test_rows_are_what_the_runs_have_left(whole: Path) -> None:
    rows: Any = measured(whole).set_index(["method", "seed"]).to_dict("index")
    assert {row["commit"] for row in rows.values()} == {"0123456"}
    assert len(rows) == len(toy_study().cells())
    for cell in toy_study().cells():
        found = json.loads(folder_of(cell, whole).metrics.read_text())
        assert found["config"]["self_people"] == toy.PEOPLE
        row = rows[(cell.entry.label, cell.config.seed)]
        for name, value in found["metrics"].items():
            assert row[name] == pytest.approx(value, rel=1e-6), name


def test_a_worker_that_has_gone_before_its_run_is_told_too() -> None:
    class Gone:
        exitcode = 3

        def join(self) -> None: ...

    worker = object.__new__(Worker)
    worker.pipe, far = Pipe()
    worker.process = Gone()  # type: ignore[assignment]  # all that is asked of it
    far.close()
    cell = toy_study().cells()[0]
    worker.give(cell)
    assert worker.outcome() == Outcome(cell, None, "its process ended (exit status 3)")
    assert worker.cell is None


def test_threads_are_set_for_the_start_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(THREADS[0], "7")
    monkeypatch.delenv(THREADS[-1], raising=False)
    before = dict(os.environ)
    with workers._one_thread():
        assert [os.environ[name] for name in THREADS] == ["1"] * len(THREADS)
    assert dict(os.environ) == before


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (-9, "killed by signal 9, probably for its memory"),
        (-11, "killed by signal 11"),
        (1, "exit status 1"),
    ],
)
def test_how_a_process_ended_in_words(code: int, words: str) -> None:
    assert workers._ending(code) == words


def test_a_run_is_made_once_and_its_model_stays_only_where_it_is_wanted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cell, worlds = toy_study().cells()[0], WorldsCache()
    run = folder_of(cell, tmp_path)
    kept = make_run(cell, tmp_path, worlds, keep=True)
    assert kept["provenance"]["device"] == "cpu"
    names = {"config.yaml", "metrics.json", "predictions.parquet", "model", "report.html"}
    assert {entry.name for entry in run.path.iterdir()} == names
    monkeypatch.setattr(one_run, "execute", None)
    assert make_run(cell, tmp_path, worlds, keep=True) == kept
    assert {entry.name for entry in run.path.iterdir()} == names
    assert make_run(cell, tmp_path, worlds, keep=False) == kept
    assert {entry.name for entry in run.path.iterdir()} == {"config.yaml", "metrics.json"}
    monkeypatch.undo()
    # Asked to keep what it had thrown away, it is made again, to the same figures.
    again = make_run(cell, tmp_path, worlds, keep=True)
    assert again["metrics"] == kept["metrics"]
    assert {entry.name for entry in run.path.iterdir()} == names


def test_a_run_with_other_settings_or_of_another_revision_is_not_taken(
    whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[Path] = []

    def executed(config: Any, folder: Any, worlds: Any) -> dict[str, Any]:
        made.append(folder.path)
        return {}

    monkeypatch.setattr(one_run, "execute", executed)
    cell = toy_study().cells()[0]
    shutil.copytree(whole / "runs", tmp_path / "runs")
    make_run(cell, tmp_path, WorldsCache(), keep=False)
    assert made == []
    other = replace(cell, config=replace(cell.config, self_people=1))
    with pytest.raises(FairgearError, match="self_people was 5, now 1"):
        make_run(other, tmp_path, WorldsCache(), keep=False)
    # Where it was measured is no setting; what was begun elsewhere and not finished begins anew.
    elsewhere = replace(cell, config=replace(cell.config, device="auto"))
    make_run(elsewhere, tmp_path, WorldsCache(), keep=False)
    assert made == []
    begun = tmp_path / "begun"
    shutil.copytree(whole / "runs", begun / "runs")
    folder_of(cell, begun).metrics.unlink()
    make_run(elsewhere, begun, WorldsCache(), keep=False)
    assert made == [folder_of(cell, begun).path]
    assert not made.pop().exists()
    monkeypatch.setitem(REVISIONS, "logistic", 2)
    make_run(cell, tmp_path, WorldsCache(), keep=False)
    assert made == [tmp_path / "runs" / "synthetic-logistic-0.r2"]
    # What is damaged is measured again.
    monkeypatch.undo()
    monkeypatch.setattr(one_run, "execute", executed)
    folder_of(cell, tmp_path).metrics.write_text("{")
    make_run(cell, tmp_path, WorldsCache(), keep=False)
    assert made[1:] == [tmp_path / "runs" / "synthetic-logistic-0.r1"]
