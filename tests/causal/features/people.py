"""Tables of people on which feature models are tested."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray

from fairgear.causal.features import Columns

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

N = 600
NAMES = ("age", "sex", "income", "owner", "job=clerk", "job=nurse", "job=smith", "children")
COLUMNS = Columns(NAMES, 1, ((4, 5, 6),), ("job",))
JOBS = {0: (0.5, 0.2, 0.3), 1: (0.2, 0.6, 0.2)}


def mixed(seed: int = 0, n: int = N, *, scaled: bool = False) -> tuple[Floats, Integers, Integers]:
    """Columns of every kind: whole, skewed, binary, one category and a count of few values."""
    rng = np.random.default_rng(seed)
    sens = (rng.random(n) < 0.4).astype(np.int64)
    job = np.array([rng.choice(3, p=JOBS[s]) for s in sens.tolist()])
    table = np.stack(
        [
            rng.integers(18, 70, n) + 3 * sens,
            sens,
            rng.lognormal(0.5 * sens + 0.2 * job, 0.5),
            rng.random(n) < np.where(sens == 1, 0.7, 0.2),
            *(job == level for level in range(3)),
            rng.poisson(1 + sens).clip(0, 5),
        ],
        axis=1,
    ).astype(float)
    if scaled:
        table = (table - table.mean(axis=0)) / table.std(axis=0)
        table[:, 1] = sens
    return table, sens, rng.permutation(10 * n)[:n].astype(np.int64)


def ids_of(ids: Integers) -> torch.Tensor:
    return torch.from_numpy(ids)
