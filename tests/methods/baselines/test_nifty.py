"""NIFTY: its views, its objective, its normalised weights, and what they are for."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch import nn

import fairgear as fg
from fairgear import SensitiveGraph
from fairgear.errors import ParameterError
from fairgear.methods import METHODS
from fairgear.methods.baselines.gnn import GraphSage
from fairgear.methods.baselines.neighbors import Links, link_numbers, without_links
from fairgear.methods.baselines.nifty import (
    Nifty,
    NiftyConfig,
    NiftyGcn,
    NiftySage,
    NiftyTask,
    UnitSpectralNorm,
    flipped,
    leading_vector,
    new_predictor,
    normalize_weights,
    similarity_loss,
    with_noise,
)
from fairgear.methods.baselines.whole_graph import WholeGraphConfig, WholeGraphTask
from fairgear.testing import check_method
from fairgear.training import seeded
from tests.graphs import random_graph
from tests.training.toy import same_weights

KINDS = (NiftyGcn, NiftySage)


@pytest.fixture(scope="module")
def graph() -> SensitiveGraph:
    return fg.datasets.load("synthetic", n=300, threshold=0.3, a=0.05)


def small(kind: type[Nifty] = NiftySage, **settings: Any) -> Nifty:
    """16 dimensions, 20 steps."""
    given: dict[str, Any] = {"dim": 16, "steps": 20, "validate_every": 5, "device": "cpu"}
    return kind(**(given | settings))


def task_of(graph: SensitiveGraph, kind: type[Nifty] = NiftySage, **settings: Any) -> NiftyTask:
    """The task of a model that was fitted, in one step if not told otherwise."""
    kept: list[NiftyTask] = []

    class Kept(NiftyTask):
        def __init__(self, *given: Any) -> None:
            super().__init__(*given)
            kept.append(self)

    class Keeping(kind):  # type: ignore[misc, valid-type]  # a class that is a parameter
        task_type = Kept

    small(Keeping, **{"steps": 1, **settings}).fit(graph)
    return kept[0]


def of_other_group(graph: SensitiveGraph) -> SensitiveGraph:
    """s flipped for everybody, and nothing else."""
    assert graph.sens_column is not None
    x = graph.x.clone()
    x[:, graph.sens_column] = 1 - graph.sens
    return graph.replace(x=x, sens=1 - graph.sens)


def cosine(one: NDArray[Any], other: NDArray[Any]) -> NDArray[Any]:
    lengths = np.linalg.norm(one, axis=1) * np.linalg.norm(other, axis=1)
    return np.asarray((one * other).sum(axis=1) / lengths)


def cross_entropy(logits: NDArray[Any], y: NDArray[Any]) -> float:
    p = 1 / (1 + np.exp(-logits.astype(np.float64)))
    return float(-np.mean(y * np.log(p) + (1 - y) * np.log(1 - p)))


@pytest.mark.parametrize("shape", [(7, 4), (4, 7), (1, 5)])
def test_weights_are_divided_by_their_largest_singular_value(shape: tuple[int, int]) -> None:
    torch.manual_seed(0)
    layer = nn.Linear(shape[1], shape[0])
    weight = layer.weight.detach().numpy().copy()
    normalize_weights(layer)
    largest = np.sqrt(np.linalg.eigvalsh(weight @ weight.T).max())
    np.testing.assert_allclose(layer.weight.detach().numpy(), weight / largest, rtol=1e-5)
    assert torch.equal(UnitSpectralNorm()(torch.zeros(shape)), torch.zeros(shape))


@pytest.mark.parametrize("second", [0.0, 0.5, 0.999999, 1.0])
def test_the_leading_vector_is_found_however_close_the_second(second: float) -> None:
    rng = np.random.default_rng(0)
    basis, _ = np.linalg.qr(rng.normal(size=(128, 128)))
    values = np.array([1, second, *rng.uniform(0, second, 126)])
    found = leading_vector(torch.from_numpy(basis @ np.diag(values) @ basis.T)).numpy()
    assert abs(np.linalg.norm(found) - 1) < 1e-12
    assert abs(values @ (basis.T @ found) ** 2 - 1) < 1e-6


@pytest.mark.parametrize("shape", [(7, 4), (4, 7), (1, 5)])
def test_the_gradient_of_normalised_weights_is_that_of_the_norm(shape: tuple[int, int]) -> None:
    torch.manual_seed(0)
    weight = torch.randn(shape, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(UnitSpectralNorm(), weight)


@pytest.mark.parametrize("kind", KINDS)
def test_every_weight_of_a_fitted_model_is_normalised(
    kind: type[Nifty], graph: SensitiveGraph
) -> None:
    model = small(kind).fit(graph)
    layers = [
        part
        for module in model._modules.values()
        for part in module.modules()
        if isinstance(part, nn.Linear)
    ]
    assert len(layers) == {NiftyGcn: 2, NiftySage: 4}[kind] + 3, "the classifier's and two of t"
    for layer in layers:
        assert np.linalg.norm(layer.weight.detach().numpy(), 2) == pytest.approx(1, abs=1e-5)


def test_a_layer_of_gcn_is_what_the_formula_says(graph: SensitiveGraph) -> None:
    model = small(NiftyGcn, layers=1, steps=3, validate_every=3).fit(graph)
    tensors = {name: value.double().numpy() for name, value in model._state()[0].items()}
    column = graph.sens_column
    assert column is not None
    x = np.delete(graph.x.double().numpy(), column, axis=1)
    x = (x - x.mean(axis=0)) / x.std(axis=0)
    x = np.column_stack([x, graph.sens.numpy()])
    a = np.eye(300)
    a[graph.edge_index[0], graph.edge_index[1]] = 1
    a /= np.sqrt(np.outer(a.sum(axis=0), a.sum(axis=0)))
    layer, classifier = "network.encoder.layers.0", "network.classifier"
    w = tensors[f"{layer}.linear.parametrizations.weight.original"]
    c = tensors[f"{classifier}.parametrizations.weight.original"]
    z = a @ x @ w.T / np.linalg.norm(w, 2) + tensors[f"{layer}.bias"]
    logits = z @ c[0] / np.linalg.norm(c) + tensors[f"{classifier}.bias"]
    np.testing.assert_allclose(model.embed(graph), z, atol=1e-4)
    scores = model.predict_proba(graph)[:, 1]
    np.testing.assert_allclose(scores, 1 / (1 + np.exp(-logits)), atol=1e-5)


def test_the_similarity_is_the_mean_of_two_negative_cosines() -> None:
    torch.manual_seed(0)
    predictor, one, other = new_predictor(6), torch.randn(9, 6), torch.randn(9, 6)
    found = float(similarity_loss(predictor, one, other).detach())
    guesses = [predictor(z).detach().numpy() for z in (one, other)]
    forth, back = cosine(guesses[0], other.numpy()), cosine(guesses[1], one.numpy())
    assert found == pytest.approx(-(forth.mean() + back.mean()) / 2, abs=1e-6)
    assert float(similarity_loss(nn.Identity(), one, 3 * one)) == pytest.approx(-1)


def test_no_gradient_passes_through_what_is_to_be_guessed() -> None:
    torch.manual_seed(0)
    predictor = new_predictor(4).double()
    one, other = (torch.randn(3, 4, dtype=torch.float64, requires_grad=True) for _ in range(2))
    similarity_loss(predictor, one, other).backward()  # type: ignore[no-untyped-call]  # torch gives it no type
    step = 1e-6
    for z, target in ((one, other), (other, one)):
        assert z.grad is not None
        start, fixed = z.detach(), target.detach().numpy()
        for place in np.ndindex(3, 4):
            guesses = []
            for sign in (1, -1):
                moved = start.clone()
                moved[place] += sign * step
                guesses.append(-cosine(predictor(moved).detach().numpy(), fixed).mean() / 2)
            slope = (guesses[0] - guesses[1]) / (2 * step)
            assert float(z.grad[place]) == pytest.approx(slope, abs=1e-7)


@pytest.mark.parametrize("label_flipped", [True, False])
def test_the_terms_of_the_loss(label_flipped: bool, graph: SensitiveGraph) -> None:
    task = task_of(graph, label_flipped=label_flipped, similarity_weight=0.3)
    assert task.weights == {"prediction": pytest.approx(0.7), "similarity": 0.3}
    torch.manual_seed(0)
    z, logits = torch.randn(2, 300, 16), torch.randn(2, 300)
    people = task.train_rows
    y = task.y[people]
    found = task.terms(task.graph.links.everyone, z, logits, people, y)
    rows, labels = people.numpy(), y.numpy()
    views = [cross_entropy(view.numpy()[rows], labels) for view in logits]
    expected = np.mean(views) if label_flipped else views[0]
    assert float(found["prediction"]) == pytest.approx(expected, rel=1e-5)
    alike = similarity_loss(task.predictor, z[0][people], z[1][people])
    assert float(found["similarity"].detach()) == pytest.approx(float(alike.detach()))


def test_the_predictor_is_trained_along_and_saved(graph: SensitiveGraph) -> None:
    early, late = (small(steps=steps, validate_every=9).fit(graph)._state()[0] for steps in (1, 9))
    names = [name for name in early if name.startswith("predictor.")]
    assert len(names) == 6
    assert not any(torch.equal(early[name], late[name]) for name in names)


@pytest.mark.parametrize("batches", [{}, {"batch_size": 50}])
def test_the_least_loss_of_validation_people_decides(
    batches: dict[str, Any], graph: SensitiveGraph
) -> None:
    model = small(similarity_weight=0.4, **batches).fit(graph)
    val = graph.val_mask.numpy()
    y, worlds = graph.y.numpy()[val], (graph, of_other_group(graph))
    z = [torch.from_numpy(model.embed(world)[val]) for world in worlds]
    scores = [model.predict_proba(world)[val, 1] for world in worlds]
    alike = float(similarity_loss(model._modules["predictor"], z[0], z[1]).detach())
    entropy = np.mean([cross_entropy(np.log(p / (1 - p)), y) for p in scores])
    history = model.history_["network"]
    assert history.best_score == pytest.approx(-(0.6 * entropy + 0.4 * alike), abs=1e-5)
    assert history.best_score == max(row["score"] for row in history.validation)
    assert history.validation[-1].keys() == {"step", "score", "prediction", "auroc", "similarity"}
    assert history.training[-1].keys() == {"step", "prediction", "similarity"}


@pytest.mark.parametrize("rate", [0.1, 0.4])
def test_values_are_moved_at_the_stated_rate(rate: float) -> None:
    x = torch.ones(4000, 6)
    torch.manual_seed(0)
    moved = (with_noise(x, rate, spared=1) - x).numpy()
    assert np.all(moved[:, -1] == 0)
    noise = moved[:, :-1][moved[:, :-1] != 0]
    # Within four standard errors of a share, a mean and a deviation.
    assert len(noise) / 20000 == pytest.approx(rate, abs=4 * np.sqrt(rate * (1 - rate) / 20000))
    assert noise.mean() == pytest.approx(0, abs=4 / np.sqrt(len(noise)))
    assert noise.std() == pytest.approx(1, abs=4 / np.sqrt(2 * len(noise)))
    assert torch.equal(x, torch.ones(4000, 6))


@pytest.mark.parametrize("rate", [0.1, 0.4])
def test_links_are_left_out_at_the_stated_rate_and_in_both_directions(rate: float) -> None:
    graph = random_graph(n=400, edges=3000)
    neighbors = Links.of(graph.canonical).everyone.neighbors
    before = neighbors.matrix.to_dense().clone()
    numbers = link_numbers(neighbors)
    links = graph.edge_index.shape[1] // 2
    assert sorted(np.bincount(numbers.numpy())) == [2] * links
    torch.manual_seed(0)
    thinned = without_links(neighbors, numbers, rate)
    after = thinned.matrix.to_dense()
    assert torch.equal(after, after.T)
    assert bool(((after == 0) | (after == before)).all())
    gone = 1 - float(after.sum() / before.sum())
    assert gone == pytest.approx(rate, abs=4 * np.sqrt(rate * (1 - rate) / links))
    assert torch.equal(thinned.degree[:, 0], after.sum(dim=1))
    assert torch.equal(neighbors.matrix.to_dense(), before)


@pytest.mark.parametrize("fanout", [0, 3])
def test_links_are_left_out_of_batches_too(fanout: int) -> None:
    graph, rate = random_graph(n=400, edges=1500), 0.3
    torch.manual_seed(0)
    batch = Links.of(graph.canonical).around(torch.arange(15), 2, fanout)
    before, degree = batch.neighbors.matrix.to_dense(), batch.neighbors.degree[:, 0]
    thinned = without_links(batch.neighbors, link_numbers(batch.neighbors), rate)
    after = thinned.matrix.to_dense()
    assert torch.equal(thinned.transpose.to_dense(), after.T)
    assert bool(((after == 0) | (after == before)).all())
    both = (before > 0) & (before > 0).T
    assert torch.equal((after > 0)[both], (after > 0).T[both])
    kept = float((after > 0).sum() / (before > 0).sum())
    assert kept == pytest.approx(1 - rate, abs=0.08)
    inner = before.sum(dim=1) > 0
    assert not bool(inner.all())
    torch.testing.assert_close(thinned.degree[inner, 0], after.sum(dim=1)[inner])
    torch.testing.assert_close(thinned.degree[~inner, 0], (1 - rate) * degree[~inner])


@pytest.mark.parametrize("rates", [(0.0, 0.0), (0.5, 0.5), (1.0, 1.0)])
@pytest.mark.parametrize("batches", [{}, {"batch_size": 50}])
def test_views_flip_s_in_the_second_and_leave_the_people_alone(
    rates: tuple[float, float], batches: dict[str, Any], graph: SensitiveGraph
) -> None:
    noise, drop = rates
    task = task_of(graph, feature_noise=noise, drop_edges=drop, **batches)
    before, links = task.graph.x.clone(), task.graph.links.index.clone()
    batch, _, _ = task.draw()
    edges = batch.neighbors.matrix.to_dense()
    (x, one), (other, two) = task.views(batch)
    seen = batch.inputs(task.graph.x)
    assert torch.equal(x[:, -1], batch.inputs(task.graph.sens).float())
    assert torch.equal(other[:, -1], 1 - x[:, -1])
    for view, neighbors in ((x, one), (other, two)):
        same = torch.equal(view[:, :-1], seen[:, :-1])
        assert same == (noise == 0)
        left = neighbors.matrix.to_dense()
        assert torch.equal(left, edges) == (drop == 0)
        assert bool(left.any()) == (drop < 1)
    if noise:
        assert not torch.equal(x[:, :-1], other[:, :-1]), "each view has noise of its own"
    if drop == 0.5:
        assert not torch.equal(one.matrix.to_dense(), two.matrix.to_dense())
    assert torch.equal(task.graph.x, before)
    assert torch.equal(task.graph.links.index, links)
    assert torch.equal(batch.neighbors.matrix.to_dense(), edges)


def test_flipping_changes_the_last_column_alone() -> None:
    x = torch.tensor([[5.0, 1.0], [6.0, 0.0]])
    assert flipped(x).tolist() == [[5, 0], [6, 1]]
    assert x.tolist() == [[5, 1], [6, 0]]


def test_hidden_s_cannot_be_flipped(graph: SensitiveGraph) -> None:
    task = task_of(graph, use_sens=False, feature_noise=0.0)
    batch, _, _ = task.draw()
    (x, _), (other, _) = task.views(batch)
    assert torch.equal(x, other)


@pytest.mark.parametrize("batches", [{}, {"batch_size": 50}])
@pytest.mark.parametrize("kind", KINDS)
def test_without_views_it_is_the_plain_network_with_normalised_weights(
    kind: type[Nifty], batches: dict[str, Any], graph: SensitiveGraph
) -> None:
    class Plain(kind):  # type: ignore[misc, valid-type]  # a class that is a parameter
        config_type = WholeGraphConfig
        task_type = WholeGraphTask

        def build(self, width: int) -> dict[str, nn.Module]:
            return {"network": super().build(width)["network"]}

    settings: dict[str, Any] = {"steps": 10, "validate_every": 10, **batches}
    plain = small(Plain, **settings).fit(graph)
    none: dict[str, Any] = {"similarity_weight": 0, "feature_noise": 0, "drop_edges": 0}
    ours = small(kind, label_flipped=False, **settings, **none).fit(graph)
    weights = {k: v for k, v in ours._state()[0].items() if not k.startswith("predictor.")}
    assert same_weights(weights, plain._state()[0])
    assert np.array_equal(ours.predict_proba(graph), plain.predict_proba(graph))
    for change in ({"similarity_weight": 0.5}, {"feature_noise": 0.5}, {"drop_edges": 0.5}):
        other = small(kind, label_flipped=False, **settings, **(none | change)).fit(graph)
        assert not np.array_equal(other.predict_proba(graph), plain.predict_proba(graph)), change


def test_flipping_s_moves_representations_less_than_those_of_graphsage(
    graph: SensitiveGraph,
) -> None:
    settings: dict[str, Any] = {"steps": 60, "validate_every": 60, "dim": 16, "device": "cpu"}
    other = of_other_group(graph)
    moved = []
    for model in (
        GraphSage(**settings),
        NiftySage(**settings, similarity_weight=0.0, label_flipped=False),
        NiftySage(**settings, label_flipped=False),
    ):
        model.fit(graph)
        moved.append(float(np.mean(1 - cosine(model.embed(graph), model.embed(other)))))
    assert moved[2] < moved[1] / 2 < moved[0] / 4


def test_representations_of_gcn_move_no_further_than_features(graph: SensitiveGraph) -> None:
    task = task_of(graph, kind=NiftyGcn, steps=5, layers=3)
    x, neighbors = task.graph.x, task.graph.links.everyone.neighbors
    torch.manual_seed(0)
    for change in (flipped(x) - x, torch.randn_like(x), 100 * torch.randn_like(x)):
        with torch.no_grad():
            z, other = (task.network(seen, neighbors)[0] for seen in (x, x + change))
        assert 0 < float((other - z).norm()) <= float(change.norm())


def test_a_batch_may_be_one_person(graph: SensitiveGraph) -> None:
    model = small(batch_size=1, steps=3, validate_every=3).fit(graph)
    assert np.isfinite(model.predict_proba(graph, nodes=torch.arange(5))).all()


def test_a_graph_without_edges_can_be_learned_from(graph: SensitiveGraph) -> None:
    alone = graph.replace(edge_index=graph.edge_index[:, :0])
    assert small(steps=2, drop_edges=0.5).fit(alone).predict_proba(alone).shape == (300, 2)


def test_it_keeps_the_contract_with_batches() -> None:
    settings = {"steps": 22, "drop_edges": 0.1, "batch_size": 40, "fanout": 3}
    assert "relabelling" in check_method(NiftyGcn, settings=settings)
    assert tuple(METHODS[kind.name] for kind in KINDS) == KINDS


def test_settings_out_of_range_are_refused() -> None:
    for name in ("similarity_weight", "feature_noise", "drop_edges"):
        for value in (-0.1, 1.1):
            with pytest.raises(ParameterError, match=name):
                NiftyConfig.from_dict({name: value})


def test_the_page_names_the_defaults_and_its_code_runs() -> None:
    page = (Path(__file__).parents[3] / "docs" / "reference" / "methods" / "nifty.md").read_text(
        encoding="utf-8"
    )
    table = dict(re.findall(r"^\| `([a-z_]+)` \| ([^ ]+) \|", page, flags=re.MULTILINE))
    own = NiftyConfig().to_dict().keys() - WholeGraphConfig().to_dict().keys()
    assert table.keys() == own
    for name, shown in table.items():
        default = getattr(NiftyConfig(), name)
        assert shown == str(default).lower() or float(shown) == default
    names: dict[str, Any] = {}
    with seeded(0, "page"):
        for block in re.findall(r"```python\n(.*?)```", page, flags=re.DOTALL):
            exec(compile(block, "nifty.md", "exec"), names)
    assert names["scores"].shape == (300, 2)
