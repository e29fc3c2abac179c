"""Cross-fitting: a judge's maps are never those that a method has used."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from fairgear import SensitiveGraph
from fairgear.auditing import Worlds, audit
from fairgear.auditing.worlds import judged_by
from fairgear.graph import split
from fairgear.hashing import node_uniform
from tests.auditing.models import FakeModel


def made(n: int = 900) -> SensitiveGraph:
    """People without links whose features follow s by a shift, drawn anew for everybody."""
    ids = torch.arange(n)
    sens = (node_uniform(ids, 0, "s") < 0.5).long()
    noise = torch.stack([node_uniform(ids, 0, f"x{k}") for k in range(4)], dim=1)
    x = torch.special.ndtri(noise.clamp(1e-6, 1 - 1e-6)) + 0.5 * sens[:, None]
    y = (x.sum(dim=1) > x.sum(dim=1).median()).long()
    features = torch.cat([sens[:, None].double(), x], dim=1).float()
    graph = SensitiveGraph(features, torch.empty(2, 0, dtype=torch.int64), y, sens, sens_column=0)
    return split(graph, "sixty-twenty-twenty", seed=0)


class Erases(FakeModel):
    """Takes a difference of means out of the features, and answers by their sum."""

    def __init__(self, difference: torch.Tensor) -> None:
        self.difference = difference

    def score(self, graph: SensitiveGraph) -> torch.Tensor:
        kept = graph.x.double() - graph.sens[:, None] * self.difference
        return torch.sigmoid(20 * (kept[:, 1:].sum(dim=1) - 1.0))


def difference(graph: SensitiveGraph, people: torch.Tensor) -> torch.Tensor:
    x, sens = graph.x[people].double(), graph.sens[people]
    return x[sens == 1].mean(dim=0) - x[sens == 0].mean(dim=0)


def test_a_method_that_erases_the_number_of_all_people_is_caught() -> None:
    """With the judge's number from everybody, erasing that number hides every flip."""
    graph = made()
    everybody = Erases(difference(graph, torch.ones_like(graph.test_mask)))
    fooled = audit(everybody, graph, protocol="released", other_causal_models=False)
    assert fooled.metrics["delta_cf"] == 0
    found = audit(everybody, graph, other_causal_models=False)
    assert found.metrics["delta_cf"] > 0.005
    honest = Erases(difference(graph, graph.train_mask | graph.val_mask))
    assert audit(honest, graph, other_causal_models=False).metrics["delta_cf"] > 0.005
    # Only whoever knows the judge's own people can hide from this judge.
    insider = Erases(difference(graph, graph.test_mask))
    assert audit(insider, graph, other_causal_models=False).metrics["delta_cf"] == 0


def test_who_judges_is_said() -> None:
    graph = made()
    people = judged_by(graph)
    assert people is not None
    assert torch.equal(people, graph.test_mask)
    notes = audit(Erases(difference(graph, people)), graph, other_causal_models=False).notes
    assert any(f"learned from the {int(people.sum())} people outside" in note for note in notes)
    unsplit = graph.replace(train_mask=None, val_mask=None, test_mask=None)
    assert judged_by(unsplit) is None
    assert Worlds(graph, protocol="released").people is None


def test_too_few_unseen_people_of_a_group_are_not_enough() -> None:
    graph = made()
    rare = graph.test_mask & (graph.sens == 1)
    rows = rare.nonzero()[:, 0][29:]
    mask = graph.test_mask.clone()
    mask[rows] = False
    fewer = graph.replace(test_mask=mask, train_mask=graph.train_mask | (graph.test_mask & ~mask))
    assert judged_by(fewer) is None


@pytest.mark.parametrize("name", ["shift", "quantile", "gaussian"])
def test_maps_come_from_the_judges_people_alone(name: str) -> None:
    graph = made(400)
    worlds = Worlds(graph, draws=1)
    (own,) = [one for one in worlds.family.members if one.name in (name, "own")][-1:]
    world = own.worlds[1.0][0].graph
    # Other values of everybody whom the judge does not learn from change no unseen person's world.
    x = graph.x.clone()
    seen = ~graph.test_mask
    x[seen, 1:] += torch.from_numpy(
        np.random.default_rng(0).normal(size=(int(seen.sum()), 4))
    ).float()
    again = Worlds(graph.replace(x=x), draws=1)
    (other,) = [one for one in again.family.members if one.name in (name, "own")][-1:]
    torch.testing.assert_close(
        other.worlds[1.0][0].graph.x[graph.test_mask], world.x[graph.test_mask]
    )
