from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from fairgear import SensitiveGraph
from fairgear.auditing import Audit, FlipRow, Worlds
from fairgear.causal import at_random, at_rate, flipped, for_graph, released_world
from fairgear.errors import NotFittedError, ParameterError
from fairgear.methods import Gear
from fairgear.metrics import METRICS
from tests.auditing.models import (
    Constant,
    CopiesSens,
    Everything,
    FakeModel,
    Features,
    NeighborSens,
    Unshifted,
    measure,
)

BOUNDS = ("delta_cf_min", "delta_cf_max", "delta_cf_any", "delta_cf_all")
# Without other causal models.
MEASURED = [key for key in METRICS if key not in BOUNDS]
COUNTERFACTUAL = [key for key in MEASURED if key.startswith("delta_cf")]
UTILITY = ["accuracy", "f1", "auroc", "delta_eo"]


@pytest.fixture(scope="module")
def everything(worlds: Worlds) -> Audit:
    return measure(Everything(), worlds)


def row(result: Audit, protocol: str, intervention: str) -> FlipRow:
    (found,) = (r for r in result.flips if (r.protocol, r.intervention) == (protocol, intervention))
    return found


def same(first: dict[str, float], second: dict[str, float]) -> bool:
    return all(
        first[k] == second[k] or (math.isnan(first[k]) and math.isnan(second[k])) for k in first
    )


def labels(model: FakeModel, graph: SensitiveGraph) -> np.ndarray[Any, Any]:
    scores = model.predict_proba(graph)[:, 1]
    chosen: np.ndarray[Any, Any] = (scores > 0.5).astype(int)[graph.test_mask.numpy()]
    return chosen


def test_all_metrics_are_there_with_intervals(everything: Audit) -> None:
    assert list(everything.metrics) == MEASURED == list(everything.intervals)
    for key, value in everything.metrics.items():
        assert METRICS[key].low <= value <= METRICS[key].high
        assert value in everything.intervals[key]


def test_protocols_and_interventions(everything: Audit) -> None:
    rates = ["rate 0", "rate 0.5", "rate 1", "average over rates", "between worlds"]
    assert [(r.protocol, r.intervention) for r in everything.flips] == [
        ("placebo", "unchanged"),
        *(("released", name) for name in rates),
        *(("strict", name) for name in rates),
        ("strict", "neighbours"),
        ("strict", "both"),
        ("strict", "self"),
    ]
    for r in everything.flips:
        assert r.gains + r.losses == pytest.approx(r.rate)
        assert r.rate in r.interval
        assert abs(r.score_shift) <= r.score_size


def test_draws_and_their_error(everything: Audit) -> None:
    drawn = {(r.protocol, r.intervention): (r.draws, r.error is None) for r in everything.flips}
    assert drawn["strict", "rate 0"] == (1, True)
    assert drawn["strict", "rate 0.5"] == (3, False)
    assert drawn["strict", "average over rates"] == (5, False)
    assert drawn["strict", "neighbours"] == (3, False)
    assert drawn["strict", "self"] == (1, True)


def test_json(everything: Audit, graph: SensitiveGraph) -> None:
    for result in (everything, measure(Constant(), graph.replace(mechanism=None))):
        text = json.dumps(result.to_dict(), allow_nan=False)
        assert json.loads(text)["notes"] == list(result.notes)


def test_constant_never_flips(worlds: Worlds) -> None:
    result = measure(Constant(), worlds)
    assert all(result.metrics[key] == 0 for key in COUNTERFACTUAL)
    assert all(r.rate == r.score_size == 0 for r in result.flips)
    # Nobody flipped among few communities: that is no proof that nobody would.
    assert all(result.intervals[key].high > 0.02 for key in COUNTERFACTUAL)
    assert math.isnan(result.metrics["r2"])
    assert any("R² is undefined" in note for note in result.notes)


def test_a_model_that_undoes_the_shift_is_fair_in_the_strict_worlds_only(
    graph: SensitiveGraph, worlds: Worlds
) -> None:
    result = measure(Unshifted(graph), worlds)
    assert all(r.rate == 0 for r in result.flips if r.protocol == "strict")
    assert result.metrics["delta_cf_released"] > 0
    assert row(result, "placebo", "unchanged").score_size == 0


