"""The egos of nodes, one after another: push, rank, and push again until the ranking is certain."""

from __future__ import annotations

import numpy as np

from fairgear.compiled import compiled
from fairgear.egos.close import estimate
from fairgear.egos.flood import Flood, basin, dry, flood_scores, level, level_arcs, spill, sweep
from fairgear.egos.push import Flags, Floats, Graph, Ints, Keys, State, begin, clear, make, push
from fairgear.egos.ranking import TIE, first_places, leading, margin, scores

COARSE = 1e-4
# The first threshold if an estimate is enough.
ROUGH = 3e-4
# With precision "close" by visits, members are found once no score is off by more than this share.
LOOSE = 0.05
# A lead below this share of the last place's score may come from rounding alone.
ROUNDING = 1e-13
# Edges that one node may follow before its ranking is accepted as it is.
BUDGET = 3_000_000
# Slots of a new table, and the most that are kept for the next node.
ROOM, LARGE = 2048, 2**16
# The next threshold is this share of what would be just enough, within these factors of the last.
AIM, DEEPEST, SHALLOWEST = 0.7, 0.1, 0.5
# A push that holds one in SPILL nodes of its component continues in arrays over all of it, which
# are several times faster than its hash table; but only if they are at most this long, so that a
# thread never holds more than a few megabytes whatever the size of the graph.
SPILL = 64
# In place of a degree, where there is no bound by degrees.
UNBOUNDED = 1e300
SPILL_NODES = 2**18


@compiled
def search(
    graph: Graph,
    ahead: Graph,
    twins: Keys,
    component: Keys,
    component_size: Ints,
    most: int,
    sources: Ints,
    alpha: float,
    tolerance: float,
    close: bool,
    visits: bool,
    budget: int,
    directed: bool,
    ending: Floats,
    ids: Ints,
    mask: Flags,
    uncertified: Flags,
) -> None:
    """Fill rows of `ids`, `mask` and `uncertified` for `sources`.

    Tolerance 0 means: refine until an estimate (`close`) or a proof confirms the members.
    `most` is the greatest degree, and `ahead` what `estimate` reads. In a directed graph, a
    component is one of the edges whatever their directions, and holds all who can be reached.
    """
    k = ids.shape[1]
    state = make(ROOM)
    # Most nodes share a component, which is then prepared once.
    flood, label = dry(len(component) if len(component) <= SPILL_NODES else 0), -1
    # Visits grow with the degree, and so does what is unsettled: it is bounded, not estimated.
    estimated = close and not visits
    # Where shares differ, neighbours say less of each other.
    coarse = ROUGH if estimated and graph[4] is None else COARSE
    enough = LOOSE if close else TIE
    for row in range(len(sources)):
        centre = sources[row]
        ids[row] = centre
        mask[row, 0] = True
        size = component_size[centre]
        if directed and size > 1:
            few = reachable(graph, centre, k)
            size = few if few <= k else size
        if k == 1 or size == 1:
            continue
        # Where degrees are 1, what begins at the centre is so much larger.
        first = coarse * (graph[2][centre] / graph[3][centre])
        threshold = tolerance if tolerance > 0.0 else min(first, 0.5 / graph[3][centre])
        state, count, threshold = _reach(
            graph, centre, min(k, size), alpha, threshold, budget, estimated, state
        )
        if size <= k or tolerance > 0.0 or count < k:
            best = leading(centre, k - 1, alpha, visits, twins, state, state[2][:count])
            sure = tolerance > 0.0 or count == size
        elif estimated:
            best, sure, state, count = estimate(
                graph, ahead, twins, centre, k, alpha, threshold, state, count
            )
        else:
            best, sure, state, count, flood, label = _refine(
                graph,
                twins,
                component,
                size,
                most,
                centre,
                k,
                alpha,
                visits,
                threshold,
                enough,
                budget,
                directed,
                ending,
                state,
                count,
                flood,
                label,
            )
        uncertified[row] = not sure
        for place in range(len(best)):
            ids[row, place + 1] = best[place]
            mask[row, place + 1] = True
        state = clear(state, count, LARGE, ROOM)


@compiled
def reachable(graph: Graph, centre: int, enough: int) -> int:
    """How many nodes a push from `centre` can reach, itself among them; `enough` + 1 for more."""
    indptr, indices, lengths = graph[0], graph[1], graph[2]
    found = np.empty(enough + 1, np.int64)
    found[0] = centre
    count, done = 1, 0
    while done < count and count <= enough:
        node = found[done]
        done += 1
        for edge in range(indptr[node], indptr[node] + lengths[node]):
            if count > enough:
                break
            if not (found[:count] == indices[edge]).any():
                found[count] = indices[edge]
                count += 1
    return count


