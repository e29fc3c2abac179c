"""The push: personalised PageRank from one node, touching only what is near it.

p holds what has been settled and r what has not. Pushing node u settles the share α of r[u] and
spreads the rest over its neighbours, and always π_i = p + Σ_u r[u] π_u. On an undirected graph
π_u(v)/d_v = π_v(u)/d_u, so the error of p(v)/d_v is a mean of r[u]/d_u over the nodes u where a
walk from v ends: it lies between the least and the greatest r[u]/d_u.

All state of a push is in a hash table (`table`) that grows with the nodes touched and serves one
node after another. (In graphs of at most `search.SPILL_NODES` nodes, a search that touches much of
its component goes on in arrays.)
"""

from __future__ import annotations

import numpy as np

from fairgear.compiled import compiled
from fairgear.egos.table import EMPTY, SPREAD, Ints, Keys, State, Table, grow


@compiled
def _spread(
    degrees: Keys,
    neighbours: Keys,
    share: float,
    threshold: float,
    table: Table,
    touched: Keys,
    count: int,
    queue: Keys,
    waiting: int,
) -> tuple[int, int]:
    # Apart from `push`, and with room made beforehand: where arrays may be replaced inside the
    # loop, numba counts references for every edge, at six times the cost.
    mask = len(table) - 1
    for neighbour in neighbours:
        key = neighbour + 1
        # Unsigned, which spares the check for negative indices.
        slot = np.uint64((key * SPREAD) & mask)
        while table[slot]["key"] != key and table[slot]["key"] != EMPTY:
            slot = np.uint64((slot + 1) & mask)
        entry = table[slot]
        if entry["key"] == EMPTY:
            entry["key"] = key
            entry["degree"] = degrees[neighbour]
            touched[count] = slot
            count += 1
        residual = entry["residual"] + share
        entry["residual"] = residual
        degree = entry["degree"]
        if abs(residual) > threshold * degree and degree > 0:
            entry["degree"] = -degree
            queue[waiting] = slot
            waiting += 1
    return count, waiting


@compiled
def push(
    indptr: Ints,
    indices: Keys,
    degrees: Keys,
    alpha: float,
    relaxation: float,
    threshold: float,
    budget: int,
    once: bool,
    state: State,
    count: int,
) -> tuple[State, int, int]:
    """Push until every |r[u]| ≤ threshold · degree(u), or `budget` edges have been followed.

    `relaxation` above 1 pushes more than is there and leaves the excess as negative residual:
    successive over-relaxation, which converges in any order of pushes below 2. `once` drops what
    comes back to the first node, whose scores of other nodes then all miss the same factor: a
    walk that is back goes on as it did at first.
    Returns the state, how many nodes it touches and the edges followed.
    """
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
            first, last = indptr[node], indptr[node + 1]
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
                degrees,
                indices[first:last],
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
