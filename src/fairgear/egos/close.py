"""The members of an ego by estimate: a coarse push, and finer ones only where they could matter.

What a push leaves unsettled adds d_v · E ρ(u) to the score of node v, where ρ = r/d and u is where
a walk from v ends. The first two terms of that mean, α ρ(v) + α(1−α) mean_{u~v} ρ(u), are
*pulled*: this reads each neighbour of the few nodes near the last place once, where a push would
spread over all neighbours of all nodes. The rest is nearly the same for all of them: in random,
scale-free and similarity graphs its standard deviation is 0.5 to 4 % of the mean ρ around them.
Leads well above that are accepted; if there is none, a finer push follows.
"""

from __future__ import annotations

import numpy as np

from fairgear.compiled import compiled
from fairgear.egos.push import Floats, Graph, Ints, Keys, State, Table, find, part, push
from fairgear.egos.ranking import TIE, first_places, first_twin, margin, scores

# A lead is accepted above LEVEL times the mean ρ around the best, divided by the root of the number
# of their neighbours (with fewer, means differ more), plus PEAK times the greatest ρ.
LEVEL, PEAK = 0.5, 0.0005
# If the uncertainty is below this share of the last place's score, the estimate decides.
NEAR = 1e-2
# But not if more than this share of it is still on the best themselves: around a hub only the
# centre may have been pushed, and neighbours would differ by their degrees alone.
UNPUSHED = 0.5
# The next threshold is this share of the greatest ρ.
FINER = 0.5
# Edges that one node may follow before the estimate decides: BUDGET, and PER_NEIGHBOUR more for
# each of its neighbours, since a hub's walks spread thinly; at most MOST.
BUDGET, PER_NEIGHBOUR, MOST = 60_000, 500, 3_000_000
# Neighbours that a pull reads, at most; those of a hub are sampled at equal steps.
LOOKS = 256


@compiled
def _pull(ahead: Graph, node: int, table: Table) -> tuple[float, int]:
    """Mean of ρ where the step from `node` ends, and at how many neighbours was looked."""
    indptr, indices, lengths, _, shares = ahead
    first, last = indptr[node], indptr[node] + lengths[node]
    step = 1 + (last - first - 1) // LOOKS
    total, chance, looks = 0.0, 0.0, 0
    for edge in range(first, last, step):
        looks += 1
        chance += part(shares, edge)
        entry = table[find(table, indices[edge])]
        if entry["residual"] > 0.0:
            total += part(shares, edge) * (entry["residual"] / entry["degree"])
    return total / chance if looks > 0 else 0.0, looks


@compiled
def estimate(
    graph: Graph,
    ahead: Graph,
    twins: Keys,
    centre: int,
    k: int,
    alpha: float,
    threshold: float,
    state: State,
    count: int,
) -> tuple[Keys, bool, State, int]:
    """The members other than the centre, whether their lead is clear, and the state after it.

    `ahead` has the steps of walks, which are those of `graph` unless shares differ.
    """
    budget = min(BUDGET + PER_NEIGHBOUR * graph[2][centre], MOST)
    followed = 0
    while True:
        nodes, estimates, weights, greatest, _, total = scores(
            centre, alpha, False, twins, state, state[2][:count]
        )
        best = first_places(centre, k - 1, estimates, nodes, 0.0, -1.0)
        near, slack, unpushed, looks = _near(
            ahead, twins, centre, alpha, greatest, state[0], nodes, estimates, best
        )
        followed += looks
        nodes, estimates, weights = nodes[near], estimates[near], weights[near]
        best = first_places(centre, k, estimates, nodes, 0.0, -1.0)
        following, best = best[k - 1 :], best[: k - 1]
        lead, _ = margin(
            centre,
            best,
            following,
            False,
            twins,
            nodes,
            estimates,
            weights,
            slack,
            0.0,
            total,
            -1.0,
        )
        last = estimates[best[-1]]
        # Nodes that are not touched yet may still pull this much.
        lead = min(lead, last - slack - alpha * (1.0 - alpha) * greatest)
        near_enough = slack <= NEAR * last and unpushed <= UNPUSHED * last
        if lead > 0.0 or near_enough or followed >= budget:
            best = first_places(centre, k - 1, estimates, nodes, last, TIE * last)
            return nodes[best], lead > 0.0, state, count
        threshold = min(threshold, greatest) * FINER
        state, count, more = push(
            graph, alpha, 1.0, threshold, budget - followed, True, state, count
        )
        followed += more


@compiled
def _near(
    ahead: Graph,
    twins: Keys,
    centre: int,
    alpha: float,
    greatest: float,
    table: Table,
    nodes: Keys,
    estimates: Floats,
    best: Ints,
) -> tuple[Ints, float, float, int]:
    """Places of the best and of all that may come before them, with what they pull added.

    Also the lead that they need, the mean part of their scores that lies on themselves unpushed,
    and how many neighbours were looked at.
    """
    factor = alpha * (1.0 - alpha)
    chosen = np.zeros(len(nodes), np.bool_)
    looked = 0
    level, top, own = 0.0, 0.0, 0.0
    lowest = np.inf
    for place in best:
        chosen[place] = True
        mean, looks = _pull(ahead, first_twin(twins, nodes[place], centre), table)
        estimates[place] += factor * mean
        lowest = min(lowest, estimates[place])
        level += mean
        top = max(top, mean)
        looked += looks
        entry = table[find(table, nodes[place])]
        own += max(entry["residual"], 0.0) / entry["degree"]
    slack = LEVEL * level / np.sqrt(len(best) * looked) + PEAK * greatest
    # Neighbourhoods of other nodes are unlikely to hold much more than those of the best.
    reach = factor * min(greatest, 2.0 * top + 0.2 * greatest) + slack
    near = np.empty(len(nodes), np.int64)
    held = 0
    for place in range(len(nodes)):
        if nodes[place] == centre:
            continue
        if not chosen[place]:
            if estimates[place] + reach < lowest:
                continue
            mean, looks = _pull(ahead, first_twin(twins, nodes[place], centre), table)
            estimates[place] += factor * mean
            looked += looks
        near[held] = place
        held += 1
    return near[:held], slack, alpha * own / len(best), looked
