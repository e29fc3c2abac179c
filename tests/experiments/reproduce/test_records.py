"""Records: what is written is what is read, and nobody else's rows are touched or taken."""

from __future__ import annotations

import math
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairgear.errors import FileError
from fairgear.experiments.reproduce.output import made
from fairgear.experiments.reproduce.records import KEY, Records
from fairgear.experiments.reproduce.revisions import REVISIONS
from fairgear.metrics import METRICS
from tests.experiments.reproduce.toy import results, toy_study

Metric = st.none() | st.floats(0, 1) | st.floats(0, 1e-30)


def test_a_row_has_what_the_run_gave(tmp_path: Path) -> None:
    cell, *others = toy_study().cells()
    records = Records(tmp_path / "deep" / "rows.csv")
    records.add(cell, results({"auroc": 0.123456789, "delta_cf": None}, seconds=2.25))
    assert len(records) == 1
    assert cell in records
    assert not any(other in records for other in others)
    (row,) = records.of([cell, *others]).to_dict("records")
    assert {name: row[name] for name in KEY} == {
        "dataset": "synthetic",
        "method": "logistic",
        "split": "released",
        "seed": 0,
        "revision": 1,
    }
    assert row["auroc"] == 0.1234568
    assert math.isnan(row["delta_cf"])
    assert row["f1"] == 0.25
    assert row["seconds"] == pytest.approx(2.25, abs=0.051)


def test_rows_say_where_they_were_made_and_older_ones_that_they_do_not(tmp_path: Path) -> None:
    first, second, *_ = toy_study().cells()
    path = tmp_path / "rows.csv"
    Records(path).add(first, results({}))
    pd.read_csv(path).drop(columns="device").to_csv(path, index=False)
    records = Records(path)
    given = results({})
    given["provenance"]["device"] = "cuda"
    records.add(second, given)
    assert Records(path).of([first, second])["device"].tolist() == ["", "cuda"]
    assert "(1 on a card, 1 that do not say where)" in made(toy_study(), records)


@settings(max_examples=40)
@given(values=st.lists(Metric, min_size=3, max_size=3), commit=st.sampled_from(["", "1234567"]))
def test_what_is_read_again_is_what_was_held(
    tmp_path_factory: pytest.TempPathFactory, values: list[float | None], commit: str
) -> None:
    path = tmp_path_factory.mktemp("records") / "rows.csv"
    cells = toy_study().cells()[:3]
    held = Records(path)
    for cell, value in zip(cells, values, strict=True):
        given = results({"auroc": value, "r2": value})
        given["provenance"]["commit"] = commit
        held.add(cell, given)
    pd.testing.assert_frame_equal(Records(path).of(cells), held.of(cells), check_exact=True)


def test_half_of_it_read_again_ends_as_all_of_it_at_once(tmp_path: Path) -> None:
    cells = toy_study().cells()
    whole, half = Records(tmp_path / "whole.csv"), Records(tmp_path / "half.csv")
    for place, cell in enumerate(cells):
        given = results({"auroc": 1 / (place + 3), "r2": None})
        whole.add(cell, given)
        if place == 2:
            half = Records(half.path)
        half.add(cell, given)
    assert half.path.read_bytes() == whole.path.read_bytes()
    pd.testing.assert_frame_equal(half.of(cells), whole.of(cells), check_exact=True)
    # In the order of the plan, whatever that of the file.
    assert list(whole.of(cells[::-1])["seed"]) == [1, 1, 0, 0]


def test_the_order_in_which_runs_end_leaves_no_trace(tmp_path: Path) -> None:
    cells = toy_study().cells()
    for name, order in (("one", cells), ("other", cells[::-1])):
        records = Records(tmp_path / name)
        for cell in order:
            records.add(cell, results({"auroc": 0.1 * cell.config.seed}))
    assert (tmp_path / "one").read_bytes() == (tmp_path / "other").read_bytes()


def test_rows_of_another_revision_do_not_count_and_stay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cell = toy_study().cells()[0]
    path = tmp_path / "rows.csv"
    Records(path).add(cell, results({"auroc": 0.5}))
    monkeypatch.setitem(REVISIONS, "logistic", 2)
    records = Records(path)
    assert cell not in records
    assert records.of([cell]).empty
    records.add(cell, results({"auroc": 0.75}))
    assert list(Records(path).of([cell])["auroc"]) == [0.75]
    written = pd.read_csv(path)
    assert list(written["revision"]) == [1, 2]
    assert list(written["auroc"]) == [0.5, 0.75]


def test_rows_of_other_plans_stay(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    Records(path).add(toy_study((7,)).cells()[1], results({"auroc": 0.625}))
    records = Records(path)
    cells = toy_study().cells()
    assert records.of(cells).empty
    records.add(cells[0], results({}))
    written = pd.read_csv(path)
    assert list(zip(written["seed"], written["auroc"], strict=True)) == [(0, 0.25), (7, 0.625)]


def test_nothing_is_a_table_with_all_columns(tmp_path: Path) -> None:
    found = Records(tmp_path / "rows.csv").of(toy_study().cells())
    assert found.empty
    assert {*KEY, *METRICS, "seconds"} <= {*found.columns}
    assert not (tmp_path / "rows.csv").exists()


HEAD = ",".join([*KEY, *METRICS, "seconds"])
FINE = ",".join(["synthetic", "logistic", "released", "0", "1", *(["0.5"] * len(METRICS)), "1.0"])


@pytest.mark.parametrize(
    "text",
    [
        "",
        "\n",
        "name,age\nAnna,30\n",
        "\x00\x01\x02",
        f"{HEAD}\n{FINE},1,2,3\n{FINE}\n{FINE},1",
        f"{HEAD}\n{FINE.replace('released,0', 'released,first')}\n",
        f"{HEAD}\n{FINE.replace('released,0', 'released,1.5')}\n",
        f"{HEAD}\n{FINE.replace('released,0', 'released,')}\n",
        f"{HEAD}\n{FINE.replace('0.5', 'good', 1)}\n",
        f"{HEAD.replace(',seconds', '')}\n{FINE.removesuffix(',1.0')}\n",
    ],
)
def test_what_is_no_table_of_runs_is_refused_on_one_line(tmp_path: Path, text: str) -> None:
    path = tmp_path / "rows.csv"
    path.write_text(text)
    with pytest.raises(FileError, match="no table of finished runs") as refused:
        Records(path)
    assert "\n" not in str(refused.value)
    assert str(path) in str(refused.value)
    assert path.read_text() == text


def test_what_cannot_be_read_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_bytes(b"\xff\xfe\xff" * 50)
    for wrong in (tmp_path, path):
        with pytest.raises(FileError, match="no table of finished runs"):
            Records(wrong)


def test_a_table_that_was_written_by_hand_is_read(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text(f"{HEAD}\n{FINE}\n")
    assert toy_study().cells()[0] in Records(path)


def test_two_studies_may_add_to_one_file(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    one, other = Records(path), Records(path)
    cells = toy_study().cells()
    one.add(cells[0], results({"auroc": 0.5}))
    other.add(cells[1], results({"auroc": 0.6}))
    both = Records(path)
    assert cells[0] in both
    assert cells[1] in both
    assert len(both) == 2
