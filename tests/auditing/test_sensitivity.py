"""Other causal models: what their worlds change, when they cannot be had, and the verdict."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
import torch

from fairgear import SensitiveGraph
from fairgear.auditing import Sensitivity, Worlds, audit
from fairgear.auditing.records import from_json
from fairgear.auditing.sensitivity import CausalModelRow, Dose, DosePoint
from fairgear.auditing.world import Alternative
from fairgear.causal import FEATURE_MODELS, CausalModel, FittedCausalModel, SimilarityCausalModel
from fairgear.causal.features import Columns, FeatureQuantiles
from fairgear.files import json_ready
from fairgear.metrics import UNDEFINED
from tests.auditing.models import (
    Constant,
    CopiesSens,
    Everything,
    FakeModel,
    Features,
    RememberedNeighborSens,
    Unshifted,
    small_graph,
)
from tests.causal.test_laws import table_graph
from tests.graph.test_similarity import brute_force, pairs

FEATURES = list(FEATURE_MODELS)
PARTS = ["structure only", "attribute only"]


def names(*features: str) -> list[str]:
    """The members of a family whose own model moves links; `features` are those besides its own."""
    believed = ["own", *features]
    return [*believed, *(f"{name}, links fixed" for name in believed), *PARTS]


NAMES = names(*FEATURES)


@pytest.fixture(scope="module")
def graph() -> SensitiveGraph:
    return small_graph()


@pytest.fixture(scope="module")
def worlds(graph: SensitiveGraph) -> Worlds:
    return Worlds(graph, draws=2)


def named(worlds: Worlds, name: str) -> Alternative:
    (found,) = (one for one in worlds.family.members if one.name == name)
    return found


def paired(worlds: Worlds, name: str) -> list[tuple[SensitiveGraph, SensitiveGraph]]:
    """Each world of the audit's own causal model, and the other's at the same assignment."""
    other = named(worlds, name)
    assert {rate: len(draws) for rate, draws in other.worlds.items()} == {0: 1, 0.5: 2, 1: 1}
    found = []
    for rate, draws in worlds.strict.items():
        for own, world in zip(draws, other.worlds[rate], strict=True):
            assert (world.protocol, world.intervention) == (name, own.intervention)
            assert world.draw == own.draw
            assert torch.equal(world.sens, own.sens)
            assert torch.equal(world.graph.sens, own.sens)
            found.append((own.graph, world.graph))
    return found


def test_which_there_are(worlds: Worlds) -> None:
    members = worlds.family.members
    assert [one.name for one in members] == NAMES
    assert all(one.error is None and one.meaning.endswith(".") for one in members)
    assert [one.name for one in members if one.part] == PARTS
    assert worlds.family.members is members


def test_the_attribute_only(graph: SensitiveGraph, worlds: Worlds) -> None:
    for _, world in paired(worlds, "attribute only"):
        assert torch.equal(world.edge_index, graph.edge_index)
        assert torch.equal(world.x[:, 1:], graph.x[:, 1:])
        assert torch.equal(world.x[:, 0], world.sens.float())


def test_links_fixed(graph: SensitiveGraph, worlds: Worlds) -> None:
    for own, world in paired(worlds, "own, links fixed"):
        assert torch.equal(world.edge_index, graph.edge_index)
        assert torch.equal(world.x, own.x)
        assert not torch.equal(own.edge_index, graph.edge_index)


def test_structure_only(graph: SensitiveGraph, worlds: Worlds) -> None:
    for own, world in paired(worlds, "structure only"):
        assert torch.equal(world.edge_index, own.edge_index)
        assert torch.equal(world.x[:, 1:], graph.x[:, 1:])
        assert torch.equal(world.x[:, 0], world.sens.float())


def test_quantiles_on_the_exact_model(graph: SensitiveGraph, worlds: Worlds) -> None:
    """Links are the exact ones; features keep their rank in the other group."""
    table, before = graph.x.double().numpy(), graph.sens.numpy()
    ids = graph.node_id
    quantiles = FeatureQuantiles().fit(table, before, Columns.of(graph))
    for own, world in paired(worlds, "quantile"):
        assert torch.equal(world.edge_index, own.edge_index)
        stayed = world.sens == graph.sens
        assert torch.equal(world.x[stayed], graph.x[stayed])
        moved = quantiles.moved(table, before, world.sens.numpy(), ids, seed=0)
        np.testing.assert_allclose(world.x.numpy(), moved, atol=1e-6)
        assert not torch.equal(world.x, own.x)
    # Everyone in group 1: whoever comes over takes values that somebody has there.
    (everyone,) = named(worlds, "quantile").worlds[1.0]
    came, there = graph.sens == 0, graph.x[graph.sens == 1]
    for column in range(1, graph.x.shape[1]):
        values = everyone.graph.x[came, column]
        assert values.min() >= there[:, column].min() - 1e-6
        assert values.max() <= there[:, column].max() + 1e-6


@pytest.mark.parametrize(("own", "other"), [("shift", "quantile"), ("quantile", "shift")])
def test_a_graph_by_similarity(own: str, other: str) -> None:
    graph = table_graph(120, seed=4)
    worlds = Worlds(graph, SimilarityCausalModel(own).fit(graph), draws=2)
    assert [m.name for m in worlds.family.members] == names(*(f for f in FEATURES if f != own))
    assert graph.raw is not None
    fitted = SimilarityCausalModel(other).fit(graph)
    for _, world in paired(worlds, other):
        assert world.fingerprint() == fitted.counterfactual(graph, world.sens).fingerprint()
    if other == "shift":
        raw, sens = graph.raw.numpy(), graph.sens.numpy()
        shift = raw[sens == 1].mean(axis=0) - raw[sens == 0].mean(axis=0)
        for _, world in paired(worlds, other):
            moved = raw + (world.sens.numpy() - sens)[:, None] * shift
            moved[:, 1] = world.sens.numpy()
            assert pairs(world.edge_index) == brute_force(moved, 0.8)


@pytest.mark.parametrize(("own", "other"), [("shift", "quantile"), ("quantile", "shift")])
def test_a_fitted_graph(graph: SensitiveGraph, own: str, other: str) -> None:
    plain = graph.replace(mechanism=None)
    causal = FittedCausalModel(own, gate=False, seed=5).fit(plain)
    worlds = Worlds(plain, causal, draws=2)
    assert [m.name for m in worlds.family.members] == names(*(f for f in FEATURES if f != own))
    fitted = FittedCausalModel(other, gate=False, seed=5).fit(plain)
    for _, world in paired(worlds, other):
        assert world.fingerprint() == fitted.counterfactual(plain, world.sens).fingerprint()


class Rewiring(CausalModel):
    """Somebody's own model, which can be asked about any graph: links are lost with the group."""

    name = "rewiring"

    def _fit(self, graph: SensitiveGraph) -> None:
        return None

    def counterfactual(
        self, graph: SensitiveGraph, sens: torch.Tensor | int, *, seed: int = 0
    ) -> SensitiveGraph:
        assert isinstance(sens, torch.Tensor)
        stayed = (sens == graph.sens)[graph.edge_index].all(dim=0)
        x = graph.x.clone()
        x[:, 0] = sens.to(x)
        return graph.replace(x=x, sens=sens, edge_index=graph.edge_index[:, stayed], mechanism=None)


