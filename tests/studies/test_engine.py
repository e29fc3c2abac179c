"""The engine: what is run and what is not, what it says, and how long it will take."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pandas as pd
import pytest
import yaml

from fairgear.errors import FileError, ParameterError, UnfinishedError
from fairgear.studies import engine
from fairgear.studies.engine import carry_out, in_words, time_left
from fairgear.studies.pool import Outcome, Pool, Run
from fairgear.studies.records import Records
from fairgear.studies.spec import Cell
from tests.studies.toy import row, toy_study

Made = list[list[str]]


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> Made:
    """The names of the cells that were run, call by call; none of them is trained."""
    return pretend(monkeypatch, lambda cell: "")


def pretend(monkeypatch: pytest.MonkeyPatch, problem: Callable[[Cell], str]) -> Made:
    calls: Made = []

    def outcomes(cells: Sequence[Cell], run: Run[Cell], pool: Pool) -> Iterator[Outcome[Cell]]:
        calls.append([cell.name for cell in cells])
        for cell in cells:
            told = problem(cell)
            yield Outcome(cell, None if told else row(cell, seconds=60.0), told)

    monkeypatch.setattr(engine, "outcomes", outcomes)
    return calls


def test_what_is_recorded_is_not_run_again(made: Made, tmp_path: Path) -> None:
    study, records = toy_study(), Records(tmp_path / "rows.csv")
    first, *others = study.cells
    records.add(first, row(first))
    carry_out(study, tmp_path, records, jobs=0)
    assert (made, len(records)) == ([], 1)
    carry_out(study, tmp_path, records, jobs=3)
    assert made == [[cell.name for cell in others]]
    carry_out(study, tmp_path, records, jobs=3)
    assert len(made) == 1
    assert all(cell in Records(records.path) for cell in study.cells)


def test_what_fails_is_reported_and_the_others_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    names = [cell.name for cell in toy_study().cells]
    pretend(monkeypatch, lambda cell: "out of luck" if cell.name == names[1] else "")
    study, records = toy_study(), Records(tmp_path / "rows.csv")
    with pytest.raises(UnfinishedError, match="got 1 that failed"):
        carry_out(study, tmp_path, records, jobs=1)
    assert capsys.readouterr().err.splitlines() == [
        f"{names[0]}: 1 of 4, about 3 min left",
        f"{names[1]}: out of luck",
        f"{names[2]}: 2 of 4, about 2 min left",
        f"{names[3]}: 3 of 4, about 60 s left",
    ]
    assert [cell in records for cell in study.cells] == [True, False, True, True]
    calls = pretend(monkeypatch, lambda cell: "")
    carry_out(study, tmp_path, records, jobs=1)
    assert calls == [[names[1]]]


def test_the_folder_of_another_run_is_refused_before_any_work(made: Made, tmp_path: Path) -> None:
    study, records = toy_study(), Records(tmp_path / "rows.csv")
    last = study.cells[-1]
    folder = last.folder(tmp_path)
    folder.path.mkdir(parents=True)
    (folder.path / "thesis.txt").write_text("mine")
    with pytest.raises(FileError, match=f"{last.name}: got no run of fairgear"):
        carry_out(study, tmp_path, records, jobs=1)
    (folder.path / "thesis.txt").unlink()
    settings = last.config.to_dict()
    folder.config.write_text(yaml.safe_dump({**settings, "split": "sixty-twenty-twenty"}))
    with pytest.raises(FileError, match=r"a run with other settings \(split was 'sixty"):
        carry_out(study, tmp_path, records, jobs=1)
    # A device is no setting: one that was begun elsewhere may go on here.
    folder.config.write_text(yaml.safe_dump({**settings, "device": "cuda"}))
    carry_out(study, tmp_path, records, jobs=1)
    assert len(made) == 1


def test_wrong_arguments_are_refused_before_any_work(made: Made, tmp_path: Path) -> None:
    records = Records(tmp_path / "rows.csv")
    with pytest.raises(ParameterError, match=r"--jobs: got 10001; allowed: .* at most 10,000"):
        carry_out(toy_study(), tmp_path, records, jobs=10_001)
    with pytest.raises(ParameterError, match="--jobs: got -1; allowed: 0 or more"):
        carry_out(toy_study(), tmp_path, records, jobs=-1)
    with pytest.raises(ParameterError, match="--backend: got 'slurm'"):
        carry_out(toy_study(), tmp_path, records, backend="slurm")
    assert made == []


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0.4, "0 s"),
        (40, "40 s"),
        (99, "99 s"),
        (100, "2 min"),
        (720, "12 min"),
        (5900, "98 min"),
        (6000, "1.7 h"),
        (12600, "3.5 h"),
    ],
)
def test_times_in_words(seconds: float, words: str) -> None:
    assert in_words(seconds) == words


def test_the_time_that_is_left_by_hand() -> None:
    cells = toy_study((0, 1, 2)).cells
    plain = [cell for cell in cells if cell.entry.label == "logistic"]
    unaware = [cell for cell in cells if cell.entry.label != "logistic"]
    done: list[dict[str, object]] = []

    def left(cells: list[Cell], jobs: int) -> str:
        return time_left(pd.DataFrame(done), cells, jobs)

    assert left(cells, 2) == "time left unknown"
    assert left([], 2) == "done"
    done += [row(plain[0], seconds=10), row(plain[1], seconds=20)]
    assert left(plain[2:], 1) == "about 15 s left"
    # Of this method nothing is known, of its dataset the mean.
    assert left(unaware[:1], 1) == "about 15 s left"
    # Of this dataset nothing is known either.
    done[1]["dataset"] = "bail"
    assert left(unaware[:1], 1) == "about 10 s left"
    done[0]["dataset"] = "credit"
    assert left(unaware[:1], 1) == "about 15 s left"
    done += [row(plain[0], seconds=15), row(unaware[0], seconds=60)]
    several = [plain[2], unaware[1], unaware[2]]
    assert left(several, 1) == "about 2 min left"
    assert left(several, 3) == "about 45 s left"
    assert left(several, 100) == "about 45 s left", "more workers than runs do not help"
