"""Numbers, dates and gaps as people and programs spell them in text files."""

from __future__ import annotations

import re
from datetime import date, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fairgear.errors import FairgearError
from fairgear.graph import SensitiveGraph, TableColumns, from_tables, read_graph
from fairgear.graph.tables.spellings import days_of, read_column
from tests.graph.people import tiny

NUMBERS = st.floats(-1e15, 1e15, allow_nan=False)
DATES = st.dates(date(1, 1, 1), date(9999, 12, 31))


def numbers_of(cells: list[str], delimiter: str = ",") -> list[float]:
    reading = read_column(pd.Series(cells), delimiter, coded=False)
    assert reading.kind in ("numbers", "percentages", "dates"), reading.kind
    return [float(value) for value in reading.values]


def comma(value: float) -> str:
    return repr(value).replace(".", ",")


def points(value: float) -> str:
    return f"{value:,}".translate(str.maketrans(",.", ".,"))


def plain(values: list[float]) -> bool:
    """Whether none is so small or large that it is spelled with an exponent."""
    return not any("e" in repr(value) for value in values)


@given(st.lists(NUMBERS, min_size=1, max_size=6))
def test_numbers_survive_every_spelling(values: list[float]) -> None:
    assert numbers_of([repr(value) for value in values]) == values
    assert numbers_of([comma(value) for value in values], ";") == values
    assert numbers_of([f"{value:,}" for value in values]) == values
    assert numbers_of([f"{value!r} %" for value in values]) == values
    assert numbers_of([f"{value!r}%" for value in values]) == values
    assert numbers_of([f"{comma(value)} %" for value in values], ";") == values
    assert numbers_of([f"{value:,} %" for value in values]) == values


@given(st.lists(NUMBERS.map(lambda value: round(value, 2)), min_size=1, max_size=6))
def test_points_between_thousands_survive_beside_a_decimal_comma(values: list[float]) -> None:
    # One that is surely not spelled as elsewhere: 1.234.567,5 is no number with a decimal point.
    values = [*values, 1234567.5]
    if plain(values):
        assert numbers_of([points(value) for value in values], ";") == values
        assert numbers_of([points(value) for value in values], "\t") == values


@given(st.lists(DATES, min_size=1, max_size=5))
def test_dates_become_days_however_they_are_written(days: list[date]) -> None:
    # A day above 12, so that day and month can be told apart.
    days = [*days, date(2020, 12, 31)]
    expected = [float((day - date(1970, 1, 1)).days) for day in days]
    for form in (
        "{0:04}-{1:02}-{2:02}",
        "{2}.{1}.{0:04}",
        "{2:02}/{1:02}/{0:04}",
        "{1}/{2}/{0:04}",
    ):
        cells = [form.format(day.year, day.month, day.day) for day in days]
        assert numbers_of(cells) == expected
    assert days_of(pd.Series(days, dtype=object)).tolist() == expected


def test_the_time_of_day_and_the_zone_are_part_of_a_day() -> None:
    assert numbers_of(["1970-01-02 12:00", "1970-01-01T06:00:00Z"]) == [1.5, 0.25]
    assert numbers_of(["1970-01-01T06:00:00+06:00"]) == [0.0]
    zone = timezone(timedelta(hours=6))
    aware = pd.Series([datetime(1970, 1, 1, 6, tzinfo=zone), pd.NaT])
    naive = pd.Series([datetime(1970, 1, 1, 6), pd.NaT])
    for unit in ("s", "us", "ns"):
        held: Any = f"datetime64[{unit}]"
        assert days_of(naive.astype(held))[0] == 0.25
    assert days_of(aware)[0] == 0.0
    assert np.isnan(days_of(aware)[1])
    assert np.isnan(days_of(naive)[1])


@pytest.mark.parametrize(
    ("cells", "delimiter"),
    [
        (["0,5", "1,5"], ","),
        (["0,123", "1,234"], ","),
        (["1,23", "1,234"], ","),
        (["12 %", "0.3"], ","),
        (["%", "3 %"], ","),
        (["1.5", "2,5"], ";"),
        (["2020-02-30"], ","),
        (["13/13/2020"], ","),
        (["2020-01-01", "soon"], ","),
        (["31/12/2020", "12/31/2020"], ","),
        (["1_0"], ","),
    ],
)
def test_what_is_no_number_and_no_date_stays_text(cells: list[str], delimiter: str) -> None:
    reading = read_column(pd.Series(cells), delimiter, coded=False)
    assert (reading.kind, reading.said, reading.values.tolist()) == ("text", "", cells)


def test_day_and_month_are_not_guessed() -> None:
    reading = read_column(pd.Series(["03/04/2020", "05/12/2020"]), ",", coded=False)
    assert reading.kind == "text"
    assert "cannot be told apart" in reading.said


def read(path: Path, text: str, **options: Any) -> SensitiveGraph:
    path.write_text(text)
    columns = {"sensitive": "sex", "similarity": 0.5, **options}
    return read_graph(path, TableColumns(**columns))


def raw(graph: SensitiveGraph, name: str) -> list[float]:
    assert graph.raw is not None
    found: list[float] = graph.raw[:, graph.feature_names.index(name)].tolist()
    return found


