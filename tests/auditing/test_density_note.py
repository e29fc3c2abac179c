"""Worlds with far more or fewer links than the graph are warned of."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

import fairgear as fg
from fairgear.causal import CausalModel
from fairgear.graph import SensitiveGraph, undirected_edges


class Joining(CausalModel):
    """People of group 1 are joined to the next `reach` people, all others stay as they are."""

    name = "joining"

    def __init__(self, reach: int) -> None:
        self.reach = reach

    def _fit(self, graph: SensitiveGraph) -> None:
        return None

    def counterfactual(
        self, graph: SensitiveGraph, sens: Tensor | int, *, seed: int = 0
    ) -> SensitiveGraph:
        values = torch.full_like(graph.sens, sens) if isinstance(sens, int) else sens
        n = len(values)
        rows = torch.arange(n)
        risen = rows[(values == 1) & (graph.sens == 0)]
        new = [torch.stack([risen, (risen + step) % n]) for step in range(2, 2 + self.reach)]
        edges = undirected_edges(torch.cat([graph.edge_index, *new], dim=1), n)
        return graph.replace(sens=values, edge_index=edges, mechanism=None)


@pytest.mark.parametrize(("reach", "warned"), [(1, False), (6, True)])
def test_far_more_links_are_warned_of(reach: int, warned: bool) -> None:
    n = 60
    ring = torch.stack([torch.arange(n), (torch.arange(n) + 1) % n])
    graph = SensitiveGraph(
        torch.zeros(n, 1),
        undirected_edges(ring, n),
        torch.arange(n) % 2,
        (torch.arange(n) % 3 == 0).long(),
        test_mask=torch.ones(n, dtype=torch.bool),
    )

    def half(graph: SensitiveGraph) -> Tensor:
        return torch.full((len(graph.x),), 0.6)

    found = fg.audit(half, graph, causal_model=Joining(reach), other_causal_models=False)
    # With `reach` 6, two thirds of the people add six links each to the sixty of the ring.
    notes = [note for note in found.notes if "number of links" in note]
    assert len(notes) == warned
    if warned:
        assert "5 times as many where 'all 1' is set" in notes[0]
