"""Studies: which runs there are and in which order, what is told, and how long it will take."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fairgear.errors import ParameterError, UnfinishedError, UnknownNameError
from fairgear.experiments.cell import Cell
from fairgear.experiments.reproduce import study
from fairgear.experiments.reproduce.pace import Pace, in_words
from fairgear.experiments.reproduce.recipe import NAMES, recipe
from fairgear.experiments.reproduce.records import Records, key_of
from fairgear.experiments.reproduce.study import Study
from fairgear.experiments.reproduce.workers import Outcome
from tests.experiments.reproduce.toy import results, toy_study


def about(cell: Cell) -> tuple[str, str, int]:
    return cell.config.dataset, cell.entry.label, cell.config.seed


def test_every_run_that_a_table_needs_is_there_once() -> None:
    plan = Study.of(["all"], (4, 2))
    found = [about(cell) for cell in plan.cells()]
    wanted = {
        (dataset, line.entry.label, seed)
        for name in NAMES
        for dataset in recipe(name).datasets
        for line in recipe(name).lines
        for seed in (4, 2)
    }
    assert len(found) == len(wanted)
    assert {*found} == wanted
    assert len({key_of(cell) for cell in plan.cells()}) == len(found)
    folders = Counter(cell.name for cell in plan.cells())
    assert set(folders.values()) == {1}


def test_one_seed_of_everything_comes_before_the_next() -> None:
    found = [about(cell) for cell in Study.of(["table2", "figure5"], (4, 2)).cells()]
    half = len(found) // 2
    assert {seed for _, _, seed in found[:half]} == {4}
    assert [cell[:2] for cell in found[:half]] == [cell[:2] for cell in found[half:]]


def test_a_table_has_as_many_seeds_as_its_recipe_asks_for_unless_somebody_says() -> None:
    names = ["table2", "additions"]

    def seeds(plan: Study) -> list[int]:
        return [len({cell.config.seed for cell in plan.cells(one)}) for one in plan.recipes]

    plan = Study.of(names)
    assert seeds(plan) == [10, 5]
    # Five seeds of both, then five more of the first alone, whose runs are partly the other's.
    assert len(plan.cells()) == len(Study.of(names, range(5)).cells()) + len(
        Study.of(["table2"], range(5, 10)).cells()
    )
    assert seeds(Study.of(names, range(10, 17))) == [7, 7]
    assert seeds(Study.of(names, quick=True)) == [1, 1]


def test_tables_share_their_runs() -> None:
    alone = [len(Study.of([name], (0,)).cells()) for name in ("table2", "table3")]
    both = Study.of(["table2", "table3"], (0,))
    # GEAR with either preset on three graphs.
    assert len(both.cells()) == sum(alone) - 6
    assert [len(both.cells(one)) for one in both.recipes] == alone
    assert Study.of(["table2", "all", "table2"], (0,)).recipes[0].name == "table2"
    assert len(Study.of(["table2", "all"], (0,)).recipes) == len(NAMES)


def test_runs_are_those_that_the_paper_reports() -> None:
    plan = Study.of(["table2"], (3,), datasets=["bail"], device="cpu")
    for cell in plan.cells():
        config = cell.config
        assert (config.dataset, config.seed, config.split) == ("bail", 3, "released")
        assert (config.device, config.self_people) == ("cpu", 0)
        assert config.method == cell.entry.method


def test_datasets_that_are_kept_to() -> None:
    plan = Study.of(["table2", "figure5"], (0,), datasets=["credit", "bail"])
    assert [plan.datasets_of(one) for one in plan.recipes] == [("bail", "credit"), ("bail",)]
    assert {cell.config.dataset for cell in plan.cells()} == {"bail", "credit"}
    with pytest.raises(ParameterError, match="datasets of figure5: got synthetic; allowed: bail"):
        Study.of(["figure5"], (0,), datasets=["synthetic"])


def test_wrong_names_are_refused() -> None:
    with pytest.raises(UnknownNameError, match="nosuch"):
        Study.of(["table2"], (0,), datasets=["nosuch"])
    with pytest.raises(UnknownNameError, match="did you mean 'table1'"):
        Study.of(["table1 "], (0,))


def test_what_is_recorded_is_not_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[list[Cell]] = []

    def made(cells: list[Cell], folder: Path, *, jobs: int, keep: bool) -> Iterator[Outcome]:
        asked.append(cells)
        assert (folder, jobs, keep) == (tmp_path, 3, True)
        return (Outcome(cell, results({})) for cell in cells)

    monkeypatch.setattr(study, "outcomes", made)
    plan, records = toy_study(), Records(tmp_path / "rows.csv")
    first, *others = plan.cells()
    records.add(first, results({}))
    plan.carry_out(tmp_path, records, jobs=0)
    assert (asked, len(records)) == ([], 1)
    plan.carry_out(tmp_path, records, jobs=3, keep=True)
    assert asked == [others]
    plan.carry_out(tmp_path, records, jobs=3, keep=True)
    assert len(asked) == 1
    assert all(cell in Records(records.path) for cell in plan.cells())


def test_what_fails_is_told_and_the_others_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def made(cells: list[Cell], *_: Any, **__: Any) -> Iterator[Outcome]:
        for place, cell in enumerate(cells):
            bad = place == 1
            yield Outcome(cell, None if bad else results({}, seconds=60), "out of luck")

    monkeypatch.setattr(study, "outcomes", made)
    plan, records = toy_study(), Records(tmp_path / "rows.csv")
    with pytest.raises(UnfinishedError, match="got 1 that did not come to their end"):
        plan.carry_out(tmp_path, records, jobs=1)
    names = [cell.name for cell in plan.cells()]
    assert capsys.readouterr().err.splitlines() == [
        f"{names[0]}: 1 of 4, about 3 min left",
        f"{names[1]}: out of luck",
        f"{names[2]}: 2 of 4, about 2 min left",
        f"{names[3]}: 3 of 4, about 60 s left",
    ]
    assert [cell in records for cell in plan.cells()] == [True, False, True, True]


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


def test_the_time_that_is_left_by_hand(tmp_path: Path) -> None:
    cells = toy_study((0, 1, 2)).cells()
    plain = [cell for cell in cells if cell.entry.label == "logistic"]
    unaware = [cell for cell in cells if cell.entry.label != "logistic"]
    records = Records(tmp_path / "rows.csv")
    assert Pace(records, cells).left(cells, 2) == "time left unknown"
    assert Pace(records, cells).left([], 2) == "done"
    records.add(plain[0], results({}, seconds=10))
    records.add(plain[1], results({}, seconds=20))
    pace = Pace(records, cells)
    assert pace.seconds(plain[2]) == 15
    # Nothing of it is known but the dataset.
    assert pace.seconds(unaware[0]) == 15
    records.add(unaware[0], results({}, seconds=60))
    pace = Pace(records, cells)
    assert (pace.seconds(plain[2]), pace.seconds(unaware[1])) == (15, 60)
    left = [plain[2], unaware[1], unaware[2]]
    assert pace.left(left, 1) == "about 2 min left"
    assert pace.left(left, 3) == "about 45 s left"
    # More workers than runs do not help.
    assert pace.left(left, 100) == "about 45 s left"
    assert pace.left(left[:1], 100) == "about 15 s left"


def test_a_slower_machine_is_noticed(tmp_path: Path) -> None:
    cells = toy_study((0, 1, 2)).cells()
    plain = [cell for cell in cells if cell.entry.label == "logistic"]
    unaware = [cell for cell in cells if cell.entry.label != "logistic"]
    records = Records(tmp_path / "rows.csv")
    records.add(plain[0], results({}, seconds=10))
    records.add(unaware[0], results({}, seconds=60))
    pace = Pace(records, cells)
    assert pace.seconds(unaware[1]) == 60
    # Another machine made those rows: this one takes three times as long.
    pace.add(plain[1], 30)
    assert (pace.seconds(plain[2]), pace.seconds(unaware[1])) == (30, 180)
    # What it has done itself it need not guess.
    pace.add(unaware[1], 100)
    assert pace.seconds(unaware[2]) == 100


def test_another_dataset_is_guessed_from_all(tmp_path: Path) -> None:
    plan = Study.of(["table2"], (0,), datasets=["synthetic", "bail", "credit"])
    records = Records(tmp_path / "rows.csv")
    of = {about(cell)[:2]: cell for cell in plan.cells()}
    records.add(of["synthetic", "gcn"], results({}, seconds=10))
    records.add(of["bail", "gcn"], results({}, seconds=30))
    pace = Pace(records, plan.cells())
    assert pace.seconds(of["credit", "gcn"]) == 20
    assert pace.seconds(of["bail", "gear"]) == 30
