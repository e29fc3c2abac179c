"""Files: what is read from them exactly, and what is refused."""

from __future__ import annotations

import os
import pickle
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest
import torch

from fairgear.errors import FairgearError
from fairgear.graph import SensitiveGraph, TableColumns, read_graph
from tests.graph.people import nx, pyg_data, records

COLUMNS = TableColumns(label="ok", sensitive="sex")
LONG = [2**53 + 1 + 2 * i for i in range(6)]
HEADER = "id,age,sex,ok\n"


def written(path: Path, content: str | bytes) -> Path:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def rows(ids: list[Any]) -> str:
    return "".join(f"{i},{20 + n},{'fm'[n % 2]},{'01'[n // 2 % 2]}\n" for n, i in enumerate(ids))


def read(folder: Path, table: str, edges: str, name: str = "e.csv") -> SensitiveGraph:
    path = written(folder / "p.csv", table)
    return read_graph(path, COLUMNS, written(folder / name, edges))


def ends(graph: SensitiveGraph) -> set[frozenset[int]]:
    return {frozenset(graph.node_id[pair].tolist()) for pair in graph.edge_index.T}


def test_ids_beyond_2_to_the_53_survive_every_file(tmp_path: Path) -> None:
    table = HEADER + rows(LONG)
    wanted = {frozenset(LONG[:2]), frozenset(LONG[2:4])}
    list_ = pd.DataFrame({"a": [LONG[0], LONG[2]], "b": [LONG[1], LONG[3]]})
    for name, separator in (("e.csv", ","), ("e.txt", " "), ("e.edges", "\t"), ("e.tsv", "\t")):
        for header in (True, False):
            text = list_.to_csv(sep=separator, header=header, index=False)
            graph = read(tmp_path, table, text, name)
            assert graph.node_id.tolist() == LONG
            assert ends(graph) == wanted
    frame = pd.read_csv(tmp_path / "p.csv")
    frame.to_parquet(tmp_path / "p.parquet")
    list_.to_parquet(tmp_path / "e.parquet")
    graph = read_graph(tmp_path / "p.parquet", COLUMNS, tmp_path / "e.parquet")
    assert (graph.node_id.tolist(), ends(graph)) == (LONG, wanted)
    network = nx.Graph(list(list_.itertuples(index=False, name=None)))
    for row in records(frame):
        network.add_node(row.pop("id"), **row)
    nx.write_graphml(network, tmp_path / "p.graphml")
    graph = read_graph(tmp_path / "p.graphml", COLUMNS)
    assert (sorted(graph.node_id.tolist()), ends(graph)) == (LONG, wanted)


def test_parquet_with_gaps_loses_no_digit(tmp_path: Path) -> None:
    path, columns = tmp_path / "p.parquet", replace(COLUMNS, similarity=0.5)
    table = pd.DataFrame({"id": pd.array(LONG, dtype="Int64"), "age": 1, "sex": [0, 1] * 3})
    table["ok"] = pd.array([0, 1, None] * 2, dtype="Int64")
    table.to_parquet(path)
    graph = read_graph(path, columns)
    assert graph.node_id.tolist() == LONG
    assert graph.y.tolist() == [0, 1, -1] * 2
    table.loc[3, "id"] = pd.NA
    # Written without a note for pandas, as other programs write it.
    pa.parquet.write_table(pa.Table.from_pandas(table).replace_schema_metadata(), path)
    with pytest.raises(FairgearError, match="1 rows without an id"):
        read_graph(path, columns)


def test_numbers_are_read_to_the_last_digit(tmp_path: Path) -> None:
    values = [0.1 + 0.2, 1e-17, 123456789.123456789, -1 / 3, 5e99, 4.35]
    body = "".join(f"{v!r},{'fm'[i % 2]}\n" for i, v in enumerate(values))
    path = written(tmp_path / "p.csv", "age,sex\n" + body)
    graph = read_graph(path, TableColumns(sensitive="sex", similarity=0.9, neighbors=1))
    assert graph.raw is not None
    assert graph.raw[:, 0].tolist() == values


