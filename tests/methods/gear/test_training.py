"""How Gear is trained: whom it sees, how fast it learns, and which state it keeps."""

from __future__ import annotations

from itertools import pairwise, product
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch import Tensor

from fairgear import SensitiveGraph
from fairgear.errors import ParameterError
from fairgear.methods import Gear, GearConfig
from fairgear.methods.gear import training
from fairgear.methods.gear.family import MovedPeople
from fairgear.methods.gear.training import GearTask
from fairgear.training import History, Task
from tests.methods.gear.tiny import telling, tiny


@pytest.fixture
def caught(monkeypatch: pytest.MonkeyPatch) -> list[GearTask]:
    """The tasks of the fits to come, none of which is trained."""
    tasks: list[GearTask] = []

    def spy(task: Task, **arguments: Any) -> History:
        assert isinstance(task, GearTask)
        for module in task.modules.values():
            module.eval()
        tasks.append(task)
        return History()

    monkeypatch.setattr("fairgear.methods.gear.estimator.train", spy)
    return tasks


def auroc_by_pairs(y: NDArray[Any], scores: NDArray[Any]) -> float:
    wins = [(one > zero) + 0.5 * (one == zero) for one in scores[y == 1] for zero in scores[y == 0]]
    return float(np.mean(wins))


def adjusted_r2(one: NDArray[Any], other: NDArray[Any]) -> float:
    r2 = float(np.corrcoef(one, other)[0, 1] ** 2)
    return 1 - (1 - r2) * (len(one) - 1) / (len(one) - 2)


def sens_around(graph: SensitiveGraph) -> NDArray[np.float64]:
    """The mean of s over each person and their neighbours."""
    near: list[list[int]] = [[person] for person in range(len(graph.x))]
    for source, target in graph.edge_index.T.tolist():
        near[source].append(target)
    return np.array([np.mean([int(graph.sens[one]) for one in people]) for people in near])


@pytest.mark.parametrize("limit", [0.02, 1.0])
def test_a_score_is_auroc_less_flips_and_less_the_price_of_r2(
    limit: float, dense: SensitiveGraph, caught: list[GearTask]
) -> None:
    tiny(r2_limit=limit, threshold="half").fit(dense)
    (task,) = caught
    val = dense.val_mask.numpy()
    y, around, people = dense.y.numpy()[val], sens_around(dense)[val], int(val.sum())
    draw = torch.Generator().manual_seed(4)
    logits = 4 * torch.from_numpy(around - around.mean()) + torch.randn(people, generator=draw)
    worlds = logits + torch.randn(3, 2, people, generator=draw)
    outcome = task.scored(logits, worlds)
    labels = logits.numpy() > 0
    shares = [[np.mean((world.numpy() > 0) != labels) for world in model] for model in worlds]
    flips = max(np.mean(model) for model in shares)
    auroc = auroc_by_pairs(y, logits.numpy())
    r2 = adjusted_r2(labels, around)
    assert r2 > 0.02 + 4 / people + 0.02
    figures = {"auroc": auroc, "flips": flips, "dependence": r2}
    assert outcome.figures == pytest.approx(figures, abs=1e-4)
    price = 10 * (r2 - limit - 4 / people) if limit < 1 else 0.0
    assert outcome.score == pytest.approx(auroc - flips - price, abs=2e-3)


def test_constant_answers_and_logits_lose_to_all_others(
    dense: SensitiveGraph, caught: list[GearTask]
) -> None:
    tiny(r2_limit=0.0, threshold="half").fit(dense)
    (task,) = caught
    y = task.data.y[task.data.val_rows].float()
    still = torch.zeros(3, 2, len(y))
    # As wrong as can be, and another answer in every world.
    worst = task.scored(0.5 - y, (y - 0.5).expand(3, 2, -1))
    assert worst.figures["auroc"] == 0
    assert worst.figures["flips"] == 1
    one_sided = task.scored(y + 5, still + 5)
    assert one_sided.figures["auroc"] == 1
    constant, broken = task.scored(0 * y + 0.3, still), task.scored(y / 0, still)
    assert worst.score > one_sided.score > max(constant.score, broken.score)


