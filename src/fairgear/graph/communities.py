"""Communities: groups of densely linked nodes, which a bootstrap over a graph resamples.

The Louvain method (Blondel and others, 2008): every node, in canonical order, joins the
neighbouring community with the largest gain in modularity; communities then become nodes of a
smaller graph, and so on until nothing moves. Communities are limited in size: otherwise those of
a sparse random graph would end as one that holds almost everyone, with nothing left to resample.
All sums are integers, so the result is the same on every machine.
"""

from __future__ import annotations

import math

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from fairgear.compiled import compiled
from fairgear.errors import ParameterError
from fairgear.graph.sensitive_graph import SensitiveGraph

Integers = NDArray[np.int64]

# A sweep without a move ends the level; this bounds the time on adversarial graphs.
MAX_SWEEPS = 30
# A region has at most this part of the people. Eight regions are few for a variance, but with fewer
# people in each, what neighbouring communities share is missed.
REGIONS = 8


def communities(graph: SensitiveGraph, max_size: int | None = None) -> Tensor:
    """Community of each node, an int64 tensor of labels 0 to C − 1.

    Args:
        graph: nodes without edges are communities of one. Its ids decide the order of work and
            all ties, so that reordering the rows reorders the labels and changes nothing else.
        max_size: most nodes in one community; √n rounded up if not given, which leaves at
            least about √n communities to resample.

    Returns:
        Labels, numbered by the smallest id in each community.

    Example:
        >>> from fairgear.graph import communities
        >>> from fairgear.testing import toy_graph
        >>> labels = communities(toy_graph())
        >>> labels.shape
        torch.Size([160])
        >>> int(labels.bincount().max()) <= 13
        True
    """
    num_nodes = len(graph.x)
    limit = math.isqrt(num_nodes - 1) + 1 if max_size is None else max_size
    if limit < 1:
        raise ParameterError("max_size", max_size, "at least 1", "leave it out for √n")
    source, target = graph.canonical.edge_index.numpy()
    if graph.directed:
        # Who points to whom does not matter here, and neither do weights, which are no integers.
        source, target = np.concatenate([source, target]), np.concatenate([target, source])
    weight = np.ones(len(source), dtype=np.int64)
    label = np.arange(num_nodes, dtype=np.int64)
    size = np.ones(num_nodes, dtype=np.int64)
    while True:
        indptr, neighbor, weight = _compressed(source, target, weight, len(size))
        moved = _numbered_by_first(_move(indptr, neighbor, weight, size, limit, MAX_SWEEPS))
        if moved.max() + 1 == len(size):
            break
        label = moved[label]
        source = moved[np.repeat(np.arange(len(size)), np.diff(indptr))]
        target = moved[neighbor]
        size = np.bincount(moved, weights=size).astype(np.int64)
    return torch.from_numpy(label)[graph.canonical.numbers].to(graph.x.device)


def regions(graph: SensitiveGraph) -> Tensor:
    """Region of each node: a community of up to an eighth of all, where those of √n are linked.

    Example:
        >>> from fairgear.graph import regions
        >>> from fairgear.testing import toy_graph
        >>> int(regions(toy_graph()).max()) + 1 >= 8
        True
    """
    return communities(graph, max_size=max(len(graph.x) // REGIONS, 1))


def _compressed(
    source: Integers, target: Integers, weight: Integers, n: int
) -> tuple[Integers, Integers, Integers]:
    """Rows of neighbours, sorted, with the weights of parallel edges added up."""
    key, where = np.unique(source * n + target, return_inverse=True)
    total = np.zeros(len(key), dtype=np.int64)
    np.add.at(total, where, weight)
    indptr = np.zeros(n + 1, dtype=np.int64)
    indptr[1:] = np.cumsum(np.bincount(key // n, minlength=n))
    return indptr, key % n, total


def _numbered_by_first(label: Integers) -> Integers:
    """The same groups, numbered in the order in which they first appear."""
    _, first, inverse = np.unique(label, return_index=True, return_inverse=True)
    number = np.empty(len(first), dtype=np.int64)
    number[np.argsort(first)] = np.arange(len(first))
    result: Integers = number[inverse]
    return result


@compiled
def _move(
    indptr: Integers,
    neighbor: Integers,
    weight: Integers,
    size: Integers,
    limit: int,
    max_sweeps: int,
) -> Integers:
    """One level: nodes in order join the community with the largest gain in modularity."""
    n = len(size)
    label = np.arange(n)
    strength = np.zeros(n, dtype=np.int64)
    for i in range(n):
        strength[i] = weight[indptr[i] : indptr[i + 1]].sum()
    total = strength.sum()
    community_strength = strength.copy()
    room = limit - size
    link = np.zeros(n, dtype=np.int64)
    for _ in range(max_sweeps):
        moves = 0
        for i in range(n):
            own = label[i]
            community_strength[own] -= strength[i]
            room[own] += size[i]
            row = slice(indptr[i], indptr[i + 1])
            for j, w in zip(neighbor[row], weight[row]):  # noqa: B905  # numba has no strict zip
                if j != i:
                    link[label[j]] += w
            around = label[neighbor[row]]
            best = _best(own, around, link, community_strength, strength[i], total, room, size[i])
            link[around] = 0
            label[i] = best
            community_strength[best] += strength[i]
            room[best] -= size[i]
            moves += best != own
        if moves == 0:
            break
    return label


@compiled
def _best(
    own: int,
    around: Integers,
    link: Integers,
    community_strength: Integers,
    strength: int,
    total: int,
    room: Integers,
    size: int,
) -> int:
    """The community to be in, which is `own` unless another gains strictly more.

    The gain of node i in community c is k(i,c)·2m − k(i)·k(c); of equal ones the smaller label.
    """
    stay = link[own] * total - strength * community_strength[own]
    best, best_gain = own, stay
    for c in around:
        if c == own or room[c] < size:
            continue
        gain = link[c] * total - strength * community_strength[c]
        if gain > best_gain or (gain == best_gain and gain > stay and c < best):
            best, best_gain = c, gain
    return best
