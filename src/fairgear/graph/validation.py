"""Checks of a graph; each error says what is wrong and what to do about it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np
import torch
from torch import Tensor

from fairgear.column_names import SENSITIVE_KINDS
from fairgear.errors import GraphError
from fairgear.graph.attributes import Attributes
from fairgear.graph.edges import in_order
from fairgear.hashing import mix


def check_features(x: Tensor) -> None:
    """Features are a finite floating matrix (n, d) with at least one node."""
    if x.dim() != 2 or not x.is_floating_point():
        raise GraphError(
            "features x",
            f"{x.dtype} of shape {tuple(x.shape)}",
            "a floating-point matrix of shape (nodes, features)",
            "convert with x.float() and reshape to one row a node",
        )
    if x.shape[0] == 0:
        raise GraphError("features x", "0 nodes", "at least one node", "check the input")
    finite = torch.isfinite(x)
    if not bool(finite.all()):
        rows, columns = torch.nonzero(~finite, as_tuple=True)
        raise GraphError(
            "features x",
            f"{len(rows)} NaN or infinite values, the first at node {int(rows[0])}, "
            f"column {int(columns[0])}",
            "finite values",
            "impute or drop those rows",
        )


def check_edges(edge_index: Tensor, num_nodes: int, *, directed: bool = False) -> None:
    """Edges are (2, E) integers in range, without self-loops, repeats or missing twins.

    Arcs of a directed graph need no twins.
    """
    shape = tuple(edge_index.shape)
    if edge_index.dim() == 2 and shape[1] == 2 and shape[0] != 2:
        got, next_step = (
            f"shape {shape}, which looks transposed",
            "pass edge_index.t().contiguous()",
        )
        raise GraphError("edge_index", got, "shape (2, edges)", next_step)
    if edge_index.dim() != 2 or shape[0] != 2 or edge_index.dtype != torch.int64:
        raise GraphError(
            "edge_index",
            f"{edge_index.dtype} of shape {shape}",
            "int64 of shape (2, edges)",
            "pass sources in row 0 and targets in row 1",
        )
    if edge_index.numel() == 0:
        return
    low, high = int(edge_index.min()), int(edge_index.max())
    if low < 0 or high >= num_nodes:
        raise GraphError(
            "edge_index",
            f"node {low if low < 0 else high}",
            f"0 to {num_nodes - 1}, the rows of x",
            "map node ids to row numbers",
        )
    source, target = edge_index
    loops = int((source == target).sum())
    if loops:
        raise _wrong_edges(f"{loops} self-loops", "edges between different nodes", directed)
    key = source * num_nodes + target
    if not in_order(key):
        key = key.sort().values
    repeats = int((key[1:] == key[:-1]).sum())
    if repeats:
        raise _wrong_edges(f"{repeats} repeated edges", "each direction of an edge once", directed)
    twin = target * num_nodes + source
    if not directed and not _same_set(key, twin):
        lonely = key[~torch.isin(key, twin)]
        first = int(lonely[0])
        shown = f"{first // num_nodes}→{first % num_nodes}"
        raise _wrong_edges(
            f"{len(lonely)} edges without their twin, the first {shown}",
            "both directions of every undirected edge",
            directed,
        )


def _wrong_edges(got: str, allowed: str, directed: bool) -> GraphError:
    maker = "directed_edges" if directed else "undirected_edges"
    next_step = f"build it with fairgear.graph.{maker}, which corrects this"
    return GraphError("edge_index", got, allowed, next_step)


def check_directed(directed: object) -> None:
    """Whether a graph is directed is True or False."""
    if not isinstance(directed, bool):
        step = "pass directed=True for arcs, False for edges in both directions"
        raise GraphError("directed", repr(directed), "True or False", step)


def check_weights(
    edge_weight: Tensor, edge_index: Tensor, num_nodes: int, *, directed: bool
) -> None:
    """Weights are positive finite floats, one an edge; the same in both directions."""
    count = edge_index.shape[1]
    if tuple(edge_weight.shape) != (count,) or not edge_weight.is_floating_point():
        raise GraphError(
            "edge_weight",
            f"{edge_weight.dtype} of shape {tuple(edge_weight.shape)}",
            f"floating-point numbers of shape ({count},)",
            "pass one weight a column of edge_index",
        )
    wrong = edge_weight[~(torch.isfinite(edge_weight) & (edge_weight > 0))]
    if len(wrong):
        got = f"{len(wrong)} that are not, the first {float(wrong[0])}"
        raise GraphError(
            "edge_weight", got, "positive finite numbers", "leave those edges out, or rescale"
        )
    if directed:
        return
    source, target = edge_index
    there, back = (
        edge_weight[key.argsort()]
        for key in (source * num_nodes + target, target * num_nodes + source)
    )
    differ = int((there != back).sum())
    if differ:
        raise GraphError(
            "edge_weight",
            f"{differ // 2} edges with another weight in each direction",
            "one weight for both directions of an undirected edge",
            "make them equal, or pass directed=True",
        )


def _same_set(first: Tensor, second: Tensor) -> bool:
    """Whether two lists without repeats hold the same numbers.

    Sums of 64-bit hashes are compared, which needs no sorting; different lists have equal sums
    with probability 2⁻⁶⁴.
    """
    a, b = (mix(k.cpu().numpy().astype(np.uint64)).sum(dtype=np.uint64) for k in (first, second))
    return bool(a == b)


def checked_attributes(attributes: Attributes | None, kind: str, sens: Tensor) -> Attributes | None:
    """Those given; for several groups without names, one attribute with codes for names."""
    if kind not in SENSITIVE_KINDS:
        raise GraphError("sens_kind", repr(kind), SENSITIVE_KINDS, "declare a known kind")
    if attributes is not None or kind == "binary":
        return attributes
    if kind == "continuous":
        return Attributes.number("s")
    _check_vector("sensitive attribute sens", sens, len(sens), torch.int64)
    return Attributes.single("s", [str(code) for code in range(int(sens.max()) + 1)])


def check_sensitive(sens: Tensor, x: Tensor, column: int | None, groups: int) -> None:
    """The sensitive attribute numbers the groups and agrees with its column of x.

    Without groups it is a number, finite and not the same for everybody.
    """
    what = "sensitive attribute sens"
    _check_vector(what, sens, x.shape[0], torch.int64 if groups else torch.float64)
    if not groups:
        wrong = int((~torch.isfinite(sens)).sum())
        if wrong:
            step = "complete them, or leave those people out"
            raise GraphError(what, f"{wrong} NaN or infinite values", "finite numbers", step)
    elif groups == 2:
        next_step = 'recode the attribute to two groups, or declare sens_kind="categorical"'
        _check_values(f"{what}, declared binary", sens, (0, 1), "0 or 1", next_step)
    else:
        next_step = "number the groups as its attributes do"
        _check_values(what, sens, range(groups), f"0 to {groups - 1}", next_step)
    if column is None:
        return
    if not 0 <= column < x.shape[1]:
        raise GraphError(
            "sens_column",
            column,
            f"0 to {x.shape[1] - 1}, or None where x does not hold it",
            "name the column of x that holds the sensitive attribute",
        )
    differs = int((x[:, column] != sens.to(x.dtype)).sum())
    if differs:
        raise GraphError(
            f"column {column} of x, declared to hold the sensitive attribute",
            f"{differs} values that differ from sens",
            "the values of sens, unscaled",
            "leave that column out of scaling or correct sens_column",
        )


def check_known(known: Tensor | None, num_nodes: int) -> None:
    """Whose attribute is known is True or False, and somebody's is."""
    if known is None:
        return
    _check_vector("sens_known", known, num_nodes, torch.bool)
    if not bool(known.any()):
        step = "name another column, or ask some people"
        raise GraphError("sens_known", "nobody", "people whose attribute is known", step)


