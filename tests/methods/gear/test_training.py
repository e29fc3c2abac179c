"""How Gear is trained: whom it sees, what it minimises, and which state it keeps."""

from __future__ import annotations

from copy import deepcopy
from itertools import pairwise, product
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from fairgear import SensitiveGraph
from fairgear.methods import Gear
from fairgear.methods.baselines.neighbors import Neighbors
from fairgear.methods.gear import training
from fairgear.methods.gear.family import Family, MovedPeople
from fairgear.methods.gear.training import Drawn, GearTask
from fairgear.training import History, Task, Validation
from tests.methods.gear.tiny import telling, tiny

ASSIGNMENT = "fairgear.methods.gear.training.assignment"
BATCHES = [{}, {"batch_size": 30, "fanout": 3}]


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

    monkeypatch.setattr("fairgear.methods.baselines.whole_graph.train", spy)
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


def test_the_weight_of_the_inconsistency_grows_in_the_first_half_of_the_steps(
    dense: SensitiveGraph, caught: list[GearTask]
) -> None:
    tiny(steps=40, fairness_weight=3.0).fit(dense)
    (task,) = caught
    found = []
    for number in range(40):
        task.step(number)
        found.append(task.weights["consistency"])
    np.testing.assert_allclose(found, [*(3 * np.arange(1, 21) / 20), *[3.0] * 20])
    tiny(steps=1).fit(dense)
    assert caught[1]._ramp(0) == 1


def test_a_batch_has_labelled_people_once_and_anyone(
    dense: SensitiveGraph, caught: list[GearTask]
) -> None:
    tiny(batch_size=30, fanout=2).fit(dense)
    (task,) = caught
    torch.manual_seed(0)
    train, met = set(task.train_rows.tolist()), set()
    for _ in range(60):
        drawn = task._draw()
        batch, asked = drawn.batch, drawn.asked
        assert batch.rows is not None
        assert asked is not None
        people = batch.rows[asked]
        assert len(people) == 60
        assert torch.equal(asked[:30], drawn.labelled)
        assert torch.equal(task.y[people[:30]], drawn.y)
        assert torch.equal(task.sens_around[people], drawn.around)
        first = people[:30].tolist()
        assert len(set(first)) == 30
        assert set(first) <= train
        met |= set(people[30:].tolist())
        # A person's neighbours are two at most, and stand for all of them.
        matrix = batch.neighbors.matrix.to_dense()
        assert int((matrix > 0).sum(dim=1).max()) == 2
    assert met == set(range(150))


def test_without_batches_the_whole_graph_takes_part(
    dense: SensitiveGraph, caught: list[GearTask]
) -> None:
    tiny().fit(dense)
    (task,) = caught
    drawn = task._draw()
    assert drawn.batch is task.graph.links.everyone
    assert drawn.asked is None
    assert torch.equal(drawn.labelled, task.train_rows)
    assert torch.equal(drawn.y, task.y[task.train_rows])


def drawn(task: GearTask, monkeypatch: pytest.MonkeyPatch) -> Drawn:
    """A batch that every step from now on has."""
    found = task._draw()
    monkeypatch.setattr(task, "_draw", lambda: found)
    return found


def whom_it_moves(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Tensor, Tensor, Tensor]]:
    """The rows, models and draws that are asked for from now on."""
    seen: list[tuple[Tensor, Tensor, Tensor]] = []
    call = MovedPeople.__call__

    def spy(self: MovedPeople, rows: Tensor, model: Tensor, draw: Tensor) -> Tensor:
        seen.append((rows, model, draw))
        return call(self, rows, model, draw)

    monkeypatch.setattr(MovedPeople, "__call__", spy)
    return seen


def states_before(network: nn.Module) -> list[Tensor]:
    """The state of the generator before each pass through a network in training mode."""
    states: list[Tensor] = []

    def note(module: nn.Module, inputs: Any) -> None:
        assert module.training
        states.append(torch.get_rng_state())

    network.register_forward_pre_hook(note)
    return states