def test_cells_of_a_text_file(tmp_path: Path) -> None:
    text = (
        "\ufeffname;pay;sign;owner;zip;sex;ok\r\n"
        '"Ann; B.";1,5;+1;TRUE;01;f;1\r\n'
        '"Bo ""X""";2;-2.5e0;false; 02 ;m;\r\n'
        "Cy;?;.5;NA;03;f;0\r\n"
        "Di;4,25;7.;true;01;m;1\r\n"
    )
    path = written(tmp_path / "p.csv", text)
    columns = TableColumns(
        label="ok",
        sensitive="sex",
        id="name",
        categorical=["zip"],
        missing="impute",
        similarity=0.5,
    )
    graph = read_graph(path, columns)
    assert graph.node_names == ("Ann; B.", 'Bo "X"', "Cy", "Di")
    names = ["pay", "sign", "owner", "zip=01", "zip=02", "zip=03", "sex"]
    assert graph.feature_names == names
    assert graph.raw is not None
    assert graph.raw[:, 0].tolist() == [1.5, 2, 2, 4.25]
    assert graph.raw[:, 1].tolist() == [1, -2.5, 0.5, 7]
    assert graph.raw[:, 2].tolist() == [1, 0, 1, 1]
    assert graph.y.tolist() == [1, -1, 0, 1]


def test_codes_with_underscores_and_commas_are_no_numbers(tmp_path: Path) -> None:
    body = "".join(f'{"1_0" if i % 2 else "1_1"},"{i % 3},5",{"fm"[i % 2]}\n' for i in range(6))
    path = written(tmp_path / "p.csv", "code,size,sex\n" + body)
    graph = read_graph(path, TableColumns(sensitive="sex", similarity=0.5))
    assert graph.feature_names == ["code=1_1", "size=0,5", "size=1,5", "size=2,5", "sex"]


@pytest.mark.parametrize(
    "edges",
    [
        "a,b\nc,d\n",
        "source,target\na,b\nc,d\n",
        ",source,target\n0,a,b\n1,c,d\n",
        "# made by hand\n\na;b\nc;d\n",
        "a b 0.5\nc  d 0.7\n",
    ],
)
def test_edge_lists_with_and_without_a_first_line(edges: str, tmp_path: Path) -> None:
    graph = read(tmp_path, HEADER + rows(list("abcdef")), edges)
    assert ends(graph) == {frozenset((0, 1)), frozenset((2, 3))}


def test_a_first_edge_to_somebody_unknown_is_no_header(tmp_path: Path) -> None:
    for table, edges in ((list("abcdef"), "a,zz\na,b\n"), (range(6), "77,88\n0,1\n")):
        with pytest.raises(FairgearError, match="nobody's id"):
            read(tmp_path, HEADER + rows(list(table)), edges)


@pytest.mark.parametrize(
    ("ids", "first", "header"),
    [
        (["P1", "P2", "P3"], "source,target", True),
        (["P1", "P2", "P3"], "giver,taker", True),
        (["P1", "P2", "P3"], "P8,P9", False),
        (["P1", "P2", "P3"], "q8,r9", False),
        (["ann", "bob", "cy"], "From,To", True),
        (["ann", "bob", "cy"], "source_id,target_id", True),
        (["ann", "bob", "cy"], "zoe,max", False),
        (["ann", "bob", "cy"], "person_1,person_2", True),
        ([1, 2, 3], "node1,node2", True),
        ([1, 2, 3], "u,v", True),
        (["node10", "node11", "node12"], "node1,node2", False),
    ],
)
def test_a_first_line_is_a_header_or_an_edge_to_nobody(
    ids: list[Any], first: str, header: bool, tmp_path: Path
) -> None:
    table, edges = HEADER + rows(ids), f"{first}\n{ids[0]},{ids[1]}\n"
    if header:
        assert read(tmp_path, table, edges).num_undirected_edges == 1
    else:
        with pytest.raises(FairgearError, match=r"nobody's id.*source and target"):
            read(tmp_path, table, edges)
    # Where nobody below is known either, an unusual name is taken for an id.
    if first == "giver,taker":
        with pytest.raises(FairgearError, match=r"2 of 2 .* 'giver'"):
            read(tmp_path, table, f"{first}\nP7,P8\n")


def test_parquet_with_lists_for_labels_or_groups(tmp_path: Path) -> None:
    path = tmp_path / "p.parquet"
    for role in ("ok", "sex"):
        for compound in ([1, 2], {"a": 1}):
            table = {"age": range(4), "sex": ["f", "m"] * 2, "ok": [0, 1] * 2}
            pd.DataFrame(table | {role: [compound] * 4}).to_parquet(path)
            with pytest.raises(FairgearError, match=f"column '{role}': got lists or other"):
                read_graph(path, replace(COLUMNS, similarity=0.5))


