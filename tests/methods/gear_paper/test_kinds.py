"""GearPaper with several groups, numbers, other labels, arcs and weights."""

from __future__ import annotations

import numpy as np
import pytest
import torch
import torch.nn.functional as F

import fairgear as fg
from fairgear import SensitiveGraph
from fairgear.auditing import generator_error
from fairgear.causal import changed_groups
from fairgear.errors import GraphError
from fairgear.graph.targets import Target
from fairgear.methods.egos import Ego, EgoSource, neighbor_perturbed
from fairgear.methods.gear_paper.config import GearPaperConfig, VaeConfig
from fairgear.methods.gear_paper.estimator import GearPaper
from fairgear.methods.gear_paper.generator import FlipOnly, VaeGenerator
from fairgear.methods.gear_paper.generator_training import VaeTask
from fairgear.methods.gear_paper.loss import PaperLoss, Views
from fairgear.methods.gear_paper.network import PaperNetwork
from fairgear.methods.gear_paper.report import report_generator
from fairgear.methods.heads import Head
from fairgear.nn import GraphVAE, SensCode
from fairgear.testing import toy_graph, toy_world
from tests.methods.gear_paper.tiny import tiny
from tests.nn.ego_batches import random_egos

CPU = torch.device("cpu")


def vae_task(graph: SensitiveGraph, model: GearPaper) -> VaeTask:
    """The task that trains the generator of a fitted model, for egos of that graph."""
    index = model.ego_index(graph)
    egos = EgoSource(graph, index, model.scaler_, CPU, graph.canonical.rows)
    assert model._vae is not None
    return VaeTask(model._vae, model.config.generator, egos, len(graph.x))


@pytest.fixture(scope="module")
def of_ages() -> GearPaper:
    return tiny().fit(toy_graph(sens="continuous"))


@pytest.fixture(scope="module")
def of_groups() -> GearPaper:
    return tiny().fit(toy_graph(sens="categorical"))


def test_a_number_is_standardised_by_training_people_also_after_loading(
    of_ages: GearPaper, tmp_path: object
) -> None:
    graph = toy_graph(sens="continuous")
    ages = graph.sens[graph.train_mask].numpy()
    of_ages.save(str(tmp_path))
    loaded = GearPaper.load(str(tmp_path), device="cpu")
    for model in (of_ages, loaded):
        assert model._vae is not None
        for code in (model._network.code, model._vae.code):
            assert float(code.mean) == pytest.approx(ages.mean())
            assert float(code.scale) == pytest.approx(ages.std())
    world = toy_world(sens="continuous")
    assert np.array_equal(loaded.predict_proba(world), of_ages.predict_proba(world))


def test_the_discriminator_is_asked_for_equal_parts_of_the_means_of_a_number(
    of_ages: GearPaper,
) -> None:
    graph = toy_graph(sens="continuous")
    task = vae_task(graph, of_ages)
    ego = task.egos(torch.arange(len(graph.x)))
    sens, mask = ego.sens.numpy(), ego.mask.numpy()
    means = np.array([row[of].mean() for row, of in zip(sens, mask, strict=True)])
    cuts = np.linspace(means.min(), means.max(), 5)[1:-1]
    expected = np.searchsorted(cuts, means, side="right")
    assert np.array_equal(task.ranges(ego).numpy(), expected)
    assert task.discriminator.values == 1


def test_the_discriminator_is_asked_for_the_share_of_each_group_but_the_first(
    of_groups: GearPaper,
) -> None:
    graph = toy_graph(sens="categorical")
    task = vae_task(graph, of_groups)
    ego = task.egos(torch.arange(len(graph.x)))
    found = task.ranges(ego)
    assert found.shape == (160, 2)
    for row in range(160):
        members = ego.sens[row][ego.mask[row]]
        for group in (1, 2):
            share = int((members == group).sum()) / len(members)
            assert int(found[row, group - 1]) == min(3, int(share * 4 + 1e-9))
    with torch.no_grad():
        terms, (h, mask, target) = task.loss(ego)
        guess = task.discriminator(h, mask)
        alone = [-float(F.cross_entropy(guess[:, j], target[:, j])) for j in (0, 1)]
    assert float(terms.parts["discriminator"]) == pytest.approx(sum(alone), rel=1e-5)


