"""The hash table that holds the state of a push.

One entry a node touched, in a single piece of 16 bytes, so that following an edge reads one place
in memory. A table serves one node after another: making one takes longer than a short push.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from fairgear.compiled import compiled

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Keys = NDArray[np.int32]
Table = NDArray[np.void]
# Table, settled part of each slot, slots in the order touched, and two queues of slots.
State: TypeAlias = tuple[Table, Floats, Keys, Keys, Keys]

# `key` is the node's number plus one; the degree of a node that waits in the queue is negative.
ENTRY = np.dtype([("residual", np.float64), ("key", np.int32), ("degree", np.int32)])
EMPTY = 0
# Odd, so that a table at least as large as the graph has no collisions at all.
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

    After a hub, nodes with few neighbours would else work in a table that no cache holds.
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
        # The old table is done with: it tells the queues where its entries went.
        entry["key"] = new_slot
    for place in range(begin, end):
        new_queue[place] = table[queue[place]]["key"]
    for place in range(arrived):
        new_following[place] = table[following[place]]["key"]
    return larger
