"""The push: personalised PageRank from one node, touching only what is near it.

p holds what has been settled and r what has not. Pushing node u settles the share α of r[u] and
spreads the rest over its neighbours, and always π_i = p + Σ_u r[u] π_u. On an undirected graph
π_u(v)/d_v = π_v(u)/d_u, so the error of p(v)/d_v is a mean of r[u]/d_u over the nodes u where a
walk from v ends: it lies between the least and the greatest r[u]/d_u.

All state of a push is in a hash table that grows with the nodes touched. (In graphs of at most
`search.SPILL_NODES` nodes, a search that touches much of its component goes on in arrays.)
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fairgear.compiled import compiled

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Keys = NDArray[np.int32]

# Columns of the table.
RESIDUAL, DEGREE, SETTLED, QUEUED = 0, 1, 2, 3
# Odd, so that a table at least as large as the graph has no collisions at all.
SPREAD = 2654435761
EMPTY = -1


@compiled
def start(node: int, degree: int, room: int) -> tuple[Keys, Floats, Keys]:
    """Key column, table and list of touched nodes, with the whole residual on `node`."""
    keys = np.full(room, EMPTY, np.int32)
    table = np.zeros((room, 4))
    touched = np.empty(room // 2, np.int32)
    slot = find(keys, node)
    keys[slot] = node
    table[slot, RESIDUAL] = 1.0
    table[slot, DEGREE] = degree
    touched[0] = node
    return keys, table, touched


@compiled
def find(keys: Keys, node: int) -> int:
    """The slot of `node`, or the empty slot where it belongs."""
    mask = len(keys) - 1
    slot = (node * SPREAD) & mask
    while keys[slot] != node and keys[slot] != EMPTY:
        slot = (slot + 1) & mask
    return slot


@compiled
def _grow(keys: Keys, table: Floats, touched: Keys, count: int) -> tuple[Keys, Floats, Keys]:
    room = 4 * len(keys)
    new_keys = np.full(room, EMPTY, np.int32)
    new_table = np.zeros((room, 4))
    new_touched = np.empty(room // 2, np.int32)
    new_touched[:count] = touched[:count]
    for place in range(count):
        node = touched[place]
        slot = find(new_keys, node)
        new_keys[slot] = node
        new_table[slot] = table[find(keys, node)]
    return new_keys, new_table, new_touched


@compiled
def _spread(
    indptr: Ints,
    neighbours: Keys,
    share: float,
    threshold: float,
    keys: Keys,
    table: Floats,
    touched: Keys,
    count: int,
    queue: Keys,
    waiting: int,
) -> tuple[int, int]:
    # Apart from `push`, and with room made beforehand: where arrays may be replaced inside the
    # loop, numba counts references for every edge, at six times the cost.
    mask = len(keys) - 1
    for neighbour in neighbours:
        slot = (neighbour * SPREAD) & mask
        while keys[slot] != neighbour and keys[slot] != EMPTY:
            slot = (slot + 1) & mask
        if keys[slot] == EMPTY:
            keys[slot] = neighbour
            table[slot, DEGREE] = indptr[neighbour + 1] - indptr[neighbour]
            touched[count] = neighbour
            count += 1
        table[slot, RESIDUAL] += share
        if (
            table[slot, QUEUED] == 0.0
            and abs(table[slot, RESIDUAL]) > threshold * table[slot, DEGREE]
        ):
            table[slot, QUEUED] = 1.0
            queue[waiting] = neighbour
            waiting += 1
    return count, waiting


@compiled
def push(
    indptr: Ints,
    indices: Keys,
    alpha: float,
    relaxation: float,
    threshold: float,
    budget: int,
    keys: Keys,
    table: Floats,
    touched: Keys,
    count: int,
) -> tuple[Keys, Floats, Keys, int, int]:
    """Push until every |r[u]| ≤ threshold · degree(u), or `budget` edges have been followed.

    `relaxation` above 1 pushes more than is there and leaves the excess as negative residual:
    successive over-relaxation, which converges in any order of pushes below 2.
    Returns the state, how many nodes it touches and the edges followed.
    """
    queue = np.empty(len(touched), np.int32)
    waiting = 0
    for place in range(count):
        slot = find(keys, touched[place])
        if abs(table[slot, RESIDUAL]) > threshold * table[slot, DEGREE]:
            table[slot, QUEUED] = 1.0
            queue[waiting] = touched[place]
            waiting += 1
    following = np.empty(len(touched), np.int32)
    followed = 0
    while waiting > 0:
        arrived = 0
        for place in range(waiting):
            node = queue[place]
            slot = find(keys, node)
            table[slot, QUEUED] = 0.0
            residual = table[slot, RESIDUAL]
            degree = table[slot, DEGREE]
            if abs(residual) <= threshold * degree or followed > budget:
                continue
            moved = relaxation * residual
            table[slot, SETTLED] += alpha * moved
            table[slot, RESIDUAL] = residual - moved
            if abs(residual - moved) > threshold * degree:
                table[slot, QUEUED] = 1.0
                following[arrived] = node
                arrived += 1
            share = (1.0 - alpha) * moved / degree
            first, last = indptr[node], indptr[node + 1]
            followed += last - first
            while count + last - first > len(touched):
                keys, table, touched = _grow(keys, table, touched, count)
            if len(following) < len(touched):
                longer = np.empty(len(touched), np.int32)
                longer[:arrived] = following[:arrived]
                following = longer
            count, arrived = _spread(
                indptr,
                indices[first:last],
                share,
                threshold,
                keys,
                table,
                touched,
                count,
                following,
                arrived,
            )
        if len(queue) < len(following):
            queue = np.empty(len(following), np.int32)
        queue, following = following, queue
        waiting = arrived
    return keys, table, touched, count, followed