def test_a_copy_of_s_flips_where_s_changes(graph: SensitiveGraph, worlds: Worlds) -> None:
    result = measure(CopiesSens(), worlds)
    own = graph.sens[graph.test_mask]
    for protocol in ("strict", "released"):
        for rate, draws in ((0, 1), (0.5, 3), (1, 1)):
            changed = [
                (at_rate(graph, rate, draw=draw)[graph.test_mask] != own).double().mean().item()
                for draw in range(draws)
            ]
            assert row(result, protocol, f"rate {rate}").rate == pytest.approx(np.mean(changed))
    assert row(result, "strict", "rate 0").gains == 0
    assert row(result, "strict", "rate 1").losses == 0
    assert result.metrics["delta_cf_self"] == 1
    assert result.metrics["delta_cf_neighbor"] == 0
    assert result.metrics["delta_cf_both"] == 1
    assert result.metrics["delta_cf"] == result.metrics["delta_cf_released"]


def test_self_of_a_reader_of_neighbours(graph: SensitiveGraph, worlds: Worlds) -> None:
    """A person's own s changes who their neighbours are, and nothing else that it reads."""
    truth = for_graph(graph)

    def label(world: SensitiveGraph, node: int) -> bool:
        around = [int(b) for a, b in world.edge_index.T.tolist() if a == node]
        return len(around) > 0 and sum(int(world.sens[j]) for j in around) > len(around) / 2

    people = graph.test_mask.nonzero()[:, 0].tolist()
    flips = [
        label(graph, i) != label(truth.counterfactual(graph, flipped(graph, i)), i) for i in people
    ]
    result = measure(NeighborSens(), worlds)
    assert 0 < sum(flips) < len(flips)
    assert result.metrics["delta_cf_self"] == pytest.approx(np.mean(flips))
    by_person = result.people.set_index("node_id")["flip_strict_self"]
    assert by_person.loc[graph.node_id[people].tolist()].tolist() == [float(f) for f in flips]


@pytest.mark.parametrize("model", [Everything(), Features(), NeighborSens()])
def test_delta_cf_by_brute_force(model: FakeModel, graph: SensitiveGraph, worlds: Worlds) -> None:
    truth, before = for_graph(graph), labels(model, graph)
    worlds_of: dict[str, Callable[[Any], SensitiveGraph]] = {
        "delta_cf": lambda sens: truth.counterfactual(graph, sens),
        "delta_cf_released": lambda sens: released_world(truth, graph, sens, share=0.1),
    }
    result = measure(model, worlds)
    for key, make in worlds_of.items():
        rates = []
        for rate, draws in ((0, 1), (0.5, 3), (1, 1)):
            each = [
                (labels(model, make(at_rate(graph, rate, draw=d))) != before).mean()
                for d in range(draws)
            ]
            rates.append(np.mean(each))
        assert result.metrics[key] == pytest.approx(np.mean(rates))
    assert result.metrics["delta_cf"] > 0


def test_between_worlds_by_brute_force(graph: SensitiveGraph, everything: Audit) -> None:
    truth, model = for_graph(graph), Everything()
    at = {
        rate: [
            labels(model, truth.counterfactual(graph, at_rate(graph, rate, draw=d)))
            for d in range(3)
        ]
        for rate in (0, 0.5, 1)
    }
    pairs = [(0, 0.5), (0, 1), (0.5, 1)]
    expected = np.mean([(at[a][d] != at[b][d]).mean() for a, b in pairs for d in range(3)])
    assert row(everything, "strict", "between worlds").rate == pytest.approx(expected)


def test_released_keeps_the_edges_and_softens_the_features(worlds: Worlds) -> None:
    by_features = measure(Features(), worlds).metrics
    assert 0 < by_features["delta_cf_released"] < by_features["delta_cf"]
    for released in (w for draws in worlds.released.values() for w in draws):
        assert torch.equal(released.graph.edge_index, worlds.graph.edge_index)
    assert any(
        not torch.equal(w.graph.edge_index, worlds.graph.edge_index) for w in worlds.strict[0.5]
    )


def test_neighbours_and_both_share_out_the_random_worlds(
    graph: SensitiveGraph, everything: Audit
) -> None:
    truth, model = for_graph(graph), Everything()
    before, own = labels(model, graph), graph.sens[graph.test_mask].numpy()
    flipped_in, changed = [], []
    for draw in range(3):
        sens = at_random(graph, draw=draw)
        flipped_in.append(labels(model, truth.counterfactual(graph, sens)) != before)
        changed.append(sens[graph.test_mask].numpy() != own)
    flips, moved = np.stack(flipped_in), np.stack(changed)
    for name, key, part in (
        ("neighbours", "delta_cf_neighbor", ~moved),
        ("both", "delta_cf_both", moved),
    ):
        shares = [
            np.mean([flips[d, i] for d in range(3) if part[d, i]])
            for i in range(part.shape[1])
            if part[:, i].any()
        ]
        assert everything.metrics[key] == pytest.approx(np.mean(shares))
        assert row(everything, "strict", name).people == len(shares)
        measured = everything.people[f"flip_strict_{name}"].notna()
        assert measured.tolist() == part.any(axis=0).tolist()
        assert any(f"{name} was measured on {len(shares)} of" in note for note in everything.notes)


