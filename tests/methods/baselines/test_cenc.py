"""C-ENC: its two losses, its turns, and what an adversary still reads behind its filter."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from torch import Tensor, nn

from fairgear import SensitiveGraph
from fairgear.errors import ParameterError
from fairgear.graph import undirected_edges
from fairgear.methods.baselines.cenc import Cenc, CencConfig, CencTask
from fairgear.methods.baselines.gnn import Gcn, GraphSage
from fairgear.methods.baselines.neighbors import Links
from fairgear.methods.baselines.whole_graph import (
    Inputs,
    WholeGraph,
    WholeGraphConfig,
    WholeGraphTask,
)
from fairgear.methods.loading import load_model
from fairgear.testing import CONTRACT, check_method
from tests.graphs import random_graph

Array = NDArray[np.float64]


def visible(n: int = 300, seed: int = 0) -> SensitiveGraph:
    """s is a column, moves three others, the label and the links, most of which are in a group."""
    draw = torch.Generator().manual_seed(seed)
    sens = torch.randint(2, (n,), generator=draw)
    x = torch.randn(n, 6, generator=draw)
    y = (x[:, 0] + sens - 0.5 + 0.5 * torch.randn(n, generator=draw) > 0).long()
    x[:, 1:4] += 2.0 * sens[:, None] - 1
    x[:, 5] = sens.float()
    source, target = torch.randint(n, (2, 3 * n), generator=draw)
    kept = (sens[source] == sens[target]) | (torch.rand(3 * n, generator=draw) < 0.1)
    part = torch.arange(n) % 5
    return SensitiveGraph(
        x,
        undirected_edges(torch.stack([source, target])[:, kept], n),
        y,
        sens,
        sens_column=5,
        train_mask=part < 3,
        val_mask=part == 3,
        test_mask=part == 4,
    )


def small(**settings: Any) -> Cenc:
    """20 steps."""
    given: dict[str, Any] = {"steps": 20, "device": "cpu"}
    return Cenc(**(given | settings))


def task(graph: SensitiveGraph, **settings: Any) -> CencTask:
    """Of a graph whose ids are its row numbers, without dropout."""
    config = CencConfig(**({"dim": 4, "dropout": 0.0} | settings))
    torch.manual_seed(0)
    modules = Cenc.from_config(config).build(graph.x.shape[1])
    order = torch.arange(len(graph.y))
    inputs = Inputs(graph.x, graph.sens, Links.of(graph.canonical))
    train_rows, val_rows = order[graph.train_mask], order[graph.val_mask]
    return CencTask(modules, config, inputs, graph.y, train_rows, val_rows)


Weights = dict[str, NDArray[np.float64]]


def numbers(module: nn.Module) -> Weights:
    return {name: value.double().numpy() for name, value in module.state_dict().items()}


def leaky(x: Array) -> Array:
    return np.where(x > 0, x, 0.01 * x)


def affine(x: Array, of: Weights, layer: str) -> Array:
    return np.asarray(x @ of[f"{layer}.weight"].T + of.get(f"{layer}.bias", 0))


def log_loss(logits: Array, truth: Array) -> float:
    p = 1 / (1 + np.exp(-logits))
    return float(-np.mean(truth * np.log(p) + (1 - truth) * np.log(1 - p)))


def filtered(network: Weights, graph: SensitiveGraph) -> Array:
    """Two layers of GraphSAGE and the filter, written out with a dense matrix."""
    near = np.zeros((len(graph.y), len(graph.y)))
    near[graph.edge_index[0], graph.edge_index[1]] = 1
    near /= np.maximum(near.sum(axis=1, keepdims=True), 1)
    h = graph.x.double().numpy()
    for number in range(2):
        layer, h = f"encoder.encoder.layers.{number}", np.maximum(h, 0) if number else h
        h = affine(near @ h, network, f"{layer}.around") + affine(h, network, f"{layer}.own")
    return leaky(affine(leaky(affine(h, network, FILTER[0])), network, FILTER[1]))


FILTER = ("encoder.filter.0.0", "encoder.filter.0.2")


def discriminated(adversary: Weights, z: Array) -> Array:
    """The discriminator's logits, written out."""
    for layer in ("0", "2", "4"):
        z = leaky(affine(z, adversary, layer))
    return affine(z, adversary, "6")[:, 0]


def objective(network: Weights, adversary: Weights, graph: SensitiveGraph) -> dict[str, float]:
    """Both terms."""
    z, rows = filtered(network, graph), graph.train_mask.numpy()
    logits = affine(z, network, "classifier")[:, 0]
    return {
        "prediction": log_loss(logits[rows], graph.y.numpy()[rows]),
        "adversary": -log_loss(discriminated(adversary, z), graph.sens.numpy()),
    }


