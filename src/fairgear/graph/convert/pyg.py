"""Graphs from PyTorch Geometric."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Unpack

import numpy as np
import pandas as pd
import torch
from torch import Tensor
from torch_geometric.data import Data

from fairgear.errors import GraphError
from fairgear.graph.convert.columns import ColumnOptions, TableColumns
from fairgear.graph.convert.encoding import Encoding
from fairgear.graph.convert.identity import ID_NAMES, check_exact, id_column
from fairgear.graph.convert.table_graph import table_graph
from fairgear.graph.sensitive_graph import MASKS, SensitiveGraph


def from_pyg(data: Data, **columns: Unpack[ColumnOptions]) -> SensitiveGraph:
    """A graph from a PyG `Data`.

    Args:
        data: has `x`, and `edge_index` or a similarity to join its rows by. Its masks are kept.
        columns: the fields of `TableColumns`. A column is one of `x`, by its name in
            `data.feature_names` or as x0, x1, …, or an attribute with one value a node; the label
            is `y` if not given, −1 where unknown.
    """
    if "label" not in columns and "y" in data:
        columns["label"] = "y"
    return data_graph(data, TableColumns(**columns))


def data_graph(
    data: Data, columns: TableColumns, encoding: Encoding | None = None
) -> SensitiveGraph:
    """The same with settings that are there already."""
    x = data.get("x")
    if not isinstance(x, Tensor) or x.dim() != 2:
        raise GraphError(
            "PyG data", "no matrix x", "x with one row a node", "store the features as data.x"
        )
    if x.layout is not torch.strided:
        raise GraphError(
            "x of the PyG data", "a sparse matrix", "a dense one", "store data.x.to_dense()"
        )
    nodes = _features(data, x)
    features = list(nodes.columns)
    asked = [columns.sensitive, columns.label, columns.id]
    for name in [*asked, *(name for name in ID_NAMES if columns.id is None)]:
        if name is not None and name not in features and name in data:
            nodes[name] = _attribute(data, name, len(x))
    _check_ids(data, x, features, id_column(nodes.columns, columns))
    if columns.label is not None and columns.label in nodes:
        nodes[columns.label] = _known(nodes[columns.label])
    columns = _with_own_column(
        nodes, features if encoding is None else [encoding.sensitive], columns
    )
    masks = {
        key: data[key].cpu().numpy()
        for key in MASKS
        if isinstance(data.get(key), Tensor) and data[key].shape == (len(x),)
    }
    return table_graph(nodes, _pairs(data, len(x)), columns, masks=masks, encoding=encoding)


def _features(data: Data, x: Tensor) -> pd.DataFrame:
    names = data.get("feature_names")
    given = isinstance(names, Sequence) and len(names) == x.shape[1]
    told = [str(name) for name in names] if given else [f"x{i}" for i in range(x.shape[1])]
    return pd.DataFrame(x.detach().cpu().to(torch.float64).numpy(), columns=told)


def _check_ids(data: Data, x: Tensor, features: list[str], name: str | None) -> None:
    """Ids in floats of less than 64 bits are rounded early, and the table would hide it."""
    if name is None:
        return
    held = x[:, features.index(name)] if name in features else data.get(name)
    if isinstance(held, Tensor) and held.is_floating_point() and held.numel():
        largest = held.abs().nan_to_num(0).max()
        check_exact(float(largest), torch.finfo(held.dtype).eps)


def _attribute(data: Data, name: str, count: int) -> pd.Series:
    """One value a node, from a tensor or a list."""
    value = data[name]
    if isinstance(value, Tensor):
        value = value.detach().cpu()
        # NumPy has no such floats.
        value = value.float() if value.dtype == torch.bfloat16 else value
        value = value[:, 0] if value.dim() == 2 and value.shape[1] == 1 else value
        value = value.numpy() if value.dim() == 1 else None
    if not isinstance(value, (np.ndarray, list, tuple)) or len(value) != count:
        raise GraphError(
            f"attribute {name!r} of the PyG data",
            "something other than one value a node",
            f"a vector or a list of length {count}",
            "choose another attribute, or a column of x",
        )
    return pd.Series(value)


def _known(label: pd.Series) -> pd.Series:
    """−1 says that a label is unknown, unless −1 and 1 are the two labels."""
    try:
        values = set(label.dropna().tolist())
    except TypeError:
        # Lists and the like, which are refused with all other columns of them.
        return label
    return label.where(label != -1) if values <= {-1, 0, 1} and 0 in values else label


def _with_own_column(
    nodes: pd.DataFrame, features: list[str], columns: TableColumns
) -> TableColumns:
    """The column of `x` that holds the sensitive attribute takes the attribute's place.

    Left beside it, a copy would keep its value in every counterfactual world.
    """
    if columns.sensitive in features or columns.sensitive not in nodes:
        return columns
    own = nodes[columns.sensitive]
    for name in features:
        free = name in nodes and name not in (columns.label, columns.id, *columns.drop)
        if free and (nodes[name] == own).all():
            del nodes[columns.sensitive]
            return replace(columns, sensitive=name)
    return columns


def _pairs(data: Data, count: int) -> np.ndarray[tuple[int, int], np.dtype[np.int64]] | None:
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
    pairs: np.ndarray[tuple[int, int], np.dtype[np.int64]] = edge_index.detach().cpu().numpy()
    return pairs
