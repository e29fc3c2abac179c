"""Graphs from DataFrames, NetworkX, SciPy's sparse matrices and PyTorch Geometric."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any, Unpack

import numpy as np
import pandas as pd
import torch
from scipy import sparse
from torch import Tensor
from torch_geometric.data import Data

from fairgear.column_names import sensitive_columns
from fairgear.errors import GraphError, ParameterError
from fairgear.graph.sensitive_graph import MASKS, SensitiveGraph
from fairgear.graph.tables.columns import ID_NAMES, ColumnOptions, TableColumns
from fairgear.graph.tables.encoding import Encoding
from fairgear.graph.tables.identity import Rows, check_exact
from fairgear.graph.tables.labels import FEW, REGRESSION
from fairgear.graph.tables.links import Ties, edge_weights, has_directions
from fairgear.graph.tables.table_graph import EdgeList, TableSource, check_size, table_graph


def from_tables(
    nodes: pd.DataFrame,
    edges: pd.DataFrame | None = None,
    *,
    linked: bool = True,
    **columns: Unpack[ColumnOptions],
) -> SensitiveGraph:
    """A graph from a table of people, and a table of edges or a similarity.

    Args:
        nodes: one row a person.
        edges: two columns of ids, or of row numbers if `nodes` has no ids.
        linked: whether there must be edges. With False, a table without edges and similarity is
            read as people alone, with groups and labels and no features: enough to audit scores.
        columns: the fields of `TableColumns`, such as `label="approved", sensitive="sex"`.

    Example:
        >>> import pandas as pd
        >>> from fairgear.graph import from_tables
        >>> people = pd.DataFrame(
        ...     {
        ...         "id": ["ann", "bob", "eve", "kim"],
        ...         "sex": ["f", "m", "f", "m"],
        ...         "income": [3, 5, 4, 6],
        ...         "approved": ["no", "yes", "yes", "no"],
        ...     }
        ... )
        >>> friends = pd.DataFrame({"a": ["ann", "bob", "eve"], "b": ["bob", "eve", "kim"]})
        >>> graph = from_tables(people, friends, label="approved", sensitive="sex")
        >>> graph.feature_names
        ['sex', 'income']
        >>> alike = from_tables(people, label="approved", sensitive="sex", similarity=0.7)
    """
    for what, table in (("nodes", nodes), ("edges", edges)):
        if not isinstance(table, pd.DataFrame) and (what == "nodes" or table is not None):
            got, next_step = f"a {type(table).__name__}", f"pass pandas.DataFrame({what})"
            raise GraphError(what, got, "a pandas DataFrame", next_step)
    listed = None if edges is None else EdgeList(edges)
    return table_graph(nodes, listed, TableColumns(**columns), linked=linked)


def from_scipy(
    adjacency: Any, nodes: pd.DataFrame, **columns: Unpack[ColumnOptions]
) -> SensitiveGraph:
    """A graph from an adjacency matrix and a table of people in the same order.

    Args:
        adjacency: (n, n), any sparse format; every entry but 0 is an edge, in both directions, or
            with `directed` from its row to its column. With any `weight`, entries are weights.
        nodes: row i is the person of row and column i.
        columns: the fields of `TableColumns`.

    Example:
        >>> import pandas as pd
        >>> import scipy.sparse as sp
        >>> from fairgear.graph import from_scipy
        >>> people = pd.DataFrame({"sex": ["f", "m", "f"], "income": [3, 5, 4], "paid": [0, 1, 1]})
        >>> adjacency = sp.csr_array(([1, 1], ([0, 1], [1, 2])), shape=(3, 3))
        >>> from_scipy(adjacency, people, sensitive="sex", label="paid").num_undirected_edges
        2
    """
    known: bool = sparse.issparse(adjacency)
    if not known:
        raise GraphError(
            "adjacency",
            f"a {type(adjacency).__name__}",
            "a sparse matrix of SciPy",
            "pass scipy.sparse.coo_array(matrix)",
        )
    if tuple(adjacency.shape) != (len(nodes), len(nodes)):
        raise GraphError(
            "adjacency",
            f"shape {tuple(adjacency.shape)}",
            f"({len(nodes)}, {len(nodes)}), the rows of the node table",
            "pass one row and one column a person",
        )
    entries = adjacency.tocoo()
    present = entries.data != 0
    pairs = np.stack([entries.row[present], entries.col[present]]).astype(np.int64)
    named = TableColumns(**columns)
    entries_of = pd.Series(entries.data[present])
    weights = None if named.weight is None else edge_weights(entries_of, "the adjacency")
    return table_graph(nodes, Ties(pairs, weights), named)


def from_networkx(graph: Any, **columns: Unpack[ColumnOptions]) -> SensitiveGraph:
    """A graph from a NetworkX graph; the attributes of its nodes are the columns of the table.

    Args:
        graph: of any kind; of parallel edges the first counts. A node's key is its id, unless an
            attribute is. Weights are read from the attribute that `weight` names.
        columns: the fields of `TableColumns`; with `similarity` for a graph without edges.

    Example:
        >>> import networkx as nx
        >>> from fairgear.graph import from_networkx
        >>> people = nx.karate_club_graph()
        >>> nx.set_node_attributes(people, {person: person % 2 for person in people}, "sex")
        >>> nx.set_node_attributes(people, dict(people.degree()), "friends")
        >>> graph = from_networkx(people, sensitive="sex", label="club")
        >>> graph.num_nodes, graph.num_undirected_edges
        (34, 78)
    """
    return network_source(graph, TableColumns(**columns)).graph()


def network_source(graph: Any, columns: TableColumns) -> TableSource:
    """The table and the edges of a NetworkX graph."""
    keys = list(graph.nodes)
    attributes = [graph.nodes[key] for key in keys]
    names = dict.fromkeys(name for held in attributes for name in held)
    # Column by column and as objects: pandas would turn integers with gaps into floats.
    nodes = pd.DataFrame(
        {name: pd.Series([held.get(name) for held in attributes], dtype=object) for name in names},
        index=range(len(keys)),
    )
    row = {key: number for number, key in enumerate(keys)}
    pairs = np.array([(row[a], row[b]) for a, b in graph.edges()], dtype=np.int64).reshape(-1, 2).T
    ids = pd.Series(keys, dtype=object) if keys else None
    weights = None
    if columns.weight is not None:
        held = pd.Series([of for *_, of in graph.edges(data=columns.weight)], dtype=object)
        weights = edge_weights(held, columns.weight)
    ties = Ties(pairs, weights, bool(graph.is_directed())) if pairs.size else None
    return TableSource(nodes, ties, columns, ids)


def from_pyg(data: Data, **columns: Unpack[ColumnOptions]) -> SensitiveGraph:
    """A graph from a PyG `Data`.

    Args:
        data: has `x`, and `edge_index` or a similarity to join its rows by. Its masks are kept.
        columns: the fields of `TableColumns`. A column is one of `x`, by its name in
            `data.feature_names` or as x0, x1, …, or an attribute with one value a node; the label
            is `y` if not given. Label and attribute are −1 where unknown.

    Example:
        >>> import torch
        >>> from torch_geometric.data import Data
        >>> from fairgear.graph import from_pyg
        >>> data = Data(
        ...     x=torch.tensor([[0.1, 0.0], [0.5, 1.0], [0.3, 1.0], [0.2, 0.0]]),
        ...     edge_index=torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]),
        ...     y=torch.tensor([0, 1, 1, 0]),
        ... )
        >>> graph = from_pyg(data, sensitive="x1")
        >>> graph.sens.tolist()
        [0, 1, 1, 0]
    """
    if "label" not in columns and "y" in data:
        columns["label"] = "y"
    return data_graph(data, TableColumns(**columns))


def data_graph(
    data: Data, columns: TableColumns, encoding: Encoding | None = None
) -> SensitiveGraph:
    """`from_pyg` with its options as objects."""
    return data_source(data, columns, encoding).graph(encoding)


def data_source(data: Data, columns: TableColumns, encoding: Encoding | None = None) -> TableSource:
    """The table and the edges of a PyG `Data`; `encoding` is that of a model's training table."""
    check_tensors(data)
    x = data.get("x")
    if not isinstance(x, Tensor) or x.dim() != 2:
        allowed, next_step = "x with one row a node", "store the features as data.x"
        raise GraphError("PyG data", "no matrix x", allowed, next_step)
    check_size(*x.shape)
    names = data.get("feature_names")
    given = isinstance(names, list | tuple) and len(names) == x.shape[1]
    features = [str(name) for name in names] if given else [f"x{i}" for i in range(x.shape[1])]
    if len(set(features)) < len(features):
        twice = next(name for name, count in Counter(features).items() if count > 1)
        next_step = "name each column of x once"
        raise GraphError("feature_names of the PyG data", f"{twice!r} twice", "names", next_step)
    nodes = pd.DataFrame(x.detach().cpu().to(torch.float64).numpy(), columns=features)
    sensitive = sensitive_columns(columns.sensitive, [*features, *data.keys()])
    wanted = [*sensitive, columns.label, columns.id]
    for name in [*wanted, *(name for name in ID_NAMES if columns.id is None)]:
        if name is not None and name not in features and name in data:
            nodes[name] = _attribute(data, name, len(x))
    _check_ids(data, x, features, columns.id_column(nodes.columns))
    if columns.label is not None and columns.label in nodes:
        nodes[columns.label] = _known(nodes[columns.label], columns.task)
    columns = _with_own_column(
        nodes, features if encoding is None else [encoding.sensitive], columns
    )
    for name in [columns.sensitive] if len(sensitive) == 1 else sensitive:
        if name in nodes and sensitive[0] not in features:
            nodes[name] = _known(nodes[name], None)
    masks = {
        key: data[key].cpu().numpy()
        for key in MASKS
        if isinstance(data.get(key), Tensor) and data[key].shape == (len(x),)
    }
    return TableSource(nodes, _ties(data, len(x), columns.weight), columns, masks=masks)


