"""Sealed people: a fifth of a dataset, fixed by a hash of their ids, for the final judgement alone.

Every choice is made on the open graph, which does not contain them: neither their rows, nor their
edges, nor anything that was computed from them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from fairgear.causal import SyntheticMechanism
from fairgear.errors import GraphError
from fairgear.graph import SensitiveGraph, SimilarityMechanism, similarity_graph
from fairgear.graph.similarity_mechanism import cached_edges
from fairgear.hashing import node_uniform
from fairgear.settings import check_seed

SHARE = 0.2
# Of the open labelled people, for training; the others validate.
TRAIN_SHARE = 0.75
# Never to be changed: Gear was designed on the people whom this leaves open, and another seed or
# label would judge it on them. The first label, "sealed people", was given up:
# docs/results/judging.md.
_SEED, _STREAM = 0, "sealed"
# For rehearsals: a fifth of the open people stand in for the sealed ones.
_STAND_INS = "stand-ins of a rehearsal"
# What a graph may say besides its people.
_WORDS = ("sens_name", "sens_names", "label_name", "label_names")


def sealed(graph: SensitiveGraph) -> Tensor:
    """Mask (n,) of the sealed people, on the CPU; it depends on their ids alone."""
    return node_uniform(graph.node_id, _SEED, _STREAM) < SHARE


def stand_ins(graph: SensitiveGraph) -> Tensor:
    """Mask (n,) of a fifth of the people, for a rehearsal on an open graph."""
    return node_uniform(graph.node_id, _SEED, _STAND_INS) < SHARE


def open_graph(graph: SensitiveGraph) -> SensitiveGraph:
    """The graph without the sealed people, and without masks; see `without`."""
    return without(graph, sealed(graph))


def without(graph: SensitiveGraph, closed: Tensor) -> SensitiveGraph:
    """The graph without the people of a mask, and without masks; nothing of them is left.

    A graph that a rule made from a table is made again from the rows that stay: scale and edges.
    One of the synthetic model keeps the exogenous variables of those who stay, the label's
    threshold and the equations: labels are what they give without the other neighbours, so that
    counterfactuals are exact. Any other is the induced subgraph; its features are as they were
    loaded, and the mechanism is dropped, since it may not hold for a part of the graph.
    """
    rows = (~closed.cpu()).nonzero()[:, 0]
    fields: dict[str, Any] = {
        "sens_column": graph.sens_column,
        "feature_names": graph.feature_names,
        "node_id": graph.node_id.cpu()[rows],
        "name": graph.name,
        "attributes": graph.attributes,
        **{key: graph[key] for key in _WORDS if key in graph},
    }
    x, y, sens = (of.cpu()[rows] for of in (graph.x, graph.y, graph.sens))
    if isinstance(graph.mechanism, SimilarityMechanism) and graph.raw is not None:
        rule, raw = graph.mechanism.rule, graph.raw.cpu()[rows]
        return similarity_graph(raw, y, sens, rule=rule, join=cached_edges, **fields)
    edges, among = _induced(graph.edge_index.cpu(), rows, len(graph.x))
    weight = None if graph.edge_weight is None else graph.edge_weight.cpu()[among]
    fields |= {"directed": graph.directed, "edge_weight": weight}
    if isinstance(graph.mechanism, SyntheticMechanism) and graph.latent is not None:
        made, latent = graph.mechanism, graph.latent.cpu()[rows]
        labels = (made.scores(latent, sens, edges, weight) > made.label_threshold).long()
        y = torch.where(y >= 0, labels, y)
        fields |= {"latent": latent, "mechanism": made}
    return SensitiveGraph(x, edges, y, sens, **fields)


def sealed_split(graph: SensitiveGraph, seed: int) -> SensitiveGraph:
    """The whole graph: training and validation by the seed among the open, the sealed are the test.

    People without a label are in no set.
    """
    return _split(graph, sealed(graph), seed)


def rehearsal_split(graph: SensitiveGraph, seed: int) -> SensitiveGraph:
    """The same on the open graph alone: a fifth of the open people stand in for the sealed ones."""
    among = open_graph(graph)
    return _split(among, stand_ins(among), seed)


def _split(graph: SensitiveGraph, closed: Tensor, seed: int) -> SensitiveGraph:
    labelled = graph.y.cpu() >= 0
    order = graph.canonical.rows
    candidates = order[(labelled & ~closed)[order]].numpy()
    test = labelled & closed
    if not len(candidates) or not bool(test.any()):
        raise GraphError(
            "labelled people for judging",
            f"{len(candidates)} open and {int(test.sum())} sealed ones",
            "some of both",
            "label more people",
        )
    rng = np.random.default_rng(check_seed("seed of the split", seed))
    drawn = rng.permutation(candidates)
    cut = round(TRAIN_SHARE * len(drawn))
    masks = {"test_mask": test}
    for name, part in (("train_mask", drawn[:cut]), ("val_mask", drawn[cut:])):
        masks[name] = torch.zeros(len(graph.x), dtype=torch.bool)
        masks[name][torch.from_numpy(part)] = True
    return graph.replace(**{name: mask.to(graph.x.device) for name, mask in masks.items()})


def _induced(edge_index: Tensor, rows: Tensor, n: int) -> tuple[Tensor, Tensor]:
    """The edges among `rows`, by their places there, and which of the edges these are."""
    place = torch.full((n,), -1)
    place[rows] = torch.arange(len(rows))
    ends = place[edge_index]
    among = (ends >= 0).all(dim=0)
    return ends[:, among], among
