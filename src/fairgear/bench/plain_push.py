"""The push in plain Python: the slowest side, and the one that counts what a push does."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Pushed:
    """What a push found and what it took: nodes pushed, and edges followed."""

    settled: dict[int, float]
    """The settled share of every node that was touched."""
    pushes: int
    edges: int


def plain_push(
    indptr: NDArray[np.int64],
    indices: NDArray[np.int32],
    source: int,
    alpha: float,
    tolerance: float,
) -> Pushed:
    """Push from `source` until every residual r[u] ≤ tolerance · degree(u), first come first."""
    residual, settled = {source: 1.0}, {source: 0.0}
    queue, waiting = deque([source]), {source}
    pushes = edges = 0
    while queue:
        node = queue.popleft()
        waiting.discard(node)
        begin, end = int(indptr[node]), int(indptr[node + 1])
        mass = residual[node]
        if end == begin or mass <= tolerance * (end - begin):
            continue
        pushes += 1
        edges += end - begin
        settled[node] += alpha * mass
        residual[node] = 0.0
        share = (1 - alpha) * mass / (end - begin)
        for neighbour in indices[begin:end].tolist():
            settled.setdefault(neighbour, 0.0)
            residual[neighbour] = residual.get(neighbour, 0.0) + share
            degree = int(indptr[neighbour + 1] - indptr[neighbour])
            if residual[neighbour] > tolerance * degree and neighbour not in waiting:
                waiting.add(neighbour)
                queue.append(neighbour)
    return Pushed(settled, pushes, edges)