def check_told(
    told: Tensor | None, known: Tensor | None, attributes: Attributes | None, num_nodes: int
) -> None:
    """What people told of several attributes is a code of each, and all of those known."""
    if told is None:
        return
    each = () if attributes is None else attributes.each
    if tuple(told.shape) != (num_nodes, len(each)) or told.dtype != torch.int64 or len(each) < 2:
        got = f"{told.dtype} of shape {tuple(told.shape)}"
        allowed = f"int64 of shape ({num_nodes}, attributes), for two attributes or more"
        raise GraphError("sens_told", got, allowed, "leave it out where one attribute is read")
    most = torch.tensor([len(one.values) for one in each], device=told.device)
    whole = (told >= 0).all(dim=1)
    if bool(((told < -1) | (told >= most)).any()) or known is None or not torch.equal(whole, known):
        allowed = "codes of the attributes' values, −1 where unknown, all of them where sens_known"
        raise GraphError("sens_told", "other codes", allowed, "check the codes of each attribute")


def check_node_ids(node_id: Tensor, num_nodes: int) -> None:
    """Node ids are unique integers."""
    _check_vector("node_id", node_id, num_nodes, torch.int64)
    repeats = num_nodes - len(torch.unique(node_id))
    if repeats:
        raise GraphError(
            "node_id", f"{repeats} repeated ids", "one id a node", "drop duplicate rows"
        )


def check_masks(masks: Mapping[str, Tensor], num_nodes: int) -> None:
    """Train, validation and test masks are boolean and share no node."""
    for name, mask in masks.items():
        _check_vector(name, mask, num_nodes, torch.bool)
    for first, second in combinations(masks, 2):
        shared = int((masks[first] & masks[second]).sum())
        if shared:
            what, next_step = f"{first} and {second}", "make a split with fairgear.graph.split"
            raise GraphError(what, f"{shared} nodes in both", "disjoint masks", next_step)


def check_feature_names(names: Sequence[str], width: int) -> None:
    """One distinct name for each column of x."""
    if len(names) != width or len(set(names)) != width:
        raise GraphError(
            "feature_names",
            f"{len(names)} names, {len(set(names))} of them distinct",
            f"{width} distinct names, one a column of x",
            "name each column once",
        )


def check_extra(extra: Mapping[str, object]) -> None:
    """Other fields must not be tensors: `permute` could not know how to reorder them."""
    for name, value in extra.items():
        if isinstance(value, Tensor):
            raise GraphError(
                f"field {name!r}",
                "a tensor that is no field of SensitiveGraph",
                "values that are no tensors; weights of edges are called edge_weight",
                "make it a column of x, or leave it out",
            )


def _check_vector(name: str, values: Tensor, num_nodes: int, dtype: torch.dtype) -> None:
    if tuple(values.shape) != (num_nodes,) or values.dtype != dtype:
        raise GraphError(
            name,
            f"{values.dtype} of shape {tuple(values.shape)}",
            f"{dtype} of shape ({num_nodes},)",
            "pass one value a node",
        )


def _check_values(
    name: str, values: Tensor, known: Sequence[int], allowed: str, next_step: str
) -> None:
    unknown = values[~torch.isin(values, torch.tensor(known, device=values.device))]
    if len(unknown):
        shown = ", ".join(str(int(v)) for v in torch.unique(unknown)[:5])
        raise GraphError(name, f"the values {shown}", allowed, next_step)
