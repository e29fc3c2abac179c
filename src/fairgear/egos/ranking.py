"""The first places of one push, and whether what is left unsettled could still change them."""

from __future__ import annotations

import numpy as np

from fairgear.compiled import compiled
from fairgear.egos.push import EMPTY, Floats, Ints, Keys, State, find

# Scores closer than this share of the last place's score are a tie.
TIE = 1e-7


@compiled
def scores(
    centre: int, alpha: float, visits: bool, twins: Keys, state: State, touched: Keys
) -> tuple[Keys, Floats, Floats, float, float, float]:
    """The touched nodes, their estimates and degrees, greatest and least r/d, and the sum of |r|.

    An estimate counts the share α of the residual as settled, since pushing would settle it.
    Twins (equal neighbours) have equal exact scores: all take the estimate of the first of them
    that is not the centre, so that only `node_id` tells them apart.
    """
    table, settled = state[0], state[1]
    count = len(touched)
    nodes = np.empty(count, np.int32)
    estimates = np.empty(count)
    degrees = np.empty(count)
    greatest, least, total = 0.0, 0.0, 0.0
    for place in range(count):
        slot = int(touched[place])
        entry = table[slot]
        node, residual, degree = entry["key"] - 1, entry["residual"], entry["degree"]
        greatest = max(greatest, residual / degree)
        least = min(least, residual / degree)
        total += abs(residual)
        first = first_twin(twins, node, centre)
        if first != node:
            other = find(table, first)
            # Twins are touched together; of a class touched in part, each keeps its estimate.
            if table[other]["key"] != EMPTY:
                slot = other
        value = settled[slot] + alpha * table[slot]["residual"]
        nodes[place] = node
        estimates[place] = value if visits else value / degree
        degrees[place] = degree
    return nodes, estimates, degrees, greatest, least, total


@compiled
def first_twin(twins: Keys, node: int, centre: int) -> int:
    """The first of the twins of `node`, itself among them, that is not the centre."""
    return int(twins[node, 0] if twins[node, 0] != centre else twins[node, 1])


@compiled
def first_places(
    centre: int, wanted: int, estimates: Floats, touched: Keys, tie_at: float, tie_width: float
) -> Ints:
    """Places in `touched` of the `wanted` best nodes, the centre aside.

    Estimates within `tie_width` of `tie_at` count as equal to it; of equals the smaller number,
    which stands for the smaller node_id, comes first.
    """
    best = np.empty(wanted, np.int64)
    values = np.empty(wanted)
    held = 0
    # Nearly all are below this, and need no closer look.
    bar = -np.inf
    for place in range(len(estimates)):
        value = estimates[place]
        if value < bar:
            continue
        node = touched[place]
        if node == centre:
            continue
        if abs(value - tie_at) <= tie_width:
            value = tie_at
        if held == wanted and (
            value < values[held - 1]
            or (value == values[held - 1] and node > touched[best[held - 1]])
        ):
            continue
        at = held if held < wanted else held - 1
        held = min(held + 1, wanted)
        while at > 0 and (
            values[at - 1] < value or (values[at - 1] == value and touched[best[at - 1]] > node)
        ):
            values[at] = values[at - 1]
            best[at] = best[at - 1]
            at -= 1
        values[at] = value
        best[at] = place
        if held == wanted:
            bar = min(values[held - 1], tie_at - 2.0 * tie_width)
    return best[:held]


@compiled
def leading(
    centre: int, wanted: int, alpha: float, visits: bool, twins: Keys, state: State, touched: Keys
) -> Keys:
    """The nodes that `first_places` finds among `scores`, looking up the twins of few of them.

    All other nodes give twins the same at the same time, so that their own estimates, which
    differ by what linked twins gave each other last, are within a factor of two.
    """
    table, settled = state[0], state[1]
    own = np.empty(len(touched))
    nodes = np.empty(len(touched), np.int32)
    for place in range(len(touched)):
        entry = table[touched[place]]
        value = settled[touched[place]] + alpha * entry["residual"]
        own[place] = value if visits else value / entry["degree"]
        nodes[place] = entry["key"] - 1
    best = first_places(centre, wanted, own, nodes, 0.0, -1.0)
    bar = 0.5 * own[best[-1]] if len(best) == wanted else 0.0
    nodes, estimates = scores(centre, alpha, visits, twins, state, touched[own >= bar])[:2]
    return nodes[first_places(centre, wanted, estimates, nodes, 0.0, -1.0)]


@compiled
def margin(
    centre: int,
    best: Ints,
    following: Ints,
    visits: bool,
    twins: Keys,
    touched: Keys,
    estimates: Floats,
    degrees: Floats,
    above: float,
    below: float,
    total: float,
    unseen_degree: float,
) -> tuple[float, float]:
    """By how much the chosen are sure to lead the others, and the same if nothing were unsettled.

    The exact score of v lies between its estimate − below·w and + above·w, where w is 1 for
    importance and d_v for visits (there also within ± the sum of residuals). Twins need no lead
    over each other. `following` holds the first node that was not chosen, if any is touched.
    `unseen_degree` is the greatest degree of a node not touched, −1 if there is none.
    """
    edge_class = twins[touched[best[-1]], 0]
    if not visits and len(following) > 0 and twins[touched[following[0]], 0] != edge_class:
        # All bounds have the same width, so the two nodes at the edge decide.
        seeming = estimates[best[-1]] - max(estimates[following[0]], 0.0)
        return seeming - above - below, seeming
    chosen = np.zeros(len(estimates), np.bool_)
    for place in best:
        chosen[place] = True
    infinity = np.inf
    # Lower bounds and estimates of the chosen, upper bounds and estimates of the refused;
    # column 1 for the twin class of the last chosen node, column 0 for all other nodes.
    lower = np.full((2, 2), infinity)
    upper = np.full((2, 2), -infinity)
    if unseen_degree >= 0:
        upper[0, 0] = min(unseen_degree * above, total) if visits else above
        upper[1, 0] = 0.0
    for place in range(len(estimates)):
        if touched[place] == centre:
            continue
        up = min(degrees[place] * above, total) if visits else above
        down = min(degrees[place] * below, total) if visits else below
        same = 1 if twins[touched[place], 0] == edge_class else 0
        if chosen[place]:
            lower[0, same] = min(lower[0, same], estimates[place] - down)
            lower[1, same] = min(lower[1, same], estimates[place])
        else:
            upper[0, same] = max(upper[0, same], estimates[place] + up)
            upper[1, same] = max(upper[1, same], estimates[place])
    sure = min(min(lower[0, 0], lower[0, 1]) - upper[0, 0], lower[0, 0] - upper[0, 1])
    seeming = min(min(lower[1, 0], lower[1, 1]) - upper[1, 0], lower[1, 0] - upper[1, 1])
    return sure, seeming
