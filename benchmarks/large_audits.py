"""CPU seconds and memory of an audit of a large graph whose edges follow likeness and groups.

    python -m benchmarks.large_audits 60000 600000
    python -m benchmarks.large_audits 200000 2000000 --self-people 5

draws people with ten columns, joins each to the likeliest of twelve strangers, mostly of the same
group, and audits a GraphSAGE of two layers in plain PyG by `fairgear audit`. A fitted law describes
such edges well, so that they move in every world: the most that an audit can be asked.
"""

from __future__ import annotations

import argparse
import os
import resource
import tempfile
import time
from contextlib import suppress
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from torch import Tensor, nn
from torch_geometric.nn import SAGEConv

# Strangers whom a person chooses among, the share of the own group, and what likeness weighs.
AMONG, SAME, WEIGHT = 12, 0.85, 12.0


class Sage(nn.Module):
    """GraphSAGE of two layers, as it was drawn."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.first, self.second = SAGEConv(-1, 32), SAGEConv(32, 1)

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        """A logit for each person."""
        hidden = self.first(x, edge_index).relu()
        found: Tensor = self.second(hidden, edge_index).squeeze(-1)
        return found


sage = Sage()


def drawn(people: int, edges: int, seed: int = 0) -> tuple[pd.DataFrame, pd.DataFrame]:
    """A table of people and a list of edges."""
    rng = np.random.default_rng(seed)
    sex, merit = rng.integers(0, 2, people), rng.normal(size=people)
    columns = {
        f"f{k}": merit * (0.3 + 0.05 * k) + 0.4 * sex * (k % 3 == 0) + rng.normal(size=people)
        for k in range(9)
    }
    table = pd.DataFrame(columns).round(4)
    table["kids"] = rng.poisson(1.5, people)
    points = ((table - table.mean()) / table.std()).to_numpy()
    count = edges + edges // 8
    one = rng.integers(0, people, count)
    groups = [np.flatnonzero(sex == group) for group in (0, 1)]
    wanted = np.where(rng.random(count) < SAME, sex[one], 1 - sex[one])
    other, best = one.copy(), np.full(count, -np.inf)
    for _ in range(AMONG):
        place = rng.random(count)
        stranger = np.choose(wanted, [who[(place * len(who)).astype(np.int64)] for who in groups])
        apart = np.sqrt(((points[one] - points[stranger]) ** 2).mean(axis=1))
        drawn_to = WEIGHT / (1 + apart) + rng.gumbel(size=count)
        other, best = np.where(drawn_to > best, stranger, other), np.maximum(drawn_to, best)
    low, high = np.minimum(one, other), np.maximum(one, other)
    keys = rng.permutation(np.unique((low * people + high)[low != high]))[:edges]
    table.insert(0, "id", np.arange(people))
    table["sex"] = np.where(sex == 1, "male", "female")
    chance = merit + 0.5 * sex + 0.7 * rng.normal(size=people)
    table["approved"] = np.where(chance > 0.2, "yes", "no")
    return table, pd.DataFrame({"source": keys // people, "target": keys % people})


def main() -> None:
    """Draw the graph, audit, and print what it took."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("people", type=int)
    parser.add_argument("edges", type=int)
    given, options = parser.parse_known_args()
    with tempfile.TemporaryDirectory() as folder:
        files = [str(Path(folder) / name) for name in ("people.csv", "friends.csv")]
        for table, file in zip(drawn(given.people, given.edges), files, strict=True):
            table.to_csv(file, index=False)
        columns = ["--label", "approved", "--sensitive", "sex", "--out", str(Path(folder) / "a")]
        begun = time.process_time()
        from fairgear.cli.app import main as fairgear

        command = ["audit", "benchmarks.large_audits:sage", files[0], "--edges", files[1]]
        with suppress(SystemExit):
            fairgear([*command, *columns, *options])
    seconds, memory = time.process_time() - begun, resource.getrusage(resource.RUSAGE_SELF)
    print(f"{seconds:.0f} CPU s, {memory.ru_maxrss / 2**20:.1f} GB, on {os.cpu_count()} cores")


if __name__ == "__main__":
    main()