def check_tensors(data: Data) -> None:
    """Refuse tensors that are no plain numbers: a few bytes can stand for 10¹² entries."""
    for name in data.keys():  # noqa: SIM118  # no dictionary
        value = data[name]
        if isinstance(value, Tensor) and (got := _odd(value)):
            allowed = "a dense tensor of real numbers"
            step = f"store data.{name} as such, or leave it out"
            raise GraphError(f"{name} of the PyG data", got, allowed, step)


def _odd(tensor: Tensor) -> str:
    """What a tensor is besides plain numbers; empty if nothing."""
    if tensor.layout is not torch.strided:
        return "a sparse matrix" if tensor.dim() == 2 else "a sparse tensor"
    if tensor.is_quantized:
        return "a quantized tensor"
    if tensor.is_meta:
        return "a tensor without content"
    if tensor.is_complex():
        return "complex numbers"
    held = tensor.untyped_storage().nbytes()
    if tensor.numel() * tensor.element_size() > held:
        return f"{tensor.numel():,} entries that share {held:,} bytes"
    return ""


def _check_ids(data: Data, x: Tensor, features: list[str], name: str | None) -> None:
    """Refuse rounded ids here: the table, in 64 bits, would hide that they were narrower."""
    if name is None:
        return
    held = x[:, features.index(name)] if name in features else data.get(name)
    if isinstance(held, Tensor) and held.is_floating_point() and held.numel():
        largest = held.abs().nan_to_num(0).max()
        check_exact(float(largest), torch.finfo(held.dtype).eps)


