"""`check_causal_model` finds every broken law."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from fairgear.causal import CausalModel, as_assignment
from fairgear.graph import SensitiveGraph
from fairgear.testing import ContractError, check_causal_model
from tests.graphs import random_graph


class Careless(CausalModel):
    """Sets s and its column; breaks one law on demand."""

    name = "careless"

    def __init__(self, fault: str = "") -> None:
        self.fault = fault
        self.calls = 0

    def _fit(self, graph: SensitiveGraph) -> None:
        return None

    def counterfactual(
        self, graph: SensitiveGraph, sens: Tensor | int, *, seed: int = 0
    ) -> SensitiveGraph:
        sens = as_assignment(graph, sens)
        self.calls += 1
        x = graph.x.clone()
        if graph.sens_column is not None:
            x[:, graph.sens_column] = sens.float()
        moved = sens != graph.sens
        match self.fault:
            case "identity":
                x[:, 0] += 1e-6
            case "seeds":
                x[moved, 0] += self.calls
            case "attribute" if bool(moved.any()):
                sens = sens.clone()
                first = moved.nonzero()[0]
                sens[first] = graph.sens[first]
                x[:, 1] = sens.float()
            case "features" if bool(moved.any()):
                x[~moved, 0] += 1
            case "labels" if bool(moved.any()):
                return graph.replace(x=x, sens=sens, y=torch.where(moved, -1, graph.y))
            case "order":
                x[moved, 0] = torch.arange(len(x))[moved].float()
        return graph.replace(x=x, sens=sens)


def kinds(kind: str) -> SensitiveGraph:
    """Two groups, three, or a number, in column 1."""
    graph = random_graph(40, 80)
    if kind == "two groups":
        return graph
    draw = torch.Generator().manual_seed(1)
    sens = torch.randint(3, (40,), generator=draw)
    if kind == "a number":
        sens = 20 + 50 * torch.rand(40, generator=draw, dtype=torch.float64)
    x = graph.x.clone()
    x[:, 1] = sens.float()
    declared = "continuous" if kind == "a number" else "categorical"
    return graph.replace(x=x, sens=sens, sens_kind=declared)


@pytest.mark.parametrize("kind", ["two groups", "three groups", "a number"])
@pytest.mark.parametrize(
    ("fault", "law"),
    [
        ("identity", "the graph itself"),
        ("seeds", "same seed"),
        ("attribute", "the requested attribute"),
        ("features", "whose attribute stays"),
        ("labels", "unknown labels"),
        ("order", "order of the people"),
    ],
)
def test_a_broken_law_is_found(fault: str, law: str, kind: str) -> None:
    with pytest.raises(ContractError, match=law):
        check_causal_model(lambda: Careless(fault), kinds(kind))
    assert check_causal_model(Careless, kinds(kind))
