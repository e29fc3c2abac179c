"""The push: personalised PageRank from one node, touching only what is near it.

p holds what is settled and r what is not. Pushing node u settles the share α of r[u] and spreads
the rest over its neighbours, and always π_i = p + Σ_u r[u] π_u. On an undirected graph
π_u(v)/d_v = π_v(u)/d_u, so the error of p(v)/d_v is a mean of r[u]/d_u over the nodes u where a
walk from v ends: it lies between the least and the greatest r[u]/d_u.

Where edges have directions or weights, shares differ from neighbour to neighbour and that symmetry
is gone. There the row R[i,:] is pushed backwards: what is at u goes to those who step to u, to v
with the share w_vu / Σ w_v·, and always R[i,v] = p(v) + Σ_u r[u] R[u,v]. A walk from v ends
somewhere once at most, so the error of p(v) lies between the least and the greatest r, or 0. The
same code serves, with 1 for every degree.

The state of a push is a hash table that grows with the nodes touched: one entry of 16 bytes a
node, so that following an edge reads one place in memory. A table serves one node after another,
since making one takes longer than a short push. (In graphs of at most `search.SPILL_NODES` nodes,
a search that touches much of its component continues in arrays.)
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from fairgear.compiled import compiled

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Keys = NDArray[np.int32]
Flags = NDArray[np.bool_]
Table = NDArray[np.void]
# Where the neighbours of each node begin, the neighbours of all nodes, and how many each has.
Lists: TypeAlias = tuple[Ints, Keys, Keys]
# The same, degrees (1 where edges have directions or weights), and there the share of each
# neighbour, None elsewhere: numba compiles what is called with either.
Graph: TypeAlias = tuple[Ints, Keys, Keys, Keys, Floats | None]
# Table, settled part of each slot, slots in the order touched, and two queues of slots.
State: TypeAlias = tuple[Table, Floats, Keys, Keys, Keys]

# `key` is the node's number plus one; the degree of a node in the queue is negative.
ENTRY = np.dtype([("residual", np.float64), ("key", np.int32), ("degree", np.int32)])
EMPTY = 0
# Odd, so that a table at least as large as the graph has no collisions.
SPREAD = 2654435761


@compiled
def make(room: int) -> State:
    """An empty table of `room` slots, a power of two; half of them may be used."""
    return (
        np.zeros(room, ENTRY),
        np.zeros(room),
        np.empty(room // 2, np.int32),
        np.empty(room // 2, np.int32),
        np.empty(room // 2, np.int32),
    )


@compiled
def find(table: Table, node: int) -> int:
    """The slot of `node`, or the empty slot where it belongs."""
    mask = len(table) - 1
    key = node + 1
    slot = (key * SPREAD) & mask
    while table[slot]["key"] != key and table[slot]["key"] != EMPTY:
        slot = (slot + 1) & mask
    return slot


@compiled
def begin(state: State, node: int, degree: int) -> None:
    """Put the whole residual on `node`, in an empty table."""
    slot = find(state[0], node)
    entry = state[0][slot]
    entry["key"] = node + 1
    entry["degree"] = degree
    entry["residual"] = 1.0
    state[2][0] = slot


@compiled
def clear(state: State, count: int, most: int, room: int) -> State:
    """The table emptied; one of more than `most` slots is exchanged for one of `room`.

    After a hub, nodes with few neighbours would otherwise use a table too large for the caches.
    """
    table, settled, touched, _, _ = state
    if len(table) > most:
        return make(room)
    for place in range(count):
        slot = touched[place]
        entry = table[slot]
        entry["key"] = EMPTY
        entry["residual"] = 0.0
        settled[slot] = 0.0
    return state


@compiled
def grow(state: State, count: int, needed: int, begin: int, end: int, arrived: int) -> State:
    """The same in a table for `needed` nodes: queue[begin:end] and following[:arrived] are kept."""
    table, settled, touched, queue, following = state
    room = 2 * len(table)
    while room // 2 < needed:
        room *= 2
    larger = make(room)
    new_table, new_settled, new_touched, new_queue, new_following = larger
    for place in range(count):
        slot = touched[place]
        entry = table[slot]
        new_slot = find(new_table, entry["key"] - 1)
        new = new_table[new_slot]
        new["key"], new["residual"], new["degree"] = (
            entry["key"],
            entry["residual"],
            entry["degree"],
        )
        new_settled[new_slot] = settled[slot]
        new_touched[place] = new_slot
        # The old table is no longer needed: it now tells the queues where its entries went.
        entry["key"] = new_slot
    for place in range(begin, end):
        new_queue[place] = table[queue[place]]["key"]
    for place in range(arrived):
        new_following[place] = table[following[place]]["key"]
    return larger


@compiled
def part(shares: Floats | None, edge: int | np.uint64) -> float:
    """The share that an edge gets; where all get the same, this is compiled to nothing."""
    if shares is None:
        return 1.0
    return float(shares[edge])


@compiled
def _spread(
    graph: Graph,
    first: int,
    last: int,
    share: float,
    threshold: float,
    table: Table,
    touched: Keys,
    count: int,
    queue: Keys,
    waiting: int,
) -> tuple[int, int]:
    # A function of its own, with room made before: where arrays may be replaced inside the loop,
    # numba counts references for every edge, at six times the cost.
    _, indices, _, degrees, shares = graph
    mask = len(table) - 1
    for edge in range(first, last):
        at = np.uint64(edge)
        neighbour = indices[at]
        key = neighbour + 1
        # Unsigned: no check for negative indices.
        slot = np.uint64((key * SPREAD) & mask)
        while table[slot]["key"] != key and table[slot]["key"] != EMPTY:
            slot = np.uint64((slot + 1) & mask)
        entry = table[slot]
        if entry["key"] == EMPTY:
            entry["key"] = key
            entry["degree"] = degrees[neighbour]
            touched[count] = slot
            count += 1
        residual = entry["residual"] + share * part(shares, at)
        entry["residual"] = residual
        degree = entry["degree"]
        if abs(residual) > threshold * degree and degree > 0:
            entry["degree"] = -degree
            queue[waiting] = slot
            waiting += 1
    return count, waiting


@compiled
def push(
    graph: Graph,
    alpha: float,
    relaxation: float,
    threshold: float,
    budget: int,
    once: bool,
    state: State,
    count: int,
) -> tuple[State, int, int]:
    """Push until every |r[u]| ≤ threshold · degree(u), or `budget` edges have been followed.

    `relaxation` above 1 pushes more than is there and leaves the excess as negative residual
    (successive over-relaxation, which converges below 2). `once` drops what comes back to the
    first node; all scores of other nodes then miss the same factor.
    Returns the state, how many nodes it touches and the edges followed.
    """
    indptr, lengths = graph[0], graph[2]
    table, settled, touched, queue, following = state
    waiting = 0
    for place in range(count):
        entry = table[touched[place]]
        if abs(entry["residual"]) > threshold * entry["degree"]:
            entry["degree"] = -entry["degree"]
            queue[waiting] = touched[place]
            waiting += 1
    followed = 0
    while waiting > 0:
        arrived = 0
        for place in range(waiting):
            slot = queue[place]
            entry = table[slot]
            node, residual, degree = entry["key"] - 1, entry["residual"], -entry["degree"]
            entry["degree"] = degree
            if abs(residual) <= threshold * degree or followed > budget:
                continue
            if once and slot == touched[0] and settled[slot] > 0.0:
                continue
            moved = relaxation * residual
            settled[slot] += alpha * moved
            entry["residual"] = residual - moved
            if abs(residual - moved) > threshold * degree:
                entry["degree"] = -degree
                following[arrived] = slot
                arrived += 1
            first, last = indptr[node], indptr[node] + lengths[node]
            followed += last - first
            if count + last - first > len(touched):
                table, settled, touched, queue, following = grow(
                    (table, settled, touched, queue, following),
                    count,
                    count + last - first,
                    place + 1,
                    waiting,
                    arrived,
                )
            count, arrived = _spread(
                graph,
                first,
                last,
                (1.0 - alpha) * moved / degree,
                threshold,
                table,
                touched,
                count,
                following,
                arrived,
            )
        queue, following = following, queue
        waiting = arrived
    if once and settled[touched[0]] > 0.0:
        table[touched[0]]["residual"] = 0.0
    return (table, settled, touched, queue, following), count, followed
