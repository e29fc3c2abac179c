"""Edge lists in files: two columns of ids, with or without a line that names them."""

from __future__ import annotations

import re
from pathlib import Path

import pandas as pd

from fairgear.graph.convert.table_graph import EdgeList
from fairgear.graph.reading.delimited import DELIMITERS, delimiter_of, rows_of_text
from fairgear.graph.reading.parquet import read_parquet
from fairgear.graph.reading.source import text_of, unreadable

EDGE_ENDINGS = (".csv", ".tsv", ".txt", ".edges", ".parquet")
_COMMENTS = ("#", "%")


def read_edge_list(path: Path) -> EdgeList:
    """Edges by id, which stay text: whose they are is for the node table to say."""
    ending = path.suffix.lower()
    if ending not in EDGE_ENDINGS:
        raise unreadable(
            path,
            f"an edge list that ends in {ending or 'nothing'}",
            ", ".join(EDGE_ENDINGS),
            "save it as .csv, one edge a line",
        )
    if ending == ".parquet":
        return EdgeList(read_parquet(path))
    lines = [line for line in text_of(path).splitlines() if line.strip()]
    lines = [line for line in lines if not line.startswith(_COMMENTS)]
    if not lines:
        raise unreadable(path, "comments and no edges", "one edge a line", "add the edges")
    if not any(mark in lines[0] for mark in DELIMITERS):
        lines = [re.sub(r"\s+", "\t", line.strip()) for line in lines]
    rows = rows_of_text("\n".join(lines) + "\n", delimiter_of(lines[0], path), path)
    if rows.shape[1] > 2 and rows.iloc[0, 0] == "":
        rows = rows.iloc[:, 1:]
    return EdgeList(pd.DataFrame(rows), header=True)