def test_between_worlds_goes_towards_the_higher_rate(worlds: Worlds) -> None:
    between = row(measure(CopiesSens(), worlds), "strict", "between worlds")
    assert between.losses == 0 < between.gains
    assert between.score_shift == between.score_size > 0


def test_a_method_is_a_model(graph: SensitiveGraph) -> None:
    gear = Gear(device="cpu", steps=2, dim=8).fit(graph)
    result = measure(gear, graph)
    assert result.people["label"].tolist() == gear.predict(graph)[graph.test_mask].tolist()
    assert all(r.people > 0 for r in result.flips)


def test_people(graph: SensitiveGraph, everything: Audit) -> None:
    people = everything.people
    assert people["node_id"].tolist() == graph.node_id[graph.test_mask].tolist()
    assert people["y"].tolist() == graph.y[graph.test_mask].tolist()
    assert people["sens"].tolist() == graph.sens[graph.test_mask].tolist()
    assert people["label"].tolist() == labels(Everything(), graph).tolist()
    for r in everything.flips:
        key = f"{r.protocol}_{r.intervention}".replace(" ", "_")
        assert people[f"flip_{key}"].mean() == pytest.approx(r.rate)
        if r.intervention != "between worlds":
            assert people[f"score_{key}"].notna().sum() == r.people
    change = people["score_strict_rate_1"] - people["score"]
    assert change.mean() == pytest.approx(row(everything, "strict", "rate 1").score_shift)


def test_groups(everything: Audit) -> None:
    for group, member in everything.people.groupby("sens"):
        summary = everything.groups[int(str(group))]
        assert summary.count == summary.labelled == len(member)
        assert summary.selection_rate == pytest.approx(member["label"].mean())
        assert summary.accuracy == pytest.approx((member["label"] == member["y"]).mean())
        positive = member[member["y"] == 1]
        assert summary.true_positive_rate == pytest.approx(positive["label"].mean())
        assert summary.delta_cf == pytest.approx(member["flip_strict_average_over_rates"].mean())
    zero, one = everything.groups
    gap = abs(one.selection_rate - zero.selection_rate)
    assert everything.metrics["delta_dp"] == pytest.approx(gap)


@pytest.mark.parametrize("most", [20, 500])
def test_relabelling_changes_nothing(graph: SensitiveGraph, most: int) -> None:
    order = torch.randperm(len(graph.x), generator=torch.Generator().manual_seed(1))
    for model in (Features(), NeighborSens()):
        first, second = (
            measure(model, data, self_people=most) for data in (graph, graph.permute(order))
        )
        assert first.metrics == pytest.approx(second.metrics, abs=1e-12, nan_ok=True)
        for key in MEASURED:
            ends = list(first.intervals[key])
            assert ends == pytest.approx(list(second.intervals[key]), abs=1e-9, nan_ok=True)
        assert first.notes == second.notes
        assert first.people["flip_strict_self"].equals(second.people["flip_strict_self"])


def test_a_sample_stands_for_self(graph: SensitiveGraph) -> None:
    result = measure(CopiesSens(), graph, self_people=20)
    assert row(result, "strict", "self").people == 20
    assert result.people["flip_strict_self"].notna().sum() == 20
    assert any("measured on 20 of the 60 people" in note for note in result.notes)


def test_labels_move_utility_alone(graph: SensitiveGraph, everything: Audit) -> None:
    rows = graph.test_mask.nonzero()[:, 0]
    y = graph.y.clone()
    y[rows] = y[rows.flip(0)]
    result = measure(Everything(), graph.replace(y=y))
    for key in MEASURED:
        if key in UTILITY:
            continue
        assert result.metrics[key] == everything.metrics[key]
        assert result.intervals[key] == everything.intervals[key]
    assert result.metrics["auroc"] != everything.metrics["auroc"]
    assert result.flips == everything.flips


def test_unknown_labels_count_for_flips_alone(graph: SensitiveGraph, everything: Audit) -> None:
    rows = graph.test_mask.nonzero()[:, 0]
    y = graph.y.clone()
    y[rows[::2]] = -1
    result = measure(Everything(), graph.replace(y=y))
    known = everything.people.iloc[1::2]
    assert result.metrics["accuracy"] == pytest.approx((known["y"] == known["label"]).mean())
    for key in MEASURED:
        if key not in UTILITY:
            assert result.metrics[key] == everything.metrics[key]
    assert [group.labelled for group in result.groups] == known.groupby("sens").size().tolist()
    assert any("30 of 60 people have a known label" in note for note in result.notes)


