"""Fair random walks, and skip-grams of them: the compiled loops of FairWalk."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from fairgear.compiled import compiled
from fairgear.graph import SensitiveGraph

Ints = NDArray[np.int64]
Keys = NDArray[np.int32]
Floats = NDArray[np.float64]
Vectors = NDArray[np.float32]
States = NDArray[np.uint64]

# Logits beyond this are as good as certain.
_CERTAIN = 15.0


@dataclass(frozen=True)
class FairSteps:
    """Where a walk may go: each person's neighbours, those of one group after those of another.

    In canonical order; of a directed graph, those whom a person points to.
    """

    begin: Ints
    """(n + 1,) where each person's groups begin."""
    groups: Ints
    """(parts + 1,) where the neighbours of each of these groups begin."""
    to: Keys
    """(E,) the neighbours."""
    reach: Floats
    """(E,) the sum of the weights of the neighbours of that group up to this one, of 1 in all."""

    @classmethod
    def of(cls, graph: SensitiveGraph) -> Self:
        """Those of a graph."""
        order = graph.canonical
        (ptr, index), weights = order.csr, order.weights
        sens = graph.sens.cpu()[order.rows].numpy()
        owner = np.repeat(np.arange(len(ptr) - 1), np.diff(ptr))
        sorting = np.lexsort([index, sens[index], owner])
        owner, to = owner[sorting], index[sorting]
        each = np.ones(len(to)) if weights is None else weights[sorting]
        # A part is a person's neighbours of one group.
        fresh = np.ones(len(to), dtype=bool)
        fresh[1:] = (owner[1:] != owner[:-1]) | (sens[to[1:]] != sens[to[:-1]])
        groups = np.append(np.flatnonzero(fresh), len(to))
        begin = np.searchsorted(owner[groups[:-1]], np.arange(len(ptr)))
        return cls(begin, groups, to, _reach(groups, each))


@compiled
def _reach(groups: Ints, each: Floats) -> Floats:
    found = np.empty(len(each))
    for part in range(len(groups) - 1):
        total = 0.0
        for place in range(groups[part], groups[part + 1]):
            total += each[place]
            found[place] = total
        for place in range(groups[part], groups[part + 1]):
            found[place] /= total
    return found


@compiled
def _next(state: np.uint64) -> np.uint64:
    """The next state of SplitMix64."""
    return np.uint64(state + np.uint64(0x9E3779B97F4A7C15))


@compiled
def _uniform(state: np.uint64) -> float:
    """A number in [0, 1) from a state: its finaliser."""
    one = np.uint64((state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9))
    two = np.uint64((one ^ (one >> np.uint64(27))) * np.uint64(0x94D049BB133111EB))
    last = np.uint64(two ^ (two >> np.uint64(31)))
    return float(last >> np.uint64(11)) * 2.0**-53


@compiled
def fair_walks(
    begin: Ints, groups: Ints, to: Keys, reach: Floats, states: States, length: int
) -> Keys:
    """A walk (n, length) from everybody; −1 after somebody without neighbours.

    A step draws one of the groups among the neighbours, all alike, then a neighbour of that group
    by the weights. `states` (n,) are random bits for each person.
    """
    n = len(begin) - 1
    found = np.full((n, length), -1, dtype=np.int32)
    for person in range(n):
        state, at = states[person], person
        found[person, 0] = at
        for step in range(1, length):
            count = begin[at + 1] - begin[at]
            if count == 0:
                break
            state = _next(state)
            part = begin[at] + min(int(_uniform(state) * count), count - 1)
            state = _next(state)
            low, high = groups[part], groups[part + 1]
            place = low + np.searchsorted(reach[low:high], _uniform(state), side="right")
            at = to[min(place, high - 1)]
            found[person, step] = at
    return found


@compiled
def skip_gram(
    walks: Keys,
    states: States,
    window: int,
    negatives: int,
    rate: float,
    vectors: Vectors,
    contexts: Vectors,
    rows: Ints,
    noise: Floats,
    learns: bool,
) -> float:
    """A pass over walks: each person's vector is to tell who is near from who is drawn.

    Ascends on log σ(v · c) for the contexts c of those at most `window` steps away, and on
    log σ(−v · c) for `negatives` others each, drawn by `noise`. Returns the mean loss of a pair.

    Args:
        walks: (m, length), −1 after their end.
        states: (m,), random bits for each walk.
        window, negatives, rate: see above; the rate is that of the ascent.
        vectors: (n, dim), changed in place.
        contexts: (k, dim), changed in place if `learns`.
        rows: (n,), the row of each person's context, −1 for none.
        noise: (k,), the cumulative shares of the contexts in the draw.
        learns: see above.
    """
    length = walks.shape[1]
    change = np.empty(vectors.shape[1], dtype=np.float32)
    total, pairs = 0.0, 0
    for walk in range(len(walks)):
        state = states[walk]
        for center in range(length):
            person = walks[walk, center]
            if person < 0:
                break
            for near in range(max(0, center - window), min(length, center + window + 1)):
                other = walks[walk, near]
                if near == center or other < 0 or rows[other] < 0:
                    continue
                vector, change[:] = vectors[person], 0
                total += _toward(vector, contexts, rows[other], 1.0, rate, change, learns)
                for _ in range(negatives):
                    state = _next(state)
                    drawn = int(np.searchsorted(noise, _uniform(state), side="right"))
                    drawn = min(drawn, len(noise) - 1)
                    if drawn != rows[other]:
                        total += _toward(vector, contexts, drawn, 0.0, rate, change, learns)
                vector += change
                pairs += 1
    return total / max(1, pairs)


@compiled
def _toward(
    vector: Vectors,
    contexts: Vectors,
    row: int,
    wanted: float,
    rate: float,
    change: Vectors,
    learns: bool,
) -> float:
    """Add to `change` what brings σ(v · c) nearer to 1 or 0, and move c; returns the loss."""
    logit = np.float32(0)
    for k in range(len(vector)):
        logit += vector[k] * contexts[row, k]
    share = 1 / (1 + np.exp(-min(max(float(logit), -_CERTAIN), _CERTAIN)))
    step = np.float32(rate * (wanted - share))
    for k in range(len(vector)):
        change[k] += step * contexts[row, k]
    if learns:
        for k in range(len(vector)):
            contexts[row, k] += step * vector[k]
    return float(-np.log(share if wanted > 0 else 1 - share))
