"""The push on a whole component, once it has spread over a good part of it.

Plain arrays are several times faster than a hash table, so a push that holds more than a small
part of a component continues in arrays over all of it. There the constant part of r/d can be
settled at once: by the symmetry in `push`, the residual c·d gives every node v of the component
exactly the score c·d_v. Only differences remain to be pushed.
"""

from __future__ import annotations

import numpy as np

from fairgear.compiled import compiled
from fairgear.egos.push import Floats, Graph, Keys, Table
from fairgear.egos.ranking import first_twin


@compiled
def spill(table: Table, settled: Floats, touched: Keys, num_nodes: int) -> tuple[Floats, Floats]:
    """Residual and settled parts of a local push as arrays over all nodes."""
    residuals = np.zeros(num_nodes)
    of_nodes = np.zeros(num_nodes)
    for slot in touched:
        node = table[slot]["key"] - 1
        residuals[node] = table[slot]["residual"]
        of_nodes[node] = settled[slot]
    return residuals, of_nodes


@compiled
def level(residual: Floats, settled: Floats, degrees: Keys, members: Keys) -> None:
    """Settle the constant part of r/d."""
    total, degree = 0.0, 0.0
    for node in members:
        total += residual[node]
        degree += degrees[node]
    constant = total / degree
    for node in members:
        residual[node] -= constant * degrees[node]
        settled[node] += constant * degrees[node]


@compiled
def sweep(
    graph: Graph,
    alpha: float,
    relaxation: float,
    threshold: float,
    budget: int,
    residual: Floats,
    settled: Floats,
    members: Keys,
) -> int:
    """Push, in rounds over `members`, until every |r[u]| ≤ threshold · degree(u)."""
    indptr, indices, degrees = graph
    followed = 0
    active = True
    while active and followed <= budget:
        active = False
        for node in members:
            if abs(residual[node]) <= threshold * degrees[node]:
                continue
            active = True
            moved = relaxation * residual[node]
            settled[node] += alpha * moved
            residual[node] -= moved
            share = (1.0 - alpha) * moved / degrees[node]
            first, last = indptr[node], indptr[node] + degrees[node]
            followed += last - first
            for edge in range(first, last):
                # Unsigned: no check for negative indices.
                residual[np.uint64(indices[edge])] += share
    return followed


@compiled
def flood_scores(
    centre: int,
    alpha: float,
    visits: bool,
    twins: Keys,
    residual: Floats,
    settled: Floats,
    degrees: Keys,
    members: Keys,
) -> tuple[Floats, Floats, float, float, float]:
    """What `ranking.scores` gives for a local push."""
    estimates = np.empty(len(members))
    of_members = np.empty(len(members))
    greatest, least, total = -np.inf, np.inf, 0.0
    for place in range(len(members)):
        node = members[place]
        greatest = max(greatest, residual[node] / degrees[node])
        least = min(least, residual[node] / degrees[node])
        total += abs(residual[node])
        of_members[place] = degrees[node]
        first = first_twin(twins, node, centre)
        value = settled[first] + alpha * residual[first]
        estimates[place] = value if visits else value / degrees[node]
    return estimates, of_members, greatest, least, total
