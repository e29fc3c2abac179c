"""Milliseconds of one person's world: from their surroundings, and by the whole graph.

    python -m benchmarks.local_worlds bail drawn
    python -m benchmarks.local_worlds drawn --people 100000

The models are a GraphSAGE of two layers in plain PyG and a Gear trained for few steps: what they
learned does not change what a world costs. On Bail edges follow its rule; on a drawn graph with
eight columns, by default of a million people, they follow a fitted law. Both ways are timed in the
same process, and their scores compared. Results go to docs/results/local_worlds.csv.
"""

from __future__ import annotations

import argparse
import csv
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch_geometric.nn import SAGEConv

from fairgear import Gear, datasets
from fairgear.auditing.adapters import Adapter, adapt
from fairgear.auditing.worlds import Worlds
from fairgear.causal import CausalModel, FittedCausalModel, for_graph
from fairgear.graph import SensitiveGraph, split, undirected_edges

RESULTS = Path(__file__).parents[1] / "docs" / "results" / "local_worlds.csv"
# People in their own world: all of a part, and those for whom the whole graph is scored too.
TIMED, WHOLE = 512, 2
# People of the drawn graph that the law is fitted to.
FITTED = 20_000


class Sage(nn.Module):
    """GraphSAGE of two layers."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.first, self.second = SAGEConv(width, 16), SAGEConv(16, 1)

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        """Probabilities (n, 1)."""
        hidden = self.first(x, edge_index).relu()
        found: Tensor = self.second(hidden, edge_index).sigmoid()
        return found


def drawn(people: int, seed: int = 0) -> SensitiveGraph:
    """People who know others with a similar first feature, fifteen each, which s moves."""
    rng = np.random.default_rng(seed)
    sens = rng.integers(0, 2, people)
    x = rng.normal(size=(people, 8)).astype(np.float32)
    x[:, 0] = sens
    x[:, 1] += 0.5 * sens
    order = np.argsort(x[:, 1] + 0.1 * rng.normal(size=people))
    place = rng.integers(0, people, 15 * people // 2)
    other = (place + rng.geometric(min(1.0, 200 / people), len(place))) % people
    pairs = torch.from_numpy(np.stack([order[place], order[other]]))
    y = (x[:, 1] + x[:, 2] + rng.normal(size=people) > 0.25).astype(np.int64)
    return split(
        SensitiveGraph(
            torch.from_numpy(x),
            undirected_edges(pairs, people),
            torch.from_numpy(y),
            torch.from_numpy(sens),
            sens_column=0,
            name="drawn",
        )
    )


def fitted(people: int) -> CausalModel:
    """The law of a drawn graph of so many people.

    It is fitted to a smaller one, in seconds instead of minutes; its intercept is then that of
    pairs that are linked as much more rarely.
    """
    few = min(people, FITTED)
    model = FittedCausalModel(gate=False).fit(drawn(few))
    law = model._edges
    assert law is not None
    assert law.model is not None
    theta = law.model.theta.copy()
    theta[0] += np.log(few / people)
    model._edges = replace(law, model=replace(law.model, theta=theta))
    return model


def small_gear(graph: SensitiveGraph) -> Gear:
    """Trained for few steps."""
    return Gear(steps=20).fit(graph)


def measured(name: str, model: Adapter, worlds: Worlds) -> dict[str, Any]:
    """One row of the results."""
    graph = worlds.graph
    begin = time.perf_counter()
    model.prepare(worlds)
    prepared = time.perf_counter() - begin
    assert model.is_local
    rows = graph.test_mask.nonzero()[:, 0]
    people = rows[torch.from_numpy(np.random.default_rng(0).permutation(len(rows))[:TIMED])]
    with model.threads():
        begin, cpu = time.perf_counter(), time.process_time()
        each = model.predict_each(worlds.alone(people), torch.split(people, 1))
        near = np.concatenate([one.scores for one in each])
        local, local_cpu = time.perf_counter() - begin, time.process_time() - cpu
        some = people[:WHOLE]
        begin = time.perf_counter()
        whole = np.concatenate(
            [model.scores(world, some[at : at + 1]) for at, world in enumerate(worlds.alone(some))]
        )
        whole_each = (time.perf_counter() - begin) / len(some)
    return {
        "graph": graph.name,
        "people": len(graph.x),
        "links": graph.num_undirected_edges,
        "model": name,
        "local_ms": round(1e3 * local / len(people), 2),
        "local_cpu_ms": round(1e3 * local_cpu / len(people), 2),
        "whole_ms": round(1e3 * whole_each, 1),
        "ratio": round(whole_each * len(people) / local, 1),
        "check_s": round(prepared, 1),
        "largest_difference": f"{np.abs(near[: len(some)] - whole).max():.1e}",
    }


def main() -> None:
    """Measure, print, and write the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("graphs", nargs="*", default=["bail", "drawn"], choices=["bail", "drawn"])
    parser.add_argument("--models", nargs="*", default=["GraphSAGE in PyG", "Gear"])
    parser.add_argument("--people", type=int, default=1_000_000)
    chosen = parser.parse_args()
    found: list[dict[str, Any]] = []
    for name in chosen.graphs:
        if name == "bail":
            graph = small = split(datasets.load("bail"))
            worlds = Worlds(graph, for_graph(graph))
        else:
            graph, small = drawn(chosen.people), drawn(min(chosen.people, 4000))
            worlds = Worlds(graph, fitted(chosen.people))
        for kind in chosen.models:
            torch.manual_seed(0)
            model = small_gear(small) if kind == "Gear" else Sage(graph.x.shape[1])
            found.append(measured(kind, adapt(model), worlds))
            print(found[-1], flush=True)
    # What was not measured now stays.
    new = {(row["graph"], row["model"]) for row in found}
    if RESULTS.exists():
        with RESULTS.open(newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        found += [row for row in rows if (row["graph"], row["model"]) not in new]
        found.sort(key=lambda row: (row["graph"], row["model"]))
    with RESULTS.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(found[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(found)


if __name__ == "__main__":
    main()
