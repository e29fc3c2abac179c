from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from fairgear.auditing.exchange import read_scores
from fairgear.errors import FileError

IDS = np.array([7, -3, 2**62 + 1, 0, 2**53 + 1])
ROWS = np.array([4, 0, 2])
PEOPLE = pd.DataFrame({"node_id": IDS})
ALLOWED = "; allowed: node_id,score for every node, or a .npy file with a score a row. Next: "
VALUES = np.array([0.1, 1 / 3, 5e-324, 1.0, 0.7000000000000001])


def scores(path: Path) -> list[float]:
    return [float(score) for score in read_scores(path, PEOPLE, ROWS, what="scores")]


def test_a_table_in_any_order(tmp_path: Path) -> None:
    table = pd.DataFrame({"more": "x,y", "score": VALUES, "node_id": IDS}).iloc[[0, 3, 4, 1, 2]]
    table.to_csv(tmp_path / "a.csv")
    table.to_parquet(tmp_path / "a.parquet")
    table.iloc[1:].to_csv(tmp_path / "less.csv", index=False)
    (tmp_path / "windows.csv").write_bytes(
        b"\xef\xbb\xbf" + table.to_csv(index=False, lineterminator="\r\n").encode()
    )
    for name in ("a.csv", "a.parquet", "windows.csv"):
        assert scores(tmp_path / name) == VALUES[ROWS].tolist()
    # Nobody asks about the person who is missing.
    asked = np.array([4, 2])
    found = read_scores(tmp_path / "less.csv", PEOPLE, asked, what="scores")
    assert found.tolist() == VALUES[asked].tolist()