def test_models_that_cannot_be_fitted_say_why(graph: SensitiveGraph) -> None:
    x = graph.x.clone()
    x[:, 0] = 1
    alike = graph.replace(x=x, sens=torch.ones_like(graph.sens), mechanism=None)
    worlds = Worlds(alike, Rewiring().fit(alike), draws=1)
    errors = {one.name: one.error for one in worlds.family.members}
    assert [name for name, error in errors.items() if error is None] == [
        "own",
        "own, links fixed",
        *PARTS,
    ]
    for name in FEATURES:
        assert named(worlds, name).worlds == {}
        assert "nobody in group 0" in str(errors[name])
    found = audit(Everything(), worlds, self_people=2)
    assert found.causal_models is not None
    rows = {row.model: row for row in found.causal_models.rows}
    assert list(rows) == NAMES
    for name in FEATURES:
        assert np.isnan([rows[name].rate, rows[name].difference, rows[name].score_size]).all()
        assert not rows[name].interval.defined
        assert rows[name].error == errors[name]
    text = json.dumps(json_ready(found.causal_models), allow_nan=False)
    again = from_json(Sensitivity, json.loads(text))
    assert json.dumps(json_ready(again), allow_nan=False) == text


def rates(
    worlds: Worlds, model: FakeModel, nodes: torch.Tensor | None = None
) -> tuple[Sensitivity, dict[str, CausalModelRow]]:
    found = audit(model, worlds, nodes=nodes, self_people=0).causal_models
    assert found is not None
    return found, {row.model: row for row in found.rows}


