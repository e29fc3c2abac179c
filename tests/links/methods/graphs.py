"""Graphs whose links can be learned, and models small enough to train in a moment."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import torch

from fairgear.graph import SensitiveGraph, undirected_edges
from fairgear.links import LINK_METHODS, LinkSplit, split_links
from fairgear.links.methods import LinkMethod
from fairgear.testing import toy_graph

NETWORK: dict[str, Any] = {"dim": 16, "steps": 40, "validate_every": 20, "learning_rate": 0.02}
# Methods that are not listed run with their defaults.
SETTINGS: dict[str, dict[str, Any]] = {
    "gear": {
        "dim": 16,
        "steps": 40,
        "learning_rate": 0.02,
        # All that a fit can do.
        "encoder": "graphsage",
        "views": True,
    },
    "graphsage": NETWORK,
    "gcn": NETWORK,
    "nifty-sage": {**NETWORK, "drop_edges": 0.1},
    "nifty-gcn": {**NETWORK, "drop_edges": 0.1},
    "c-enc": NETWORK,
    "fairdrop": NETWORK,
}
NETWORKS = tuple(SETTINGS)
SETTINGS["fairwalk"] = {"dim": 16, "walks": 12}


@cache
def homophilous(people: int = 150) -> SensitiveGraph:
    """People who are near each other are linked, sooner within a group, and features follow s."""
    rng = np.random.default_rng(5)
    place, sens = rng.normal(size=(people, 2)), rng.integers(2, size=people)
    apart = np.linalg.norm(place[:, None] - place[None], axis=2)
    apart += 0.4 * (sens[:, None] != sens[None])
    pairs = np.stack(np.nonzero(np.triu(apart < 0.55, 1)))
    x = np.concatenate([place + sens[:, None], rng.normal(size=(people, 1)), sens[:, None]], axis=1)
    return SensitiveGraph(
        torch.from_numpy(x).float(),
        undirected_edges(torch.from_numpy(pairs), people),
        sens=torch.from_numpy(sens),
        sens_column=3,
        node_id=torch.from_numpy(3 * rng.permutation(people) + 2),
    )


@cache
def split_of(kind: str = "homophilous") -> LinkSplit:
    """A split of that graph, or of the toy graph of another kind."""
    graphs: dict[str, Callable[[], SensitiveGraph]] = {
        "homophilous": homophilous,
        "directed": lambda: toy_graph(links="directed"),
        "weighted": lambda: toy_graph(links="weighted"),
        "groups": lambda: toy_graph(sens="categorical"),
        "number": lambda: toy_graph(sens="continuous"),
    }
    return split_links(graphs[kind](), seed=2)


def new(name: str, **settings: Any) -> LinkMethod:
    """A small model, on the CPU."""
    kind = LINK_METHODS[name]
    assert issubclass(kind, LinkMethod)
    return kind(device="cpu", **SETTINGS.get(name, {}) | settings)


@cache
def fitted(name: str, kind: str = "homophilous", **settings: Any) -> LinkMethod:
    """A fitted one; tests must leave it as it is."""
    return new(name, **settings).fit(split_of(kind))


def by_hand(name: str, graph: SensitiveGraph, first: int, second: int) -> float:
    """One pair, by the definition, of arcs or of weighted edges."""
    weight = graph.edge_weight
    values = [1.0] * graph.edge_index.shape[1] if weight is None else weight.tolist()
    arcs = {
        (source, target): value
        for (source, target), value in zip(graph.edge_index.T.tolist(), values, strict=True)
    }
    if name == "preferential-attachment":
        sent = math.fsum(value for (source, _), value in arcs.items() if source == first)
        return sent * math.fsum(value for (_, target), value in arcs.items() if target == second)
    total = 0.0
    for between in range(len(graph.x)):
        if (first, between) in arcs and (between, second) in arcs:
            near = sum(source == between for source, _ in arcs)
            near += sum(target == between for _, target in arcs) if graph.directed else 0
            share = 1 / math.log(near) if name == "adamic-adar" else 1.0
            total += share * math.sqrt(arcs[first, between] * arcs[between, second])
    return total