@pytest.mark.parametrize("dropout", [0.0, 0.5])
@pytest.mark.parametrize("batches", BATCHES)
def test_the_loss_is_the_weighted_sum_of_its_terms(
    batches: dict[str, Any],
    dropout: float,
    dense: SensitiveGraph,
    caught: list[GearTask],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    settings = {"views": False, "dropout": dropout, "edge_noise": 0.0, "steps": 20}
    settings |= {"fairness_weight": 1.7, "r2_limit": 0.1, "weight_decay": 0.0}
    graph = dense.replace(x=dense.x + 2 * dense.sens[:, None] * (torch.arange(6) != 1))
    tiny(**settings, **batches).fit(graph)
    (task,) = caught
    task.penalty.weight.fill_(0.6)
    torch.manual_seed(0)
    now = drawn(task, monkeypatch)
    batch, labelled = now.batch, now.labelled
    with torch.no_grad():
        cut = task.network(batch.inputs(task.graph.x), batch.neighbors)[1].quantile(0.4)
    task.boundary.cut.fill_(float(cut))
    new = torch.randint(0, 2, (150,), generator=torch.Generator().manual_seed(0))
    rows = torch.arange(150) if batch.rows is None else batch.rows
    monkeypatch.setattr(ASSIGNMENT, lambda sens, *_: new[rows])
    # A step changes the network, and what follows needs it as it was.
    network = deepcopy(task.network.train())
    moved, states = whom_it_moves(monkeypatch), states_before(task.network)
    found = task.step(3)

    ((asked, models, draws),) = moved
    assert torch.equal(asked, rows)
    other = [
        task.moved._seen[row, draw, model] if new[row] != task.graph.sens[row] else factual
        for row, model, draw, factual in zip(
            rows.tolist(), models.tolist(), draws.tolist(), task.graph.x[rows], strict=True
        )
    ]
    # Two passes, one for all terms and one for those who are moved, that drop the same units.
    assert len(states) == 2
    logits = []
    for x in (task.graph.x[rows], torch.stack(other)):
        torch.set_rng_state(states[0])
        logits.append(network(x, batch.neighbors)[1])
    p, y = logits[0][labelled].sigmoid(), task.y[rows[labelled]]
    prediction = -torch.where(y == 1, p, 1 - p).log().mean()
    about = torch.arange(150) if batch.targets is None else batch.targets
    here, there = (one[about] for one in logits)
    gaps = (torch.tanh(here - cut) - torch.tanh(there - cut)) ** 2
    around = task.sens_around[rows[about]]
    r2 = torch.corrcoef(torch.stack([torch.tanh(here), around]))[0, 1] ** 2
    parts = {"prediction": prediction, "consistency": gaps.mean(), "dependence": r2}
    expected = {name: float(part.detach()) for name, part in parts.items()}
    assert {name: float(part) for name, part in found.items()} == pytest.approx(expected, abs=1e-5)
    # The fourth of the first ten steps: 4/10 of the weight.
    total = prediction + 0.4 * 1.7 * gaps.mean() + 0.6 * r2
    gradients = torch.autograd.grad(total, list(network.parameters()))
    for parameter, gradient in zip(task.network.parameters(), gradients, strict=True):
        assert parameter.grad is not None
        torch.testing.assert_close(parameter.grad, gradient, atol=1e-4, rtol=1e-3)
    # Each model's running mean takes in a tenth of the gaps of those whom it moves.
    means = [float(gaps[models[about] == model].detach().mean()) for model in range(3)]
    assert np.ptp(means) > 1e-3
    running = [0.9 + 0.1 * mean for mean in means]
    np.testing.assert_allclose(task.model_weights.running, running, atol=1e-6, rtol=0)


@pytest.mark.parametrize("batches", BATCHES)
@pytest.mark.parametrize("encoder", ["graphsage", "mlp", "linear"])
def test_where_nothing_moves_there_is_no_inconsistency(
    encoder: str,
    batches: dict[str, Any],
    dense: SensitiveGraph,
    caught: list[GearTask],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Both passes drop the same units."""
    tiny(encoder=encoder, dropout=0.5, edge_noise=0.0, **batches).fit(dense)
    (task,) = caught
    task.network.train()
    monkeypatch.setattr(ASSIGNMENT, lambda sens, *_: sens)
    assert float(task.step(0)["consistency"]) < 1e-12
    monkeypatch.setattr(ASSIGNMENT, lambda sens, *_: 1 - sens)
    assert float(task.step(1)["consistency"]) > 1e-6


def test_edges_that_are_left_out_are_an_inconsistency_too(
    dense: SensitiveGraph, caught: list[GearTask], monkeypatch: pytest.MonkeyPatch
) -> None:
    tiny(edge_noise=1.0).fit(dense)
    (task,) = caught
    monkeypatch.setattr(ASSIGNMENT, lambda sens, *_: sens)
    torch.manual_seed(0)
    assert float(task.step(0)["consistency"]) > 1e-6


@pytest.mark.parametrize("batches", BATCHES)
def test_each_person_is_moved_by_one_model_which_is_drawn_by_its_weight(
    batches: dict[str, Any],
    dense: SensitiveGraph,
    caught: list[GearTask],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tiny(**batches).fit(dense)
    (task,) = caught
    task.model_weights.running.copy_(torch.tensor([1.0, 2.0, 6.0]))
    shares = task.model_weights().tolist()
    monkeypatch.setattr(task.model_weights, "update", lambda sums, counts: None)
    seen = whom_it_moves(monkeypatch)
    torch.manual_seed(0)
    for number in range(40):
        task.step(number)
    rows, model, draw = (torch.cat(part) for part in zip(*seen, strict=True))
    assert set(rows.tolist()) == set(range(150))
    assert set(draw.tolist()) == set(range(6))
    for one, share in enumerate(shares):
        away = 4 * (share * (1 - share) / len(model)) ** 0.5
        assert float((model == one).float().mean()) == pytest.approx(share, abs=away)
    # Both vary from person to person within a step.
    assert len(set(seen[0][1].tolist())) == 3
    assert len(set(seen[0][2].tolist())) == 6


@pytest.mark.parametrize(("weight", "limit"), [(0.0, 1.0), (0.0, 0.1), (1.0, 1.0), (1.0, 0.1)])
def test_terms_without_a_weight_are_not_computed(
    weight: float,
    limit: float,
    dense: SensitiveGraph,
    caught: list[GearTask],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tiny(fairness_weight=weight, r2_limit=limit).fit(dense)
    (task,) = caught
    moved, passes = whom_it_moves(monkeypatch), states_before(task.network.train())
    expected = {"prediction"} | ({"consistency"} if weight else set())
    assert set(task.step(0)) == expected | ({"dependence"} if limit < 1 else set())
    assert len(moved) == (1 if weight else 0)
    assert len(passes) == (2 if weight else 1)


def links(neighbors: Neighbors) -> int:
    return len(neighbors.matrix.values())


@pytest.mark.parametrize("batches", BATCHES)
def test_up_to_the_noise_of_the_edges_is_left_out(
    batches: dict[str, Any], dense: SensitiveGraph, caught: list[GearTask]
) -> None:
    tiny(edge_noise=0.6, **batches).fit(dense)
    (task,) = caught
    batch = task._draw().batch
    torch.manual_seed(0)
    all_links = links(batch.neighbors)
    left = np.array([1 - links(task._with_noise(batch)) / all_links for _ in range(400)])
    # The share is uniform up to the noise, a new one for each step.
    assert left.mean() == pytest.approx(0.3, abs=4 * 0.6 / 12**0.5 / 20)
    assert left.min() < 0.05
    assert 0.55 < left.max() < 0.7
    # None is gained.
    before, after = (
        one.matrix.to_dense() > 0 for one in (batch.neighbors, task._with_noise(batch))
    )
    assert not bool((after & ~before).any())


@pytest.mark.parametrize("settings", [{"edge_noise": 0.0}, {"encoder": "mlp", "edge_noise": 1.0}])
def test_edges_stay_without_noise_and_where_nobody_reads_them(
    settings: dict[str, Any], dense: SensitiveGraph, caught: list[GearTask]
) -> None:
    tiny(**settings).fit(dense)
    (task,) = caught
    batch = task._draw().batch
    assert task._with_noise(batch) is batch.neighbors


def test_a_weight_decay_pulls_by_twice_the_parameters(
    dense: SensitiveGraph, caught: list[GearTask]
) -> None:
    tiny(weight_decay=0.3).fit(dense)
    (task,) = caught
    (group,) = task.optimizers["network"].param_groups
    # The gradient of μ‖θ‖² is 2μθ.
    assert group["weight_decay"] == pytest.approx(0.6)
