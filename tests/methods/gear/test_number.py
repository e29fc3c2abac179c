"""Gear where the sensitive attribute is a number: what it sees, whom it moves, what it keeps."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from fairgear import SensitiveGraph
from fairgear.causal.local import LocalWorld
from fairgear.errors import GraphError
from fairgear.methods.baselines.gnn import GraphSage
from fairgear.methods.features import FeatureScaler
from fairgear.methods.gear.estimator import Gear
from fairgear.methods.gear.family import Family, MovedPeople, learners
from fairgear.methods.gear.loss import assignment
from fairgear.methods.gear.training import GearTask
from fairgear.methods.loading import load_model
from fairgear.methods.ranks import RankScores
from tests.graphs import random_graph
from tests.methods.gear.tiny import tiny
from tests.methods.numbers import Floats, Slope, aged, known_by_name, moved


@pytest.fixture(scope="module")
def graph() -> SensitiveGraph:
    return aged()


@pytest.fixture(scope="module", autouse=True)
def slope() -> Iterator[None]:
    with known_by_name():
        yield


@pytest.fixture(scope="module")
def fitted(graph: SensitiveGraph) -> Gear:
    return tiny(causal="slope").fit(graph)


def slopes(graph: SensitiveGraph) -> Floats:
    """Of each column on s, among training people, by the normal equations."""
    train = graph.train_mask.numpy()
    sens, x = graph.sens.numpy()[train], graph.x.double().numpy()[train]
    centred = sens - sens.mean()
    return np.asarray(centred @ (x - x.mean(axis=0)) / (centred @ centred))


def family_of(graph: SensitiveGraph, views: bool = True) -> Family:
    scaler = FeatureScaler(graph.x.shape[1], graph.sens_column).fit(graph, graph.canonical.rows)
    ranks = RankScores(len(scaler.mean)).fit(scaler(graph)[graph.canonical.rows])
    return Family.fit([Slope()], graph, learners(graph), scaler, ranks, 7, views)


def test_people_are_seen_as_the_mean_over_five_quantiles_of_training_people(
    graph: SensitiveGraph,
) -> None:
    family = family_of(graph)
    known = np.sort(graph.sens.numpy()[graph.train_mask.numpy()])
    levels = [
        known[int(np.ceil(share * len(known))) - 1] for share in (0.05, 0.25, 0.5, 0.75, 0.95)
    ]
    assert list(family.levels) == levels
    x = graph.x.double().numpy()
    own = np.delete(x, 1, axis=1)
    views = []
    for level in levels:
        rows = x + (level - graph.sens.numpy())[:, None] * slopes(graph)
        rows = (np.delete(rows, 1, axis=1) - own.mean(axis=0)) / own.std(axis=0)
        ranks = family.ranks(torch.from_numpy(rows).float()).numpy()
        views.append(np.hstack([rows.clip(-8, 8), ranks]))
    seen = family.seen_in(graph)
    np.testing.assert_allclose(seen, np.mean(views, axis=0), atol=1e-4)
    # Off, people are as they are.
    plain = family_of(graph, views=False).seen_in(graph)
    np.testing.assert_allclose(plain[:, :4], (own - own.mean(axis=0)) / own.std(axis=0), atol=1e-4)


def test_what_is_seen_does_not_depend_on_s_at_all(graph: SensitiveGraph) -> None:
    family = family_of(graph)
    everyone = family.seen_in(graph)
    for values in (graph.sens.flip(0), torch.full_like(graph.sens, 70.0)):
        there = moved(graph, values, slopes(graph))
        torch.testing.assert_close(family.seen_in(there), everyone, atol=1e-3, rtol=0)
        # Values of s beside unmoved features are another person.
        x = graph.x.clone()
        x[:, 1] = there.x[:, 1]
        alone = family.seen_in(graph.replace(x=x, sens=there.sens))
        assert not torch.allclose(alone, everyone, atol=0.1)


def test_some_rows_and_pieces_are_seen_as_all_are(
    graph: SensitiveGraph, monkeypatch: pytest.MonkeyPatch
) -> None:
    family, some = family_of(graph), torch.tensor([200, 3, 3, 11, 0])
    whole = family.seen_in(graph)
    monkeypatch.setattr("fairgear.methods.gear.family._CHUNK", 7)
    assert torch.equal(family.seen_in(graph), whole)
    assert torch.equal(family.seen_in(graph, some), whole[some])


@pytest.mark.parametrize(("n", "who"), [(300, (0, 1, 2)), (240, (0, 1, 2, 3)), (100, range(5))])
def test_maps_are_learned_from_training_people_where_they_are_enough(n: int, who: Any) -> None:
    graph = aged(n)
    ids = graph.canonical.rows[torch.from_numpy(learners(graph))]
    assert set(ids.tolist()) == {row for row in range(n) if row % 5 in who}


def test_people_are_moved_to_values_of_learners_and_seen_there(graph: SensitiveGraph) -> None:
    family = family_of(graph)
    people = MovedPeople(family, graph, seed=7)
    assert (people.models, people.groups) == (1, 0)
    rows, first = torch.arange(len(graph.x)), torch.zeros(len(graph.x), dtype=torch.long)
    drawn = torch.stack([people.target(rows, first + draw) for draw in range(people.draws)])
    train = graph.sens[graph.train_mask]
    assert torch.isin(drawn, train).all()
    # Their law is that of training people.
    shares = [float((drawn <= value).double().mean()) for value in train.quantile(LEVELS)]
    np.testing.assert_allclose(shares, LEVELS, atol=0.03)
    order = graph.canonical.rows
    there = moved(graph, graph.sens.clone().index_copy(0, order, drawn[0]), slopes(graph))
    found = people(rows, first, first)
    torch.testing.assert_close(found, family.seen_in(there)[order], atol=1e-3, rtol=0)


LEVELS = torch.tensor([0.1, 0.3, 0.5, 0.7, 0.9], dtype=torch.float64)


def test_a_step_moves_a_tenth_or_half_or_all_down_or_all_up() -> None:
    torch.manual_seed(1)
    sens, target = torch.rand(2, 10_000, dtype=torch.float64)
    kinds = set()
    for _ in range(40):
        new = assignment(sens, target, 0)
        at = new != sens
        assert torch.equal(new[at], target[at])
        lower, higher = (float(at[part].float().mean()) for part in (target < sens, target > sens))
        known = {(0.1, 0.1): "few", (1, 0): "down", (0.5, 0.5): "half", (0, 1): "up"}
        shares = (lower, higher)
        kinds.add(next(kind for of, kind in known.items() if np.allclose(shares, of, atol=0.03)))
    assert kinds == {"few", "down", "half", "up"}


def test_validation_asks_for_all_who_are_lowered_and_all_who_are_raised(
    graph: SensitiveGraph, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[Tensor] = []
    judged = GearTask.judged

    def spy(self: GearTask, factual: Tensor, worlds: Tensor) -> Any:
        seen.append(worlds)
        tasks.append(self)
        return judged(self, factual, worlds)

    tasks: list[GearTask] = []
    monkeypatch.setattr(GearTask, "judged", spy)
    tiny(causal="slope", encoder="linear", views=False, steps=3).fit(graph)
    task, worlds = tasks[-1], seen[-1]
    assert worlds.shape == (1, 2, len(task.val_rows))
    last = torch.full_like(task.val_rows, task.moved.draws - 1)
    target, own = task.moved.target(task.val_rows, last), task.graph.sens[task.val_rows]
    with torch.no_grad():
        factual = task._logits(task.graph.x)
    # Without a graph people move alone.
    changed = worlds[0] != factual
    assert torch.equal(changed[0], target < own)
    assert torch.equal(changed[1], target > own)


def test_answers_do_not_change_where_it_was_trained_for_the_map(graph: SensitiveGraph) -> None:
    plain = GraphSage(dim=16, steps=60, device="cpu").fit(graph)
    gear = tiny(causal="slope", steps=60).fit(graph)
    assert gear.trained_for_ == (Slope().identity,)
    flips = []
    for model in (gear, plain):
        own = model.predict(graph)
        worlds = [moved(graph, torch.full_like(graph.sens, to), slopes(graph)) for to in (20, 60)]
        flips.append(np.mean([model.predict(world) != own for world in worlds]))
        assert np.mean(own == graph.y.numpy()) > 0.7
    assert flips[0] < 0.005 < 0.1 < flips[1]


def test_a_model_comes_back_and_order_changes_nothing(
    fitted: Gear, graph: SensitiveGraph, tmp_path: Path
) -> None:
    fitted.save(tmp_path)
    back = load_model(tmp_path, device="cpu")
    assert back.groups_ == 0
    assert np.array_equal(back.predict_proba(graph), fitted.predict_proba(graph))
    order = torch.randperm(len(graph.x), generator=torch.Generator().manual_seed(1))
    there = tiny(causal="slope").fit(graph.permute(order)).predict_proba(graph)
    np.testing.assert_allclose(there, fitted.predict_proba(graph), atol=1e-6)


def test_the_world_of_one_person_is_scored_as_the_whole_graph(
    fitted: Gear, graph: SensitiveGraph
) -> None:
    person, value = torch.tensor([17]), torch.tensor([63.0], dtype=torch.float64)
    x = graph.x[person].clone()
    x[:, 1], x[:, 0] = value.float(), x[:, 0] + 3
    none = torch.zeros(2, 0, dtype=torch.long)
    world = LocalWorld(graph, person, value, x, none, none)
    nodes = torch.tensor([17, 5, 80])
    whole = fitted.predict_proba(world.graph(), nodes=nodes)
    np.testing.assert_allclose(fitted.predict_near([world], [nodes]), whole, atol=1e-6)
    assert not np.allclose(whole, fitted.predict_proba(graph, nodes=nodes), atol=1e-3)


def test_batches_predict_as_the_whole_graph_does(graph: SensitiveGraph) -> None:
    gear = tiny(causal="slope", batch_size=50, fanout=3, steps=5).fit(graph)
    some = torch.tensor([150, 3, 3, 77])
    found = gear.predict_proba(graph, nodes=some)
    np.testing.assert_allclose(found, gear.predict_proba(graph)[some.numpy()], atol=1e-6)


def test_r2_is_that_of_any_origin_and_unit(graph: SensitiveGraph) -> None:
    found = []
    for offset, unit in ((0.0, 1.0), (2.0e9, 1e-4)):
        sens = offset + unit * graph.sens
        free = graph.replace(
            sens=sens, sens_column=None, x=graph.x[:, [0, 2, 3, 4]], feature_names=None
        )
        task = kept(free)
        around = task.sens_around.numpy()
        assert abs(around.mean()) < 1e-3
        found.append(task.labels_r2())
    assert found[0] == pytest.approx(found[1], abs=1e-3)
    assert found[0] > -1


def kept(graph: SensitiveGraph) -> GearTask:
    gear = tiny(causal="slope", steps=1)
    gear._aim(graph)
    gear._settings = gear.config
    gear._learn_inputs(graph)
    order = graph.canonical.rows
    rows = [mask[order].nonzero()[:, 0] for mask in (graph.train_mask, graph.val_mask)]
    return gear._task(graph, gear._inputs(graph), graph.y[order], *rows)


def test_a_model_of_groups_reads_no_number_and_the_other_way_round(
    fitted: Gear, graph: SensitiveGraph
) -> None:
    groups = random_graph(n=60, d=5)
    with pytest.raises(GraphError, match=r"groups[^\n]*a number"):
        fitted.predict_proba(groups)
    with pytest.raises(GraphError, match=r"a number[^\n]*groups"):
        tiny(steps=2).fit(groups).predict_proba(graph)
