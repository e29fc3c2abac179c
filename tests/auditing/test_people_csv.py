from __future__ import annotations

import csv
import io
import math
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairgear.auditing import people_csv
from fairgear.auditing.names import Names
from fairgear.auditing.people_csv import safe_cell, write_people_csv
from fairgear.text import visible

NAMES = Names(("female", "=male"), ("no", "yes"), attribute="sex", label="approved")


def table() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "node_id": [0, 2**53 + 1, 7],
            "node_name": ["007", '=HYPERLINK("http://x")', 'Ann "A", b'],
            "y": [1, -1, 0],
            "sens": [0, 1, 1],
            "score": [0.1 + 0.2, -1.5, math.nan],
            "label": [1, 0, 0],
            "neighbors_that_matter": ["", "P1 (−0.2)", "a;-1+cmd"],
        }
    )


def written(people: pd.DataFrame, names: Names, folder: Path) -> list[dict[str, str]]:
    write_people_csv(people, names, folder / "people.csv")
    text = (folder / "people.csv").read_bytes().decode("utf-8-sig")
    return list(csv.DictReader(io.StringIO(text, newline="")))


def test_numbers_are_exact_and_words_stand_beside_them(tmp_path: Path) -> None:
    rows = written(table(), NAMES, tmp_path)
    assert (tmp_path / "people.csv").read_bytes().startswith(b"\xef\xbb\xbf")
    assert list(rows[0]) == [
        *("node_id", "node_name", "y", "y_name", "sens", "sens_name", "score"),
        *("label", "label_name", "neighbors_that_matter"),
    ]
    assert [row["node_id"] for row in rows] == ["0", str(2**53 + 1), "7"]
    assert [float(row["score"] or "nan") for row in rows[:2]] == [0.1 + 0.2, -1.5]
    assert rows[2]["score"] == ""
    assert [row["y_name"] for row in rows] == ["yes", "", "no"]
    assert [row["sens_name"] for row in rows] == ["female", "'=male", "'=male"]
    assert [row["label_name"] for row in rows] == ["yes", "no", "no"]
    assert [row["node_name"] for row in rows] == [
        "007",
        '\'=HYPERLINK("http://x")',
        'Ann "A", b',
    ]
    assert rows[2]["neighbors_that_matter"] == "a;'-1+cmd"


def test_without_words_there_are_no_columns_for_them(tmp_path: Path) -> None:
    assert list(written(table(), Names(), tmp_path)[0]) == list(table().columns)


def test_ranges_of_a_number_have_their_names(tmp_path: Path) -> None:
    people = pd.DataFrame({"node_id": [0, 1], "sens": [20.5, 61.0], "band": [0, 1]})
    rows = written(people, Names(("18 to 40", "41 to 90"), number="age"), tmp_path)
    assert [row["band_name"] for row in rows] == ["18 to 40", "41 to 90"]
    assert "sens_name" not in rows[0]


def test_many_rows_are_written_in_parts_that_join(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(0)
    people = pd.DataFrame({"node_id": np.arange(25), "score": rng.normal(size=25)})
    people["node_name"] = [f"P{number}" for number in range(25)]
    whole = written(people, NAMES, tmp_path)
    monkeypatch.setattr(people_csv, "_ROWS", 7)
    assert written(people, NAMES, tmp_path) == whole
    assert [float(row["score"]) for row in whole] == people["score"].tolist()
    assert written(people[:0], NAMES, tmp_path) == []


@pytest.mark.parametrize(
    ("text", "safe"),
    [
        ("=1+1", "'=1+1"),
        ("  @SUM(A1)", "  '@SUM(A1)"),
        ("+cmd|' /C calc'!A0", "'+cmd|' /C calc'!A0"),
        ("\t=1", "'\t'=1"),
        ('x;"=1', "x;\"'=1"),
        ("＝1+1", "'＝1+1"),
        ("-5", "-5"),
        ("+3,5e-2", "+3,5e-2"),
        ("a-b", "a-b"),
        ("18 to 27", "18 to 27"),
        ("a\n=b", "a\n'=b"),
        ("\x1b[31mred", "‹U+001B›[31mred"),
        ("\u202egnp.exe", "‹U+202E›gnp.exe"),
    ],
)
def test_formulas_are_neutralised_and_numbers_and_words_are_not(text: str, safe: str) -> None:
    assert safe_cell(text) == safe


@given(st.text(st.characters(codec="utf-8")) | st.text("=+-@;,\t\r\n \"'1a|"))
def test_no_cell_begins_a_formula_and_nothing_else_is_lost(text: str) -> None:
    safe = safe_cell(text)
    assert safe.replace("'", "") == visible(text).replace("'", "")
    number = float_or_none(text) is not None
    for cell in re.split(r"[;,|\t\r\n]", safe):
        assert number or cell.lstrip(' "')[:1] not in {"=", "+", "-", "@"}


def float_or_none(text: str) -> float | None:
    try:
        return float(text.replace(",", "."))
    except ValueError:
        return None
