"""When links came to be, from lists of edges."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from fairgear import SensitiveGraph
from fairgear.errors import FairgearError
from fairgear.graph import TableColumns, read_graph
from fairgear.links import edge_times, split_links

PEOPLE: dict[str, list[str] | list[int]] = {
    "id": ["ann", "bob", "cid", "dee"],
    "sex": ["f", "m", "m", "f"],
    "age": [3, 4, 5, 6],
}
MET = {
    "from": ["dee", "ann", "bob", "cid", "ann"],
    "to": ["ann", "bob", "ann", "bob", "ann"],
    "hours": [1, 2, 2, 3, 9],
    "when": [40, 30, 20, 10, 0],
}


def written(folder: Path, met: pd.DataFrame, ending: str = "csv", **columns: object) -> Path:
    pd.DataFrame(PEOPLE).to_csv(folder / "people.csv", index=False)
    path = folder / f"met.{ending}"
    met.to_parquet(path) if ending == "parquet" else met.to_csv(path, index=False)
    return path


def graph_of(folder: Path, path: Path, **columns: bool) -> SensitiveGraph:
    told = TableColumns(sensitive="sex", id="id", **columns)  # type: ignore[arg-type]
    return read_graph(folder / "people.csv", told, edges=path)


def by_name(graph: SensitiveGraph, path: Path, column: str = "when") -> dict[str, float]:
    names = list(PEOPLE["id"])
    found = edge_times(path, column, graph).tolist()
    edges = graph.edge_index.T.tolist()
    return {f"{names[i]} {names[j]}": time for (i, j), time in zip(edges, found, strict=True)}


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_each_edge_has_the_first_time_it_is_listed(tmp_path: Path, ending: str) -> None:
    path = written(tmp_path, pd.DataFrame(MET), ending)
    both = by_name(graph_of(tmp_path, path), path)
    expected = {"ann bob": 20, "ann dee": 40, "bob cid": 10}
    assert both == {**expected, "bob ann": 20, "dee ann": 40, "cid bob": 10}
    arcs = by_name(graph_of(tmp_path, path, directed=True), path)
    assert arcs == {"dee ann": 40, "ann bob": 30, "bob ann": 20, "cid bob": 10}


def test_dates_are_days(tmp_path: Path) -> None:
    days = ["1970-01-03", "1970-01-02T12:00:00", "1971-01-01", "1969-12-31", "1970-01-01"]
    path = written(tmp_path, pd.DataFrame({**MET, "when": days}))
    found = by_name(graph_of(tmp_path, path, directed=True), path)
    assert found == {"dee ann": 2, "ann bob": 1.5, "bob ann": 365, "cid bob": -1}
    moments = pd.to_datetime(pd.Series(days), format="ISO8601")
    path = written(tmp_path, pd.DataFrame({**MET, "when": moments}), "parquet")
    assert by_name(graph_of(tmp_path, path, directed=True), path) == found


def test_edges_of_people_who_were_left_out_have_no_time(tmp_path: Path) -> None:
    people = pd.DataFrame({**PEOPLE, "age": [3, None, 5, 6]})
    path = written(tmp_path, pd.DataFrame({**MET, "to": ["ann", "bob", "ann", "dee", "ann"]}))
    people.to_csv(tmp_path / "people.csv", index=False)
    columns = TableColumns(sensitive="sex", id="id", missing="drop")
    graph = read_graph(tmp_path / "people.csv", columns, edges=path)
    assert len(graph.x) == 3
    assert sorted(edge_times(path, "when", graph).tolist()) == [10, 10, 40, 40]


def test_ids_may_be_numbers_and_splits_follow_them(tmp_path: Path) -> None:
    n = 60
    pd.DataFrame({"id": range(100, 100 + n), "sex": ["f", "m"] * (n // 2), "age": range(n)}).to_csv(
        tmp_path / "people.csv", index=False
    )
    ring = pd.DataFrame({"a": range(100, 100 + n), "b": [*range(101, 100 + n), 100]})
    path = tmp_path / "met.csv"
    ring.assign(year=[1900 + 7 * i % n for i in range(n)]).to_csv(path, index=False)
    graph = read_graph(tmp_path / "people.csv", TableColumns(sensitive="sex", id="id"), edges=path)
    split = split_links(graph, times=edge_times(path, "year", graph))
    years = {frozenset((a, b)): year for a, b, year in pd.read_csv(path).itertuples(index=False)}
    links = graph.node_id[split.test.ends[:, split.test.linked.bool()]].T.tolist()
    assert sorted(years[frozenset(pair)] for pair in links) == list(range(1951, 1960))


@pytest.mark.parametrize(
    ("change", "column", "said"),
    [
        ({}, "year", "--time: got 'year', which is no column of the edge list"),
        ({}, "from", "allowed: 'hours', 'when'"),
        ({"when": ["soon"] * 5}, "when", "which has text such as 'soon'"),
        ({"when": [1, 2, None, 4, 5]}, "when", "1 unknown, the first of edge 3"),
    ],
)
def test_what_is_no_time_is_refused_in_one_line(
    tmp_path: Path, change: dict[str, list[object]], column: str, said: str
) -> None:
    path = written(tmp_path, pd.DataFrame({**MET, **change}))
    graph = graph_of(tmp_path, path)
    with pytest.raises(FairgearError) as error:
        edge_times(path, column, graph)
    assert said in str(error.value)
    assert "\n" not in str(error.value)


def test_another_list_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path, pd.DataFrame(MET))
    graph = graph_of(tmp_path, path)
    pd.DataFrame(MET).iloc[:2].to_csv(path, index=False)
    with pytest.raises(FairgearError, match="2 of 6 edges that it does not list"):
        edge_times(path, "when", graph)