@compiled
def _reach(
    graph: Graph,
    centre: int,
    needed: int,
    alpha: float,
    threshold: float,
    budget: int,
    once: bool,
    state: State,
) -> tuple[State, int, float]:
    """Push from `centre` until `needed` nodes are touched, which are known to be in reach.

    From a hub, whose own threshold is high, a push at the given tolerance may not even start.
    """
    begin(state, centre, graph[3][centre])
    count = 1
    while True:
        state, count, _ = push(graph, alpha, 1.0, threshold, budget, once, state, count)
        # On a very long path, floats underflow before the last node is reached.
        if count >= needed or threshold < 1e-300:
            return state, count, threshold
        threshold *= 0.25


@compiled
def _unbounded(weights: Floats) -> Floats:
    return np.full(len(weights), UNBOUNDED)


@compiled
def _bounds(alpha: float, shared: bool, greatest: float, least: float) -> tuple[float, float]:
    """By how much the score of a node may be above and below its estimate."""
    if shared:
        # A walk may be lost, so that 0 is among what is averaged.
        greatest, least = max(greatest, 0.0), min(least, 0.0)
    return (1.0 - alpha) * greatest, -(1.0 - alpha) * least


@compiled
def _refine(
    graph: Graph,
    twins: Keys,
    component: Keys,
    size: int,
    most: int,
    centre: int,
    k: int,
    alpha: float,
    visits: bool,
    threshold: float,
    enough: float,
    budget: int,
    directed: bool,
    ending: Floats,
    state: State,
    count: int,
    flood: Flood,
    label: int,
) -> tuple[Keys, bool, State, int, Flood, int]:
    """The members other than the centre, whether they are certain, and the state after it.

    If they are not, scores closer to the last place than TIE count as equal to it; a push that
    ran out of budget earlier keeps the order that it found. `label` is the component in `flood`.
    """
    degrees = graph[3]
    root = (1.0 - alpha) / (1.0 + np.sqrt(1.0 - (1.0 - alpha) ** 2))
    # Over-relaxation may diverge where the walk is not reversible.
    relaxation = 1.0 if directed else 1.0 + root * root
    shared = graph[4] is not None
    # Where shares differ, visits of one node are bounded by the sum of what is unsettled alone.
    unbounded = shared and visits
    top = UNBOUNDED if unbounded else float(most)
    spilt = False
    reached = count
    followed = 0
    while True:
        if spilt:
            nodes = flood[3]
            estimates, weights, greatest, least, total = flood_scores(
                centre, alpha, visits, twins, flood
            )
        else:
            nodes, estimates, weights, greatest, least, total = scores(
                centre, alpha, visits, twins, state, state[2][:count]
            )
            reached = count
        weights = _unbounded(weights) if unbounded else weights
        best = first_places(centre, k, estimates, nodes, 0.0, -1.0)
        following, best = best[k - 1 :], best[: k - 1]
        above, below = _bounds(alpha, shared, greatest, least)
        lead, seeming = margin(
            centre,
            best,
            following,
            visits,
            twins,
            nodes,
            estimates,
            weights,
            above,
            below,
            total,
            top if reached < size else -1.0,
        )
        last = estimates[best[-1]]
        if lead > ROUNDING * last:
            return nodes[best], True, state, count, flood, label
        width = min((above + below) * top, total) if visits else above + below
        if width <= enough * last or followed >= budget:
            tied = min(width, TIE * last)
            best = first_places(centre, k - 1, estimates, nodes, last, tied)
            return nodes[best], False, state, count, flood, label
        # The present lead tells how fine the next push has to be.
        aim = threshold * AIM * seeming / (seeming - lead)
        threshold = min(max(aim, threshold * DEEPEST), threshold * SHALLOWEST)
        if not spilt and len(degrees) <= SPILL_NODES and count * SPILL > size:
            spilt = True
            if label != component[centre]:
                label = component[centre]
                flood = basin(flood, component, label, degrees, twins)
            spill(state[0], state[1], state[2][:count], flood)
            reached = size
        left = budget - followed
        if spilt:
            if len(ending) > 0:
                level_arcs(flood, ending)
            elif not shared or not (directed or visits):
                level(flood)
            followed += sweep(graph, alpha, relaxation, threshold, left, flood)
        else:
            state, count, more = push(
                graph, alpha, relaxation, threshold, left, False, state, count
            )
            followed += more