def test_ids_of_thousands_of_digits_in_files(tmp_path: Path) -> None:
    long = ["1" * 5000, "2" * 5000, "3" * 5000]
    graph = read(tmp_path, HEADER + rows(long), f"{long[0]},{long[1]}\n")
    assert graph.node_names == tuple(long)
    assert graph.num_undirected_edges == 1
    with pytest.raises(FairgearError, match="nobody's id"):
        read(tmp_path, HEADER + rows([1, 2, 3]), f"{long[0]},1\n")


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("p.csv", "", "an empty file"),
        ("p.csv", " \n\n", "an empty file"),
        ("p.csv", HEADER, "a header and no rows"),
        ("p.csv", HEADER + rows([1, 2]) + "3,1\n", "2 cells in line 4 where the first has 4"),
        ("p.csv", HEADER + rows([1]) + "3,1,f,1,9\n", "5 cells in line 3"),
        ("p.csv", HEADER + '"1,2,f,0\n', "file"),
        ("p.csv", "age,age,sex\n1,2,f\n", "the column 'age' 2 times"),
        ("p.csv", "age,,sex\n1,2,f\n", "column 2 without a name"),
        ("p.csv", b"PAR1\0\1\2\3", "a binary file (byte 4 is zero)"),
        ("p.csv", "age,sex,ok\n1,é,0\n".encode("latin-1"), "byte 0xe9 at position 13"),
        ("p.parquet", "age,sex\n1,f\n", "no table in Parquet"),
        ("p.parquet", b"PAR1" + b"\0" * 30 + b"PAR1", "no table in Parquet"),
        ("p.graphml", "<graphml>", "no graph in GraphML"),
        ("p.graphml", "<html></html>", "no graph in GraphML"),
        ("p.pt", b"\x80\x02}.", "no PyG Data"),
        ("p.pt", "hello", "no PyG Data"),
        ("p.xlsx", "PK", "ends in .xlsx"),
        ("p", "age,sex\n1,f\n", "ends in nothing"),
    ],
)
def test_files_that_are_refused(name: str, content: str | bytes, said: str, tmp_path: Path) -> None:
    path = written(tmp_path / name, content)
    table = path.suffix in (".csv", ".parquet")
    with pytest.raises(FairgearError) as error:
        read_graph(path, TableColumns(sensitive="sex", similarity=0.5 if table else None))
    assert said in str(error.value)
    assert str(path) in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("e.csv", "", "an empty file"),
        ("e.csv", "# nothing\n", "comments and no edges"),
        ("e.csv", "0,1\n1,2,3\n", "3 cells in line 2"),
        ("e.csv", "0\n1\n", "1 columns"),
        ("e.json", "{}", "ends in .json"),
        ("e.parquet", "0,1\n", "no table in Parquet"),
    ],
)
def test_edge_lists_that_are_refused(name: str, content: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(FairgearError) as error:
        read(tmp_path, HEADER + rows(list(range(6))), content, name)
    assert said in str(error.value)


def test_missing_files_folders_and_edges_beside_a_graph(tmp_path: Path) -> None:
    columns = TableColumns(sensitive="sex", similarity=0.5)
    with pytest.raises(FairgearError, match="no such file"):
        read_graph(tmp_path / "no.csv", columns)
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(FairgearError, match="a folder"):
        read_graph(tmp_path / "folder.csv", columns)
    with pytest.raises(FairgearError, match="edges of its own"):
        read_graph("p.graphml", TableColumns(sensitive="sex"), "e.csv")


class Evil:
    """Unpickling it would write a file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return (os.mkdir, (str(self.path),))


def test_a_pickle_that_does_more_than_hold_data_is_refused(tmp_path: Path) -> None:
    data = pyg_data()
    data.extra = Evil(tmp_path / "evil")
    columns = TableColumns(label="y", sensitive="sex")
    torch.save(data, tmp_path / "inside.pt")
    torch.save(Evil(tmp_path / "evil"), tmp_path / "whole.pt")
    (tmp_path / "plain.pt").write_bytes(pickle.dumps(Evil(tmp_path / "evil")))
    torch.save([1, 2], tmp_path / "list.pt")
    torch.save({"x": data.x, 3: 4}, tmp_path / "dict.pt")
    for path in sorted(tmp_path.glob("*.pt")):
        with pytest.raises(FairgearError):
            read_graph(path, columns)
    assert not (tmp_path / "evil").exists()


def test_graphml_without_networkx_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = written(tmp_path / "p.graphml", "<graphml/>")
    monkeypatch.setitem(sys.modules, "networkx", None)
    with pytest.raises(FairgearError, match=r"fairgear\[networkx\]"):
        read_graph(path, COLUMNS)


def saved(folder: Path, array: Any, name: str, **options: Any) -> Path:
    np.savetxt(folder / name, array, **options)
    return folder / name


@pytest.mark.parametrize("options", [{}, {"delimiter": ","}, {"fmt": "%d"}, {"header": "a b"}])
def test_edges_as_numpy_saves_them(options: dict[str, Any], tmp_path: Path) -> None:
    edges = saved(tmp_path, np.array([[10, 11], [12, 13]]), "e.txt", **options)
    table = written(tmp_path / "p.csv", HEADER + rows([10, 11, 12, 13, 14, 15]))
    assert ends(read_graph(table, COLUMNS, edges)) == {frozenset((10, 11)), frozenset((12, 13))}


def test_saved_ids_that_were_rounded_are_refused(tmp_path: Path) -> None:
    edges = saved(tmp_path, np.array([LONG[:2]], dtype=np.float64), "e.txt")
    table = written(tmp_path / "p.csv", HEADER + rows(LONG))
    with pytest.raises(FairgearError, match="at or beyond 2"):
        read_graph(table, COLUMNS, edges)
    halves = saved(tmp_path, np.array([[0.5, 1]]), "h.txt")
    with pytest.raises(FairgearError, match=r"nobody's id, the first '5\.0"):
        read_graph(written(tmp_path / "p.csv", HEADER + rows([1, 2, 3])), COLUMNS, halves)
    # A name that happens to be a number.
    names = ["1e5", "2e5", "3e5", "10e4"]
    assert read(tmp_path, HEADER + rows(names), "1e5,10e4\n").node_names == tuple(names)


MATRIX = np.array([[30.5, 0, 1], [41, 1, 0], [52, 0, 1], [63, 1, 0]])


@pytest.mark.parametrize(
    ("options", "names"),
    [
        ({}, ["x0", "x1"]),
        ({"delimiter": ","}, ["x0", "x1"]),
        ({"fmt": "%d", "delimiter": "\t"}, ["x0", "x1"]),
        ({"header": "age sex ok"}, ["age", "sex"]),
        ({"header": "age,sex,ok", "delimiter": ","}, ["age", "sex"]),
        ({"header": "age sex ok", "comments": ""}, ["age", "sex"]),
    ],
)
def test_tables_as_numpy_saves_them(
    options: dict[str, Any],
    names: list[str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    matrix = np.ones((4, 1)) * MATRIX
    if "fmt" in options:
        matrix[0] = [1, 0, 1]
    path = saved(tmp_path, matrix, "p.txt", **options)
    label = "ok" if "sex" in names else "x2"
    graph = read_graph(path, TableColumns(label=label, sensitive=names[1], similarity=0.5))
    assert graph.feature_names == names
    assert graph.raw is not None
    assert graph.raw.tolist() == matrix[:, :2].tolist()
    assert graph.y.tolist() == [1, 0, 1, 0]
    said = capsys.readouterr().err
    assert ("the first line holds no names" in said) == (options.get("comments") is None)


def test_a_spreadsheet_without_names(tmp_path: Path) -> None:
    text = "".join(f"{age:.1f};{sex:.1f};{ok:.1f}\n".replace(".", ",") for age, sex, ok in MATRIX)
    path = written(tmp_path / "p.csv", text)
    graph = read_graph(path, TableColumns(label="x2", sensitive="x1", similarity=0.5))
    assert graph.raw is not None
    assert graph.raw.tolist() == MATRIX[:, :2].tolist()


def test_whole_numbers_as_names_of_columns_stay_names(tmp_path: Path) -> None:
    table = pd.DataFrame(MATRIX)
    table.to_csv(tmp_path / "p.csv", index=False)
    columns = TableColumns(label="2", sensitive="1", similarity=0.5)
    assert read_graph(tmp_path / "p.csv", columns).feature_names == ["0", "1"]


LINES = ["id,age,sex,ok", "a,20,f,0", "b,21,m,0", "c,22,f,1", "d,23,m,1"]
PLAIN = "\n".join(LINES) + "\n"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (PLAIN.replace("\n", ",\n"), "left out separators at the end of 5 lines"),
        (PLAIN.replace("\n", ",,\n"), "left out separators at the end of 5 lines"),
        ("\n".join([LINES[0], *(f"{x}," for x in LINES[1:])]), "at the end of 4 lines"),
        ("\n".join([*LINES[:3], *(f"{x},," for x in LINES[3:])]), "at the end of 2 lines"),
        (f"# by hand\n# in May\n{PLAIN}", "skipped 2 lines that begin with #"),
        (PLAIN.replace("b,21", "# from here on: new\nb,21"), "skipped 1 lines that begin with #"),
        (PLAIN.replace(",", "\t"), ""),
        (PLAIN.replace(",", ";"), ""),
        (PLAIN.replace(",", "  "), ""),
        ("\ufeff" + PLAIN, ""),
        (PLAIN.replace("\n", "\r\n"), ""),
        (PLAIN.encode("utf-16"), ""),
        (PLAIN.replace(",", "\t").encode("utf-16"), ""),
        (PLAIN.replace("a,20", '"a",20').replace("b,21", '"b","21"'), ""),
    ],
)
def test_one_table_however_it_was_written(
    text: str | bytes, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    read_graph(written(tmp_path / "p.csv", PLAIN), replace(COLUMNS, similarity=0.5))
    usual = capsys.readouterr().err
    graph = read_graph(written(tmp_path / "p.csv", text), replace(COLUMNS, similarity=0.5))
    assert graph.node_names == ("a", "b", "c", "d")
    assert graph.feature_names == ["age", "sex"]
    assert graph.raw is not None
    assert graph.raw[:, 0].tolist() == [20, 21, 22, 23]
    assert graph.y.tolist() == [0, 0, 1, 1]
    more = [line for line in capsys.readouterr().err.splitlines() if line not in usual]
    assert [said in line for line in more] == ([True] if said else [])


def test_names_and_ids_with_a_hash_are_no_comments(tmp_path: Path) -> None:
    text = PLAIN.replace("id,age", "#id,age").replace("b,21", "#b,21")
    path = written(tmp_path / "p.csv", text)
    graph = read_graph(path, TableColumns(id="#id", label="ok", sensitive="sex", similarity=0.5))
    assert graph.node_names == ("a", "#b", "c", "d")
    quoted = PLAIN.replace("id,age", "note,age").replace("b,21", '"b\n# no comment\nb",21')
    path = written(tmp_path / "p.csv", quoted)
    graph = read_graph(path, TableColumns(id="note", label="ok", sensitive="sex", similarity=0.5))
    assert graph.node_names[1] == "b\n# no comment\nb"


def test_the_last_cells_may_be_empty(tmp_path: Path) -> None:
    text = "age,sex,ok\n20,f,\n21,m,1\n22,f,0\n23,m,\n"
    graph = read_graph(written(tmp_path / "p.csv", text), replace(COLUMNS, similarity=0.5))
    assert graph.y.tolist() == [-1, 1, 0, -1]


@pytest.mark.parametrize(
    ("edges", "said"),
    [
        ("a,b,\nc,d,\n", "edges: left out separators at the end of 2 lines"),
        ("source,target\na,b,\nc,d,\n", "edges: left out separators at the end of 2 lines"),
        ("# one\n# two\na,b\nc,d\n", "edges: skipped 2 lines of comments"),
        ("\ufeffa,b\nc,d\n", ""),
        ("a\tb\nc\td\n", ""),
        ("a;b;0,5\nc;d;0,7\n", "edges: only the first two columns are read"),
        ("a,b\na,b\nc,c\nc,d\n", "edges: dropped 1 self-loops and 1 repeats"),
    ],
)
def test_one_edge_list_however_it_was_written(
    edges: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    graph = read(tmp_path, HEADER + rows(list("abcdef")), edges)
    assert ends(graph) == {frozenset((0, 1)), frozenset((2, 3))}
    lines = [line for line in capsys.readouterr().err.splitlines() if "edges:" in line]
    lines = [line for line in lines if "names the columns" not in line]
    assert [said in line for line in lines] == ([True] if said else [])