def weights(module: nn.Module) -> dict[str, Tensor]:
    return {name: value.clone() for name, value in module.state_dict().items()}


def same(one: dict[str, Tensor], other: dict[str, Tensor]) -> bool:
    return all(torch.equal(value, other[name]) for name, value in one.items())


def readable(z: NDArray[np.float32], sens: Tensor) -> float:
    """AUROC with which a fresh adversary tells s, of people it was not trained on."""
    adversary = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
    folds = cross_val_score(adversary, z, sens.numpy(), cv=5, scoring="roc_auc")
    return float(folds.mean())


def test_embeddings_pass_the_filter_before_anybody_reads_them() -> None:
    graph = random_graph()
    trained = task(graph)
    network, adversary = numbers(trained.network), numbers(trained.discriminator)
    with torch.no_grad():
        z, logits = trained.network(graph.x, trained.graph.links.everyone.neighbors)
        guess = trained.discriminator(z)[:, 0]
    expected = filtered(network, graph)
    assert np.allclose(z, expected, atol=1e-5)
    assert np.allclose(logits, affine(expected, network, "classifier")[:, 0], atol=1e-5)
    assert np.allclose(guess, discriminated(adversary, expected), atol=1e-5)
    assert [network[f"{layer}.bias"].shape for layer in FILTER] == [(8,), (4,)]
    assert [len(value) for name, value in adversary.items() if "bias" in name] == [8, 4, 2, 1]


def test_a_discriminator_that_sees_nothing_loses_the_entropy_of_s() -> None:
    trained = task(random_graph())
    share = float(trained.graph.sens.double().mean())
    last = list(trained.discriminator.modules())[-1]
    assert isinstance(last, nn.Linear)
    nn.init.zeros_(last.weight)
    z = torch.randn(len(trained.graph.sens), 4)
    for guess in (0.2, share, 0.9):
        nn.init.constant_(last.bias, np.log(guess / (1 - guess)))
        expected = -share * np.log(guess) - (1 - share) * np.log(1 - guess)
        assert float(trained.log_loss(z, trained.graph.sens).detach()) == pytest.approx(expected)


def test_a_step_gives_both_terms_and_follows_their_weighted_gradient() -> None:
    weight, graph = 3.0, random_graph()
    trained = task(graph, adversary_weight=weight, discriminator_steps=2)
    network = {name: value.copy() for name, value in numbers(trained.network).items()}
    terms = trained.step(0)
    # The discriminator is the one that the network's step was taken against.
    adversary = numbers(trained.discriminator)
    expected = objective(network, adversary, graph)
    assert {n: float(value) for n, value in terms.items()} == pytest.approx(expected, rel=1e-5)
    for name, parameter in trained.network.named_parameters():
        place, totals = (0,) * parameter.dim(), []
        for move in (1e-6, -1e-6):
            moved = network[name].copy()
            moved[place] += move
            parts = objective(network | {name: moved}, adversary, graph)
            totals.append(parts["prediction"] + weight * parts["adversary"])
        slope = (totals[0] - totals[1]) / 2e-6
        assert parameter.grad is not None
        assert float(parameter.grad[place]) == pytest.approx(slope, rel=1e-3, abs=1e-6)


@pytest.mark.parametrize("batches", [{}, {"batch_size": 7}])
def test_the_discriminator_takes_its_steps_then_the_network_one(batches: dict[str, int]) -> None:
    trained = task(random_graph(), discriminator_steps=3, **batches)
    turns: list[str] = []
    now = {name: weights(module) for name, module in trained.modules.items()}

    def turn(name: str) -> None:
        turns.append(name)
        changed = {n for n, module in trained.modules.items() if not same(weights(module), now[n])}
        assert changed == {name}
        now[name] = weights(trained.modules[name])

    for name, optimizer in trained.optimizers.items():
        optimizer.register_step_post_hook(lambda *_, name=name: turn(name))
    for number in range(2):
        trained.step(number)
    assert turns == 2 * (["discriminator"] * 3 + ["network"])


def test_the_discriminator_learns_and_the_network_makes_it_harder() -> None:
    trained = task(visible(n=60), dim=16, adversary_weight=0.0, discriminator_steps=20)
    told = [float(trained.step(number)["adversary"]) for number in range(10)]
    assert told[-1] > told[0] + 0.2
    trained.weights["adversary"] = 10.0
    fooled = [float(trained.step(number)["adversary"]) for number in range(20)]
    assert min(fooled) < told[-1] - 0.2