@pytest.mark.parametrize("kind", ["multiclass", "regression"])
def test_the_prediction_term_is_that_of_the_labels(kind: str) -> None:
    config = GearPaperConfig(variant="np", dim=6)
    if kind == "multiclass":
        target, y = Target("multiclass", ("a", "b", "c")), torch.arange(7) % 3
    else:
        y = torch.linspace(1, 9, 7, dtype=torch.float64)
        target = Target("regression", (), 4.0, 2.0)
    head = Head(target)
    torch.manual_seed(0)
    network = PaperNetwork(5, config, outputs=target.outputs).eval()
    ego = random_egos(batch=7)
    terms = PaperLoss(network, None, config, head)(random_egos(batch=4), ego, y)
    with torch.no_grad():
        logits = network(ego)[1]
        if kind == "multiclass":
            expected = -float(logits.log_softmax(dim=1)[torch.arange(7), y].mean())
        else:
            expected = float(((logits - (y - 4) / 2) ** 2).mean())
    assert float(terms.total.detach()) == pytest.approx(expected, rel=1e-5)


def test_flips_of_several_classes_and_of_numbers() -> None:
    three = Head(Target("multiclass", ("a", "b", "c")))
    logits = torch.tensor([[2.0, 1.0, 0.0], [0.0, 1.0, 0.9]])
    moved = torch.tensor([[2.0, 1.9, 0.0], [0.0, 1.0, 1.1]])
    views = Views((logits, moved), (logits, moved), own=1, head=three)
    assert views.flip_rate() == 1 / 2
    assert views.flip_rate(torch.tensor([0.0, 0.2, 0.2])) == 1.0
    assert views.flip_rate(torch.tensor([0.0, -5.0, 0.0])) == 0
    number = Head(Target("regression", ()))
    one, other = torch.tensor([0.0, 1.0]), torch.tensor([0.05, 1.2])
    assert Views((one, other), (one, other), own=1, head=number).flip_rate() == 1 / 2


def test_what_the_encoder_sees_are_features_and_the_code_of_s() -> None:
    ego = random_egos()
    group = torch.randint(3, ego.sens.shape) * ego.mask
    network = PaperNetwork(5, GearPaperConfig(dim=4), code=SensCode(3))
    seen = network.inputs(Ego(ego.x, group, ego.adjacency, ego.mask))
    assert torch.equal(seen[..., :5], ego.x)
    assert torch.equal(seen[..., 5:], torch.stack([group == 1, group == 2], dim=-1).float())


def arcs(seed: int = 0) -> Ego:
    """Egos with arcs between members, in one direction or both."""
    ego = random_egos(batch=40, seed=seed)
    draw = torch.Generator().manual_seed(seed + 100)
    kept = torch.rand(ego.adjacency.shape, generator=draw) < 0.6
    return Ego(ego.x, ego.sens, ego.adjacency * kept, ego.mask)


@pytest.mark.parametrize("way", ["abduction", "decoder"])
def test_counterfactual_arcs_have_directions(way: str) -> None:
    torch.manual_seed(0)
    vae = GraphVAE(5, 16, 4, directed=True)
    for parameter in vae.position.parameters():
        parameter.data.mul_(4)
    ego, generator = arcs(), VaeGenerator(vae, VaeConfig(counterfactuals=way))
    same = generator.counterfactual(ego, ego.sens)
    assert torch.equal(same.adjacency, ego.adjacency) == (way == "abduction")
    moved = generator.counterfactual(ego, neighbor_perturbed(ego)).adjacency
    pairs = ego.mask[:, :, None] & ego.mask[:, None, :]
    assert float(moved[~pairs].sum()) == 0
    assert float(moved.diagonal(dim1=1, dim2=2).sum()) == 0
    assert not torch.equal(moved, ego.adjacency)
    assert not torch.equal(moved, moved.transpose(1, 2))


def test_arcs_are_drawn_with_the_probabilities_of_their_own_direction() -> None:
    class OneWay(GraphVAE):
        def decode_edges(self, h: torch.Tensor, sens: torch.Tensor) -> torch.Tensor:
            chances = torch.tensor([[0.5, 0.9], [0.2, 0.5]])
            return torch.logit(chances).expand(*sens.shape[:-1], 2, 2)

    vae = OneWay(5, 4, 2, directed=True)
    mask = torch.ones(4000, 2, dtype=torch.bool)
    sens = torch.zeros(4000, 2, dtype=torch.int64)
    ego = Ego(torch.zeros(4000, 2, 5), sens, torch.zeros(4000, 2, 2), mask)
    torch.manual_seed(0)
    generator = VaeGenerator(vae, VaeConfig(counterfactuals="decoder"))
    share = generator.counterfactual(ego, sens).adjacency.mean(dim=0)
    expected = torch.tensor([[0.0, 0.9], [0.2, 0.0]])
    assert torch.allclose(share, expected, atol=0.03)


