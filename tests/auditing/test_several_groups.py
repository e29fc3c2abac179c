"""Audits of more than two groups, against the definitions written out by hand."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from sklearn.linear_model import LinearRegression

import fairgear as fg
from fairgear import SensitiveGraph
from fairgear.auditing import Audit, Worlds
from fairgear.auditing.comparison import compare_people
from fairgear.auditing.names import Names
from fairgear.causal import (
    MIXED,
    FittedCausalModel,
    SyntheticCausalModel,
    SyntheticSettings,
    assigned,
    changed_groups,
    sample,
)
from fairgear.graph import Attributes, split
from fairgear.methods.baselines.cenc import Cenc
from fairgear.methods.baselines.nifty import flipped
from fairgear.nn.sens_code import SensCode
from fairgear.report import model_card, render_page

SETTINGS = SyntheticSettings(n=200, d_z=10, d=5, threshold=0.3, a=0.05, groups=3)


@pytest.fixture(scope="module")
def graph() -> SensitiveGraph:
    return split(sample(SETTINGS, seed=3), seed=0)


def copies(graph: SensitiveGraph) -> NDArray[np.float64]:
    """A model that reads the attribute and nothing else."""
    return np.where(graph.sens.numpy() == 1, 0.9, 0.1)


def cleared(v: torch.Tensor) -> Callable[[SensitiveGraph], NDArray[np.float64]]:
    """A model that reads features less what the groups add to them."""

    def model(graph: SensitiveGraph) -> NDArray[np.float64]:
        return torch.sigmoid((graph.x[:, 1:] - v[graph.sens].float()).sum(dim=1)).numpy()

    return model


@pytest.fixture(scope="module")
def audit(graph: SensitiveGraph) -> Audit:
    return fg.audit(copies, graph, other_causal_models=False)


def test_copying_the_attribute_flips_as_defined(graph: SensitiveGraph, audit: Audit) -> None:
    rows, rates = graph.test_mask, []
    said = graph.sens[rows] == 1
    for which in (0.0, MIXED, 1.0, 2.0):
        draws = 3 if which == MIXED else 1
        drawn = [assigned(graph, which, draw=draw)[rows] == 1 for draw in range(draws)]
        rates.append(float(torch.stack([(one != said).double().mean() for one in drawn]).mean()))
    found = {row.intervention: row.rate for row in audit.flips}
    names = ("group 0", "mixed", "group 1", "group 2")
    assert [found[name] for name in names] == pytest.approx(rates)
    assert audit.metrics["delta_cf"] == pytest.approx(np.mean(rates))
    own = changed_groups(graph, rows.nonzero()[:, 0])
    assert audit.metrics["delta_cf_self"] == pytest.approx(((own == 1) != said).double().mean())


def test_the_matrix_of_own_groups_is_counted_by_hand(graph: SensitiveGraph, audit: Audit) -> None:
    rows = graph.test_mask.nonzero()[:, 0]
    own, other = graph.sens[rows], changed_groups(graph, rows)
    found = audit.self_flips().to_numpy()
    for before in range(3):
        for after in range(3):
            asked = (own == before) & (other == after)
            if before == after:
                assert not asked.any()
                assert np.isnan(found[before, after])
            else:
                # A model that copies s == 1 changes where one of the two is 1.
                assert asked.any()
                assert found[before, after] == float((before == 1) != (after == 1))


def test_features_less_what_the_groups_add_flip_nobody(graph: SensitiveGraph) -> None:
    found = fg.audit(cleared(graph.mechanism.v), graph, other_causal_models=False)
    assert found.metrics["delta_cf"] == 0
    assert found.metrics["delta_cf_self"] == 0
    assert 0 < found.metrics["accuracy"] < 1


def test_gaps_and_r2_are_those_of_all_groups(graph: SensitiveGraph, audit: Audit) -> None:
    rows = graph.test_mask
    sens, y = graph.sens[rows].numpy(), graph.y[rows].numpy()
    pred = (sens == 1).astype(int)
    rate = [pred[sens == group].mean() for group in range(3)]
    right = [pred[(sens == group) & (y == 1)].mean() for group in range(3)]
    assert audit.metrics["delta_dp"] == pytest.approx(max(rate) - min(rate))
    assert audit.metrics["delta_eo"] == pytest.approx(max(right) - min(right))
    assert [group.count for group in audit.groups] == np.bincount(sens).tolist()
    assert [group.selection_rate for group in audit.groups] == pytest.approx(rate)
    closed = torch.eye(len(graph.x))
    closed[graph.edge_index[0], graph.edge_index[1]] = 1.0
    shares = closed @ torch.nn.functional.one_hot(graph.sens, 3).float()
    around = (shares / closed.sum(dim=1, keepdim=True))[rows].double().numpy()[:, 1:]
    expected = LinearRegression().fit(around, pred).score(around, pred)
    assert audit.metrics["r2"] == pytest.approx(expected, abs=1e-6)


def test_every_assignment_of_six_people(tmp_path: Path) -> None:
    """The worlds that an audit scores are those of the equations, whoever is in which group."""
    small = sample(SyntheticSettings(n=6, d_z=4, d=3, threshold=0.2, groups=3), seed=0)
    model = SyntheticCausalModel().fit(small)
    for code in range(3**6):
        sens = torch.tensor([code // 3**place % 3 for place in range(6)])
        world = model.counterfactual(small, sens)
        moved = world.x[:, 1:] - small.x[:, 1:]
        v = small.mechanism.v
        assert torch.allclose(moved.double(), v[sens] - v[small.sens], atol=1e-5)
        back = model.counterfactual(world, small.sens)
        assert torch.equal(back.x, small.x)
        assert torch.equal(back.edge_index, small.edge_index)


def test_the_page_and_the_folder_carry_the_groups(audit: Audit, tmp_path: Path) -> None:
    audit.save(tmp_path / "audit")
    again = Audit.load(tmp_path / "audit")
    assert again.metrics == audit.metrics
    text = render_page(again)
    assert "everybody in group 2" in text
    worlds = [row for row in audit.flips if row.intervention.startswith(("group", "mixed"))]
    most = max(worlds, key=lambda row: row.rate).intervention
    assert f"({most})." in text
    assert "largest gap" in text
    assert "From group to group" in text
    assert "evenly mixed" in text
    assert "and half in group" not in text


def test_families_of_causal_models_have_several_groups(graph: SensitiveGraph) -> None:
    names = ("low", "middle", "high")
    plain = graph.replace(mechanism=None, attributes=Attributes.single("income", names))
    worlds = Worlds(plain)
    found = fg.audit(cleared_by_sum, worlds)
    assert found.causal_models is not None
    assert len(found.causal_models.rows) >= 6
    assert all(row.error is None or not row.error for row in found.causal_models.rows)


def cleared_by_sum(graph: SensitiveGraph) -> NDArray[np.float64]:
    return torch.sigmoid(graph.x[:, 1:].sum(dim=1)).numpy()


def test_gear_reads_and_saves_several_groups(graph: SensitiveGraph, tmp_path: Path) -> None:
    gear = fg.Gear(steps=20, dim=8, device="cpu").fit(graph)
    gear.save(tmp_path / "model")
    again = fg.load_model(tmp_path / "model", device="cpu")
    assert again.groups_ == 3
    assert np.array_equal(again.predict_proba(graph), gear.predict_proba(graph))


def test_residuals_of_several_groups_flip_nobody_under_the_shift(graph: SensitiveGraph) -> None:
    """Maps of everybody on both sides: what the shift adds is what the residual takes away."""
    plain = graph.replace(mechanism=None)
    model = fg.methods.METHODS["logistic-residual"]().fit(plain)
    shift = FittedCausalModel(edges="fixed").fit(plain)
    found = fg.audit(model, Worlds(plain, shift), other_causal_models=False)
    assert found.metrics["delta_cf"] == 0
    assert found.metrics["auroc"] > 0.7


def test_the_other_view_of_nifty_is_in_another_group() -> None:
    sens = torch.tensor([0, 1, 2] * 50)
    x = torch.cat([torch.randn(150, 2), SensCode(3)(sens).float()], dim=1)
    torch.manual_seed(0)
    for drawn in (True, False):
        moved = flipped(x, 3, drawn=drawn)
        assert torch.equal(moved[:, :2], x[:, :2])
        now = torch.where(moved[:, 2] == 1, 1, torch.where(moved[:, 3] == 1, 2, 0))
        assert (now != sens).all()
        expected = {0: {1, 2}, 1: {0, 2}, 2: {0, 1}} if drawn else {0: {1}, 1: {2}, 2: {0}}
        for group, reached in expected.items():
            assert set(now[sens == group].tolist()) == reached


def test_nifty_learns_from_several_groups(graph: SensitiveGraph) -> None:
    model = fg.methods.METHODS["nifty-sage"](steps=3, dim=8, device="cpu").fit(graph)
    assert np.isfinite(model.predict_proba(graph)).all()


def test_c_enc_tells_each_group_from_all_others(graph: SensitiveGraph) -> None:
    model = Cenc(steps=3, dim=8, device="cpu").fit(graph)
    guesses = model._modules["discriminator"](torch.randn(5, 8))
    assert guesses.shape == (5, 3)
    assert np.isfinite(model.predict_proba(graph)).all()


def test_two_models_are_compared_on_all_groups(graph: SensitiveGraph, audit: Audit) -> None:
    other = fg.audit(cleared_by_sum, graph, other_causal_models=False)
    found = {row.metric: row for row in audit.compare(other).rows}
    for name in ("accuracy", "f1", "auroc", "delta_dp", "delta_eo", "r2", "delta_cf"):
        row = found[name]
        assert row.first == pytest.approx(audit.metrics[name])
        assert row.second == pytest.approx(other.metrics[name])
        assert row.first - row.second in row.interval, name
    same = {row.metric: row for row in compare_people(audit.people, audit.people).rows}
    assert same["delta_dp"].difference == 0
    assert 0 in same["delta_dp"].interval


@pytest.mark.parametrize("audited", [(0, 1), (2,)])
def test_groups_of_whom_nobody_is_audited_have_their_worlds(
    graph: SensitiveGraph, audited: tuple[int, ...]
) -> None:
    """Two groups among the audited people are not a graph of two groups."""
    nodes = torch.isin(graph.sens, torch.tensor(audited)).nonzero()[:, 0]
    found = fg.audit(copies, graph, nodes=nodes, other_causal_models=False)
    assert not found.two_groups
    text = render_page(found)
    for group in range(3):
        assert f"everybody in group {group}" in text
    assert "evenly mixed" in text
    assert "half in group" not in model_card(found)


def test_names_of_groups_of_a_graph_made_in_python(graph: SensitiveGraph) -> None:
    named = graph.replace(attributes=Attributes.single("race", ("Asian", "Black", "White")))
    assert Names.of(named).groups == ("Asian", "Black", "White")
    assert Names.of(graph).groups == ()


def test_one_of_two_groups_is_audited() -> None:
    two = split(sample(SyntheticSettings(n=100, d_z=10, d=5, threshold=0.3), seed=3), seed=0)
    classes = two.replace(y=torch.arange(100) % 3, label_kind="multiclass", mechanism=None)

    def model(graph: SensitiveGraph) -> NDArray[np.float64]:
        scores: NDArray[np.float64] = np.eye(3)[graph.sens.numpy()]
        return scores

    members = classes.sens.nonzero()[:, 0]
    found = fg.audit(model, classes, nodes=members, other_causal_models=False)
    assert len(found.groups) == 1
    assert "half in group 0 and half in group 1" in render_page(found)
