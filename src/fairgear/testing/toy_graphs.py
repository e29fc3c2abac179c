"""The toy graph that every method must learn, its counterfactual, and invalid graphs."""

from __future__ import annotations

from functools import cache
from typing import Any

import torch
from torch import Tensor

from fairgear.graph import SensitiveGraph, undirected_edges
from fairgear.graph.attributes import Attributes
from fairgear.hashing import node_uniform

PEOPLE = 160
_SENS_COLUMN = 2
_SIGNAL, _DEPENDENT = 0, 3
_GROUPS = ("p", "q", "r")
# Ages lie between these ends; so many years move the feature that depends on s by one.
_YOUNGEST, _OLDEST, _YEARS = 20.0, 70.0, 25.0


def toy_graph(
    kind: str = "binary", *, sens: str = "binary", links: str = "undirected"
) -> SensitiveGraph:
    """A small graph that is easy to learn: one feature separates the classes, whatever s is.

    Another feature depends on s, most links are within a class, a tenth of the people have no
    known label, and ids are not row numbers. Each call returns a new copy. For the kind
    "multiclass" the same feature tells three classes, two of which are linked; for "regression"
    the label is a number that grows with it.

    With `sens` "categorical" there are three groups, which no column of x holds; with "continuous"
    s is an age. With `links` "directed" a fifth of the arcs is left out; with "weighted" edges
    have weights.

    Example:
        >>> from fairgear.testing import toy_graph
        >>> toy_graph().num_nodes
        160
        >>> toy_graph("regression").target.is_number
        True
        >>> toy_graph(sens="categorical", links="directed").num_groups
        3
    """
    return _with_links(_with_sens(_with_labels(_toy_graph().clone(), kind), sens), links)


def _with_labels(graph: SensitiveGraph, kind: str) -> SensitiveGraph:
    if kind == "binary":
        return graph
    known, signal = graph.y >= 0, graph.x[:, _SIGNAL].double()
    if kind == "regression":
        return graph.replace(y=torch.where(known, 10 + 4 * signal, torch.nan))
    third = graph.node_id % 3 == 0
    y = torch.where(third & (graph.y == 1), 2, graph.y)
    x = graph.x.clone()
    x[:, _SIGNAL] += 3 * (y == 2) + 3 * (third & ~known)
    return graph.replace(x=x, y=y, label_names=("a", "b", "c"))


def _with_sens(graph: SensitiveGraph, kind: str) -> SensitiveGraph:
    if kind == "binary":
        return graph
    noise = node_uniform(graph.node_id, 0, "toy")
    x = graph.x.clone()
    x[:, _DEPENDENT] -= graph.sens
    if kind == "continuous":
        age = _YOUNGEST + (_OLDEST - _YOUNGEST) * noise
        x[:, _DEPENDENT] += (age / _YEARS).float()
        x[:, _SENS_COLUMN] = age.float()
        return graph.replace(x=x, sens=age, sens_kind=kind, attributes=Attributes.number("age"))
    group = torch.where(noise < 0.4, 2, graph.sens)
    x[:, _DEPENDENT] += group
    kept = [column for column in range(x.shape[1]) if column != _SENS_COLUMN]
    return graph.replace(
        x=x[:, kept],
        feature_names=[graph.feature_names[column] for column in kept],
        sens=group,
        sens_kind=kind,
        sens_column=None,
        attributes=Attributes.single("group", _GROUPS),
    )


def _with_links(graph: SensitiveGraph, kind: str) -> SensitiveGraph:
    source, target = graph.node_id[graph.edge_index]
    if kind == "directed":
        kept = (source + 2 * target) % 5 > 0
        return graph.replace(edge_index=graph.edge_index[:, kept], directed=True)
    if kind == "weighted":
        return graph.replace(edge_weight=0.5 + ((source + target) % 4).double())
    return graph


