"""Anything in: a result, or a `FairgearError` of one line."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st

from fairgear.auditing.conditions import Condition
from fairgear.causal import Diagram
from fairgear.decoding import from_json
from fairgear.documents import json_of, yaml_of
from fairgear.errors import FairgearError
from fairgear.graph import TableColumns
from fairgear.graph.read_graph import read_graph
from fairgear.graph.tables.encoding import Encoding
from fairgear.runs.config import RunConfig
from fairgear.runs.overrides import parse_overrides
from tests.hostile import inputs

COLUMNS = TableColumns("sex", label="label", similarity=0.5)
FEW = settings(max_examples=60, derandomize=True)
# Text with what YAML, settings and tables are made of.
_PIECES = st.sampled_from(
    ["a", "sex", "label", "0", "1", "-", "=", ".", ",", ";", "\t", "\n", " ", '"', "'", "#", "&a",
     "*a", "!!int", "? ", ": ", "[", "]", "{", "}", "|", ">", "%", "1e400", "0x", "~", "\x1b[1m",
     "\u202e", "\0", "\ud800", "->", "digraph", "generator", "steps", "delta_cf", "<", "low"]
)  # fmt: skip
TEXTS = st.one_of(st.text(max_size=40), st.lists(_PIECES, max_size=25).map("".join))
PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=8,
)


def answers(read: Callable[[], Any], kind: type[Exception] = FairgearError) -> None:
    """A result, or one line."""
    said = "a result"
    try:
        read()
    except kind as error:
        said = str(error)
    assert said
    assert not inputs.STEERING.search(said if kind is FairgearError else "")


@FEW
@given(TEXTS)
def test_settings(text: str) -> None:
    def read() -> None:
        values = parse_overrides(text.split(","), "--set")
        RunConfig.from_dict({"method": "gear-paper", "settings": values}).completed()

    answers(read)


@FEW
@given(st.dictionaries(st.sampled_from(["seed", "data", "settings", "split", "x"]), PLAIN))
def test_values_of_settings(values: dict[str, Any]) -> None:
    answers(lambda: RunConfig.from_dict(values).completed())


@FEW
@given(TEXTS)
@example("a: &a [1]\nb: *a")
def test_yaml_and_json(text: str) -> None:
    answers(lambda: yaml_of(text), ValueError)
    answers(lambda: json_of(text), ValueError)


@FEW
@given(TEXTS)
def test_conditions(text: str) -> None:
    answers(lambda: Condition.parse(text))


@FEW
@given(TEXTS)
def test_diagrams(text: str) -> None:
    for read in (Diagram.from_yaml, Diagram.from_dot, Diagram.from_gml):
        answers(lambda read=read: read(text))  # type: ignore[misc]


@FEW
@given(st.binary(max_size=200) | TEXTS.map(lambda text: text.encode("utf-8", "surrogatepass")),
       st.sampled_from([".csv", ".tsv", ".txt", ".parquet", ".pt", ".graphml"]))  # fmt: skip
@example(b"sex,label,a\n0,1,2\n1,0,3\n", ".csv")
def test_tables(content: bytes, ending: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, f"p{ending}")
        path.write_bytes(content)
        answers(lambda: read_graph(path, COLUMNS))


@FEW
@given(st.binary(max_size=200) | TEXTS.map(lambda text: text.encode("utf-8", "surrogatepass")),
       st.sampled_from([".csv", ".tsv", ".edges", ".parquet"]))  # fmt: skip
@example(b"0,1\n2,3\n", ".csv")
def test_edge_lists(content: bytes, ending: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        people, edges = Path(folder, "p.csv"), Path(folder, f"e{ending}")
        inputs.table().to_csv(people, index=False)
        edges.write_bytes(content)
        answers(lambda: read_graph(people, TableColumns("sex", label="label"), edges))


@FEW
@given(st.dictionaries(st.sampled_from(["columns", "sensitive", "groups", "low", "high"]), PLAIN))
def test_types(values: dict[str, Any]) -> None:
    answers(lambda: from_json(Encoding, values), ValueError)
