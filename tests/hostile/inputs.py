"""What a hostile user hands in: texts, files and folders, by what is wrong with them.

Every reader must answer each of them with a result or a `FairgearError` of one line.
"""

from __future__ import annotations

import io
import os
import re
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import torch
from pyarrow import parquet

ESCAPE = "\x1b]0;mine\x07\x1b[31m"
# Control characters, ends of lines, marks of direction, halves of characters.
STEERING = re.compile(r"[\x00-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
TURNED = "\u202egnp.exe\u2066"

_BOMB = "\n".join(
    ["a0: &a0 [1, 2]", *(f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]" for i in range(1, 12))]
)
# As a value in YAML: refused as such, or by the setting that gets it.
YAML_VALUES = {
    "timestamp tag": "!!timestamp x",
    "int tag": "!!int x",
    "float tag": "!!float x",
    "object tag": "!!python/object/apply:os.system [ls]",
    "own tag": "!x y",
    "binary": "!!binary x",
    "set": "!!set {a, b}",
    "5,000 digits": "9" * 5000,
    "5,000 hexadecimal digits": "0x" + "f" * 5000,
    "base 60": ":".join(["1"] + ["59"] * 3000),
    "an alias of itself": "&a [*a]",
    "an unknown alias": "*a",
    "deep list": "[" * 5000,
    "deep list, closed": "[" * 500 + "]" * 500,
    "deep mapping": "{a: " * 500 + "1" + "}" * 500,
    "whole-number keys": "{1: 2}",
    "a list as key": "{[1, 2]: 3}",
    "the same key twice": "{a: 1, a: 2}",
    "NUL": "a\0b",
    "unclosed": "[1, 2",
    "two documents": "1\n--- 2\n--- 3",
}
# Accepted as plain values, and then refused as settings.
YAML_ODD = {
    "date": "2020-01-01",
    "no such date": "2020-13-45",
    "long name": "a" * 300,
    "not a number": ".nan",
    "infinite": "-.inf",
    "escape": ESCAPE.replace("\x07", "").replace("\x1b", "\\e"),
}
YAML_TEXTS = {name: f"seed: {value}\n" for name, value in (YAML_VALUES | YAML_ODD).items()} | {
    "bomb": _BOMB,
    "a bomb in a list": f"seed: 1\nsettings:\n  {_BOMB.replace(chr(10), chr(10) + '  ')}",
    "merge": "base: &b {seed: 1}\n<<: *b",
    "nothing": "",
    "null": "~",
    "a list": "- 1",
    "long": "a: " + "x" * 2**21,
}
# As NAME=VALUE behind --set.
SETTINGS = [
    "",
    "=",
    "=1",
    "a",
    "a=",
    ".=1",
    "a..b=1",
    "steps=1e99999",
    "generator=1,generator.steps=5",
    "generator.steps.x=1",
    "generator=1",
    "a\0=1",
    "a" * 300 + "=1",
    ".".join(["a"] * 3000) + "=1",
    f"{ESCAPE}=1",
    *(f"steps={value}" for value in (YAML_VALUES | YAML_ODD).values()),
]
JSON_TEXTS = {
    "empty": "",
    "cut": '{"format": 4, "method"',
    "a list": "[]",
    "a number": "4",
    "text": '"format"',
    "null": "null",
    "not a number": '{"format": NaN}',
    "deep list": "[" * 100_000,
    "deep list, closed": "[" * 900 + "]" * 900,
    "deep mapping": '{"format": ' * 900 + "1" + "}" * 900,
    "5,000 digits": '{"format": ' + "9" * 5000 + "}",
    "no UTF-8": '{"format": "\udcff"}',
}


def table(rows: int = 12, columns: int = 2) -> pd.DataFrame:
    """People whom every reader takes: sex, label and numbers."""
    made: dict[str, Any] = {
        f"c{i}": [(r * (i + 3)) % 7 for r in range(rows)] for i in range(columns)
    }
    return pd.DataFrame(
        {"sex": [r % 2 for r in range(rows)], "label": [0, 0, 1] * (rows // 3)} | made
    )


def _csv(frame: pd.DataFrame) -> bytes:
    return frame.to_csv(index=False).encode()


def _wide(columns: int) -> bytes:
    names = ",".join(["sex", "label", *(f"c{i}" for i in range(columns))])
    return "\n".join([names, *(f"{r % 2},{r % 2}" + ",1" * columns for r in range(4))]).encode()


_GRAPHML = (
    b'<graphml xmlns="http://graphml.graphdrawing.org/xmlns"><key id="k" for="node" '
    b'attr.name="sex" attr.type="int"/><graph edgedefault="undirected"><node id="a">'
    b'<data key="k">1</data></node></graph></graphml>'
)
# By the ending of the file's name.
TABLES: Mapping[str, tuple[str, Callable[[], bytes]]] = {
    "60,000 columns": (".csv", lambda: _wide(60_000)),
    "a million columns": (".csv", lambda: b"a," * 1_000_000 + b"b\n1,2\n"),
    "a million lines of comments": (".csv", lambda: b"#\n" * 300_000 + _csv(table())),
    "quotes that do not close": (".csv", lambda: b'a,b\n"' + b"x" * 300_000),
    "no UTF-8": (".csv", lambda: b"a,b\n\xff\xfe,2\n"),
    "half of UTF-16": (".csv", lambda: "a,b\n1,2\n".encode("utf-16")[:-1]),
    "NUL": (".tsv", lambda: b"a\tb\n\0\t2\n"),
    "separators alone": (".csv", lambda: b"," * 5000),
    "newlines alone": (".txt", lambda: b"\n" * 100_000),
    "repeated names": (".csv", lambda: b"sex,sex,label\n1,2,3\n"),
    "5,000 digits": (".csv", lambda: b"sex,label,a\n" + b"9" * 5000 + b",1,2\n0,0,1\n"),
    "deep JSON in a cell": (".csv", lambda: b"sex,label,a\n1,0," + b"[" * 90_000 + b"\n0,1,1\n"),
    "cut Parquet": (".parquet", lambda: _parquet(table())[:-20]),
    "Parquet of nothing": (".parquet", lambda: b"PAR1" * 4),
    "60 million rows": (".parquet", lambda: _many_rows()),
    "broken pandas metadata": (".parquet", lambda: _parquet(table(), b"{")),
    "pandas metadata of another table": (
        ".parquet",
        lambda: _parquet(
            table(), b'{"index_columns": ["nobody"], "columns": [], "column_indexes": 3}'
        ),
    ),
    "text that is no UTF-8": (".parquet", lambda: _no_text()),
    "GraphML bomb": (".graphml", lambda: _entities()),
    "deep GraphML": (".graphml", lambda: b"<graphml>" + b"<graph>" * 20_000),
    "GraphML of a wrong type": (".graphml", lambda: _GRAPHML.replace(b">1<", b">x<")),
    "GraphML key without a type": (".graphml", lambda: _GRAPHML.replace(b'"int"', b'"nothing"')),
}


def _entities() -> bytes:
    lines = ['<!ENTITY a0 "aaaaaaaaaa">']
    lines += [f'<!ENTITY a{i} "{f"&a{i - 1};" * 10}">' for i in range(1, 12)]
    return f"<?xml version='1.0'?><!DOCTYPE x [{''.join(lines)}]><graphml>&a11;</graphml>".encode()


def _parquet(frame: pd.DataFrame, metadata: bytes | None = None) -> bytes:
    made = pa.Table.from_pandas(frame)
    if metadata is not None:
        made = made.replace_schema_metadata({b"pandas": metadata})
    written = io.BytesIO()
    parquet.write_table(made, written)
    return written.getvalue()


def _many_rows() -> bytes:
    part = pa.table({"sex": pa.array([1] * 1_000_000, pa.int8())})
    written = io.BytesIO()
    with parquet.ParquetWriter(written, part.schema) as writer:
        for _ in range(60):
            writer.write_table(part)
    return written.getvalue()


def _no_text() -> bytes:
    raw = pa.array([b"\xff\xfe", b"ok"], pa.binary())
    made = pa.table({"sex": pa.Array.from_buffers(pa.string(), 2, raw.buffers())})
    written = io.BytesIO()
    parquet.write_table(made, written)
    return written.getvalue()


EDGE_LISTS = {
    "empty": b"",
    "comments alone": b"# a b\n% c d\n",
    "one column": b"a\nb\n",
    "ragged": b"a,b\n1\n1,2,3,4\n",
    "quotes": b'"1,2\n"3"4,5\n',
    "no UTF-8": b"\xff\xff,1\n2,3\n",
    "NUL": b"1,\0\n",
    "5,000 digits": b"9" * 5000 + b",1\n",
    "ids that nobody has": b"source,target\n99,98\n",
    "a book": b"x" * 200_000 + b",1\n",
    "escape": f"{ESCAPE},{TURNED}\n".encode(),
}

DIAGRAMS = {
    "bomb.yaml": _BOMB,
    "deep.yaml": "a: " + "[" * 5000,
    "mapping.yaml": "parents: {a: {b: c}}",
    "sensitive.yaml": "parents: {a: [b]}\nsensitive: [a]",
    "NUL.yaml": "a\0: [b]",
    "deep.gml": "graph [" * 3000,
    "digits.gml": f"graph [ directed 1 node [ id {'9' * 5000} ] ]",
    "types.gml": 'graph [ directed 1 node [ id "x" ] edge [ source 1 target [ ] ] ]',
    "nothing.gml": "",
    "cut.dot": "digraph { a -> ",
    "brackets.dot": "digraph { a [" + "b=1," * 1000,
    "quotes.dot": 'digraph { "' + "a" * 100_000,
    "product.dot": "digraph { {"
    + " ".join(f"a{i}" for i in range(20_000))
    + "} -> {"
    + " ".join(f"b{i}" for i in range(20_000))
    + "} }",
    "cycle.dot": "digraph { " + " -> ".join(f"a{i}" for i in range(20_000)) + " -> a0 }",
    "escape.dot": "digraph { " + ESCAPE,
}


def _pt(**changes: Any) -> Callable[[Path], None]:
    x = torch.arange(24, dtype=torch.float32).reshape(12, 2) % 5
    fine = {
        "x": x,
        "y": torch.tensor([0, 0, 1] * 4),
        "sex": torch.tensor([0, 1] * 6),
        "edge_index": torch.tensor([[0, 1, 2], [3, 4, 5]]),
    }
    return lambda path: torch.save(fine | changes, path)


def _quantized() -> torch.Tensor:
    with warnings.catch_warnings():
        # torch makes no new ones; files of them stay.
        warnings.simplefilter("ignore")
        return torch.quantize_per_tensor(torch.ones(12, 2), 0.1, 0, torch.qint8)


_VAST = torch.zeros(1).expand(10**6, 10**6)
PT_FILES: Mapping[str, Callable[[Path], None]] = {
    "an expanded matrix": _pt(x=_VAST),
    "an expanded label": _pt(y=torch.zeros(1).expand(10**12)),
    "expanded edges": _pt(edge_index=torch.zeros(1, dtype=torch.int64).expand(2, 10**12)),
    "an expanded mask": _pt(
        **{
            f"{n}_mask": torch.ones(1, dtype=torch.bool).expand(12)
            for n in ("train", "val", "test")
        }
    ),
    "no content": _pt(x=torch.empty(12, 2, device="meta")),
    "a label without content": _pt(y=torch.empty(12, device="meta")),
    "sparse": _pt(x=torch.eye(12).to_sparse()),
    "sparse edges": _pt(edge_index=torch.eye(2, dtype=torch.int64).to_sparse()),
    "complex": _pt(x=torch.ones(12, 2, dtype=torch.complex64)),
    "quantized": _pt(x=_quantized()),
    "no columns": _pt(x=torch.empty(10**9, 0)),
    "repeated names": _pt(feature_names=["a", "a"]),
    "numbers as names": _pt(feature_names=[[], {}]),
    "fields of the storage": _pt(_store=3, _mapping={}, __class__=3),
    "numbers as keys": lambda path: torch.save({1: torch.ones(2)}, path),
    "a tensor": lambda path: torch.save(torch.ones(3), path),
    "nothing": lambda path: torch.save(None, path),
    "cut": lambda path: _cut(path),
}


def _cut(path: Path) -> None:
    _pt()(path)
    path.write_bytes(path.read_bytes()[:-200])


def no_files(folder: Path, suffix: str) -> dict[str, Path]:
    """What is no regular file: a folder, a pipe, a link to a device that never ends, nothing."""
    made = {name: folder / f"{name}{suffix}" for name in ("folder", "pipe", "zero", "loop")}
    made["folder"].mkdir()
    os.mkfifo(made["pipe"])
    made["zero"].symlink_to("/dev/zero")
    made["loop"].symlink_to(made["loop"])
    return made | {"long": folder / ("n" * 300 + suffix), "NUL": folder / f"a\0b{suffix}"}
