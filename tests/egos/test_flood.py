"""The push in arrays is, to the bit, a plain loop over the nodes of a component."""

from __future__ import annotations

import numpy as np
import pytest

from fairgear.egos import Structure
from fairgear.egos.flood import BLOCK, basin, dry, flood_scores, level, sweep
from tests.egos.plain import disconnected_edges, similarity_edges

N = 5 * BLOCK + 5
GRAPHS = {
    "one component": similarity_edges(N, 6, seed=0),
    "components among each other": disconnected_edges(N, seed=0),
}


@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize("visits", [False, True])
def test_a_flood_is_a_plain_loop_over_the_component(name: str, visits: bool) -> None:
    structure = Structure.of(GRAPHS[name], N)
    degrees, rng = structure.degrees, np.random.default_rng(0)
    flood = dry(N)
    for label in np.unique(structure.component[structure.component_size > 1]):
        flood = basin(flood, structure.component, label, degrees, structure.twins)
        members = np.flatnonzero(structure.component == label)
        assert flood[3].tolist() == members.tolist()
        residual, settled = np.zeros(N), np.zeros(N)
        residual[members] = rng.exponential(size=len(members)) * (rng.random(len(members)) < 0.3)
        flood[0][:N], flood[1][:N] = residual, settled
        for threshold in (1e-1, 1e-2, 1e-5):
            level(flood)
            constant = 0.0
            for node in members:
                constant += residual[node]
            constant /= degrees[members].sum()
            residual[members] -= constant * degrees[members]
            settled[members] += constant * degrees[members]
            followed, before = 0, -1
            while followed != before:
                before = followed
                for node in members:
                    if abs(residual[node]) > threshold * degrees[node]:
                        moved = 1.3 * residual[node]
                        settled[node] += 0.15 * moved
                        residual[node] -= moved
                        first, last = structure.indptr[node : node + 2]
                        share = (1.0 - 0.15) * moved / degrees[node]
                        residual[structure.indices[first:last]] += share
                        followed += last - first
            assert sweep(structure.arrays, 0.15, 1.3, threshold, 10**9, flood) == followed
            assert np.array_equal(flood[0][:N], residual)
            assert np.array_equal(flood[1][:N], settled)
            assert not flood[0][N:].any()
            centre = int(members[0])
            estimates, weights, greatest, least, total = flood_scores(
                centre, 0.15, visits, structure.twins, flood
            )
            ratio = residual[members] / degrees[members]
            assert (greatest, least) == (ratio.max(), ratio.min())
            assert np.array_equal(weights, degrees[members])
            first, second = structure.twins[members].T
            own = np.where(first == centre, second, first)
            value = settled[own] + 0.15 * residual[own]
            assert np.array_equal(estimates, value if visits else value / degrees[members])
            if visits:
                np.testing.assert_allclose(total, np.abs(residual).sum(), rtol=1e-12)