def test_a_file_says_how_it_was_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = (
        "share,more,pay,since,sex\n"
        '12 %,3%,"1,234",2020-01-01,f\n'
        '7.5 %,4%,"12,345.5",2020-01-31,m\n'
        "1 %,5%,9,1970-01-01,f\n"
    )
    graph = read(tmp_path / "p.csv", text)
    assert raw(graph, "share") == [12, 7.5, 1]
    assert raw(graph, "pay") == [1234, 12345.5, 9]
    assert raw(graph, "since") == [18262, 18292, 0]
    said = capsys.readouterr().err
    assert "percentages are read as numbers: 'share', 'more', such as '12 %' as 12" in said
    assert "commas between thousands are left out: 'pay', such as '1,234' as 1234" in said
    assert "dates are read as days since 1970: 'since', such as '2020-01-01' as 18262" in said
    read(tmp_path / "p.csv", text, drop=["share", "more", "since"])
    said = capsys.readouterr().err
    assert "percentages" not in said
    assert "dates" not in said
    graph = read(tmp_path / "p.csv", text, categorical=["since", "pay"])
    assert "since=2020-01-31" in graph.feature_names
    assert "pay=9" in graph.feature_names


def test_dates_in_tables_of_python_become_days(capsys: pytest.CaptureFixture[str]) -> None:
    days = [date(1970, 1, 1 + i) for i in range(8)]
    for column in (days, pd.to_datetime(days), pd.Series([*days[:-1], None], dtype=object)):
        graph = from_tables(
            tiny(since=column), label="ok", sensitive="sex", similarity=0.5, missing="impute"
        )
        assert raw(graph, "since")[:7] == [*range(7)]
        assert "column 'since': dates are read as days since 1970" in capsys.readouterr().err
    later = tiny(since=pd.to_datetime(days) + timedelta(days=100))
    again = from_tables_like(later, graph)
    assert raw(again, "since") == [*range(100, 108)]


def from_tables_like(nodes: pd.DataFrame, trained: SensitiveGraph) -> SensitiveGraph:
    """The graph of other people, coded as the training data."""
    from fairgear.graph.tables.table_graph import table_graph

    columns = TableColumns(sensitive="sex", label="ok", similarity=0.5)
    return table_graph(nodes, None, columns, encoding=trained.encoding)


WORDS = ("none", "None", "n/a", "N/A", "?", "", "null", "NULL", "unknown", "Unknown", "NaN", "#N/A")


@pytest.mark.parametrize("word", WORDS)
def test_words_for_unknown_are_missing(
    word: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = f"pay,job,sex\n1,cook,f\n{word},nurse,m\n5,{word},f\n7,nurse,m\n"
    with pytest.raises(FairgearError, match=r"pay \(1\), job \(1\)"):
        read(tmp_path / "p.csv", text)
    graph = read(tmp_path / "p.csv", text, missing="impute")
    assert raw(graph, "pay") == [1, 5, 5, 7]
    assert graph.feature_names == ["pay", "job=nurse", "sex"]
    said = capsys.readouterr().err
    assert (f"count as missing: pay ({word!r} 1), job ({word!r} 1)" in said) == (word != "")


def test_none_may_be_a_level(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = "pay,debt,sex\n1,none,f\n2,some,m\n5,none,f\n7,much,m\n"
    assert "debt=none" not in read(tmp_path / "p.csv", text, missing="impute").feature_names
    assert "--categorical debt keeps 'none' as levels" in capsys.readouterr().err
    graph = read(tmp_path / "p.csv", text, categorical=["debt"])
    assert graph.feature_names == ["pay", "debt=much", "debt=none", "debt=some", "sex"]
    assert "missing" not in capsys.readouterr().err


def test_free_text_is_left_out_on_request(capsys: pytest.CaptureFixture[str]) -> None:
    table = pd.DataFrame(
        {
            "age": range(60),
            "note": [f"came on day {i} and stayed" for i in range(60)],
            "job": ["cook", "nurse", "smith"] * 20,
            "sex": ["f", "m"] * 30,
        }
    )
    with pytest.raises(FairgearError, match=r"--drop-text") as error:
        from_tables(table, sensitive="sex", similarity=0.5)
    assert "--drop note" in str(error.value)
    graph = from_tables(table, sensitive="sex", similarity=0.5, drop_text=True)
    assert graph.feature_names == ["age", "job=cook", "job=nurse", "job=smith", "sex"]
    said = capsys.readouterr().err
    assert "left out column 'note': free text" in said
    assert "'job'" not in said


@settings(max_examples=10)
@given(st.lists(st.tuples(NUMBERS, NUMBERS), min_size=2, max_size=6))
def test_a_table_of_a_spreadsheet_is_the_table(values: list[tuple[float, float]]) -> None:
    """Semicolons, decimal commas, a byte order mark and Windows line ends, through pandas."""
    from tempfile import TemporaryDirectory

    sexes = [*"fm", *"f" * len(values)][: len(values)]
    table = pd.DataFrame(values, columns=["a", "b"]).assign(sex=sexes)
    with TemporaryDirectory() as folder:
        path = Path(folder) / "p.csv"
        text = table.to_csv(None, sep=";", decimal=",", index=False, lineterminator="\r\n")
        path.write_bytes(b"\xef\xbb\xbf" + text.encode())
        graph = read_graph(path, TableColumns(sensitive="sex", similarity=0.5))
    assert raw(graph, "a") == table.a.tolist()
    assert raw(graph, "b") == table.b.tolist()
    assert re.fullmatch("[fm]", graph.sens_names[0])
