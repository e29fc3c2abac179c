"""Egos that were found are kept for a while: several models ask about the same graphs."""

from __future__ import annotations

from collections import OrderedDict
from pathlib import Path

from torch import Tensor

from fairgear.egos.index import EgoIndex
from fairgear.egos.shards import SHARD, sharded
from fairgear.graph import SensitiveGraph

# Bytes of indices that are kept; the one asked for longest ago goes first.
LIMIT = 512 * 2**20
_kept: OrderedDict[str, EgoIndex] = OrderedDict()


def remembered(
    graph: SensitiveGraph,
    k: int,
    alpha: float,
    nodes: Tensor | None = None,
    precision: str = "exact",
    folder: Path | None = None,
) -> EgoIndex:
    """What `EgoIndex.build` gives, found once for all who ask in this process.

    Told apart by the content of the edges, not by the graph, so that worlds with the same edges
    share an index, and one whose edges were changed in place gets another. With a `folder`, the
    egos of a graph of several shards are written there as they are found.
    """
    key = EgoIndex.key_of(graph, nodes, k=k, alpha=alpha, precision=precision)
    index = _kept.pop(key, None)
    if index is None and folder is not None and nodes is None and len(graph.x) > SHARD:
        index = sharded(graph, folder, k=k, alpha=alpha, precision=precision)
    elif index is None:
        index = EgoIndex.build(graph, k, alpha, nodes=nodes, precision=precision)
    _kept[key] = index
    while len(_kept) > 1 and sum(map(_size, _kept.values())) > LIMIT:
        _kept.popitem(last=False)
    return index


def forget() -> None:
    """Drop all that is kept."""
    _kept.clear()


def _size(index: EgoIndex) -> int:
    return sum(tensor.nbytes for tensor in (index.ids, index.mask, index.adjacency))
