"""Small graphs of each kind, a plan with two quick methods, and poison for sealed people."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from fairgear import SensitiveGraph
from fairgear.causal import SyntheticSettings, sample
from fairgear.datasets import DATASETS, Dataset
from fairgear.graph import (
    ColumnScale,
    SimilarityMechanism,
    SimilarityRule,
    similarity_graph,
    undirected_edges,
)
from fairgear.studies.judging.plan import Contestant, Plan
from fairgear.studies.judging.sealed import sealed

TINY = "tiny"


def synthetic(n: int = 200) -> SensitiveGraph:
    return sample(SyntheticSettings(n=n, threshold=0.3, a=0.05, d_z=10, d=5), seed=1)


def table(n: int = 200) -> SensitiveGraph:
    """Joined by similarity; ids are not row numbers."""
    rng = np.random.default_rng(3)
    sens = torch.from_numpy(rng.integers(0, 2, n))
    raw = torch.from_numpy(rng.normal(size=(n, 4)).round(1))
    raw[:, 0] += sens
    raw[:, 2] = sens.double()
    y = (raw[:, 0] + raw[:, 1] + 0.5 * torch.from_numpy(rng.normal(size=n)) > 0.5).long()
    y[::9] = -1
    return similarity_graph(
        raw,
        y,
        sens,
        rule=SimilarityRule(0.7),
        sens_column=2,
        feature_names=["a", "b", "s", "c"],
        node_id=torch.from_numpy(rng.permutation(10 * n)[:n]),
        name=TINY,
    )


def plain(n: int = 200) -> SensitiveGraph:
    """Edges of no rule."""
    made = table(n)
    generator = torch.Generator().manual_seed(0)
    pairs = torch.randint(0, n, (2, 3 * n), generator=generator)
    return made.replace(edge_index=undirected_edges(pairs, n), raw=None, mechanism=None)


KINDS: dict[str, Callable[[], SensitiveGraph]] = {
    "synthetic": synthetic,
    "table": table,
    "plain": plain,
}


def poisoned(graph: SensitiveGraph, seed: int = 0) -> SensitiveGraph:
    """The sealed people's features, labels, s and edges at random; the open ones' are the same."""
    rng, n = np.random.default_rng(seed), len(graph.x)
    closed = sealed(graph)
    rows = closed.nonzero()[:, 0]
    changes: dict[str, Any] = {key: graph[key].clone() for key in ("x", "y", "sens")}
    changes["y"][rows] = torch.from_numpy(rng.integers(0, 2, len(rows)))
    changes["sens"][rows] = torch.from_numpy(rng.integers(0, 2, len(rows)))
    for key in ("x", "latent", "raw"):
        if graph.get(key) is not None:
            found = graph[key].clone()
            found[rows] = torch.from_numpy(5 + 9 * rng.normal(size=tuple(found[rows].shape))).to(
                found
            )
            changes[key] = found
    for key in ("x", "raw"):
        if key in changes and graph.sens_column is not None:
            changes[key][:, graph.sens_column] = changes["sens"].to(changes[key])
    if isinstance(graph.mechanism, SimilarityMechanism):
        # The scale of everybody's features follows the poison, as it would in a table.
        scale = ColumnScale.of(changes["raw"], graph.sens_column)
        changes |= {"mechanism": replace(graph.mechanism, scale=scale), "x": scale(changes["raw"])}
    ends = graph.edge_index
    kept = ends[:, ~closed[ends].any(dim=0)]
    added = torch.stack(
        [
            rows[torch.from_numpy(rng.integers(0, len(rows), n))],
            torch.from_numpy(rng.integers(0, n, n)),
        ]
    )
    added = added[:, added[0] != added[1]]
    changes["edge_index"] = undirected_edges(torch.cat([kept, added], dim=1), n)
    return graph.replace(**changes)


def register(patch: pytest.MonkeyPatch, graph: SensitiveGraph) -> None:
    """Make the graph a dataset, for this test and this process."""
    made = Dataset(
        name=TINY, summary="", sensitive="s", label="y", source="", problems=(), load=lambda: graph
    )
    patch.setitem(DATASETS._entries, TINY, made)


def toy_plan(trials: int = 4, **changes: Any) -> Plan:
    """Two regressions on the tiny graph."""
    space = [
        {"name": "C", "low": 0.001, "high": 100.0, "log": True},
        {"name": "ranks", "choices": [True, False]},
    ]
    common = {
        "fixed": {"threshold": "validation"},
        "space": space,
        "dial": {"setting": "C", "values": [0.001, 1.0]},
    }
    methods = [
        Contestant.read({"name": "plain", "entry": "logistic", **common}),
        Contestant.read({"name": "residual", "entry": "logistic-residual", **common}),
    ]
    made = Plan(
        title="Toy",
        seed=0,
        trials=trials,
        split="sixty-twenty-twenty",
        inner_seeds={TINY: (0,)},
        final_seeds=(0, 1),
        curve_seeds=(1,),
        search_draws=1,
        final_draws=1,
        methods={one.name: one for one in methods},
    )
    return replace(made, **changes)
