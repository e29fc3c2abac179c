"""The members of an ego by estimate: a coarse push, and finer ones only where they could matter.

What a push leaves unsettled gives node v the score d_v · E ρ(u), where ρ = r/d and u is where a
walk from v ends. The first two terms of that mean, α ρ(v) + α(1−α) mean_{u~v} ρ(u), are *pulled*:
that takes one look at each neighbour of the few nodes near the last place, where a push would
spread over all neighbours of all nodes. The rest is nearly the same for all of them, so that it
changes few places: in random, scale-free and similarity graphs its standard deviation is 0.5 to 4 %
of the mean ρ around them. Leads well above that are taken as settled; where there is none, a finer
push follows.
"""

from __future__ import annotations

import numpy as np

from fairgear.compiled import compiled
from fairgear.egos.kernel import push
from fairgear.egos.ranking import TIE, first_places, first_twin, margin, scores
from fairgear.egos.table import Floats, Ints, Keys, State, Table, find

# Leads above this share of the mean ρ around the best, over the root of how many neighbours they
# have (the fewer, the more means differ), and this of the greatest ρ, are taken as settled.
LEVEL, PEAK = 0.5, 0.0005
# Where the doubt is below this share of the last place's score, the estimate decides.
NEAR = 1e-2
# But not where more than this share of it still lies on the best themselves: around a hub nobody
# but the centre may have been pushed, and neighbours would be told apart by their degrees alone.
UNPUSHED = 0.5
# The next push goes to this share of the greatest ρ.
FINER = 0.5
# Edges that one node may follow before the estimate decides: so many, and so many more for each
# neighbour that it has, since a hub's own walks spread thinly; but never more than the last.
BUDGET, PER_NEIGHBOUR, MOST = 60_000, 500, 3_000_000
# Neighbours that a pull looks at; of a hub it takes so many in equal steps.
LOOKS = 256


@compiled
def _pull(indptr: Ints, indices: Keys, node: int, table: Table) -> tuple[float, int]:
    """Mean of ρ over the neighbours of `node`, and how many were looked at."""
    first, last = indptr[node], indptr[node + 1]
    step = 1 + (last - first - 1) // LOOKS
    total, looks = 0.0, 0
    for edge in range(first, last, step):
        looks += 1
        entry = table[find(table, indices[edge])]
        if entry["residual"] > 0.0:
            total += entry["residual"] / entry["degree"]
    return total / looks, looks


@compiled
def estimate(
    indptr: Ints,
    indices: Keys,
    degrees: Keys,
    twins: Keys,
    centre: int,
    k: int,
    alpha: float,
    threshold: float,
    state: State,
    count: int,
) -> tuple[Keys, bool, State, int]:
    """The members other than the centre, whether their lead is clear, and the state after it."""
    budget = min(BUDGET + PER_NEIGHBOUR * degrees[centre], MOST)
    followed = 0
    while True:
        nodes, estimates, weights, greatest, _, total = scores(
            centre, alpha, False, twins, state[0], state[1], state[2][:count]
        )
        best = first_places(centre, k - 1, estimates, nodes, 0.0, -1.0)
        near, slack, unpushed, looks = _near(
            indptr,
            indices,
            twins,
            centre,
            alpha,
            greatest,
            state[0],
            nodes,
            estimates,
            best,
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
        # Who has not been touched yet may still pull so much.
        lead = min(lead, last - slack - alpha * (1.0 - alpha) * greatest)
        near_enough = slack <= NEAR * last and unpushed <= UNPUSHED * last
        if lead > 0.0 or near_enough or followed >= budget:
            best = first_places(centre, k - 1, estimates, nodes, last, TIE * last)
            return nodes[best], lead > 0.0, state, count
        threshold = min(threshold, greatest) * FINER
        state, count, more = push(
            indptr, indices, degrees, alpha, 1.0, threshold, budget - followed, True, state, count
        )
        followed += more


@compiled
def _near(
    indptr: Ints,
    indices: Keys,
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
        mean, looks = _pull(indptr, indices, first_twin(twins, nodes[place], centre), table)
        estimates[place] += factor * mean
        lowest = min(lowest, estimates[place])
        level += mean
        top = max(top, mean)
        looked += looks
        entry = table[find(table, nodes[place])]
        own += max(entry["residual"], 0.0) / entry["degree"]
    slack = LEVEL * level / np.sqrt(len(best) * looked) + PEAK * greatest
    # No neighbourhood of a node that is not among the best is likely to hold much more than theirs.
    reach = factor * min(greatest, 2.0 * top + 0.2 * greatest) + slack
    near = np.empty(len(nodes), np.int64)
    held = 0
    for place in range(len(nodes)):
        if nodes[place] == centre:
            continue
        if not chosen[place]:
            if estimates[place] + reach < lowest:
                continue
            mean, looks = _pull(indptr, indices, first_twin(twins, nodes[place], centre), table)
            estimates[place] += factor * mean
            looked += looks
        near[held] = place
        held += 1
    return near[:held], slack, alpha * own / len(best), looked
