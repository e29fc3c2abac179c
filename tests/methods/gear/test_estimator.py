from __future__ import annotations

import re
from dataclasses import fields
from inspect import signature
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.base import clone
from torch import Tensor, nn

import fairgear as fg
from fairgear import SensitiveGraph
from fairgear.errors import GraphError, NotFittedError, ParameterError
from fairgear.graph import closed_neighborhood_mean
from fairgear.methods import Gear, GearConfig, GeneratorConfig
from fairgear.methods.egos import self_perturbed
from fairgear.methods.gear.generator import VaeGenerator
from fairgear.methods.gear.loss import Views
from fairgear.methods.gear.training import GearTask
from fairgear.metrics import r2
from fairgear.training import History, Task, Validation, train
from tests.graphs import random_graph
from tests.methods.gear.tiny import tiny

KINDS = [("full", encoder) for encoder in ("graphsage", "gcn", "gin", "jk", "infomax")]
KINDS += [(variant, "graphsage") for variant in ("ns", "nn", "np", "nc")]


@pytest.mark.parametrize(("variant", "encoder"), KINDS)
def test_every_encoder_and_every_variant_trains(
    variant: str, encoder: str, graph: SensitiveGraph
) -> None:
    gear = tiny(variant=variant, encoder=encoder)
    before = graph.fingerprint()
    assert gear.fit(graph) is gear
    assert graph.fingerprint() == before
    scores = gear.predict_proba(graph)
    assert scores.shape == (200, 2)
    assert scores.dtype == np.float64
    np.testing.assert_allclose(scores.sum(axis=1), 1)
    assert ((scores > 0) & (scores < 1)).all()
    assert scores[:, 1].std() > 1e-4
    assert gear.threshold_ == 0.5
    assert np.array_equal(gear.predict(graph), (scores[:, 1] > 0.5).astype(int))
    z = gear.embed(graph)
    assert z.shape == (200, 16)
    assert z.dtype == np.float32
    assert np.isfinite(z).all()
    generates = variant not in ("np", "nc")
    assert set(gear.history_) == {"network"} | ({"generator"} if generates else set())
    assert isinstance(gear.generator(), VaeGenerator) == generates
    terms = gear.history_["network"].training[-1].keys()
    assert "prediction" in terms
    assert ("fairness" in terms) == (variant != "np")
    assert ("infomax" in terms) == (encoder == "infomax")
    assert gear.history_["network"].best_step > 0


def test_training_learns_something() -> None:
    graph = fg.datasets.load("synthetic", n=300, seed=3)
    gear = tiny(variant="np", steps=60, learning_rate=0.01).fit(graph)
    right = gear.predict(graph)[graph.train_mask.numpy()] == graph.y[graph.train_mask].numpy()
    assert right.mean() > 0.7


# The contract checks the full variant; these are for the one without a generator.
def test_without_a_generator_the_same_seed_gives_the_same_model_too(graph: SensitiveGraph) -> None:
    scores = []
    for state, seed in ((1, 0), (2, 0), (1, 1)):
        torch.manual_seed(state)
        before = torch.random.get_rng_state()
        gear = tiny(variant="nc", seed=seed).fit(graph)
        scores.append(gear.predict_proba(graph))
        assert torch.equal(torch.random.get_rng_state(), before), "torch's generator has moved"
    assert np.array_equal(scores[0], scores[1])
    assert not np.allclose(scores[0], scores[2], atol=1e-4)


def test_without_a_generator_labels_of_test_nodes_are_never_read_either(
    graph: SensitiveGraph,
) -> None:
    y = graph.y.clone()
    y[graph.test_mask] = 1 - y[graph.test_mask]
    blind = y.clone()
    blind[graph.test_mask] = -1
    scores = []
    for labels in (graph.y, y, blind):
        other = graph.replace(y=labels)
        gear = tiny(variant="nc", threshold="validation").fit(other)
        scores.append((gear.threshold_, gear.predict_proba(other)))
    for threshold, other_scores in scores[1:]:
        assert threshold == scores[0][0]
        assert np.array_equal(other_scores, scores[0][1])