def _attribute(data: Data, name: str, count: int, what: str = "node") -> pd.Series:
    """One value a node or an edge, from a tensor or a list."""
    value = data[name]
    if isinstance(value, Tensor):
        value = value.detach().cpu()
        # NumPy has no bfloat16.
        value = value.float() if value.dtype == torch.bfloat16 else value
        value = value[:, 0] if value.dim() == 2 and value.shape[1] == 1 else value
        value = value.numpy() if value.dim() == 1 else None
    if not isinstance(value, (np.ndarray, list, tuple)) or len(value) != count:
        raise GraphError(
            f"attribute {name!r} of the PyG data",
            f"something other than one value {'a node' if what == 'node' else 'an edge'}",
            f"a vector or a list of length {count}",
            "choose another attribute, or a column of x",
        )
    return pd.Series(value)


def _known(label: pd.Series, task: str | None) -> pd.Series:
    """The label with −1 as missing where the others are classes from 0; not if they are numbers.

    The two labels may be −1 and 1.
    """
    try:
        values = set(label.dropna().tolist())
    except TypeError:
        # Lists and the like are refused with those of all other columns.
        return label
    classes = values - {-1}
    try:
        from_zero = 0 in classes and all(v >= 0 and v == int(v) for v in classes)
    except (TypeError, ValueError, OverflowError):
        return label
    many = task is None and len(classes) > FEW and not pd.api.types.is_integer_dtype(label.dtype)
    return label.where(label != -1) if from_zero and task != REGRESSION and not many else label


def _with_own_column(
    nodes: pd.DataFrame, features: list[str], columns: TableColumns
) -> TableColumns:
    """The column of `x` that equals the sensitive attribute takes its place.

    Kept beside it, a copy would keep its value in every counterfactual world.
    """
    if columns.sensitive in features or columns.sensitive not in nodes:
        return columns
    own = nodes[columns.sensitive]
    for name in features:
        free = name in nodes and name not in (columns.label, columns.id, *columns.drop)
        if free and ((nodes[name] == own) | (nodes[name].isna() & own.isna())).all():
            del nodes[columns.sensitive]
            kinds = dict(zip([name], columns.sensitive_kind.values(), strict=False))
            return replace(columns, sensitive=name, sensitive_kind=kinds)
    return columns


def _ties(data: Data, count: int, weight: str | None) -> Ties | None:
    """The edges of PyG's data, which holds undirected ones in both directions."""
    pairs = _pairs(data, count)
    if pairs is None:
        return None
    weights = None
    if weight is not None:
        if weight not in data:
            known = ", ".join(str(key) for key in data.keys())  # noqa: SIM118  # no dictionary
            step = "name the attribute with one number an edge"
            raise ParameterError("--weight", f"{weight!r}, which is no attribute", known, step)
        weights = edge_weights(_attribute(data, weight, pairs.shape[1], "edge"), weight)
    ties = Ties(pairs, weights)
    return replace(ties, directed=has_directions(ties))


def _pairs(data: Data, count: int) -> Rows | None:
    edge_index = data.get("edge_index")
    if not isinstance(edge_index, Tensor) or edge_index.numel() == 0:
        return None
    fine = edge_index.dim() == 2 and len(edge_index) == 2 and edge_index.dtype == torch.int64
    if not fine or not 0 <= int(edge_index.min()) <= int(edge_index.max()) < count:
        raise GraphError(
            "edge_index of the PyG data",
            f"{edge_index.dtype} of shape {tuple(edge_index.shape)}, "
            f"from {edge_index.min()} to {edge_index.max()}",
            f"int64 of shape (2, edges), from 0 to {count - 1}",
            "map ids to rows of x, sources first",
        )
    pairs: Rows = edge_index.detach().cpu().numpy()
    return pairs
