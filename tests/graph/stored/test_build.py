"""A graph that was built out of core is the graph that would have been built in memory."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from fairgear.errors import FairgearError, ParameterError
from fairgear.files import PARTIAL
from fairgear.graph import TableColumns, build_stored, from_tables, open_stored, undirected_edges
from fairgear.graph.stored import build
from fairgear.graph.stored.build import LEAST
from fairgear.progress import quiet
from tests.graph.people import people, rows_of_friends

COLUMNS = TableColumns(sensitive="s", label="y")


def table(n: int) -> pd.DataFrame:
    rng = np.random.default_rng(n)
    return pd.DataFrame(
        {"a": rng.normal(size=n), "s": np.arange(n) % 2, "y": np.arange(n) // 2 % 2}
    )


def write_edges(pairs: np.ndarray[Any, Any], folder: Path, kind: str) -> Path:
    """Pairs (m, 2) in a file of that kind."""
    path = folder / f"edges.{kind.split('-')[0]}"
    frame = pd.DataFrame(pairs, columns=["source", "target"])
    if kind == "parquet":
        frame.to_parquet(path, row_group_size=3)
    elif kind == "npy":
        np.save(path, pairs)
    elif kind == "npy-across":
        np.save(path, pairs.T.astype(np.int32))
    elif kind == "csv":
        frame.to_csv(path, index=False)
    elif kind == "tsv":
        frame.assign(weight=0.5).to_csv(path, index=False, header=False, sep="\t")
    else:
        lines = "".join(f"{a} {b}\n" for a, b in pairs)
        path.write_text(f"# a comment\n% another\n{lines}")
    return path


KINDS = ("parquet", "npy", "npy-across", "csv", "tsv", "txt")


@settings(max_examples=60)
@given(data=st.data(), n=st.integers(3, 12), kind=st.sampled_from(KINDS))
def test_edges_are_those_of_undirected_edges(
    data: st.DataObject, n: int, kind: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    node = st.integers(0, n - 1)
    # Neither two edges, which as an array could be read either way, nor none, which is no text.
    listed = data.draw(st.lists(st.tuples(node, node), min_size=3, max_size=30))
    folder = tmp_path_factory.mktemp("build")
    edges = write_edges(np.array(listed), folder, kind)
    table(n).to_parquet(folder / "people.parquet")
    with pytest.MonkeyPatch.context() as patch, quiet():
        # A few edges at a time, and fewer in a range: many ranges, divided again.
        patch.setattr("fairgear.graph.stored.build._PER_EDGE", LEAST // 4)
        patch.setattr("fairgear.graph.stored.build._PER_KEY", LEAST // 3)
        build_stored(folder / "g", edges, folder / "people.parquet", COLUMNS, memory=LEAST)
    graph = open_stored(folder / "g", verify=True)
    expected = undirected_edges(torch.tensor(listed).T, n)
    assert torch.equal(graph.edge_index, expected)
    indptr, indices = graph.canonical.csr
    assert np.array_equal(np.diff(indptr), np.bincount(expected[0].numpy(), minlength=n))
    assert np.array_equal(indices, expected[1].numpy())
    assert not list(folder.glob(f".*{PARTIAL}"))


@pytest.mark.parametrize("gaps", [False, True])
@pytest.mark.parametrize("cell", [96, LEAST // 16])
def test_people_are_coded_as_a_table_in_memory_is(tmp_path: Path, gaps: bool, cell: int) -> None:
    frame = people().drop(columns="id").assign(postcode=np.arange(400) % 7, same="x")
    if gaps:
        frame.loc[3:9, "age"] = np.nan
        frame.loc[5, "job"] = None
        frame.loc[:40, "approved"] = None
    frame.to_parquet(tmp_path / "people.parquet", row_group_size=150)
    np.save(tmp_path / "edges.npy", rows_of_friends())
    options: dict[str, Any] = {
        "sensitive": "sex",
        "label": "approved",
        "positive": "no",
        "drop": ["owner"],
        "categorical": ["postcode"],
        "missing": "impute" if gaps else "refuse",
        "name": "people",
    }
    files = (tmp_path / "edges.npy", tmp_path / "people.parquet")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("fairgear.graph.stored.build._PER_CELL", cell)
        build_stored(tmp_path / "g", *files, TableColumns(**options), memory=LEAST)
    graph = open_stored(tmp_path / "g", verify=True)
    edges = pd.DataFrame(rows_of_friends().T)
    expected = from_tables(frame, edges, **options)
    assert graph.fingerprint() == expected.fingerprint()
    for key in ("feature_names", "sens_column", "label_names", "sens_names", "name"):
        assert graph[key] == expected[key], key
    assert asdict(graph.encoding) == asdict(expected.encoding)


def test_other_people_are_coded_as_those_of_a_training(tmp_path: Path) -> None:
    first, second = people().drop(columns="id")[:200], people().drop(columns="id")[200:]
    options: dict[str, Any] = {"sensitive": "sex", "label": "approved"}
    nobody = pd.DataFrame({"a": [0], "b": [1]})
    trained = from_tables(first, nobody, **options)
    second.to_parquet(tmp_path / "p.parquet")
    nobody.to_parquet(tmp_path / "e.parquet")
    files = (tmp_path / "e.parquet", tmp_path / "p.parquet")
    build_stored(tmp_path / "g", *files, TableColumns(**options), encoding=trained.encoding)
    graph = open_stored(tmp_path / "g")
    age = (second.age.to_numpy() - first.age.min()) / (first.age.max() - first.age.min())
    assert graph.x[:, 0].numpy() == pytest.approx(2 * age - 1, abs=1e-6)
    assert asdict(graph.encoding) == asdict(trained.encoding)


def test_ids_may_be_any_whole_numbers(tmp_path: Path) -> None:
    ids = np.array([2**60, 5, -3, 70])
    table(4).assign(id=ids).to_parquet(tmp_path / "p.parquet")
    np.save(tmp_path / "e.npy", np.array([[5, 70], [-3, 2**60], [70, 5]]))
    build_stored(tmp_path / "g", tmp_path / "e.npy", tmp_path / "p.parquet", COLUMNS)
    graph = open_stored(tmp_path / "g")
    assert graph.node_id.tolist() == ids.tolist()
    assert graph.edge_index.tolist() == [[0, 1, 2, 3], [2, 3, 0, 1]]
    assert graph.feature_names == ["a", "s"]


def test_a_matrix_with_vectors_beside_it(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(20, 3)).astype(np.float32)
    np.save(tmp_path / "x.npy", x)
    np.save(tmp_path / "group.npy", np.array(["b", "a"] * 10))
    np.save(tmp_path / "label.npy", np.arange(20) % 2 == 0)
    np.save(tmp_path / "e.npy", rng.integers(0, 20, (2, 30)))
    columns = TableColumns(
        sensitive=str(tmp_path / "group.npy"), label=str(tmp_path / "label.npy"), name="m"
    )
    build_stored(tmp_path / "g", tmp_path / "e.npy", tmp_path / "x.npy", columns)
    graph = open_stored(tmp_path / "g")
    frame = pd.DataFrame(x, columns=["x0", "x1", "x2"])
    frame = frame.assign(group=["b", "a"] * 10, label=np.arange(20) % 2 == 0)
    edges = pd.DataFrame(np.load(tmp_path / "e.npy").T)
    expected = from_tables(frame, edges, sensitive="group", label="label")
    assert graph.feature_names == ["x0", "x1", "x2", "group"]
    assert graph.fingerprint() == expected.fingerprint()


def _text(name: str, content: str) -> Callable[[Path], None]:
    def write(folder: Path) -> None:
        (folder / name).write_text(content)

    return write


def _damaged(name: str) -> Callable[[Path], None]:
    """A Parquet file whose ends are whole and whose pages are not."""

    def write(folder: Path) -> None:
        path = folder / name
        table(6).assign(a=range(6))[["a", "s", "y"]].to_parquet(path)
        held = path.read_bytes()
        path.write_bytes(held[:4] + b"\xff" * 60 + held[64:])

    return write


def _edges(pairs: Any) -> Callable[[Path], None]:
    return lambda folder: np.save(folder / "e.npy", np.array(pairs))


def _people(**columns: Any) -> Callable[[Path], None]:
    return lambda folder: table(6).assign(**columns).to_parquet(folder / "p.parquet")


BROKEN: list[tuple[Callable[[Path], None], dict[str, Any], str]] = [
    (_edges([[0, 1], [2, 6], [1, 2]]), {}, "the end 6 of edge 2, which is nobody; allowed: 0 to 5"),
    (_edges([[0, 1], [-1, 3], [1, 2]]), {}, "the end -1 of edge 2"),
    (_edges([[0, 1], [2, 3]]), {}, "cannot be told apart"),
    (_edges([0, 1, 2]), {}, r"shape \(3,\)"),
    (_edges([[0.0, 1], [1, 2], [2, 3]]), {}, "float64; allowed: whole numbers"),
    (_text("e.npy", "no array"), {}, "no array in NPY"),
    (lambda folder: (folder / "e.npy").unlink(), {}, "no such file"),
    (_text("e.csv", "a,b\n0,1\n2,x\n"), {"edges": "e.csv"}, "a line that is no edge"),
    (_text("e.csv", "0,1\n2\n"), {"edges": "e.csv"}, "a line that is no edge"),
    (_text("e.csv", "0,1\n2,\n"), {"edges": "e.csv"}, "one end only"),
    (_text("e.csv", "a\n1\n"), {"edges": "e.csv"}, "1 column"),
    (_text("e.csv", "# nothing\n\n"), {"edges": "e.csv"}, "no edges"),
    (_text("e.parquet", "no table"), {"edges": "e.parquet"}, "no table in Parquet"),
    (_damaged("e.parquet"), {"edges": "e.parquet"}, r"e\.parquet: got no table .* damaged one"),
    (_text("e.doc", "0 1"), {"edges": "e.doc"}, "ends in .doc"),
    (_people(a=[1, 2, np.nan, 4, 5, 6]), {}, r"missing values: got a \(1\)"),
    (_people(a=[1, 2, np.inf, 4, 5, 6]), {}, "infinite"),
    (_people(s=[0, 1, None, 0, 1, 0]), {}, "5 of 6 people with a value; allowed: 30 or more"),
    (_people(), {"unknown": "drop"}, "--unknown: got 'drop'; allowed: keep: rows keep their"),
    (_people(), {"sensitive_kind": {"t": "binary"}}, "--sensitive-kind: got 't', which is no"),
    (_people(id=[1, 2, 3, 4, 5, 5]), {}, "1 repeated ids, the first 5"),
    (_people(id=list("abcdef")), {}, "allowed: a whole number in every row"),
    (
        _people(id=[10, 11, 12, 13, 14, 15]),
        {},
        "the end 0 of edge 1, which is nobody; allowed: ids",
    ),
    (_people(), {"sensitive": "sx"}, "did you mean"),
    (_people(), {"missing": "drop"}, "refuse or impute"),
    (lambda folder: table(6)[:0].to_parquet(folder / "p.parquet"), {}, "no rows"),
    (_text("p.parquet", "no table"), {}, "no table in Parquet"),
    (_damaged("p.parquet"), {}, r"p\.parquet: got no table .* damaged one"),
    (lambda folder: (folder / "p.parquet").unlink(), {}, "no such file"),
    (_text("p.csv", "a,s,y\n"), {"features": "p.csv"}, "ends in .csv"),
    (lambda folder: table(6)[["s", "y"]].to_parquet(folder / "p.parquet"), {}, "no column besides"),
]


@pytest.mark.parametrize(("spoil", "options", "said"), BROKEN)
def test_what_is_wrong_is_said_in_one_line_and_nothing_is_left(
    spoil: Callable[[Path], None], options: dict[str, Any], said: str, tmp_path: Path
) -> None:
    _people()(tmp_path)
    _edges([[0, 1], [1, 2], [2, 3]])(tmp_path)
    spoil(tmp_path)
    options = dict(options)
    files = (
        tmp_path / options.pop("edges", "e.npy"),
        tmp_path / options.pop("features", "p.parquet"),
    )
    columns = TableColumns(**{"sensitive": "s", "label": "y", **options})
    before = {path.name for path in tmp_path.iterdir()}
    with pytest.raises(FairgearError, match=said) as caught:
        build_stored(tmp_path / "g", *files, columns)
    assert "\n" not in str(caught.value)
    assert {path.name for path in tmp_path.iterdir()} == before


def test_lengths_and_names_beside_a_matrix_are_checked(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.zeros((4, 2)))
    np.save(tmp_path / "e.npy", np.zeros((2, 3), np.int64))
    np.save(tmp_path / "s.npy", np.array([0, 1, 0]))
    np.save(tmp_path / "x0.npy", np.array([0, 1, 0, 1]))
    for vector, said in (("s.npy", "3 values; allowed: 4"), ("x0.npy", "'x0' more than once")):
        columns = TableColumns(sensitive=str(tmp_path / vector))
        with pytest.raises(FairgearError, match=said):
            build_stored(tmp_path / "g", tmp_path / "e.npy", tmp_path / "x.npy", columns)


def test_a_folder_in_use_is_not_touched_and_memory_has_a_least(tmp_path: Path) -> None:
    _people()(tmp_path)
    _edges([[0, 1], [1, 2], [2, 3]])(tmp_path)
    files = (tmp_path / "e.npy", tmp_path / "p.parquet")
    with pytest.raises(FairgearError, match="a folder with files in it"):
        build_stored(tmp_path, *files, COLUMNS)
    with pytest.raises(ParameterError, match="memory"):
        build_stored(tmp_path / "g", *files, COLUMNS, memory=1)
    (tmp_path / "g").mkdir()
    build_stored(tmp_path / "g", *files, COLUMNS)
    assert open_stored(tmp_path / "g").num_undirected_edges == 3


def _killed(*_: object, **__: object) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def test_a_killed_build_leaves_nothing_that_looks_finished(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _people()(tmp_path)
    _edges([[0, 1], [1, 2], [2, 3]])(tmp_path)
    child = os.fork()
    if child == 0:
        monkeypatch.setattr(build, "write_meta", _killed)
        build_stored(tmp_path / "g", tmp_path / "e.npy", tmp_path / "p.parquet", COLUMNS)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    assert os.WTERMSIG(status) == signal.SIGKILL
    assert not (tmp_path / "g").exists()
    (partial,) = tmp_path.glob(f".g.*{PARTIAL}")
    assert (partial / "edge_index.npy").exists()
    with pytest.raises(FairgearError, match=r"no meta\.json"):
        open_stored(partial)