def test_labels_of_training_nodes_are_read(graph: SensitiveGraph) -> None:
    y = graph.y.clone()
    y[graph.train_mask] = 1 - y[graph.train_mask]
    one, other = (tiny(variant="nc").fit(g) for g in (graph, graph.replace(y=y)))
    assert not np.allclose(one.predict_proba(graph), other.predict_proba(graph), atol=1e-3)


def test_relabelled_nodes_keep_their_predictions(fitted: Gear, dense: SensitiveGraph) -> None:
    order = torch.randperm(len(dense.x), generator=torch.Generator().manual_seed(0))
    moved = dense.permute(order)
    scores, z = fitted.predict_proba(dense), fitted.embed(dense)
    np.testing.assert_allclose(fitted.predict_proba(moved), scores[order.numpy()], atol=1e-5)
    np.testing.assert_allclose(fitted.embed(moved), z[order.numpy()], atol=1e-4)


def test_without_a_generator_relabelled_nodes_give_the_same_model_too(
    graph: SensitiveGraph,
) -> None:
    order = torch.randperm(len(graph.x), generator=torch.Generator().manual_seed(0))
    scores = tiny(variant="nc").fit(graph).predict_proba(graph)
    moved = graph.permute(order)
    again = tiny(variant="nc").fit(moved).predict_proba(moved)
    np.testing.assert_allclose(again, scores[order.numpy()], atol=1e-5)


def test_settings_changed_after_fitting_wait_for_the_next_fit(graph: SensitiveGraph) -> None:
    gear = tiny(variant="nc").fit(graph)
    scores = gear.predict_proba(graph)
    gear.set_params(variant="np", k=5, recipe={"edge_noise": 0.3})
    assert np.array_equal(gear.predict_proba(graph), scores)


def test_a_fit_that_fails_leaves_no_fitted_model(
    graph: SensitiveGraph, monkeypatch: pytest.MonkeyPatch
) -> None:
    gear = tiny(variant="nc").fit(graph)

    def broken(self: object, number: int) -> None:
        raise RuntimeError("stopped on purpose")

    monkeypatch.setattr(GearTask, "step", broken)
    with pytest.raises(RuntimeError, match="on purpose"):
        gear.fit(graph)
    with pytest.raises(NotFittedError):
        gear.predict(graph)


@pytest.mark.parametrize(
    "nodes",
    [torch.tensor([-1]), torch.tensor([150]), torch.tensor([0.5]), torch.ones(3, dtype=torch.bool)],
)
def test_rows_that_do_not_exist_are_refused(
    nodes: Tensor, fitted: Gear, dense: SensitiveGraph
) -> None:
    with pytest.raises(ParameterError, match="row numbers from 0 to 149"):
        fitted.predict_proba(dense, nodes=nodes)


def test_a_mask_means_its_rows(fitted: Gear, dense: SensitiveGraph) -> None:
    expected = fitted.predict_proba(dense)[dense.test_mask.numpy()]
    np.testing.assert_allclose(
        fitted.predict_proba(dense, nodes=dense.test_mask), expected, atol=1e-6
    )


@pytest.mark.parametrize("share", [0.1, 0.5])
def test_some_nodes_get_what_they_get_among_all(
    share: float, fitted: Gear, dense: SensitiveGraph
) -> None:
    """A few nodes have their egos searched alone, many are looked up among all egos."""
    n = len(dense.x)
    nodes = torch.randperm(n, generator=torch.Generator().manual_seed(1))[: int(share * n)]
    nodes = torch.cat([nodes, nodes[:2]])
    rows = nodes.numpy()
    np.testing.assert_allclose(
        fitted.predict_proba(dense, nodes=nodes), fitted.predict_proba(dense)[rows], atol=1e-6
    )
    np.testing.assert_allclose(
        fitted.embed(dense, nodes=nodes), fitted.embed(dense)[rows], atol=1e-5
    )
    assert np.array_equal(fitted.predict(dense, nodes=nodes), fitted.predict(dense)[rows])