def test_no_label_at_all(graph: SensitiveGraph, everything: Audit) -> None:
    result = measure(Everything(), graph.replace(y=torch.full_like(graph.y, -1)))
    for key in MEASURED:
        if key in UTILITY:
            assert math.isnan(result.metrics[key])
            assert not result.intervals[key].defined
        else:
            assert result.metrics[key] == everything.metrics[key]
    assert any("No label is known" in note for note in result.notes)


def test_without_a_causal_model(graph: SensitiveGraph) -> None:
    """Where there is one group only, nothing tells what the other would be like."""
    x = graph.x.clone()
    x[:, graph.sens_column or 0] = 1
    result = measure(
        Everything(), graph.replace(x=x, sens=torch.ones_like(graph.sens), mechanism=None)
    )
    for key in MEASURED:
        if key in COUNTERFACTUAL and key != "delta_cf_released":
            assert math.isnan(result.metrics[key])
    assert result.metrics["auroc"] > 0
    assert result.flips == ()
    assert any("undefined without a causal model" in note for note in result.notes)


def test_a_causal_model_can_be_given(graph: SensitiveGraph, everything: Audit) -> None:
    result = measure(Everything(), graph, causal_model=for_graph(graph))
    assert result.metrics == everything.metrics
    assert any("exact" in note for note in result.notes)


def test_the_seed_chooses_the_draws(graph: SensitiveGraph, everything: Audit) -> None:
    other = measure(Everything(), graph, seed=1, draws=1)
    assert row(other, "strict", "rate 1").rate == row(everything, "strict", "rate 1").rate
    assert (
        row(other, "strict", "neighbours").people != row(everything, "strict", "neighbours").people
    )
    assert row(other, "strict", "rate 0.5").error is None


def test_nodes_as_rows_or_mask(graph: SensitiveGraph, worlds: Worlds) -> None:
    rows = graph.val_mask.nonzero()[:, 0].flip(0)
    first = measure(Features(), worlds, nodes=rows)
    second = measure(Features(), worlds, nodes=graph.val_mask)
    assert same(first.metrics, second.metrics)
    assert first.people["node_id"].is_monotonic_increasing


def test_one_person(graph: SensitiveGraph, worlds: Worlds) -> None:
    result = measure(CopiesSens(), worlds, nodes=torch.tensor([7]))
    assert result.metrics["delta_cf_self"] == 1
    assert math.isnan(result.metrics["auroc"])
    assert math.isnan(result.metrics["delta_dp"])
    for name in ("ΔDP", "AUROC", "R²"):
        assert any(name in note for note in result.notes)
    json.dumps(result.to_dict(), allow_nan=False)


@pytest.mark.parametrize(
    "nodes",
    [torch.tensor([], dtype=torch.int64), torch.tensor([1, 1]), torch.tensor([300]), torch.ones(3)],
)
def test_bad_nodes(graph: SensitiveGraph, nodes: torch.Tensor) -> None:
    with pytest.raises(ParameterError, match="nodes to audit"):
        measure(Constant(), graph, nodes=nodes)


def test_an_empty_test_mask(graph: SensitiveGraph) -> None:
    empty = graph.replace(test_mask=torch.zeros_like(graph.test_mask))
    with pytest.raises(ParameterError, match="test_mask"):
        measure(Constant(), empty)


def test_bad_models(graph: SensitiveGraph) -> None:
    class Whole(Constant):
        def predict_proba(self, graph: SensitiveGraph, *, nodes: torch.Tensor | None = None) -> Any:
            return super().predict_proba(graph)

    class Undecided(Constant):
        threshold_ = None

    class Nothing(Constant):
        def score(self, graph: SensitiveGraph) -> torch.Tensor:
            return torch.full((len(graph.x),), math.nan)

    with pytest.raises(ParameterError, match="shape"):
        measure(Whole(), graph)
    with pytest.raises(ParameterError, match="NaN"):
        measure(Nothing(), graph)
    with pytest.raises(NotFittedError):
        measure(Undecided(), graph)


def test_bad_settings(graph: SensitiveGraph) -> None:
    with pytest.raises(ParameterError, match="draws"):
        measure(Constant(), graph, draws=0)
    with pytest.raises(ParameterError, match="released_share"):
        measure(Constant(), graph, released_share=2)


def test_what_a_causal_model_has_to_say_is_said(graph: SensitiveGraph) -> None:
    fitted = for_graph(graph.replace(mechanism=None, latent=None))
    result = measure(Everything(), graph, causal_model=fitted, draws=1)
    assert fitted.notes
    assert set(fitted.notes) <= set(result.notes)