def test_rates_by_brute_force(graph: SensitiveGraph, worlds: Worlds) -> None:
    model, mask = Everything(), graph.test_mask
    before = model.score(graph)[mask] > 0.5
    _, rows = rates(worlds, model)
    own = audit(model, worlds, self_people=0)
    assert rows["own"].rate == own.metrics["delta_cf"]
    assert rows["own"].interval == own.intervals["delta_cf"]
    for name in NAMES[1:]:
        by_rate = [
            np.mean(
                [
                    ((model.score(world.graph)[mask] > 0.5) != before).double().mean().item()
                    for world in draws
                ]
            )
            for draws in named(worlds, name).worlds.values()
        ]
        assert rows[name].rate == pytest.approx(np.mean(by_rate))
        assert rows[name].difference == pytest.approx(np.mean(by_rate) - rows["own"].rate)
        assert rows[name].difference in rows[name].difference_interval
        assert rows[name].rate in rows[name].interval


def test_a_model_that_undoes_the_own_causal_model_is_found_out(
    graph: SensitiveGraph, worlds: Worlds
) -> None:
    """It is perfectly fair under the exact model, and under no other that moves features."""
    found, rows = rates(worlds, Unshifted(graph), torch.arange(len(graph.x)))
    assert rows["own"].rate == rows["own, links fixed"].rate == 0
    assert rows["attribute only"].rate > 0.1
    assert found.depends is not False
    assert found.least.model == "own"
    assert found.largest.rate > 0.03
    assert "0.0000 (own) to 0.0" in found.verdict


def test_a_model_that_reads_links_depends_on_whether_they_follow(worlds: Worlds) -> None:
    found, rows = rates(worlds, ReadsDegrees())
    assert found.depends is True
    # A part of a model is no belief, and a model of impossible people none to rely on.
    apart = [
        row.model
        for row in rows.values()
        if 0 not in row.difference_interval and not row.part and row.credible
    ]
    assert found.verdict.endswith(f"choice of people explains: {', '.join(apart)}.")


@pytest.mark.parametrize("model", [Constant(), CopiesSens()])
def test_a_model_to_which_they_are_all_one(worlds: Worlds, model: FakeModel) -> None:
    found, rows = rates(worlds, model)
    assert found.depends is False
    rate = rows["own"].rate
    assert {round(row.rate, 9) for row in rows.values()} == {round(rate, 9)}
    assert found.verdict == (
        "The verdict hardly depends on the causal model: "
        f"δCF is {rate:.4f} under the causal model of this audit and {rate:.4f} over the "
        f"{found.credible} credible ones; {rate:.4f} of the answers change under at least one of "
        "them."
    )
    assert found.under_any == pytest.approx(rate)
    assert found.under_all == pytest.approx(rate)


def test_what_moves_by_features_and_what_by_links(graph: SensitiveGraph, worlds: Worlds) -> None:
    _, by_features = rates(worlds, Features())
    assert by_features["own, links fixed"].rate == by_features["own"].rate > 0
    assert by_features["structure only"].rate == by_features["attribute only"].rate == 0
    # Who remembers the neighbours reads s alone: every causal model sets that.
    found, remembered = rates(worlds, RememberedNeighborSens(graph))
    assert len({remembered[name].rate for name in NAMES}) == 1
    assert found.depends is False


def test_bounds_by_hand(graph: SensitiveGraph, worlds: Worlds) -> None:
    model, mask = Everything(), graph.test_mask
    found, rows = rates(worlds, model)
    believed = [row for row in rows.values() if not row.part and row.credible]
    assert 1 < found.credible == len(believed)
    least, largest = (pick(believed, key=lambda row: row.rate) for pick in (min, max))
    assert (found.least.model, found.least.rate) == (least.model, least.rate)
    assert (found.largest.model, found.largest.rate) == (largest.model, largest.rate)
    # They hold for all models at once, so they are wider than each model's own.
    assert found.largest.interval.high >= max(row.interval.high for row in believed)
    assert found.least.interval.low <= min(row.interval.low for row in believed)
    before = model.score(graph)[mask] > 0.5
    some, every = [], []
    for rate, draws in worlds.strict.items():
        of_rate = []
        for draw in range(len(draws)):
            graphs = [named(worlds, row.model).worlds[rate][draw].graph for row in believed]
            flips = [((model.score(one)[mask] > 0.5) != before) for one in graphs]
            of_rate.append(torch.stack(flips))
        some.append(np.mean([one.any(dim=0).double().mean() for one in of_rate]))
        every.append(np.mean([one.all(dim=0).double().mean() for one in of_rate]))
    assert found.under_any == pytest.approx(np.mean(some))
    assert found.under_all == pytest.approx(np.mean(every))
    assert found.under_all <= found.least.rate <= found.largest.rate <= found.under_any
    measured = audit(model, worlds, self_people=0)
    for key, (value, interval) in found.metrics().items():
        assert (measured.metrics[key], measured.intervals[key]) == (value, interval)