def test_no_nodes_get_no_scores(fitted: Gear, dense: SensitiveGraph) -> None:
    none = torch.empty(0, dtype=torch.int64)
    assert fitted.predict_proba(dense, nodes=none).shape == (0, 2)
    assert fitted.embed(dense, nodes=none).shape == (0, 16)


def test_passes_in_pieces_give_the_same(
    fitted: Gear, dense: SensitiveGraph, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = fitted.predict_proba(dense)
    monkeypatch.setattr("fairgear.methods.ego_method._CHUNK", 7)
    np.testing.assert_allclose(fitted.predict_proba(dense), whole, atol=1e-6)


def test_another_graph_is_scored_by_itself(fitted: Gear, dense: SensitiveGraph) -> None:
    before = fitted.predict_proba(dense)
    other = random_graph(n=90, edges=200, seed=8, d=6)
    scores = fitted.predict_proba(other)
    assert scores.shape == (90, 2)
    # The egos of the other graph must not be mixed up with those kept from the first.
    assert np.array_equal(fitted.predict_proba(dense), before)
    assert np.array_equal(fitted.predict_proba(other), scores)
    rewired = dense.replace(edge_index=dense.edge_index[:, :0])
    assert not np.allclose(fitted.predict_proba(rewired), before, atol=1e-4)
    with pytest.raises(GraphError, match="columns"):
        fitted.predict_proba(random_graph(n=90, d=5))


def test_hidden_s_alone_changes_nothing(dense: SensitiveGraph) -> None:
    """With s hidden and nothing erased, s alone changes nothing; seen, it does."""
    gear = tiny(erase=None, use_sens=False).fit(dense)
    flipped = dense.x.clone()
    flipped[:, 1] = 1 - dense.sens
    other = dense.replace(x=flipped, sens=1 - dense.sens)
    assert np.array_equal(gear.predict_proba(other), gear.predict_proba(dense))
    seeing = tiny(variant="np").fit(dense)
    assert not np.allclose(seeing.predict_proba(other), seeing.predict_proba(dense), atol=1e-4)


def test_a_threshold_from_validation_is_no_less_accurate_there(
    fitted: Gear, dense: SensitiveGraph
) -> None:
    val = dense.val_mask.numpy()
    y = dense.y.numpy()[val]
    scores = fitted.predict_proba(dense)[val, 1]
    assert fitted.threshold_ is not None
    assert fitted.threshold_ != 0.5
    chosen = np.mean((scores > fitted.threshold_) == y)
    assert chosen >= np.mean((scores > 0.5) == y)
    assert np.array_equal(fitted.predict(dense)[val], scores > fitted.threshold_)


@pytest.mark.parametrize(("threshold", "told"), [("half", True), ("validation", False)])
def test_labels_that_another_threshold_would_better_are_told(
    threshold: str, told: bool, graph: SensitiveGraph, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[str] = []

    def moved(task: Task, **arguments: Any) -> History:
        """Trained, and then everybody's logit, in the same order, on one side of the boundary."""
        history = train(task, **arguments)
        if isinstance(task, GearTask):
            *_, bias = task.average.classifier.parameters()
            bias.data += 5
        return history

    monkeypatch.setattr("fairgear.methods.gear.estimator.train", moved)
    monkeypatch.setattr("fairgear.methods.gear.estimator.log", said.append)
    tiny(threshold=threshold, steps=60, learning_rate=0.01).fit(graph)
    assert any("of accuracy on the validation set" in line for line in said) == told


def caught_task(monkeypatch: pytest.MonkeyPatch, graph: SensitiveGraph, **settings: Any) -> Task:
    """The task that trains the network, after a short training."""
    tasks: list[Task] = []

    def spy(task: Task, **arguments: Any) -> History:
        tasks.append(task)
        return train(task, **arguments)

    monkeypatch.setattr("fairgear.methods.gear.estimator.train", spy)
    tiny(**settings).fit(graph)
    return tasks[-1]


@pytest.mark.parametrize("selection", ["tradeoff", "loss"])
def test_a_constant_predictor_is_never_chosen_though_it_is_perfectly_fair(
    selection: str, graph: SensitiveGraph, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = caught_task(monkeypatch, graph, variant="nc", selection=selection)

    def judged(change: Any) -> Validation:
        for module in task.modules.values():
            for part in module.modules():
                if isinstance(part, nn.Linear) and part.out_features == 1:
                    change(part)
        with torch.no_grad():
            outcome = task.validate()
        assert outcome is not None
        return outcome

    def worse(part: nn.Linear) -> None:
        """As wrong and as sure of it as can be."""
        part.weight.data *= -100

    def constant(part: nn.Linear) -> None:
        part.weight.data.zero_()

    def one_sided(part: nn.Linear) -> None:
        """Ranks people as before, and gives everybody the same label."""
        part.bias.data += 1e4

    bad, still, lopsided = judged(worse), judged(constant), judged(one_sided)
    assert lopsided.figures["flips"] == still.figures["flips"] == 0
    assert bad.figures["prediction"] > still.figures["prediction"]
    assert bad.score > lopsided.score
    assert bad.score > still.score


def test_flips_in_training_are_those_at_the_threshold_that_would_be_used(
    dense: SensitiveGraph, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = {}
    for threshold in ("validation", "half"):
        task = caught_task(monkeypatch, dense, threshold=threshold)
        assert isinstance(task, GearTask)
        y = task.y[task.val_rows].double()
        # Tells everybody's label, far above a probability of one half; what moves lies between.
        logits = 10 + 4 * (y - 0.5)
        moved = torch.where(y == 1, logits - 3.9, logits)
        z = torch.ones(len(y), 2)
        found[threshold] = task.scored(Views((z, z), (logits, moved), own=1))
    share = float(y.mean())
    assert found["validation"].figures["flips"] == pytest.approx(share)
    assert found["validation"].score == pytest.approx(1 - share)
    # At one half all have one label, which never flips and is never chosen.
    assert found["half"].figures["flips"] == 0
    assert found["half"].score < -1e5


def test_r2_above_its_limit_counts_against_a_state(
    dense: SensitiveGraph, monkeypatch: pytest.MonkeyPatch
) -> None:
    for limit in (1.0, 0.02):
        task = caught_task(monkeypatch, dense, r2_limit=limit)
        assert isinstance(task, GearTask)
        y = task.y[task.val_rows].double()
        near = closed_neighborhood_mean(dense.sens, dense.edge_index)[dense.node_id.argsort()]
        near = near[task.val_rows]
        logits = y - 0.5 + 4 * (near - near.median())
        outcome = task.scored(Views((y,), (logits,), own=0))
        found = r2((logits > 0).long(), near)
        people = len(y)
        # By chance alone R² is 1 / (n − 1).
        expected = found - (1 - found) / (people - 2)
        assert expected > 0.05
        price = 10 * (expected - limit) if limit < 1 else 0.0
        assert outcome.score == pytest.approx(outcome.figures["auroc"] - price, abs=1e-4)


def test_clones_have_the_same_settings_and_no_fit(fitted: Gear, dense: SensitiveGraph) -> None:
    twin = clone(fitted)
    assert twin is not fitted
    assert twin.get_params() == fitted.get_params()
    assert twin.config == fitted.config
    with pytest.raises(NotFittedError):
        twin.predict(dense)


def test_the_constructor_names_every_setting_with_its_default_and_meaning() -> None:
    own = {name: one for name, one in signature(Gear).parameters.items() if name != "self"}
    assert all(one.kind is one.KEYWORD_ONLY for one in own.values())
    config = GearConfig()
    defaults = {item.name: getattr(config, item.name) for item in fields(config)}
    assert list(own) == [*defaults, "seed", "device"]
    nested = {"generator": None, "recipe": None}
    assert {name: one.default for name, one in own.items() if name in defaults} == defaults | nested
    described = re.findall(r"^ {8}(\w+): \S", Gear.__doc__ or "", flags=re.MULTILINE)
    assert described == list(own)


def test_a_model_is_shown_by_what_was_changed() -> None:
    assert repr(Gear()) == "Gear(seed=0)"
    assert repr(Gear(k=7, erase=None, seed=3)) == "Gear(k=7, erase=None, seed=3)"


def test_parameters_are_read_and_set_by_name() -> None:
    gear = Gear(seed=3, k=7, generator={"steps": 9})
    params = gear.get_params()
    assert (params["seed"], params["k"]) == (3, 7)
    assert params["generator"] == GeneratorConfig(steps=9)
    same = Gear(**params)
    assert same.get_params() == params
    assert gear.set_params(seed=5, k=9, generator__steps=11) is gear
    assert (gear.seed, gear.config.k) == (5, 9)
    assert gear.config.generator == GeneratorConfig(steps=11)


def test_unknown_and_impossible_parameters_are_refused() -> None:
    gear = Gear()
    with pytest.raises(ParameterError, match=r"^[^\n]*'nosuch'[^\n]*$"):
        gear.set_params(nosuch=1)
    with pytest.raises(TypeError, match="nosuch"):
        Gear(nosuch=1)  # type: ignore[call-arg]  # that it is refused is the test
    with pytest.raises(ParameterError, match="'nosuch'"):
        Gear(recipe={"nosuch": 1})
    with pytest.raises(ParameterError, match="setting dropout: got 2"):
        Gear(recipe={"dropout": 2})
    with pytest.raises(ParameterError, match="setting k"):
        gear.set_params(k=0)
    with pytest.raises(ParameterError, match="setting steps"):
        gear.set_params(generator__steps=0)
    assert gear.config == GearConfig()


@pytest.mark.parametrize("call", ["predict", "predict_proba", "embed", "save"])
def test_nothing_is_answered_before_fit(call: str, graph: SensitiveGraph, tmp_path: Any) -> None:
    with pytest.raises(NotFittedError, match=r"^[^\n]*call fit\(graph\)[^\n]*$"):
        getattr(tiny(), call)(tmp_path / "model" if call == "save" else graph)
    assert not (tmp_path / "model").exists()


def only(mask: Tensor, y: Tensor) -> Tensor:
    """Labels with a single class inside `mask`."""
    return torch.where(mask, torch.zeros_like(y), y)


def test_graphs_that_cannot_be_learned_from_are_refused(graph: SensitiveGraph) -> None:
    x = graph.x.clone()
    x[:, 0] = 0
    none = torch.zeros_like(graph.train_mask)
    cases = {
        "group": graph.replace(x=x, sens=torch.zeros_like(graph.sens)),
        "class among the training": graph.replace(y=only(graph.train_mask, graph.y)),
        "class among the validation": graph.replace(y=only(graph.val_mask, graph.y)),
    }
    cases["training nodes: got no node"] = graph.replace(train_mask=none)
    cases["validation nodes: got no node"] = graph.replace(val_mask=none)
    for words, bad in cases.items():
        with pytest.raises(GraphError, match=rf"^[^\n]*{words}[^\n]*$"):
            tiny().fit(bad)


def test_a_graph_whose_features_do_not_hold_s_is_fine(dense: SensitiveGraph) -> None:
    keep = [0, 2, 3, 4, 5]
    bare = dense.replace(x=dense.x[:, keep], sens_column=None, feature_names=list("abcde"))
    gear = tiny().fit(bare)
    assert gear.predict_proba(bare).shape == (150, 2)
    with pytest.raises(GraphError, match="sens_column"):
        gear.predict_proba(dense)


def test_an_unknown_device_is_refused(fitted: Gear, graph: SensitiveGraph) -> None:
    with pytest.raises(ParameterError, match=r"^device: got 'nosuch'; allowed: auto, cpu[^\n]*$"):
        tiny(device="nosuch").fit(graph)


def test_validating_in_chunks_changes_nothing(
    graph: SensitiveGraph, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = caught_task(monkeypatch, graph, variant="nc", edge_noise=0.0, neighbor_draws=3)
    monkeypatch.setattr("fairgear.methods.gear.loss.neighbor_perturbed", self_perturbed)

    def judged() -> Validation:
        with torch.no_grad():
            outcome = task.validate()
        assert outcome is not None
        return outcome

    whole = judged()
    monkeypatch.setattr("fairgear.methods.gear.training._CHUNK", 7)
    pieces = judged()
    assert pieces.figures == pytest.approx(whole.figures, abs=1e-6)
