"""Every reader answers a hostile input with a result, or an error of one line."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fairgear.causal import Diagram
from fairgear.cli import main
from fairgear.datasets.source import FileOptions, GraphSource
from fairgear.documents import json_of, yaml_of
from fairgear.errors import FairgearError
from fairgear.graph import TableColumns, open_stored
from fairgear.graph.read_graph import read_graph
from fairgear.graph.stored.files import edge_chunks, most_edges, open_features
from fairgear.graph.tables import Encoding
from fairgear.methods import load_model
from fairgear.runs.config import RunConfig, read_yaml
from fairgear.runs.overrides import parse_overrides
from fairgear.studies.records import Records
from tests.hostile import inputs

COLUMNS = TableColumns("sex", label="label", similarity=0.5)


def refused(read: Callable[[], Any]) -> str:
    """The line with which `read` refuses."""
    with pytest.raises(FairgearError) as caught:
        read()
    line = str(caught.value)
    assert not inputs.STEERING.search(line), "one line, and nothing that steers a terminal"
    assert "Next: " in line
    assert len(line) < 3000
    return line


@pytest.mark.parametrize("name", inputs.YAML_TEXTS)
def test_settings_files(name: str, tmp_path: Path) -> None:
    path = tmp_path / "settings.yaml"
    path.write_text(inputs.YAML_TEXTS[name])
    refused(lambda: RunConfig.from_dict(read_yaml(path)).completed())


@pytest.mark.parametrize("text", inputs.SETTINGS, ids=range(len(inputs.SETTINGS)))
def test_settings_that_are_typed(text: str) -> None:
    def read() -> None:
        settings = parse_overrides(text.split(","), "--set")
        RunConfig.from_dict({"method": "gear-paper", "settings": settings}).completed()

    refused(read)


@pytest.mark.parametrize("name", inputs.YAML_VALUES)
def test_values_that_are_no_plain_yaml(name: str) -> None:
    with pytest.raises(ValueError, match=r"\S"):
        yaml_of(inputs.YAML_VALUES[name])


@pytest.mark.parametrize("name", inputs.TABLES)
def test_tables_and_graphs(name: str, tmp_path: Path) -> None:
    ending, content = inputs.TABLES[name]
    path = tmp_path / f"people{ending}"
    path.write_bytes(content())
    # Comments and a long cell are fine; the table is then read as any other.
    if name in ("a million lines of comments", "deep JSON in a cell", "5,000 digits"):
        read_graph(path, COLUMNS)
    else:
        refused(lambda: read_graph(path, COLUMNS))


def test_a_check_up_looks_at_no_text_that_is_none(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "p.parquet"
    path.write_bytes(inputs.TABLES["text that is no UTF-8"][1]())
    assert main(["data", str(path), "--label", "label", "--sensitive", "sex"]) == 2
    assert "damaged" in capsys.readouterr().out


@pytest.mark.parametrize("name", inputs.PT_FILES)
def test_pyg_files(name: str, tmp_path: Path) -> None:
    path = tmp_path / "people.pt"
    inputs.PT_FILES[name](path)
    source = GraphSource(str(path), FileOptions(label="y", sensitive="sex"))
    if name in ("numbers as names", "fields of the storage"):
        source.load(split=False)
    else:
        refused(lambda: source.with_default_split().load())


@pytest.mark.parametrize("name", inputs.EDGE_LISTS)
def test_edge_lists(name: str, tmp_path: Path) -> None:
    people, edges, out = (tmp_path / name for name in ("p.csv", "e.csv", "out"))
    inputs.table().to_csv(people, index=False)
    edges.write_bytes(inputs.EDGE_LISTS[name])
    columns = TableColumns("sex", label="label")
    refused(lambda: read_graph(people, columns, edges))
    assert (
        main(
            [
                "run",
                str(people),
                "--label",
                "label",
                "--sensitive",
                "sex",
                "--edges",
                str(edges),
                "--out",
                str(out),
            ]
        )
        == 2
    )
    assert not out.exists()


@pytest.mark.parametrize("name", inputs.DIAGRAMS)
def test_diagrams(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_text(inputs.DIAGRAMS[name])
    refused(lambda: Diagram.read(path))


@pytest.mark.parametrize("name", inputs.JSON_TEXTS)
def test_json(name: str, tmp_path: Path) -> None:
    content = inputs.JSON_TEXTS[name].encode("utf-8", "surrogateescape")
    for file in ("model.json", "encoding.json", "meta.json"):
        (tmp_path / file).write_bytes(content)
    refused(lambda: load_model(tmp_path))
    refused(lambda: Encoding.of_folder(tmp_path))
    refused(lambda: open_stored(tmp_path))


def test_depth_and_constants_of_json() -> None:
    assert json_of("[" * 40 + "]" * 40)
    for text in ("[" * 41 + "]" * 41, '{"a":' * 41 + "1" + "}" * 41, "Infinity"):
        with pytest.raises(ValueError, match=r"inside each other|no number"):
            json_of(text)


@pytest.mark.parametrize("kind", ["folder", "pipe", "zero", "loop", "long", "NUL"])
def test_what_is_no_regular_file(kind: str, tmp_path: Path) -> None:
    readers: dict[str, Callable[[Path], Any]] = {
        ".csv": lambda path: read_graph(path, COLUMNS),
        ".parquet": lambda path: read_graph(path, COLUMNS),
        ".pt": lambda path: read_graph(path, COLUMNS),
        ".graphml": lambda path: read_graph(path, COLUMNS),
        ".yaml": read_yaml,
        ".dot": Diagram.read,
    }
    for suffix, read in readers.items():
        folder = tmp_path / suffix[1:]
        folder.mkdir()
        path = inputs.no_files(folder, suffix)[kind]
        refused(lambda read=read, path=path: read(path))  # type: ignore[misc]
    path = inputs.no_files(tmp_path, ".csv")[kind]
    options = FileOptions(label="label", sensitive="sex", similarity=0.5)
    refused(lambda: GraphSource(str(path), options).checked())
    assert GraphSource(str(path), options).column_names() is None
    if kind in ("folder", "pipe", "zero"):
        refused(lambda: Records(path))


@pytest.mark.parametrize("kind", ["folder", "pipe", "zero", "loop", "long", "NUL"])
def test_graphs_on_disk_are_built_from_regular_files(kind: str, tmp_path: Path) -> None:
    for suffix in (".parquet", ".npy", ".csv"):
        folder = tmp_path / suffix[1:]
        folder.mkdir()
        path = inputs.no_files(folder, suffix)[kind]
        refused(lambda path=path: next(edge_chunks(path, 10)))  # type: ignore[misc]
        refused(lambda path=path: most_edges(path))  # type: ignore[misc]
        if suffix != ".csv":
            refused(lambda path=path: open_features(path))  # type: ignore[misc]


def test_what_does_not_fit_into_memory_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def load(self: GraphSource, **given: Any) -> None:
        raise MemoryError

    monkeypatch.setattr(GraphSource, "checked", load)
    assert main(["run", "people.csv"]) == 1
    assert capsys.readouterr().err.count("\n") == 1


def test_files_that_are_read_as_a_whole_fit_into_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fairgear.reading.memory", lambda: 4 * 2**20)
    path = tmp_path / "p.csv"
    with path.open("wb") as file:
        file.truncate(2**40)
    assert "bytes" in refused(lambda: read_graph(path, COLUMNS))


def test_columns_with_escapes_are_shown_written_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "p.csv"
    names = {"c0": f"{inputs.ESCAPE}income", "c1": f"{inputs.TURNED}debt"}
    inputs.table().rename(columns=names).to_csv(path, index=False)
    rest = ["--sensitive", "sex", "--similarity", "0.5"]
    for command in ("data", "run"):
        assert main([command, str(path), "--label", f"{inputs.ESCAPE}x", *rest]) == 2
        shown = capsys.readouterr()
        assert not inputs.STEERING.search((shown.out + shown.err).replace("\n", ""))
    main(["data", str(path), "--label", "label", *rest])
    table = capsys.readouterr().out
    assert "‹U+001B›" in table
    assert "‹U+202E›" in table
    assert not inputs.STEERING.search(table.replace("\n", ""))