class ReadsDegrees(FakeModel):
    """Its answer is whether the number of links is odd: it changes where links do."""

    def score(self, graph: SensitiveGraph) -> torch.Tensor:
        degree = torch.bincount(graph.edge_index[0], minlength=len(graph.x)).double()
        return (degree % 2).clamp(0.1, 0.9)


class TrainedForShift(Everything):
    trained_for_ = ("shift",)


def test_what_a_model_was_trained_for_is_told_apart(graph: SensitiveGraph) -> None:
    table = table_graph(120, seed=4)
    found = audit(TrainedForShift(), Worlds(table, draws=1), nodes=torch.arange(120))
    assert found.causal_models is not None
    rows = {row.model: row for row in found.causal_models.rows}
    assert rows["own"].trained
    assert rows["own, links fixed"].trained
    assert not rows["quantile"].trained
    assert "held out" in rows["quantile"].remark
    assert any("home ground" in note for note in found.notes)
    _, unknown = rates(Worlds(graph, draws=1), Everything())
    assert {row.trained for row in unknown.values()} == {None}


def test_doses_from_the_attribute_alone_to_the_whole(graph: SensitiveGraph) -> None:
    plain = graph.replace(mechanism=None)
    worlds = Worlds(plain, FittedCausalModel("shift", "fixed").fit(plain), draws=1)
    found = audit(Features(), worlds, self_people=0)
    assert found.dose is not None
    assert [point.share for point in found.dose.points] == [0, 0.25, 0.5, 0.75, 1]
    first, *_, last = found.dose.points
    assert first.rate == 0
    assert last.rate == found.metrics["delta_cf"] > 0
    model, mask = Features(), graph.test_mask
    before = model.score(plain)[mask] > 0.5
    flips = []
    for (world,) in worlds.strict.values():
        x = plain.x + 0.5 * (world.graph.x - plain.x)
        x[:, 0] = plain.x[:, 0]
        half = model.score(plain.replace(x=x))[mask] > 0.5
        flips.append((half != before).double().mean().item())
    assert found.dose.points[2].rate == pytest.approx(np.mean(flips))


def test_where_a_dose_turns_the_verdict() -> None:
    rates_at = {0.0: 0.0, 0.5: 0.02, 1.0: 0.06}
    dose = Dose(tuple(DosePoint(at, rate, UNDEFINED) for at, rate in rates_at.items()))
    assert dose.crossing(0.04) == pytest.approx(0.75)
    assert dose.crossing(0.01) == pytest.approx(0.25)
    assert dose.crossing(0.06) is None
    assert dose.crossing(-1.0) == 0


def test_the_noise_of_other_models_is_that_of_the_seed(graph: SensitiveGraph) -> None:
    one, same, other = (Worlds(graph, draws=1, seed=seed) for seed in (1, 1, 2))

    def first(worlds: Worlds, name: str) -> Any:
        return named(worlds, name).worlds[0.5][0].graph.fingerprint()

    for name in NAMES:
        assert first(one, name) == first(same, name)
        assert first(one, name) != first(other, name)


def test_where_nothing_is_set_every_model_gives_the_graph(graph: SensitiveGraph) -> None:
    """Identity, through the same functions that make the worlds of an audit."""

    class Unchanged(Worlds):
        @property
        def assignments(self) -> dict[float, list[torch.Tensor]]:
            return {0.0: [self.graph.sens]}

    worlds = Unchanged(graph)
    for other in (member for member in worlds.family.members if member.worlds):
        (world,) = other.worlds[0.0]
        assert world.graph.fingerprint() == graph.fingerprint(), other.name
