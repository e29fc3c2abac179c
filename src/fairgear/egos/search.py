"""The ego of one node after another: push, rank, and push on until the ranking is certain."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fairgear.compiled import compiled
from fairgear.egos.flood import flood_scores, level, spill, sweep
from fairgear.egos.kernel import Floats, Ints, Keys, push, start
from fairgear.egos.ranking import first_places, margin, scores

Flags = NDArray[np.bool_]

COARSE = 1e-4
# Scores closer than this share of the last place's score are a tie.
TIE = 1e-7
# A lead below this share of the last place's score may come from rounding alone.
ROUNDING = 1e-13
# Edges that one node may follow before its ranking is taken as it is.
BUDGET = 3_000_000
ROOM = 1024
# The next threshold aims at this share of what would just do, within these factors of the last.
AIM, DEEPEST, SHALLOWEST = 0.7, 0.1, 0.5
# A push that holds one in so many nodes of its component goes on in arrays over all of it, which
# are several times faster than its hash table; but only where they are this short, so that no
# thread ever holds more than a few megabytes whatever the size of the graph.
SPILL = 64
SPILL_NODES = 2**18


@compiled
def search(
    indptr: Ints,
    indices: Keys,
    twins: Keys,
    component: Keys,
    component_size: Ints,
    degrees: Floats,
    sources: Ints,
    alpha: float,
    tolerance: float,
    visits: bool,
    budget: int,
    ids: Ints,
    mask: Flags,
    uncertified: Flags,
) -> None:
    """Fill rows of `ids`, `mask` and `uncertified` for `sources`; tolerance 0 means: refine."""
    k = ids.shape[1]
    most = degrees.max()
    for row in range(len(sources)):
        centre = sources[row]
        ids[row] = centre
        mask[row, 0] = True
        size = component_size[centre]
        if k == 1 or size == 1:
            continue
        threshold = tolerance if tolerance > 0.0 else min(COARSE, 0.5 / degrees[centre])
        keys, table, touched, count, threshold = _reach(
            indptr, indices, centre, min(k, size), alpha, threshold, budget
        )
        if size <= k or tolerance > 0.0 or count < k:
            estimates = scores(centre, alpha, visits, twins, keys, table, touched[:count])[0]
            best = touched[first_places(centre, k - 1, estimates, touched, 0.0, -1.0)]
            sure = tolerance > 0.0 or count == size
        else:
            best, sure = _refine(
                indptr,
                indices,
                twins,
                component,
                size,
                degrees,
                most,
                centre,
                k,
                alpha,
                visits,
                threshold,
                budget,
                keys,
                table,
                touched,
                count,
            )
        uncertified[row] = not sure
        for place in range(len(best)):
            ids[row, place + 1] = best[place]
            mask[row, place + 1] = True


@compiled
def _reach(
    indptr: Ints,
    indices: Keys,
    centre: int,
    needed: int,
    alpha: float,
    threshold: float,
    budget: int,
) -> tuple[Keys, Floats, Keys, int, float]:
    """Push from `centre`; on until `needed` nodes are touched, which are known to be in reach.

    From a hub, whose own threshold is high, a push at the tolerance given may not even start.
    """
    keys, table, touched = start(centre, indptr[centre + 1] - indptr[centre], ROOM)
    count = 1
    while True:
        keys, table, touched, count, _ = push(
            indptr, indices, alpha, 1.0, threshold, budget, keys, table, touched, count
        )
        # At the end of a very long path the numbers end before the nodes do.
        if count >= needed or threshold < 1e-300:
            return keys, table, touched, count, threshold
        threshold *= 0.25


@compiled
def _refine(
    indptr: Ints,
    indices: Keys,
    twins: Keys,
    component: Keys,
    size: int,
    degrees: Floats,
    most: float,
    centre: int,
    k: int,
    alpha: float,
    visits: bool,
    threshold: float,
    budget: int,
    keys: Keys,
    table: Floats,
    touched: Keys,
    count: int,
) -> tuple[Keys, bool]:
    """The members other than the centre, and whether they are certain.

    Where they are not, what is closer to the last place than TIE counts as equal to it; a push
    that ran out of budget before it could tell so much keeps the order that it found.
    """
    root = (1.0 - alpha) / (1.0 + np.sqrt(1.0 - (1.0 - alpha) ** 2))
    relaxation = 1.0 + root * root
    residual = settled = degrees
    spilt = False
    followed = 0
    while True:
        if spilt:
            estimates, weights, greatest, least, total = flood_scores(
                centre, alpha, visits, twins, residual, settled, degrees, touched
            )
        else:
            estimates, weights, greatest, least, total = scores(
                centre, alpha, visits, twins, keys, table, touched[:count]
            )
        best = first_places(centre, k, estimates, touched, 0.0, -1.0)
        following, best = best[k - 1 :], best[: k - 1]
        above, below = (1.0 - alpha) * greatest, -(1.0 - alpha) * least
        lead, seeming = margin(
            centre,
            best,
            following,
            visits,
            twins,
            touched,
            estimates,
            weights,
            above,
            below,
            total,
            most if count < size else -1.0,
        )
        last = estimates[best[-1]]
        if lead > ROUNDING * last:
            return touched[best], True
        width = min((above + below) * most, total) if visits else above + below
        if width <= TIE * last or followed >= budget:
            tied = min(width, TIE * last)
            return touched[first_places(centre, k - 1, estimates, touched, last, tied)], False
        # The lead that shows says how fine the next push has to be.
        aim = threshold * AIM * seeming / (seeming - lead)
        threshold = min(max(aim, threshold * DEEPEST), threshold * SHALLOWEST)
        if not spilt and len(degrees) <= SPILL_NODES and count * SPILL > size:
            spilt = True
            residual, settled = spill(keys, table, touched[:count], len(degrees))
            touched = np.flatnonzero(component == component[centre]).astype(np.int32)
            count = size
        if spilt:
            level(residual, settled, degrees, touched)
            followed += sweep(
                indptr,
                indices,
                alpha,
                relaxation,
                threshold,
                budget - followed,
                residual,
                settled,
                degrees,
                touched,
            )
        else:
            keys, table, touched, count, more = push(
                indptr,
                indices,
                alpha,
                relaxation,
                threshold,
                budget - followed,
                keys,
                table,
                touched,
                count,
            )
            followed += more
