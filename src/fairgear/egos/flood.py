"""The push on a whole component, once it has spread over a good part of it.

Plain arrays are several times faster than a hash table, so a push that holds more than a small
part of a component continues in arrays over all of it. There the constant part of r/d can be
settled at once: by the symmetry in `push`, the residual c·d gives every node v of the component
exactly the score c·d_v. Only differences remain to be pushed.

Most nodes need nothing at most times. The arrays are read in blocks, of which a processor compares
several numbers at once. Nodes of other components have residual and degree 0, so that nothing is
ever pushed from them. Indices are unsigned, which saves a check for negative ones.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np

from fairgear.compiled import compiled
from fairgear.egos.push import Floats, Graph, Keys, Table, part
from fairgear.egos.ranking import first_twin

# Nodes of a block.
BLOCK = 64
# More than products and quotients differ from each other by rounding, as a share of them.
SLACK = 1e-15
# Residual, settled part and degree by node, in whole blocks; the nodes of the component, ascending;
# the places of those with twins among them; and the first nodes of the blocks that hold any.
Flood: TypeAlias = tuple[Floats, Floats, Floats, Keys, Keys, Keys]


@compiled
def dry(num_nodes: int) -> Flood:
    """Room for a component of a graph of so many nodes, and none in it yet."""
    room = (num_nodes + BLOCK - 1) // BLOCK * BLOCK
    none = np.empty(0, np.int32)
    return np.zeros(room), np.zeros(room), np.zeros(room), none, none, none


@compiled
def basin(flood: Flood, component: Keys, label: int, degrees: Keys, twins: Keys) -> Flood:
    """The same room with the degrees and nodes of a component."""
    weights, n = flood[2], len(component)
    members, paired = np.empty(n, np.int32), np.empty(n, np.int32)
    blocks = np.empty(n // BLOCK + 1, np.int32)
    count, pairs, found, end = 0, 0, 0, 0
    for number in range(n):
        node = np.uint64(number)
        if component[node] != label:
            weights[node] = 0.0
            continue
        weights[node] = degrees[node]
        members[count] = number
        if twins[node, 0] != twins[node, 1]:
            paired[pairs] = count
            pairs += 1
        count += 1
        if number >= end:
            blocks[found] = number // BLOCK * BLOCK
            end = blocks[found] + BLOCK
            found += 1
    return flood[0], flood[1], weights, members[:count], paired[:pairs], blocks[:found]


@compiled
def spill(table: Table, settled: Floats, touched: Keys, flood: Flood) -> None:
    """Residual and settled parts of a local push, and 0 for all other nodes."""
    residuals, of_nodes = flood[0], flood[1]
    residuals[:] = 0.0
    of_nodes[:] = 0.0
    for slot in touched:
        node = table[slot]["key"] - 1
        residuals[node] = table[slot]["residual"]
        of_nodes[node] = settled[slot]


@compiled
def level(flood: Flood) -> None:
    """Settle the constant part of r/d."""
    residual, settled, weights, _, _, blocks = flood
    total, degree = 0.0, 0.0
    for first in blocks:
        for place in range(BLOCK):
            node = np.uint64(first + place)
            total += residual[node]
            degree += weights[node]
    constant = total / degree
    for first in blocks:
        for place in range(BLOCK):
            node = np.uint64(first + place)
            residual[node] -= constant * weights[node]
            settled[node] += constant * weights[node]


@compiled
def level_arcs(flood: Flood, ending: Floats) -> None:
    """The same where edges have directions, for those who can reach the core.

    `ending` is the chance that a walk from each node ends among them, 0 for all others. Whom few of
    them can reach gains nothing: the others have nothing unsettled, and would get it here.
    """
    residual, settled, _, members, _, _ = flood
    total, touched, count = 0.0, 0, 0
    for node in members:
        if ending[node] > 0.0:
            total += residual[node]
            touched += residual[node] != 0.0
            count += 1
    if 2 * touched <= count:
        return
    constant = total / count
    for node in members:
        if ending[node] > 0.0:
            residual[node] -= constant
            settled[node] += constant * ending[node]


@compiled
def sweep(
    graph: Graph, alpha: float, relaxation: float, threshold: float, budget: int, flood: Flood
) -> int:
    """Push, in rounds over the component, until every |r[u]| ≤ threshold · degree(u)."""
    indptr, indices, lengths, _, shares = graph
    residual, settled, weights, _, _, blocks = flood
    followed = 0
    active = True
    while active and followed <= budget:
        active = False
        for first in blocks:
            above = 0
            for place in range(BLOCK):
                node = np.uint64(first + place)
                above += abs(residual[node]) > threshold * weights[node]
            if above == 0:
                continue
            for place in range(BLOCK):
                node = np.uint64(first + place)
                if abs(residual[node]) <= threshold * weights[node]:
                    continue
                active = True
                moved = relaxation * residual[node]
                settled[node] += alpha * moved
                residual[node] -= moved
                share = (1.0 - alpha) * moved / weights[node]
                begin, end = indptr[node], indptr[node] + lengths[node]
                followed += end - begin
                for edge in range(begin, end):
                    at = np.uint64(edge)
                    residual[np.uint64(indices[at])] += share * part(shares, at)
    return followed


@compiled
def flood_scores(
    centre: int, alpha: float, visits: bool, twins: Keys, flood: Flood
) -> tuple[Floats, Floats, float, float, float]:
    """What `ranking.scores` gives for a local push; the sum of |r| only for visits."""
    residual, settled, _, members, paired, _ = flood
    degrees = flood[2][members]
    estimates = np.empty(len(members))
    total = 0.0
    for place in range(len(members)):
        node = np.uint64(members[place])
        value = settled[node] + alpha * residual[node]
        estimates[place] = value if visits else value / degrees[place]
        if visits:
            total += abs(residual[node])
    for place in paired:
        first = first_twin(twins, members[place], centre)
        value = settled[first] + alpha * residual[first]
        estimates[place] = value if visits else value / degrees[place]
    greatest, least = _extremes(flood)
    return estimates, degrees, greatest, least, total


@compiled
def _extremes(flood: Flood) -> tuple[float, float]:
    """Greatest and least r/d; only what may be one is divided."""
    residual, _, weights, _, _, blocks = flood
    greatest, least = -np.inf, np.inf
    upper, lower = greatest, least
    for first in blocks:
        beyond = 0
        for place in range(BLOCK):
            node = np.uint64(first + place)
            beyond += (residual[node] > upper * weights[node]) | (
                residual[node] < lower * weights[node]
            )
        if beyond == 0:
            continue
        for place in range(BLOCK):
            node = np.uint64(first + place)
            if weights[node] > 0.0:
                greatest = max(greatest, residual[node] / weights[node])
                least = min(least, residual[node] / weights[node])
        # Products are rounded.
        upper, lower = greatest - SLACK * abs(greatest), least + SLACK * abs(least)
    return greatest, least