@cache
def _toy_graph() -> SensitiveGraph:
    draw = torch.Generator().manual_seed(0)
    person = torch.arange(PEOPLE)
    y, part = person % 2, person // 2 % 10
    sens = torch.randint(2, (PEOPLE,), generator=draw)
    x = torch.randn(PEOPLE, 5, generator=draw)
    x[:, _SIGNAL] = (2 * y - 1) + 0.3 * x[:, _SIGNAL]
    x[:, _DEPENDENT] += sens
    x[:, _SENS_COLUMN] = sens.float()
    source = torch.randint(PEOPLE, (3 * PEOPLE,), generator=draw)
    target = 2 * torch.randint(PEOPLE // 2, source.shape, generator=draw) + source % 2
    # A twentieth of the links are between the classes.
    target[::20] = (target[::20] + 1) % PEOPLE
    graph = SensitiveGraph(
        x,
        undirected_edges(torch.stack([source, target]), PEOPLE),
        torch.where(part < 9, y, -1),
        sens,
        sens_column=_SENS_COLUMN,
        node_id=7 * torch.randperm(PEOPLE, generator=draw) + 11,
        train_mask=part < 5,
        val_mask=(part == 5) | (part == 6),
        test_mask=(part == 7) | (part == 8),
        name="toy",
    )
    return graph.permute(torch.randperm(PEOPLE, generator=draw))


def toy_world(
    kind: str = "binary", *, sens: str = "binary", links: str = "undirected"
) -> SensitiveGraph:
    """The toy graph, had everybody been of another group or age: a feature and links change.

    Example:
        >>> from fairgear.testing import toy_graph, toy_world
        >>> bool((toy_world().sens == 1 - toy_graph().sens).all())
        True
    """
    graph = toy_graph(kind, sens=sens, links=links)
    x, column = graph.x.clone(), _DEPENDENT
    if sens == "continuous":
        other = _YOUNGEST + _OLDEST - graph.sens
        x[:, column] += ((other - graph.sens) / _YEARS).float()
    elif sens == "categorical":
        other, column = (graph.sens + 1) % len(_GROUPS), _DEPENDENT - 1
        x[:, column] += other - graph.sens
    else:
        other = 1 - graph.sens
        x[:, column] += other - graph.sens
    if graph.sens_column is not None:
        x[:, graph.sens_column] = other.float()
    kept = graph.edge_index.sum(dim=0) % 3 > 0
    changed: dict[str, Any] = {"edge_index": graph.edge_index[:, kept]}
    if graph.edge_weight is not None:
        changed["edge_weight"] = graph.edge_weight[kept]
    return graph.replace(x=x, sens=other, **changed)


def other_labels(graph: SensitiveGraph) -> Tensor:
    """Another label for everybody, known for all: the next class, or the negative number."""
    if graph.target.is_number:
        return -graph.y.nan_to_num(5.0)
    return (graph.y.clamp(min=0) + 1) % len(graph.target.classes)


def untrainable(graph: SensitiveGraph) -> dict[str, SensitiveGraph]:
    """Graphs that no method can be trained on, by what is wrong with them."""
    x, none = graph.x.clone(), torch.zeros_like(graph.train_mask)
    x[:, _SENS_COLUMN] = 0
    zeros = torch.zeros_like(graph.y)
    return {
        "no training people": graph.replace(train_mask=none),
        "no validation people": graph.replace(val_mask=none),
        "one class to train on": graph.replace(y=torch.where(graph.train_mask, zeros, graph.y)),
        "one class to validate on": graph.replace(y=torch.where(graph.val_mask, zeros, graph.y)),
        "one group": graph.replace(x=x, sens=torch.zeros_like(graph.sens)),
    }


def other_columns(graph: SensitiveGraph) -> dict[str, SensitiveGraph]:
    """Graphs with other columns, by what differs."""
    wider = torch.cat([graph.x, graph.x[:, :1]], dim=1)
    swapped = graph.x.clone()
    swapped[:, [0, _SENS_COLUMN]] = graph.x[:, [_SENS_COLUMN, 0]]
    names = graph.feature_names
    return {
        "fewer columns": graph.replace(x=graph.x[:, :-1], feature_names=names[:-1]),
        "more columns": graph.replace(x=wider, feature_names=[*names, "more"]),
        "another sensitive column": graph.replace(x=swapped, sens_column=0),
    }
