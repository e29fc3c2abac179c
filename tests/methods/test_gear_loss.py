"""Terms of Gear's loss that hang on who is around a person."""

from __future__ import annotations

from dataclasses import replace

import torch

from fairgear.egos import EgoIndex
from fairgear.graph import SensitiveGraph, closed_neighborhood_mean
from fairgear.methods.ego_source import EgoSource
from fairgear.methods.gear_loss import around
from fairgear.methods.inputs import FeatureScaler
from tests.methods.tiny import tiny


def test_around_is_the_closed_neighbourhoods_mean_where_all_neighbours_are_members(
    graph: SensitiveGraph,
) -> None:
    index = EgoIndex.build(graph, k=64)
    scaler = FeatureScaler(graph.x.shape[1] - 1, graph.sens_column).fit(graph)
    egos = EgoSource(graph, index, scaler, torch.device("cpu"))
    everyone = torch.arange(len(graph.x))
    batch = egos(everyone)
    inside = batch.adjacency[:, 0].sum(dim=1) == torch.bincount(
        graph.edge_index[0], minlength=len(graph.x)
    )
    assert inside.float().mean() > 0.5
    expected = closed_neighborhood_mean(graph.sens, graph.edge_index)
    torch.testing.assert_close(around(batch)[inside].double(), expected[inside].double())
    padded = replace(batch, sens=torch.where(batch.mask, batch.sens, 1))
    torch.testing.assert_close(around(padded), around(batch))


def test_a_weight_on_dependence_lowers_it_in_training(dense: SensitiveGraph) -> None:

    def last(weight: float) -> float:
        gear = tiny(dependence_weight=weight, steps=60, averaging=0.0).fit(dense)
        scores = gear.predict_proba(dense)[:, 1]
        near = closed_neighborhood_mean(dense.sens, dense.edge_index).numpy()
        both = torch.corrcoef(torch.stack([torch.from_numpy(scores), torch.from_numpy(near)]))
        return float(both[0, 1] ** 2)

    assert last(30.0) < last(0.0)