def test_flips_are_those_at_the_threshold_that_would_be_used(
    dense: SensitiveGraph, caught: list[GearTask]
) -> None:
    for threshold in ("validation", "half"):
        tiny(threshold=threshold).fit(dense)
        task = caught.pop()
        y = task.data.y[task.data.val_rows]
        # Tells everybody's label, far above a probability of one half; what moves lies between.
        logits = 3 + 2.0 * y
        moved = torch.where(y == 1, logits - 1.9, logits)
        found = task.scored(logits, moved.expand(3, 2, -1))
        if threshold == "half":
            assert float(task.boundary.cut) == 0
            assert found.figures["flips"] == 0
        else:
            assert 3 < float(task.boundary.cut) < 5
            assert found.figures["flips"] == pytest.approx(float(y.float().mean()))


def logits_of(gear: Gear, graph: SensitiveGraph, rows: Tensor) -> NDArray[np.float64]:
    p = gear.predict_proba(graph, nodes=rows)[:, 1]
    return np.asarray(np.log(p / (1 - p)))


def test_validation_asks_about_everybody_in_either_group_under_each_model(
    dense: SensitiveGraph, caught: list[GearTask], monkeypatch: pytest.MonkeyPatch
) -> None:
    gear = tiny(edge_noise=0.0).fit(dense)
    (task,) = caught
    rows = dense.val_mask.nonzero()[:, 0]
    assert torch.equal(task.data.val_rows, rows)
    with torch.no_grad():
        factual, worlds = task._answers(rows)
        whole = task.validate()
        monkeypatch.setattr(training, "_CHUNK", 7)
        pieces = task.validate()
    assert pieces.figures == pytest.approx(whole.figures, abs=1e-6)
    np.testing.assert_allclose(factual, logits_of(gear, dense, rows), atol=1e-4)
    assert worlds.shape == (3, 2, len(rows))
    for model, group in product(range(3), range(2)):
        moved = gear._family.moved(model, dense.x, dense.sens, dense.node_id)
        x = torch.where((dense.sens != group)[:, None], moved.float(), dense.x)
        world = dense.replace(x=x, sens=torch.full_like(dense.sens, group))
        expected = logits_of(gear, world, rows)
        np.testing.assert_allclose(worlds[model, group], expected, atol=1e-3)


@pytest.mark.parametrize(("limit", "active"), [("labels", True), (0.1, True), (1.0, False)])
def test_the_limit_of_r2_is_that_of_the_training_labels_or_a_number(
    limit: float | str, active: bool, dense: SensitiveGraph, caught: list[GearTask]
) -> None:
    graph = telling(dense)
    tiny(r2_limit=limit).fit(graph)
    (task,) = caught
    train = graph.train_mask.numpy()
    own = adjusted_r2(graph.y.numpy()[train], sens_around(graph)[train])
    assert own > 0.2
    slack = 4 / int(graph.val_mask.sum())
    expected = {"labels": own + slack, 0.1: 0.1 + slack, 1.0: 1.0}[limit]
    assert task.penalty.limit == pytest.approx(expected, abs=1e-5)
    assert task.penalty.active == active
    with torch.no_grad():
        task.validate()
    # Untrained answers tell little of s.
    assert float(task.penalty.weight) == 0


def test_labels_without_r2_allow_what_chance_shows(
    dense: SensitiveGraph, caught: list[GearTask]
) -> None:
    tiny().fit(dense)
    (task,) = caught
    train = dense.train_mask.numpy()
    own = adjusted_r2(dense.y.numpy()[train], sens_around(dense)[train])
    assert task.data.labels_r2() == pytest.approx(max(0.0, own), abs=1e-6)