def test_a_batch_is_judged_by_the_people_it_is_about() -> None:
    trained = task(random_graph(), batch_size=7)
    batch, _, _ = trained.draw()
    assert batch.rows is not None
    assert batch.targets is not None
    assert len(batch.rows) > 7
    assert torch.equal(trained.sens(batch), trained.graph.sens[batch.rows[batch.targets]])


class Plain(Cenc):
    """The same network, with the cross-entropy alone."""

    task_type = WholeGraphTask  # type: ignore[assignment]  # another task than its parent's


@pytest.mark.parametrize("batches", [{}, {"batch_size": 30, "fanout": 2}])
def test_without_weight_it_is_a_plain_network_with_a_filter(batches: dict[str, int]) -> None:
    graph = visible(n=100)
    settings: dict[str, Any] = {"selection": "auroc", "adversary_weight": 0.0, **batches}
    ours, plain = small(**settings).fit(graph), Plain(steps=20, device="cpu", **settings).fit(graph)
    assert np.array_equal(ours.predict_proba(graph), plain.predict_proba(graph))
    assert np.array_equal(ours.embed(graph), plain.embed(graph))
    hiding = small(**settings | {"adversary_weight": 10.0}).fit(graph)
    assert not np.allclose(hiding.embed(graph), plain.embed(graph), atol=1e-3)


def test_a_fresh_adversary_reads_s_less_well_than_from_graphsage() -> None:
    graph = visible()
    # The default settings; where the last state is kept, validation only takes time.
    hidden = Cenc(validate_every=500, device="cpu").fit(graph)
    seen = GraphSage(steps=100, device="cpu").fit(graph)
    assert readable(seen.embed(graph), graph.sens) > 0.85
    assert readable(hidden.embed(graph), graph.sens) < 0.75
    # Not by forgetting everything.
    test = graph.test_mask.numpy()
    scores = hidden.predict_proba(graph)[test, 1]
    assert roc_auc_score(graph.y.numpy()[test], scores) > 0.8


def test_the_last_state_is_kept_unless_the_best_is_asked_for() -> None:
    graph = visible(n=100)
    settings: dict[str, Any] = {"steps": 40, "adversary_weight": 1.0, "learning_rate": 0.03}
    last, best = (small(selection=kept, **settings).fit(graph) for kept in ("last", "auroc"))
    one, other = last.history_["network"], best.history_["network"]
    assert one.best_step == one.best_score == 40
    assert [row["auroc"] for row in one.validation] == [row["auroc"] for row in other.validation]
    assert other.best_score == max(row["auroc"] for row in other.validation)
    assert other.best_step < 40
    val = graph.val_mask.numpy()
    for model, expected in ((last, one.validation[-1]["auroc"]), (best, other.best_score)):
        scores = model.predict_proba(graph)[val, 1]
        assert roc_auc_score(graph.y.numpy()[val], scores) == pytest.approx(expected)


@pytest.mark.parametrize("kind", [Gcn, GraphSage])
def test_the_layers_are_those_of_the_settings(kind: type[WholeGraph]) -> None:
    def shapes(model: WholeGraph) -> list[torch.Size]:
        return [value.shape for value in model.encoder(5).state_dict().values()]

    plain, filtered = shapes(kind()), shapes(Cenc(layer=kind.name))
    assert filtered[: len(plain)] == plain
    assert len(filtered) == len(plain) + 4


def test_settings_out_of_range_are_refused() -> None:
    for settings in ({"adversary_weight": -1.0}, {"discriminator_steps": 0}, {"layer": "mlp"}):
        with pytest.raises(ParameterError):
            Cenc(**settings)


def test_it_keeps_every_promise_with_batches() -> None:
    settings: dict[str, Any] = {
        "steps": 30,
        "validate_every": 10,
        "dropout": 0.1,
        "learning_rate": 0.03,
        "adversary_weight": 1.0,
        "discriminator_steps": 2,
        "batch_size": 40,
        "fanout": 4,
    }
    assert check_method(Cenc, settings=settings) == tuple(CONTRACT)


def test_the_page_names_the_defaults_and_its_code_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = (Path(__file__).parents[3] / "docs" / "reference" / "methods" / "c-enc.md").read_text(
        encoding="utf-8"
    )
    table = dict(re.findall(r"^\| `([a-z_]+)` \| ([^ ]+) \|", page, flags=re.MULTILINE))
    assert table.keys() == CencConfig().to_dict().keys() - WholeGraphConfig().to_dict().keys()
    for name, shown in table.items():
        default = getattr(CencConfig(), name)
        assert shown == default or float(shown) == default
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    for block in re.findall(r"```python\n(.*?)```", page, flags=re.DOTALL):
        exec(compile(block, "c-enc.md", "exec"), names)
    assert np.array_equal(load_model("c-enc").predict_proba(names["graph"]), names["scores"])