def test_an_array_in_the_order_of_the_rows(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", VALUES)
    np.save(tmp_path / "b.npy", VALUES[:, None].astype(np.float64))
    # What a file is, it says itself: programs are given names with an ending.
    (tmp_path / "a.npy").rename(tmp_path / "a.csv")
    assert scores(tmp_path / "a.csv") == scores(tmp_path / "b.npy") == VALUES[ROWS].tolist()


def test_ids_that_passed_through_floats(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("node_id,score\n7.0,1\n-3.00,2\n")
    assert read_scores(path, PEOPLE, np.array([1, 0]), what="").tolist() == [2, 1]


def test_quotes_and_spaces_are_no_matter(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text('"","node_id","score"\n"1", 7 ," 0.5"\n\n')
    assert read_scores(path, PEOPLE, np.array([0]), what="").tolist() == [0.5]


FAULTS: dict[str, tuple[bytes, str]] = {
    "empty": (b"\n", f"got nothing{ALLOWED}write a line a node, after the line node_id,score."),
    "only a mark": (
        b"\xef\xbb\xbf\n",
        f"got nothing{ALLOWED}write a line a node, after the line node_id,score.",
    ),
    "one endless word": (
        b"x" * 200_000,
        f"got the line '{'x' * 60}…'{ALLOWED}write node_id,score in the first line.",
    ),
    "damaged": (b"PAR1 and no more", f"got a damaged Parquet file{ALLOWED}write it again."),
    "array": (
        b"\x93NUMPY and no more",
        f"got a NumPy file without numbers{ALLOWED}save one array of scores.",
    ),
    "fraction": (
        b"node_id,score\n7.5,1\n",
        f"got '7.5' in the column node_id{ALLOWED}write numbers as node_id.",
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_faults(tmp_path: Path, fault: str) -> None:
    content, message = FAULTS[fault]
    (tmp_path / "a").write_bytes(content)
    with pytest.raises(FileError) as caught:
        scores(tmp_path / "a")
    assert str(caught.value) == f"scores: {message}"


def test_wrong_arrays(tmp_path: Path) -> None:
    for values, got in (
        (np.zeros(4), "float64 of shape (4,)"),
        (np.zeros((5, 2)), "float64 of shape (5, 2)"),
        (np.array(["a"] * 5), "<U1 of shape (5,)"),
    ):
        np.save(tmp_path / "a.npy", values)
        with pytest.raises(FileError) as caught:
            scores(tmp_path / "a.npy")
        step = "save 5 scores, one a node, in the order of the graph."
        assert str(caught.value) == f"scores: got {got}{ALLOWED}{step}"


def test_nothing_is_unpickled(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.array([None] * 5), allow_pickle=True)
    with pytest.raises(FileError, match="a NumPy file without numbers"):
        scores(tmp_path / "a.npy")


def test_wrong_tables(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    for table, got, step in (
        (
            {"id": IDS, "score": VALUES},
            "the columns 'id, score'",
            "name the columns node_id and score",
        ),
        (
            {"node_id": [7.5, 0], "score": [0, 1]},
            "'7.5' in the column node_id",
            "write numbers as node_id",
        ),
        (
            {"node_id": pd.array([7, None], dtype="Int64"), "score": [0, 1]},
            "lines without a node_id",
            "write whose score it is in every line",
        ),
    ):
        pd.DataFrame(table).to_parquet(path)
        with pytest.raises(FileError) as caught:
            scores(path)
        assert str(caught.value) == f"scores: got {got}{ALLOWED}{step}."


def test_a_missing_score_is_nan(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    values = pd.array([0.5, None, 0.5, 0.5, 0.5], dtype="Float64")
    pd.DataFrame({"node_id": IDS, "score": values}).to_parquet(path)
    found = read_scores(path, PEOPLE, np.arange(5), what="")
    assert np.flatnonzero(np.isnan(found)).tolist() == [1]


def test_more_than_scores_are_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    with path.open("wb") as file:
        # Without blocks on the disk: only its size counts.
        file.truncate(10**10)
    with pytest.raises(FileError, match="10,000,000,000 bytes, where 1,"):
        scores(path)


def test_parquet_is_bounded_before_it_is_unpacked(tmp_path: Path) -> None:
    path, many = tmp_path / "a.parquet", 2**21
    bombs: dict[str, tuple[pd.DataFrame, dict[str, Any]]] = {
        "rows": (PEOPLE, {"node_id": np.zeros(many, int), "score": np.zeros(many)}),
        "packed": (NAMED, {"node_name": [*NAMES[:4], "z" * many], "score": VALUES}),
        "texts": (NAMED, {"node_name": ["z" * 2**12] * 2**10, "score": np.zeros(2**10)}),
    }
    for people, columns in bombs.values():
        pd.DataFrame(columns).to_parquet(path, compression="zstd")
        assert path.stat().st_size < 2**17
        with pytest.raises(FileError, match="Parquet that unpacks to more than 1,053,696 bytes"):
            read_scores(path, people, np.arange(5), what="scores")


def test_a_pipe_is_no_file_of_scores(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.csv")
    with pytest.raises(FileError, match="a regular file"):
        scores(tmp_path / "a.csv")


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(FileError) as caught:
        scores(tmp_path / "a.csv")
    assert str(caught.value) == (
        f"file {tmp_path / 'a.csv'}: got no such file or directory; allowed: a file one may read. "
        "Next: check the path."
    )


NAMES = ["Ann", 'Bo "X", jr', "007", " Di\nda", "NA"]
NAMED = PEOPLE.assign(node_name=np.array(NAMES, dtype=object))


def by_name(path: Path, rows: list[int]) -> list[float]:
    asked = np.array(rows)
    return [float(score) for score in read_scores(path, NAMED, asked, what="scores")]


def test_people_by_name(tmp_path: Path) -> None:
    table = pd.DataFrame({"node_name": NAMES, "score": VALUES})[::-1]
    table.to_csv(tmp_path / "a.csv", index=False)
    table.to_parquet(tmp_path / "a.parquet")
    coded = table.astype({"node_name": "category"})
    coded.to_parquet(tmp_path / "coded.parquet")
    for name in ("a.csv", "a.parquet", "coded.parquet"):
        assert by_name(tmp_path / name, [4, 0, 3, 2]) == VALUES[[4, 0, 3, 2]].tolist()
        with pytest.raises(FileError, match="got the columns"):
            scores(tmp_path / name)


def test_ids_go_before_names(tmp_path: Path) -> None:
    table = pd.DataFrame({"node_name": NAMES[::-1], "node_id": IDS, "score": VALUES})
    table.to_csv(tmp_path / "a.csv", index=False)
    assert by_name(tmp_path / "a.csv", [4, 0]) == VALUES[[4, 0]].tolist()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("node_name,score\nAnn,1\n", "no score of 1 nodes, the first 'NA'"),
        ("node_id,score\n7,1\n", "no score of 1 nodes, the first 'NA'"),
        ("node_name,score\nAnn,1\nAnn,1\n", "1 repeated nodes, the first 'Ann'"),
        ("node_id,score\n7,1\n7,1\n", "1 repeated nodes, the first 'Ann'"),
        ("node_name,score\n7,1\n", "1 nodes that the graph does not have, the first '7'"),
        ("node_id,score\n8,1\n", "1 nodes that the graph does not have, the first 8"),
        ("name,score\nAnn,1\n", "the columns 'name, score'"),
    ],
)
def test_messages_name_people(tmp_path: Path, content: str, message: str) -> None:
    (tmp_path / "a.csv").write_text(content)
    with pytest.raises(FileError) as caught:
        by_name(tmp_path / "a.csv", [0, 4])
    assert str(caught.value).startswith(f"scores: got {message};")
