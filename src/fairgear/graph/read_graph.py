"""Graphs from files, by the ending of their name."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from fairgear.errors import ParameterError
from fairgear.graph.formats import (
    ending_of,
    read_edge_list,
    read_graphml,
    read_parquet,
    read_pyg,
    read_text_table,
)
from fairgear.graph.sensitive_graph import SensitiveGraph
from fairgear.graph.tables.columns import TableColumns
from fairgear.graph.tables.converters import data_source, network_source
from fairgear.graph.tables.encoding import Encoding
from fairgear.graph.tables.table_graph import TableSource

TABLES = (".csv", ".tsv", ".txt", ".parquet")
GRAPHS = (".pt", ".graphml")


def read_graph(
    path: Path | str,
    columns: TableColumns,
    edges: Path | str | None = None,
    *,
    encoding: Encoding | None = None,
    linked: bool = True,
) -> SensitiveGraph:
    """The graph of a file.

    Args:
        path: a table (.csv, .tsv, .txt, .parquet) or a graph (.pt with a PyG `Data`, .graphml).
        columns: what the columns mean; the graph is named after the file by default.
        edges: for a table, the file of its edges: .csv, .tsv, .txt, .edges or .parquet. Whether
            they have directions and weights, `columns` says.
        encoding: of a model's training table, to encode this one alike.
        linked: whether there must be edges; see `table_graph`.

    Example:
        >>> import pandas as pd
        >>> from fairgear.graph import TableColumns, read_graph
        >>> people = pd.DataFrame({"sex": ["f", "m", "f"], "income": [3, 5, 4], "paid": [0, 1, 1]})
        >>> people.to_csv("people.csv", index_label="id")
        >>> pd.DataFrame({"a": [0, 1], "b": [1, 2]}).to_csv("friends.csv", index=False)
        >>> columns = TableColumns(sensitive="sex", label="paid")
        >>> graph = read_graph("people.csv", columns, edges="friends.csv")
        >>> graph.name, graph.num_undirected_edges
        ('people', 2)
    """
    if Path(path).suffix.lower() in TABLES and linked:
        # Before a large file is read.
        columns.check_edges(given=edges is not None)
    return read_source(path, columns, edges, encoding=encoding).graph(encoding, linked=linked)


def read_source(
    path: Path | str,
    columns: TableColumns,
    edges: Path | str | None = None,
    *,
    encoding: Encoding | None = None,
) -> TableSource:
    """The table and the edges of a file, before they are a graph; see `read_graph`."""
    path = Path(path)
    if columns.name == TableColumns.name:
        columns = replace(columns, name=path.stem)
    if encoding is not None:
        text = {**dict.fromkeys(columns.categorical), **dict.fromkeys(encoding.text_columns())}
        columns = replace(columns, categorical=tuple(text))
    ending = ending_of(path, "a file", [*TABLES, *GRAPHS], "save the table as .csv")
    if ending in TABLES:
        notes: list[str] = []
        known = None if edges is None else read_edge_list(Path(edges), notes)
        if ending == ".parquet":
            return TableSource(read_parquet(path), known, columns, notes=notes)
        table, kinds = read_text_table(path, columns, notes)
        return TableSource(table, known, columns, notes=notes, kinds=kinds)
    if edges is not None:
        raise ParameterError(
            "--edges",
            f"a list beside {path}, which is a graph with edges of its own",
            f"a list beside a table: {', '.join(TABLES)}",
            "leave it out",
        )
    if ending == ".pt":
        return data_source(read_pyg(path), columns, encoding)
    return network_source(read_graphml(path), columns)
