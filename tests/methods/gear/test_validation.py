"""How a state of Gear is judged: AUROC, flips and R² of the validation people."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch import Tensor

from fairgear import SensitiveGraph
from fairgear.methods import Gear
from fairgear.methods.gear import training
from fairgear.methods.gear.family import Family
from fairgear.methods.gear.training import GearTask
from fairgear.training import Validation
from tests.methods.gear.tiny import telling, tiny


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
    outcome = task.judged(logits, worlds)
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
    y = task.y[task.val_rows].float()
    still = torch.zeros(3, 2, len(y))
    # As wrong as can be, and another answer in every world.
    worst = task.judged(0.5 - y, (y - 0.5).expand(3, 2, -1))
    assert worst.figures["auroc"] == 0
    assert worst.figures["flips"] == 1
    one_sided = task.judged(y + 5, still + 5)
    assert one_sided.figures["auroc"] == 1
    constant, broken = task.judged(0 * y + 0.3, still), task.judged(y / 0, still)
    assert worst.score > one_sided.score > max(constant.score, broken.score)


def test_flips_are_those_at_the_threshold_that_would_be_used(
    dense: SensitiveGraph, caught: list[GearTask]
) -> None:
    for threshold in ("validation", "half"):
        tiny(threshold=threshold).fit(dense)
        task = caught.pop()
        y = task.y[task.val_rows]
        # Tells everybody's label, far above a probability of one half; what moves lies between.
        logits = 3 + 2.0 * y
        moved = torch.where(y == 1, logits - 1.9, logits)
        found = task.judged(logits, moved.expand(3, 2, -1))
        if threshold == "half":
            assert float(task.boundary.cut) == 0
            assert found.figures["flips"] == 0
        else:
            assert 3 < float(task.boundary.cut) < 5
            assert found.figures["flips"] == pytest.approx(float(y.float().mean()))


def logits_of(gear: Gear, graph: SensitiveGraph, rows: Tensor) -> NDArray[np.float64]:
    p = gear.predict_proba(graph, nodes=rows)[:, 1]
    return np.asarray(np.log(p / (1 - p)))


@pytest.mark.parametrize("draws", [6, 1])
def test_validation_asks_about_everybody_in_either_group_under_each_model(
    draws: int, dense: SensitiveGraph, caught: list[GearTask], monkeypatch: pytest.MonkeyPatch
) -> None:
    order = torch.randperm(150, generator=torch.Generator().manual_seed(0))
    graph = dense.permute(order)
    families: list[Family] = []
    fit = Family.fit

    def fitted(*arguments: Any) -> Family:
        families.append(fit(*arguments))
        return families[-1]

    monkeypatch.setattr(Family, "fit", fitted)
    # 150 people by 3 models, 10 columns each, in 4 bytes.
    monkeypatch.setattr("fairgear.methods.gear.family._KEPT", draws * 150 * 3 * 10 * 4)
    gear = tiny().fit(graph)
    (task,) = caught
    assert len(families) == task.moved.draws == draws
    assert families[0] is gear._family
    seen: list[tuple[Tensor, Tensor]] = []
    judged = GearTask.judged

    def spy(self: GearTask, factual: Tensor, worlds: Tensor) -> Validation:
        seen.append((factual, worlds))
        return judged(self, factual, worlds)

    monkeypatch.setattr(GearTask, "judged", spy)
    with torch.no_grad():
        task.validate()
    ((factual, worlds),) = seen
    rows = graph.canonical.rows[task.val_rows]
    assert set(rows.tolist()) == set(graph.val_mask.nonzero()[:, 0].tolist())
    np.testing.assert_allclose(factual, logits_of(gear, graph, rows), atol=1e-4)
    assert worlds.shape == (3, 2, len(rows))
    for model, group in product(range(3), range(2)):

        def asked(maps: Family, model: int = model, group: int = group) -> NDArray[np.float64]:
            """The logits where everybody is in the group, moved there by these maps."""
            moved = maps.moved(model, graph.x, graph.sens, 1 - graph.sens, graph.node_id)
            x = torch.where((graph.sens != group)[:, None], moved.float(), graph.x)
            return logits_of(gear, graph.replace(x=x, sens=0 * graph.sens + group), rows)

        # By the last maps: those of a third of the learners, if there is more than one draw.
        np.testing.assert_allclose(worlds[model, group], asked(families[-1]), atol=1e-3)
        own = np.allclose(worlds[model, group], asked(families[0]), atol=1e-3)
        assert own == (draws == 1)


@pytest.mark.parametrize(("limit", "active"), [("labels", True), (0.1, True), (1.0, False)])
def test_the_limit_of_r2_is_that_of_the_validation_labels_or_a_number(
    limit: float | str, active: bool, dense: SensitiveGraph, caught: list[GearTask]
) -> None:
    graph = telling(dense)
    tiny(r2_limit=limit).fit(graph)
    (task,) = caught
    # Of the people whose answers it limits, not of others.
    judged = graph.val_mask.numpy()
    own = adjusted_r2(graph.y.numpy()[judged], sens_around(graph)[judged])
    assert own > 0.2
    slack = 4 / int(graph.val_mask.sum())
    expected = {"labels": own + slack, 0.1: 0.1 + slack, 1.0: 1.0}[limit]
    assert task.penalty.limit == pytest.approx(expected, abs=1e-5)
    assert task.penalty.active == active


def test_validation_adapts_the_penalty(
    dense: SensitiveGraph, caught: list[GearTask], monkeypatch: pytest.MonkeyPatch
) -> None:
    for limit, weight in ((0.1, 0.5 / 0.18 * (1.4 + 20 * 0.014)), (1.0, 0.0)):
        tiny(r2_limit=limit).fit(dense)
        task = caught.pop()
        assert len(task.val_rows) == 50
        found = Validation(0.0, {"dependence": 0.68})
        monkeypatch.setattr(task, "judged", lambda factual, worlds, found=found: found)
        with torch.no_grad():
            task.validate()
        assert float(task.penalty.weight) == pytest.approx(weight, rel=1e-5)


def test_labels_without_r2_allow_what_chance_shows(
    dense: SensitiveGraph, caught: list[GearTask]
) -> None:
    tiny().fit(dense)
    (task,) = caught
    judged = dense.val_mask.numpy()
    own = adjusted_r2(dense.y.numpy()[judged], sens_around(dense)[judged])
    assert task.labels_r2() == pytest.approx(max(0.0, own), abs=1e-6)


def test_large_validation_sets_are_thinned_out(
    dense: SensitiveGraph, caught: list[GearTask], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(training, "VALIDATED", 6)
    tiny().fit(dense)
    (task,) = caught
    assert 4 <= len(task.val_rows) <= 6
    assert set(task.y[task.val_rows].tolist()) == {0, 1}
