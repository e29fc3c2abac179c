"""What is fuzzed: functions of bytes that give a result, or refuse in one line."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr
from pathlib import Path
from typing import Any

from fairgear.auditing.conditions import Condition
from fairgear.causal import CausalModel, Diagram
from fairgear.datasets.source import FileOptions, GraphSource
from fairgear.documents import json_of, yaml_of
from fairgear.errors import FairgearError
from fairgear.graph import TableColumns, open_stored
from fairgear.graph.read_graph import read_graph
from fairgear.graph.tables import Encoding
from fairgear.methods import load_model
from fairgear.runs.config import RunConfig
from fairgear.runs.overrides import parse_overrides
from fairgear.tensor_files import read_tensors
from tests.hostile import inputs

CRASHES = Path(__file__).with_name("crashes")
_COLUMNS = TableColumns("sex", label="label", similarity=0.5)


def answers(content: bytes, read: Callable[[bytes], Any], kind: type[Exception]) -> None:
    """Raises what is neither a result nor an error of that kind in one line."""
    try:
        read(content)
    except kind as error:
        said = str(error)
        assert said, "an error without words"
        if isinstance(error, FairgearError):
            assert not inputs.STEERING.search(said), f"it steers the terminal: {said!r}"
            assert len(said) < 3000, "an error without end"


def _text(content: bytes) -> str:
    return content.decode("utf-8", "surrogateescape")


@contextmanager
def _file(name: str, content: bytes) -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder, open(os.devnull, "w") as nowhere:
        path = Path(folder, name)
        path.write_bytes(content)
        # Notes on how columns were read are no news here.
        with redirect_stderr(nowhere):
            yield path


def _table(name: str) -> Callable[[bytes], None]:
    def read(content: bytes) -> None:
        with _file(name, content) as path:
            read_graph(path, _COLUMNS)

    return read


def _edges(content: bytes) -> None:
    with _file("e.csv", content) as path:
        people = path.with_name("p.csv")
        inputs.table().to_csv(people, index=False)
        read_graph(people, TableColumns("sex", label="label"), path)


def _names(content: bytes) -> None:
    with _file("p.csv", content) as path:
        GraphSource(str(path), FileOptions(label="label", sensitive="sex")).column_names()


def _settings(content: bytes) -> None:
    values = parse_overrides(_text(content).split(","), "--set")
    RunConfig.from_dict({"method": "gear-paper", "settings": values}).completed()


def _run_file(content: bytes) -> None:
    try:
        held = yaml_of(content.decode("utf-8"))
    except ValueError:
        return
    if isinstance(held, dict):
        RunConfig.from_dict(held).completed()


def _diagram(ending: str) -> Callable[[bytes], None]:
    readers = {"yaml": Diagram.from_yaml, "dot": Diagram.from_dot, "gml": Diagram.from_gml}
    return lambda content: (readers[ending](_text(content)), None)[1]


def _folder(name: str, read: Callable[[Path], Any]) -> Callable[[bytes], None]:
    def of(content: bytes) -> None:
        with _file(name, content) as path:
            read(path.parent)

    return of


# By name: what reads the bytes, what it may raise, and bytes to begin with.
TARGETS: dict[str, tuple[Callable[[bytes], Any], type[Exception], tuple[bytes, ...]]] = {
    "yaml": (lambda c: yaml_of(_text(c)), ValueError, (b"a: [1, {b: 2.5}]\nc: &d x\ne: *d\n",)),
    "json": (json_of, ValueError, (b'{"a": [1, null, "x", -2.5e3], "b": {}}',)),
    "settings": (_settings, FairgearError, (b"steps=3,generator.steps=5", b"variant=np,lr=1e-3")),
    "run file": (_run_file, FairgearError, (b"dataset: synthetic\nseed: 3\ndata: {label: y}\n",)),
    "conditions": (lambda c: Condition.parse(_text(c)), FairgearError, (b"delta_cf.low > 0.05",)),
    "diagram": (_diagram("yaml"), FairgearError, (b"sensitive: sex\nparents: {a: [sex, b]}\n",)),
    "dot": (_diagram("dot"), FairgearError, (b'digraph g { sex -> {a "b c"} [w=1]; a -> y }',)),
    "gml": (
        _diagram("gml"),
        FairgearError,
        (b'graph [ directed 1 node [ id 0 label "a" ] edge [ source 0 target 0 ] ]',),
    ),
    "names": (_names, FairgearError, (b"sex,label,a\n0,1,2\n", "sex;é\n".encode("utf-16"))),
    "csv": (_table("p.csv"), FairgearError, (b"sex,label,a\n0,1,2\n1,0,3.5\n0,0,\n",)),
    "tsv": (_table("p.tsv"), FairgearError, (b"sex\tlabel\ta\n0\t1\t2\n1\t0\t3\n",)),
    "parquet": (_table("p.parquet"), FairgearError, (inputs._parquet(inputs.table()),)),
    "graphml": (_table("p.graphml"), FairgearError, (inputs._GRAPHML,)),
    "edges": (_edges, FairgearError, (b"0,1\n2,3\n", b"source target\n1 2\n")),
    "safetensors": (
        _folder("w.safetensors", lambda folder: read_tensors(folder / "w.safetensors")),
        FairgearError,
        (b'\x4b\0\0\0\0\0\0\0{"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}' + b"\0" * 40,),
    ),
    "causal model": (
        _folder("c.safetensors", lambda folder: CausalModel.load(folder / "c.safetensors")),
        FairgearError,
        (b"\x08\0\0\0\0\0\0\0{}      ",),
    ),
    "model": (
        _folder("model.json", load_model),
        FairgearError,
        (b'{"format": 4, "method": "gear", "version": "0.2", "settings": {"steps": 3}}',),
    ),
    "encoding": (
        _folder("encoding.json", Encoding.of_folder),
        FairgearError,
        (b'{"columns": [{"name": "a", "low": 0, "high": 1}], "sensitive": "sex"}',),
    ),
    "stored": (_folder("meta.json", open_stored), FairgearError, (b'{"kind": "x", "format": 1}',)),
}


def fuzzed(name: str) -> Callable[[bytes], None]:
    """The function of that name."""
    read, kind, _ = TARGETS[name]
    return lambda content: answers(content, read, kind)