def test_the_learning_rate_rises_and_ends_at_nothing(
    dense: SensitiveGraph, caught: list[GearTask]
) -> None:
    tiny(steps=1000, learning_rate=0.01).fit(dense)
    (task,) = caught
    rates = [task._rate(number) for number in range(1000)]
    assert rates[0] == pytest.approx(0.0004, rel=0.01)
    assert rates[149] == pytest.approx(0.01 * (0.04 + 0.96 / 2))
    assert rates[299] == max(rates) == pytest.approx(0.01)
    assert rates[649] == pytest.approx(0.005)
    assert rates[-1] == pytest.approx(0, abs=1e-12)
    rises = [after > before for before, after in pairwise(rates)]
    assert rises == [True] * 299 + [False] * 700
    task.step(149)
    (group,) = task.optimizers["network"].param_groups
    assert float(group["lr"]) == pytest.approx(rates[149])


def test_a_batch_has_labelled_people_once_and_anyone(
    dense: SensitiveGraph, caught: list[GearTask]
) -> None:
    tiny(batch_size=30).fit(dense)
    (task,) = caught
    seen: list[tuple[Tensor, Tensor]] = []

    def note(labelled: Tensor, anyone: Tensor) -> dict[str, Tensor]:
        seen.append((labelled, anyone))
        return {}

    task._run = note
    for number in range(60):
        task.step(number)
    train = set(dense.train_mask.nonzero()[:, 0].tolist())
    for labelled, anyone in seen:
        assert len(set(labelled.tolist())) == len(labelled) == len(anyone) == 30
        assert set(labelled.tolist()) <= train
    assert {one for _, anyone in seen for one in anyone.tolist()} == set(range(150))


def test_large_graphs_move_a_sample_of_people_and_those_around_them(
    dense: SensitiveGraph, caught: list[GearTask], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(training, "VALIDATED", 6)
    gear = tiny(seed=3).fit(dense)
    task = caught.pop()
    assert torch.equal(task.data.pool, torch.arange(150))
    assert 4 <= len(task.data.val_rows) <= 6
    assert set(dense.y[task.data.val_rows].tolist()) == {0, 1}
    whole = task.data.moved
    monkeypatch.setattr(training, "KEPT", 80 * MovedPeople.bytes_each(gear._family))
    tiny(seed=3).fit(dense)
    sampled = caught.pop().data
    assert len(sampled.pool) == 80 // 8
    assert torch.equal(sampled.pool, sampled.pool.sort().values)
    assert sampled.moved._views.shape[0] < 150
    for people in (sampled.pool, sampled.val_rows):
        n_id = sampled.egos(people).n_id
        assert n_id is not None
        model, draw = torch.arange(len(people)) % 4, torch.arange(len(people)) % 6
        assert torch.equal(sampled.moved(n_id, model, draw), whole(n_id, model, draw))


def test_parts_that_labels_cannot_fill_and_processes_cannot_share_are_refused(
    graph: SensitiveGraph,
) -> None:
    few = torch.zeros_like(graph.train_mask)
    for label in (0, 1):
        few[torch.nonzero(graph.train_mask & (graph.y == label))[:2, 0]] = True
    with pytest.raises(ParameterError, match="4 of batches that may have 4 people"):
        tiny(micro_batches=4).fit(graph.replace(train_mask=few))
    GearConfig(micro_batches=4).check_batches(100, processes=2)
    with pytest.raises(ParameterError, match="3 for 2 processes"):
        GearConfig(micro_batches=3).check_batches(100, processes=2)


def test_a_step_in_parts_is_the_step_of_the_batch_but_for_its_draws(
    dense: SensitiveGraph, caught: list[GearTask]
) -> None:
    """Without dropout and random questions, parts give the mean of their gradients."""
    found = []
    for parts in (1, 5):
        tiny(
            micro_batches=parts, dropout=0.0, fairness_weight=0.0, r2_limit=1.0, batch_size=50
        ).fit(dense)
        task = caught.pop()
        rows = task.data.train_rows
        terms = task._update(rows, rows)
        found.append((terms, [p.grad for p in task.network.parameters()]))
        assert set(terms) == {"prediction"}
    (one, gradients), (several, others) = found
    assert float(several["prediction"]) == pytest.approx(float(one["prediction"]), abs=1e-6)
    for gradient, other in zip(gradients, others, strict=True):
        assert gradient is not None
        assert other is not None
        torch.testing.assert_close(other, gradient, atol=1e-6, rtol=1e-4)
