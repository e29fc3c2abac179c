"""Records: what is written is what is read, and nobody else's rows are touched or taken."""

from __future__ import annotations

import math
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairgear.errors import FileError
from fairgear.metrics import METRICS
from fairgear.studies.records import KEY, Records
from fairgear.studies.reproduce import made
from tests.studies.toy import row, toy_plan, toy_study

Metric = st.none() | st.floats(0, 1) | st.floats(0, 1e-30)


def test_a_row_has_what_the_run_gave(tmp_path: Path) -> None:
    cell, *others = toy_study().cells
    records = Records(tmp_path / "deep" / "rows.csv", digits=7)
    records.add(cell, row(cell, auroc=0.123456789, delta_cf=None, seconds=2.25))
    assert len(records) == 1
    assert cell in records
    assert not any(other in records for other in others)
    (found,) = records.of([cell, *others]).to_dict("records")
    assert {name: found[name] for name in KEY} == {
        "dataset": "synthetic",
        "method": "logistic",
        "split": "released",
        "seed": 0,
    }
    assert found["auroc"] == 0.1234568
    assert math.isnan(found["delta_cf"])
    assert found["f1"] == 0.25
    assert found["seconds"] == pytest.approx(2.25, abs=0.051)


def test_rows_say_where_they_were_made_and_older_ones_that_they_do_not(tmp_path: Path) -> None:
    first, second, *_ = toy_study().cells
    path = tmp_path / "rows.csv"
    Records(path).add(first, row(first))
    pd.read_csv(path).drop(columns="device").to_csv(path, index=False)
    records = Records(path)
    records.add(second, row(second, device="cuda"))
    assert Records(path).of([first, second])["device"].tolist() == ["", "cuda"]
    assert "(1 on a GPU, 1 on an unknown device)" in made(toy_plan(), records)


@settings(max_examples=40)
@given(
    values=st.lists(Metric, min_size=3, max_size=3),
    commit=st.sampled_from(["", "1234567"]),
    digits=st.sampled_from([None, 7]),
)
def test_what_is_read_again_is_what_was_held(
    tmp_path_factory: pytest.TempPathFactory,
    values: list[float | None],
    commit: str,
    digits: int | None,
) -> None:
    path = tmp_path_factory.mktemp("records") / "rows.csv"
    cells = toy_study().cells[:3]
    held = Records(path, digits)
    for cell, value in zip(cells, values, strict=True):
        held.add(cell, row(cell, auroc=value, r2=value, commit=commit))
    pd.testing.assert_frame_equal(Records(path).of(cells), held.of(cells), check_exact=True)


def test_half_of_it_read_again_ends_as_all_of_it_at_once(tmp_path: Path) -> None:
    cells = toy_study().cells
    whole, half = Records(tmp_path / "whole.csv"), Records(tmp_path / "half.csv")
    for place, cell in enumerate(cells):
        given = row(cell, auroc=1 / (place + 3), r2=None)
        whole.add(cell, given)
        if place == 2:
            half = Records(half.path)
        half.add(cell, given)
    assert half.path.read_bytes() == whole.path.read_bytes()
    pd.testing.assert_frame_equal(half.of(cells), whole.of(cells), check_exact=True)
    # In the order of the plan, whatever that of the file.
    assert list(whole.of(cells[::-1])["seed"]) == [1, 1, 0, 0]


def test_the_order_in_which_runs_end_leaves_no_trace(tmp_path: Path) -> None:
    cells = toy_study().cells
    for name, order in (("one", cells), ("other", cells[::-1])):
        records = Records(tmp_path / name)
        for cell in order:
            records.add(cell, row(cell, auroc=0.1 * cell.config.seed))
    assert (tmp_path / "one").read_bytes() == (tmp_path / "other").read_bytes()


def test_of_several_revisions_in_an_older_file_the_last_counts(tmp_path: Path) -> None:
    cell, other, *_ = toy_study().cells
    path = tmp_path / "rows.csv"
    numbered = [(2, row(cell, auroc=0.75)), (1, row(cell, auroc=0.5)), (1, row(other))]
    pd.DataFrame([{**one, "revision": number} for number, one in numbered]).to_csv(
        path, index=False
    )
    assert list(Records(path).of([cell, other])["auroc"]) == [0.75, 0.25]
    Records(path).add(other, row(other, auroc=1.0))
    assert list(Records(path).of([cell, other])["auroc"]) == [0.75, 1.0]
    assert "revision" not in pd.read_csv(path).columns


def test_rows_of_other_plans_stay(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    earlier = toy_study((7,)).cells[1]
    Records(path).add(earlier, row(earlier, auroc=0.625))
    records = Records(path)
    cells = toy_study().cells
    assert records.of(cells).empty
    records.add(cells[0], row(cells[0]))
    written = pd.read_csv(path)
    assert list(zip(written["seed"], written["auroc"], strict=True)) == [(0, 0.25), (7, 0.625)]


def test_nothing_is_a_table_with_all_columns(tmp_path: Path) -> None:
    found = Records(tmp_path / "rows.csv").of(toy_study().cells)
    assert found.empty
    assert {*KEY, *METRICS, "seconds"} <= {*found.columns}
    assert not (tmp_path / "rows.csv").exists()


HEAD = ",".join([*KEY, *METRICS, "seconds"])
FINE = ",".join(["synthetic", "logistic", "released", "0", *(["0.5"] * len(METRICS)), "1.0"])


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
        with pytest.raises(FileError, match=r"a folder|no table of finished runs"):
            Records(wrong)


def test_a_table_that_was_written_by_hand_is_read(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text(f"{HEAD}\n{FINE}\n")
    assert toy_study().cells[0] in Records(path)


def test_two_studies_may_add_to_one_file(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    one, other = Records(path), Records(path)
    cells = toy_study().cells
    one.add(cells[0], row(cells[0], auroc=0.5))
    other.add(cells[1], row(cells[1], auroc=0.6))
    both = Records(path)
    assert cells[0] in both
    assert cells[1] in both
    assert len(both) == 2
