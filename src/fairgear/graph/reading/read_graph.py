"""Graphs from files, by the ending of their name."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from fairgear.errors import ParameterError
from fairgear.graph.convert.columns import TableColumns
from fairgear.graph.convert.encoding import Encoding
from fairgear.graph.convert.networks import network_graph
from fairgear.graph.convert.pyg import data_graph
from fairgear.graph.convert.roles import check_joined
from fairgear.graph.convert.table_graph import table_graph
from fairgear.graph.reading.edge_list import read_edge_list
from fairgear.graph.reading.graphml import read_graphml
from fairgear.graph.reading.parquet import read_parquet
from fairgear.graph.reading.pyg_file import read_pyg
from fairgear.graph.reading.source import unreadable
from fairgear.graph.reading.text_table import read_text_table
from fairgear.graph.sensitive_graph import SensitiveGraph

TABLES = (".csv", ".tsv", ".parquet")
GRAPHS = (".pt", ".graphml")


def read_graph(
    path: Path | str,
    columns: TableColumns,
    edges: Path | str | None = None,
    *,
    encoding: Encoding | None = None,
) -> SensitiveGraph:
    """The graph of a file.

    Args:
        path: a table (.csv, .tsv, .parquet) or a graph (.pt with a PyG `Data`, .graphml).
        columns: what the columns mean; the graph is called after the file if they name none.
        edges: for a table, the file of its edges: .csv, .tsv, .txt, .edges or .parquet.
        encoding: of the table that a model was trained on, by which this one is read.
    """
    path = Path(path)
    if columns.name == TableColumns.name:
        columns = replace(columns, name=path.stem)
    if encoding is not None:
        text = {**dict.fromkeys(columns.categorical), **dict.fromkeys(encoding.text_columns())}
        columns = replace(columns, categorical=tuple(text))
    ending = path.suffix.lower()
    if ending in TABLES:
        check_joined(columns, edges=edges is not None)
        known = None if edges is None else read_edge_list(Path(edges))
        table = read_parquet(path) if ending == ".parquet" else read_text_table(path, columns)
        return table_graph(table, known, columns, encoding=encoding)
    if ending not in GRAPHS:
        raise unreadable(
            path,
            f"a file that ends in {ending or 'nothing'}",
            ", ".join([*TABLES, *GRAPHS]),
            "save the table as .csv",
        )
    if edges is not None:
        raise ParameterError(
            "--edges",
            f"a list beside {path}, which is a graph with edges of its own",
            f"a list beside a table: {', '.join(TABLES)}",
            "leave it out",
        )
    if ending == ".pt":
        return data_graph(read_pyg(path), columns, encoding)
    return network_graph(read_graphml(path), columns, encoding)
