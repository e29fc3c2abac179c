"""What holds of every audit: it repeats, keeps its numbers, and changes nothing by asking."""

from __future__ import annotations

import dataclasses
import json
import math

import pandas as pd
import pytest
import torch
from torch import Tensor, nn

from fairgear import SensitiveGraph
from fairgear.auditing import Audit, Worlds, audit
from fairgear.auditing.effects import COUNTERFACTUAL
from fairgear.causal import SyntheticCausalModel
from tests.auditing.models import Constant, Everything, LastDigit, small_graph


def written(one: Audit) -> str:
    """All of it as text: NaN is null, and numbers keep every bit."""
    table = one.people.to_json(orient="split", double_precision=15)
    return json.dumps(one.to_dict(), allow_nan=False) + table


def test_to_a_dictionary_and_back(worlds: Worlds, everything: Audit) -> None:
    for one in (everything, audit(Constant(), worlds, other_causal_models=False)):
        plain = json.loads(json.dumps(one.to_dict(), allow_nan=False))
        again = Audit.from_dict(plain, one.people)
        assert written(again) == written(one)
        assert again.notes == one.notes
        assert again.flips[1:3] == one.flips[1:3]
        assert type(again.affected) is tuple
        assert again.affected == one.affected
        assert again.model_card() == one.model_card()
    assert math.isnan(again.metrics["r2"])


def test_what_is_no_audit_is_refused(everything: Audit) -> None:
    plain = everything.to_dict()
    for key in ("format", "model", "metrics", "flips", "affected"):
        with pytest.raises((KeyError, ValueError)):
            Audit.from_dict({k: v for k, v in plain.items() if k != key}, everything.people)


def test_nothing_in_it_can_be_set(everything: Audit) -> None:
    assert everything.causal_models is not None
    for part in (
        everything,
        everything.probes,
        everything.model,
        everything.setup,
        everything.flips[0],
        everything.groups[0],
        everything.causal_models,
        everything.causal_models.rows[0],
        everything.affected[0],
        everything.affected[0].neighbors[0],
    ):
        assert dataclasses.is_dataclass(part)
        name = dataclasses.fields(part)[0].name
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(part, name, None)


class Counting(SyntheticCausalModel):
    """Counts the worlds that it is asked for, by who is flipped in them."""

    def __init__(self) -> None:
        self.asked: list[tuple[int, ...]] = []

    def counterfactual(
        self, graph: SensitiveGraph, sens: Tensor | int, *, seed: int = 0
    ) -> SensitiveGraph:
        assert isinstance(sens, Tensor)
        self.asked.append(tuple((sens != graph.sens).nonzero()[:, 0].tolist()))
        return super().counterfactual(graph, sens, seed=seed)


def test_worlds_are_made_once_for_all_models(graph: SensitiveGraph) -> None:
    counting = Counting().fit(graph)
    worlds = Worlds(graph, counting, draws=2)
    audit(Everything(), worlds, self_people=3)
    shared = [who for who in counting.asked if len(who) > 1]
    # By rate, of which 0.5 has two draws; two random ones.
    assert len(shared) == 4 + 2
    alone = [who for who in counting.asked if len(who) == 1]
    assert 3 < len(alone) <= 3 + 10 * 8
    counting.asked.clear()
    audit(Everything(), worlds, self_people=3)
    assert sorted(counting.asked) == sorted(alone)
    # A model that moves for nobody has nobody whose neighbours one would ask about.
    counting.asked.clear()
    audit(Constant(), worlds, self_people=3)
    assert len(counting.asked) == 3


def every_world(worlds: Worlds) -> list[SensitiveGraph]:
    made = [worlds.factual, worlds.edgeless, worlds.placebo, *worlds.random]
    for by_rate in (worlds.released, *(one.worlds for one in worlds.family.members)):
        made.extend(world for draws in by_rate.values() for world in draws)
    return [world.graph for world in made]


class Vandal(nn.Module):
    """Overwrites what it is given, and drops some of it while it trains."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(26, 1)
        self.dropout = nn.Dropout(0.5)

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        found: Tensor = self.dropout(self.linear(x).squeeze(1))
        x.zero_()
        edge_index.zero_()
        return found


def overwriting(graph: SensitiveGraph) -> Tensor:
    scores = torch.sigmoid(graph.x.sum(dim=1))
    graph.x.zero_()
    graph.sens.zero_()
    graph.edge_index = graph.edge_index[:, :0]
    return scores


def test_nothing_is_changed_by_asking(graph: SensitiveGraph) -> None:
    worlds = Worlds(graph, draws=1)
    before = [world.fingerprint() for world in every_world(worlds)]
    torch.manual_seed(0)
    module = Vandal().train()
    weights = {name: value.clone() for name, value in module.state_dict().items()}
    drawn = torch.get_rng_state()
    for model in (module, overwriting, Everything()):
        audit(model, worlds, self_people=2, what_if_people=2)
    assert [world.fingerprint() for world in every_world(worlds)] == before
    assert all(part.training for part in module.modules())
    assert all(torch.equal(value, weights[name]) for name, value in module.state_dict().items())
    assert torch.equal(torch.get_rng_state(), drawn)


def test_an_audit_repeats_bit_for_bit(everything: Audit) -> None:
    again = audit(Everything(), small_graph(), protocol="released")
    assert written(again) == written(everything)


def test_rounding_is_no_rise_and_no_fall(worlds: Worlds) -> None:
    found = audit(LastDigit(), worlds, other_causal_models=False)
    (near,) = (row for row in found.flips if row.intervention == "neighbours")
    # A person's own features: others' attributes move nobody.
    assert (near.rate, near.rising, near.falling) == (0, 0, 0)


@pytest.mark.parametrize("self_people", [None, 7])
def test_the_order_of_the_rows_counts_for_nothing(
    graph: SensitiveGraph, worlds: Worlds, self_people: int | None
) -> None:
    order = torch.randperm(len(graph.x), generator=torch.Generator().manual_seed(1))
    one = audit(Everything(), worlds, self_people=self_people)
    moved_rows = graph.permute(order)
    other = audit(Everything(), moved_rows, self_people=self_people, protocol="released")
    pd.testing.assert_frame_equal(one.people, other.people)
    facts = [found.to_dict() for found in (one, other)]
    moved = []
    for found in facts:
        # Fingerprints are of the rows as they are.
        del found["setup"]["worlds"], found["setup"]["graph"]
        effects = found["diagnostics"]["effects"]
        moved.append([effect.pop("feature_change") for effect in effects])
    assert facts[0] == facts[1]
    # A mean over everyone's features, which may be summed in another order.
    assert moved[0] == pytest.approx(moved[1], rel=1e-12)


def test_one_group_alone_has_no_counterfactuals(graph: SensitiveGraph) -> None:
    x = graph.x.clone()
    x[:, 0] = 1
    alike = graph.replace(x=x, sens=torch.ones_like(graph.sens), mechanism=None)
    found = audit(Everything(), alike)
    assert all(math.isnan(found.metrics[k]) for k in COUNTERFACTUAL if k != "delta_cf_released")
    assert found.metrics["auroc"] > 0
    assert (found.diagnostics, found.causal_models, found.affected) == (None, None, ())
    assert found.setup.causal_model is None
    assert found.probes is not None
    assert found.probes.graph is True
    assert written(Audit.from_dict(found.to_dict(), found.people)) == written(found)
    assert found.failures("delta_cf > 0.05")[0].startswith("delta_cf is undefined")
    assert "undefined" in found.model_card()
