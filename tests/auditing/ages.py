"""People whose sensitive attribute is an age, and the causal model that made them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch import Tensor

import fairgear as fg
from fairgear import SensitiveGraph
from fairgear.auditing import Audit, Worlds
from fairgear.causal import MIXED, CausalModel, as_assignment, assigned
from fairgear.graph import Attributes, split, undirected_edges
from fairgear.metrics import Interval, rate_interval

# How much each feature after the first, the age itself, grows in a year.
SLOPES = torch.tensor([0.0, 0.05, -0.02, 0.0], dtype=torch.float64)
Scores = Callable[[SensitiveGraph], NDArray[np.float64]]
LEVELS = (0.05, 0.25, 0.5, 0.75, 0.95)


class Slope(CausalModel):
    """Features grow with the attribute by `SLOPES`; links stay."""

    name = "slope"
    exact = True

    def _fit(self, graph: SensitiveGraph) -> None:
        return None

    def counterfactual(
        self, graph: SensitiveGraph, sens: Tensor | int, *, seed: int = 0
    ) -> SensitiveGraph:
        values = as_assignment(graph, sens)
        change = (values - graph.sens)[:, None]
        x = graph.x + change * SLOPES
        x[:, 0] = values
        return graph.replace(x=torch.where(change == 0, graph.x, x), sens=values)


def ages(n: int = 400, seed: int = 0, *, number: bool = False) -> SensitiveGraph:
    """Whole years from 18 to 80, features that follow from them, links among people of like age."""
    draw = torch.Generator().manual_seed(seed)
    age = torch.randint(18, 81, (n,), generator=draw).double()
    noise = torch.randn(n, 4, generator=draw, dtype=torch.float64)
    x = noise + age[:, None] * SLOPES
    x[:, 0] = age
    order = (age + 8 * torch.randn(n, generator=draw)).argsort()
    steps = torch.randint(1, 12, (3 * n,), generator=draw)
    begin = torch.randint(n, (3 * n,), generator=draw)
    pairs = torch.stack([order[begin], order[(begin + steps) % n]])
    merit = noise.sum(dim=1) + 0.03 * (age - 49)
    y = merit if number else (merit + torch.randn(n, generator=draw) > 0).long()
    return split(
        SensitiveGraph(
            x,
            undirected_edges(pairs, n),
            y,
            age,
            sens_column=0,
            attributes=Attributes.number("age"),
            node_id=3 * torch.randperm(n, generator=draw) + 5,
            feature_names=["age", "income", "height", "luck"],
            name="ages",
        ),
        seed=0,
    )


def copies(graph: SensitiveGraph) -> NDArray[np.float64]:
    """Reads the age and nothing else: 0.9 from 40 on."""
    return np.where(graph.sens.numpy() >= 40, 0.9, 0.1)


def cleared(graph: SensitiveGraph) -> NDArray[np.float64]:
    """Reads the features less what the age adds to them."""
    own = (graph.x - graph.sens[:, None] * SLOPES)[:, 1:].sum(dim=1)
    # Rounded: a flip must not hang on the last bit.
    return torch.sigmoid(own.mul(1e6).round() / 1e6 + 1e-9).numpy()


def everything(graph: SensitiveGraph) -> NDArray[np.float64]:
    """Own features, and the ages of the neighbours."""
    source, target = graph.edge_index
    total = torch.zeros(len(graph.x), dtype=torch.float64)
    total.index_add_(0, target, graph.sens[source])
    count = torch.bincount(target, minlength=len(total)).clamp(min=1)
    own = graph.x[:, 1:].sum(dim=1) - 1.5
    return torch.sigmoid(own + 0.05 * (total / count - 49)).numpy()


def audited(graph: SensitiveGraph) -> Tensor:
    """Rows of the test people by id, as an audit has them."""
    rows = graph.test_mask.nonzero()[:, 0]
    return rows[graph.node_id[rows].argsort()]


def moved(graph: SensitiveGraph, sens: Tensor) -> SensitiveGraph:
    """The world by the equation."""
    x = graph.x + (sens - graph.sens)[:, None] * SLOPES
    x[:, 0] = sens
    return graph.replace(x=x, sens=sens)


def whole_worlds(graph: SensitiveGraph, draws: int = 3) -> dict[str, list[Tensor]]:
    """Everybody's age in each world: order statistics, and permutations."""
    ordered = sorted(graph.sens.tolist())
    at = {p: ordered[int(np.ceil(p * len(ordered))) - 1] for p in LEVELS}
    mixed = [assigned(graph, MIXED, draw=draw) for draw in range(draws)]
    return {
        **{f"quantile {p:g}": [torch.full_like(graph.sens, at[p])] for p in LEVELS},
        "mixed": mixed,
    }


def answers(model: Scores, graph: SensitiveGraph, sens: Tensor) -> NDArray[np.bool_]:
    found: NDArray[np.bool_] = (model(moved(graph, sens)) > 0.5)[audited(graph).numpy()]
    return found


def bands(graph: SensitiveGraph) -> NDArray[np.int64]:
    """Everybody's fifth, by hand: how many of the four inner quintiles lie below."""
    ordered = np.sort(graph.sens.numpy())
    ends = [ordered[int(np.ceil(k / 5 * len(ordered))) - 1] for k in (1, 2, 3, 4)]
    found: NDArray[np.int64] = (graph.sens.numpy()[:, None] > ends).sum(axis=1)
    return found


def interval(flips: NDArray[Any], audit: Audit, among: NDArray[np.bool_]) -> Interval:
    people = audit.people[among]
    clusters, regions = people["community"].to_numpy(), people["region"].to_numpy()
    return rate_interval(flips, clusters, regions=regions)


@pytest.fixture(scope="module")
def graph() -> SensitiveGraph:
    return ages()


@pytest.fixture(scope="module")
def worlds(graph: SensitiveGraph) -> Worlds:
    return Worlds(graph, Slope().fit(graph))


@pytest.fixture(scope="module")
def audit(worlds: Worlds) -> Audit:
    return fg.audit(everything, worlds, other_causal_models=False)
