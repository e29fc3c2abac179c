"""Egos by a fixed number of power steps, as the released code ranks them."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from fairgear.compiled import in_chunks
from fairgear.egos.ranking import first_places
from fairgear.egos.search import Flags
from fairgear.egos.structure import Structure, adjacency_matrix
from fairgear.egos.table import Floats, Ints

# Numbers in a block of walks: 4 MB, which caches hold.
BLOCK = 500_000


def power_egos(
    structure: Structure,
    sources: Ints,
    alpha: float,
    steps: int,
    visits: bool,
    ids: Ints,
    mask: Flags,
) -> None:
    """Fill `ids` and `mask` from x ← α e_i + (1−α) A D⁻¹ x; nodes that x reaches are members."""
    inverse = 1.0 / np.maximum(structure.degrees, 1.0)
    walk = adjacency_matrix(structure.indptr, structure.indices) @ sparse.diags_array(inverse)

    def work(start: int, stop: int) -> None:
        centres = sources[start:stop]
        walks = _walks(walk, centres, alpha, steps)
        if not visits:
            walks *= inverse[:, None]
        for column, centre in enumerate(centres):
            # Sums in another order may tell twins apart by their last bit.
            alike = np.where(structure.twins[:, 0] == centre, 1, 0)
            score = walks[structure.twins[np.arange(len(alike)), alike], column]
            reached = np.flatnonzero(walks[:, column]).astype(np.int32)
            best = first_places(centre, ids.shape[1] - 1, score[reached], reached, 0.0, -1.0)
            row = start + column
            ids[row] = centre
            ids[row, 1 : len(best) + 1] = reached[best]
            mask[row, : len(best) + 1] = True

    in_chunks(work, len(sources), max(1, BLOCK // max(structure.num_nodes, 1)), "egos")


def _walks(walk: sparse.csr_array, centres: Ints, alpha: float, steps: int) -> Floats:
    place = (centres, np.arange(len(centres)))
    x = np.zeros((walk.shape[0], len(centres)))
    x[place] = 1.0
    for _ in range(steps):
        x = (1.0 - alpha) * (walk @ x)
        x[place] += alpha
    return x