@pytest.mark.parametrize("links", ["directed", "weighted"])
def test_worlds_of_few_people_are_left_to_whole_graphs_where_edges_have_more_than_ends(
    links: str,
) -> None:
    graph = toy_graph(links=links)
    model = tiny(variant="nc", steps=2).fit(graph)
    world = fg.causal.LocalWorld.unchanged(graph)
    assert model.predict_near([world], [torch.tensor([0])]) is None


def test_a_model_of_edges_refuses_arcs_and_a_model_of_groups_numbers(
    of_groups: GearPaper, of_ages: GearPaper, tmp_path: object
) -> None:
    model = tiny(variant="nc", steps=2).fit(toy_graph(links="directed"))
    model.save(str(tmp_path))
    for each in (model, GearPaper.load(str(tmp_path), device="cpu")):
        with pytest.raises(GraphError, match=r"^[^\n]*allowed: edges with directions[^\n]*$"):
            each.predict(toy_graph())
    with pytest.raises(GraphError, match=r"^[^\n]*allowed: a number[^\n]*$"):
        of_ages.predict(toy_graph())
    bare = toy_graph(sens="categorical")
    with pytest.raises(GraphError, match=r"^[^\n]*allowed: groups[^\n]*$"):
        of_groups.predict(
            bare.replace(
                sens=bare.x[:, 0].double(),
                sens_kind="continuous",
                attributes=toy_graph(sens="continuous").attributes,
            )
        )


def test_weights_decide_who_is_in_an_ego() -> None:
    graph = toy_graph(links="weighted")
    assert graph.edge_weight is not None
    model = tiny(variant="nc", steps=2, k=4).fit(graph)
    doubled = graph.replace(edge_weight=2 * graph.edge_weight)
    np.testing.assert_allclose(model.scores(doubled), model.scores(graph), atol=1e-6)
    source, target = graph.edge_index
    other = graph.replace(edge_weight=(1.0 + 50 * ((source + target) % 2 == 0)).double())
    assert not np.allclose(model.scores(other), model.scores(graph), atol=1e-6)


def test_reports_on_generators_of_groups_and_numbers(
    of_groups: GearPaper, of_ages: GearPaper
) -> None:
    groups = toy_graph(sens="categorical")
    report = report_generator(of_groups, groups)
    assert report is not None
    assert report.base_rate == float(torch.bincount(groups.sens).max()) / 160
    assert 0 <= report.sens_from_h <= 1
    assert report.self_features_moved > 0
    report = report_generator(of_ages, toy_graph(sens="continuous"))
    assert report is not None
    assert report.base_rate == 0
    assert 0 <= report.sens_from_h <= 1
    # One deviation of age moves the features of all members of all egos, in the mean.
    vae = of_ages._vae
    assert vae is not None
    graph = toy_graph(sens="continuous")
    index = of_ages.ego_index(graph)
    ego = EgoSource(graph, index, of_ages.scaler_, CPU)(torch.arange(160))
    with torch.no_grad():
        h = vae.encode(ego.x, ego.sens, ego.adjacency, ego.mask).mean[ego.mask]
        code = torch.zeros(len(h), 1)
        one, other = (vae.features(torch.cat([h, code + step], dim=1)) for step in (0, 1))
        moved = (other - one + vae.feature_shift).mean(dim=0)
    assert report.shift_norm == pytest.approx(float(moved.norm()), rel=1e-4)


class Recording(FlipOnly):
    """Keeps what it was asked for."""

    def __init__(self) -> None:
        self.asked: list[torch.Tensor] = []

    def counterfactual(self, ego: Ego, sens: torch.Tensor) -> Ego:
        self.asked.append(sens)
        return super().counterfactual(ego, sens)


@pytest.mark.parametrize("sens", ["binary", "categorical"])
def test_a_generator_is_compared_with_the_exact_world_of_the_same_s(
    sens: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph, recording = toy_graph(sens=sens), Recording()
    model = tiny(variant="nc", steps=2).fit(graph)
    monkeypatch.setattr(model, "_generator", recording)
    error = generator_error(model, graph, people=6)
    (asked,) = recording.asked
    rows = graph.test_mask.nonzero()[:, 0]
    expected = set(changed_groups(graph, rows, seed=0).tolist())
    assert set(asked[:, 0].tolist()) <= expected
    assert error.people == len(asked) == 6
    # What changes nothing but s misses all of the change of the features.
    assert error.feature_error == pytest.approx(1)
