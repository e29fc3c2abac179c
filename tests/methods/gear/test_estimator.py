from __future__ import annotations

import re
from dataclasses import fields, replace
from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from fairgear import SensitiveGraph
from fairgear.auditing import Worlds
from fairgear.auditing.family import OWN
from fairgear.auditing.notes import models_trained_for
from fairgear.causal import flipped, for_graph, named
from fairgear.errors import FairgearError, GraphError, NotFittedError, ParameterError
from fairgear.methods import Gear, GearConfig
from fairgear.methods.baselines.neighbors import Links, NodeBatch
from fairgear.methods.gear.training import GearTask
from tests.graphs import random_graph
from tests.methods.gear.test_family import DIAGRAM
from tests.methods.gear.tiny import tiny


@pytest.mark.parametrize("encoder", ["graphsage", "gcn", "gin", "mlp", "linear"])
def test_every_encoder_trains(encoder: str, graph: SensitiveGraph) -> None:
    gear = tiny(encoder=encoder)
    assert gear.fit(graph) is gear
    scores = gear.predict_proba(graph)
    assert scores[:, 1].std() > 1e-4
    assert np.array_equal(gear.predict(graph), scores[:, 1] > (gear.threshold_ or 0))
    assert gear.embed(graph).shape == (200, 1 if encoder == "linear" else 16)
    assert set(gear.history_) == {"network"}
    history = gear.history_["network"]
    assert set(history.training[-1]) == {"step", "prediction", "consistency", "dependence"}
    assert set(history.validation[-1]) == {"step", "score", "auroc", "flips", "dependence"}


@pytest.mark.parametrize(
    ("settings", "terms"),
    [
        ({"fairness_weight": 0.0}, {"prediction", "dependence"}),
        ({"r2_limit": 1}, {"prediction", "consistency"}),
        ({"r2_limit": 0.2}, {"prediction", "consistency", "dependence"}),
        ({"fairness_weight": 0.0, "r2_limit": 1.0}, {"prediction"}),
    ],
)
def test_terms_are_those_that_settings_ask_for(
    settings: dict[str, Any], terms: set[str], graph: SensitiveGraph
) -> None:
    gear = tiny(**settings).fit(graph)
    assert set(gear.history_["network"].training[-1]) == terms | {"step"}


def test_fewer_answers_change_where_that_is_asked_for() -> None:
    """A label follows two columns alike, and one of them shifts with the group."""
    graph = random_graph(n=400, edges=800, seed=4, d=6)
    x = graph.x.clone()
    y = (x[:, 0] + x[:, 2] > 0).long()
    x[:, 0] += 2 * graph.sens
    graph = graph.replace(x=x, y=y)
    changed = {}
    for weight in (0.0, 4.0):
        asked = {"causal": "shift", "views": False, "r2_limit": 1.0, "dropout": 0.1}
        gear = tiny(**asked, fairness_weight=weight, steps=200).fit(graph)
        labels = gear.predict(graph)
        assert np.mean(labels == y.numpy()) > 0.6
        moved = gear._family.moved(0, graph.x, graph.sens, 1 - graph.sens, graph.node_id).float()
        world = graph.replace(x=moved, sens=1 - graph.sens)
        changed[weight] = np.mean(gear.predict(world) != labels)
    assert changed[4.0] < 0.5 * changed[0.0]


@pytest.mark.parametrize("settings", [{"views": False}, {"causal": "quantile"}])
def test_what_is_believed_and_seen_is_a_setting(
    settings: dict[str, Any], graph: SensitiveGraph
) -> None:
    gear = tiny(**settings).fit(graph)
    assert gear._family.views == settings.get("views", True)
    assert len(gear._family.models) == (1 if "causal" in settings else 3)
    assert not np.allclose(gear.predict_proba(graph), tiny().fit(graph).predict_proba(graph))


def test_order_of_rows_labels_of_others_and_the_state_of_generators_change_nothing(
    graph: SensitiveGraph,
) -> None:
    """The contract checks the defaults; this is without views, and with another family."""
    settings = {"views": False, "causal": "quantile+gaussian"}
    torch.manual_seed(1)
    expected = tiny(**settings).fit(graph).predict_proba(graph)
    torch.manual_seed(2)
    blind = graph.replace(y=torch.where(graph.test_mask, -1, graph.y))
    assert np.array_equal(tiny(**settings).fit(blind).predict_proba(graph), expected)
    order = torch.randperm(200, generator=torch.Generator().manual_seed(0))
    moved = graph.permute(order)
    again = tiny(**settings).fit(moved).predict_proba(moved)
    np.testing.assert_allclose(again, expected[order.numpy()], atol=1e-4)
    other = tiny(**settings, seed=1).fit(graph).predict_proba(graph)
    assert not np.allclose(other, expected, atol=1e-4)


def test_names_of_models_come_as_a_list_too(graph: SensitiveGraph) -> None:
    gear = tiny(causal=["quantile", "shift"])
    assert gear.config.causal == "quantile+shift"
    assert gear.fit(graph).trained_for_ == ("quantile", "shift")


def test_what_it_was_trained_for_is_told(graph: SensitiveGraph) -> None:
    gear = tiny()
    assert list(gear.trained_for_) == []
    assert gear.fit(graph).trained_for_ == ("shift", "quantile", "gaussian")
    # Settings that were changed wait for the next fit.
    gear.set_params(fairness_weight=0.0)
    assert gear.trained_for_ == ("shift", "quantile", "gaussian")
    assert list(gear.fit(graph).trained_for_) == []


def test_a_diagram_is_trained_for_and_an_audit_with_it_knows(
    dense: SensitiveGraph, tmp_path: Path
) -> None:
    path, other = tmp_path / "diagram.yaml", tmp_path / "other.yaml"
    path.write_text(DIAGRAM)
    other.write_text("parents: {x3: [x1]}\n")
    gear = tiny(causal=str(path)).fit(dense)
    (name,) = gear.trained_for_
    assert name.startswith("sequential {")
    assert '"x2": ["x1", "x0"]' in name
    for believed, known in ((str(path), True), (str(other), False), ("shift", False)):
        worlds = Worlds(dense, named(believed, dense), draws=1)
        trained = models_trained_for(gear, worlds)
        assert trained is not None
        assert (OWN in trained) == known
    shift = Worlds(dense, named("shift", dense), draws=1)
    assert OWN in (models_trained_for(tiny().fit(dense), shift) or ())


def test_a_diagram_of_other_columns_is_refused(dense: SensitiveGraph, tmp_path: Path) -> None:
    path = tmp_path / "diagram.yaml"
    path.write_text("parents: {income: [x1]}\n")
    with pytest.raises(FairgearError, match=r"^[^\n]*income[^\n]*$"):
        tiny(causal=str(path)).fit(dense)


@pytest.mark.parametrize("views", [True, False])
def test_worlds_of_few_people_are_scored_as_the_whole_graphs(
    views: bool, graph: SensitiveGraph, dense: SensitiveGraph
) -> None:
    gear = tiny(views=views).fit(graph)
    # Then the same graph with other features: what was kept from the first must not be used.
    x = graph.x.clone()
    x[:, 1:] *= 0.9
    for here in (graph, graph.replace(x=x, mechanism=None)):
        model, people = for_graph(here), [3, 0, 77]
        groups = [torch.tensor([person]) for person in people]
        worlds = [model.local(here, rows, 1 - here.sens[rows]) for rows in groups]
        nodes = [torch.tensor([person, 5]) for person in people]
        near = gear.predict_near(worlds, nodes).reshape(3, 2, 2)
        for scores, person in zip(near, people, strict=True):
            whole = model.counterfactual(here, flipped(here, person))
            np.testing.assert_allclose(scores, gear.predict_proba(whole)[[person, 5]], atol=1e-6)
    stranger = for_graph(dense).local(dense, torch.tensor([0]), 1 - dense.sens[:1])
    with pytest.raises(GraphError, match="columns"):
        gear.predict_near([stranger], [torch.tensor([0])])


BATCHES = {"batch_size": 30, "fanout": 3}


def test_batches_train_and_the_seed_decides(graph: SensitiveGraph) -> None:
    gear = tiny(**BATCHES).fit(graph)
    terms = {"step", "prediction", "consistency", "dependence"}
    assert set(gear.history_["network"].training[-1]) == terms
    scores = gear.predict_proba(graph)
    assert scores[:, 1].std() > 1e-4
    assert np.array_equal(tiny(**BATCHES).fit(graph).predict_proba(graph), scores)
    others = [{"seed": 1}, {"fanout": 1}, {"batch_size": 0}]
    for other in others:
        again = tiny(**(BATCHES | other)).fit(graph).predict_proba(graph)
        assert not np.allclose(again, scores, atol=1e-4)


def test_batches_are_learned_from(dense: SensitiveGraph) -> None:
    learnable = dense.replace(y=(dense.x[:, 0] > 0).long())
    gear = tiny(**BATCHES, steps=60, dropout=0.1, learning_rate=0.03).fit(learnable)
    assert np.mean(gear.predict(learnable) == learnable.y.numpy()) > 0.8


@pytest.mark.parametrize("encoder", ["graphsage", "gcn", "gin", "linear"])
def test_batches_predict_as_the_whole_graph_does(encoder: str, graph: SensitiveGraph) -> None:
    gear = tiny(encoder=encoder).fit(graph)
    expected, z = gear.predict_proba(graph), gear.embed(graph)
    some = torch.tensor([150, 3, 3, 77])
    for size in (1, 7, 1000):
        gear._settings = replace(gear._settings, batch_size=size)
        np.testing.assert_allclose(gear.predict_proba(graph), expected, atol=1e-6)
        np.testing.assert_allclose(gear.embed(graph), z, atol=1e-4)
        found = gear.predict_proba(graph, nodes=some)
        np.testing.assert_allclose(found, expected[some.numpy()], atol=1e-6)


@pytest.mark.parametrize("given", [None, 0, 40])
def test_large_graphs_are_read_in_batches_unless_a_size_is_given(
    given: int | None, graph: SensitiveGraph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes: list[int] = []
    around = Links.around

    def spy(self: Links, people: Tensor, hops: int, fanout: int = 0) -> NodeBatch:
        if fanout:
            sizes.append(len(people))
        return around(self, people, hops, fanout)

    monkeypatch.setattr(Links, "around", spy)
    monkeypatch.setattr("fairgear.methods.gear.estimator.BATCH", 20)
    for whole_up_to in (200, 199):
        monkeypatch.setattr("fairgear.methods.gear.estimator.WHOLE_UP_TO", whole_up_to)
        sizes.clear()
        gear = tiny(batch_size=given, steps=5).fit(graph)
        size = {None: 0 if whole_up_to == 200 else 20, 0: 0, 40: 40}[given]
        assert sizes == ([2 * size] * 5 if size else [])
        gear.save(tmp_path)
        back = Gear.load(tmp_path, device="cpu")
        # What was asked for, and what it meant for the graph of the fit.
        assert back.config == gear.config
        assert gear.config.batch_size == given
        assert back._sized.batch_size == gear._sized.batch_size == size
        assert np.array_equal(back.predict_proba(graph), gear.predict_proba(graph))


def test_another_graph_is_scored_by_itself(fitted: Gear, dense: SensitiveGraph) -> None:
    before = fitted.predict_proba(dense)
    other = random_graph(n=90, edges=200, seed=8, d=6)
    scores = fitted.predict_proba(other)
    assert scores.shape == (90, 2)
    # What is seen of the other graph must not be mixed up with those kept from the first.
    assert np.array_equal(fitted.predict_proba(dense), before)
    assert np.array_equal(fitted.predict_proba(other), scores)
    rewired = dense.replace(edge_index=dense.edge_index[:, :0])
    assert not np.allclose(fitted.predict_proba(rewired), before, atol=1e-4)


def test_a_threshold_from_validation_is_the_most_accurate_there(
    fitted: Gear, dense: SensitiveGraph
) -> None:
    val = dense.val_mask.numpy()
    y, scores = dense.y.numpy()[val], fitted.predict_proba(dense)[val, 1]
    assert fitted.threshold_ is not None
    best = max(np.mean((scores > cut) == y) for cut in [0.5, *scores])
    assert np.mean((scores > fitted.threshold_) == y) == best
    assert tiny(threshold="half").fit(dense).threshold_ == 0.5


def test_a_fit_that_fails_leaves_no_fitted_model(
    graph: SensitiveGraph, monkeypatch: pytest.MonkeyPatch
) -> None:
    gear = tiny().fit(graph)

    def broken(self: object, number: int) -> None:
        raise RuntimeError("stopped on purpose")

    monkeypatch.setattr(GearTask, "step", broken)
    with pytest.raises(RuntimeError, match="on purpose"):
        gear.fit(graph)
    with pytest.raises(NotFittedError):
        gear.predict(graph)


def test_the_largest_seed_and_a_graph_whose_features_do_not_hold_s_are_fine(
    dense: SensitiveGraph,
) -> None:
    keep = [0, 2, 3, 4, 5]
    bare = dense.replace(x=dense.x[:, keep], sens_column=None, feature_names=list("abcde"))
    gear = tiny(seed=2**63 - 1).fit(bare)
    assert gear.predict_proba(bare).shape == (150, 2)
    with pytest.raises(GraphError, match="sens_column"):
        gear.predict_proba(dense)


def test_the_constructor_names_every_setting_with_its_default_and_meaning() -> None:
    own = {name: one for name, one in signature(Gear).parameters.items() if name != "self"}
    assert all(one.kind is one.KEYWORD_ONLY for one in own.values())
    config = GearConfig()
    defaults = {item.name: getattr(config, item.name) for item in fields(config)}
    assert list(own) == [*defaults, "seed", "device"]
    assert {name: one.default for name, one in own.items() if name in defaults} == defaults
    described = re.findall(r"^ {8}(\w+): \S", Gear.__doc__ or "", flags=re.MULTILINE)
    assert described == list(own)


def test_a_model_is_shown_by_what_was_changed() -> None:
    assert repr(Gear()) == "Gear(seed=0)"
    assert repr(Gear(dim=7, r2_limit=0.1, seed=3)) == "Gear(dim=7, r2_limit=0.1, seed=3)"


def test_unknown_and_impossible_parameters_are_refused() -> None:
    gear = Gear(r2_limit=0.25, causal="shift")
    assert Gear(**gear.get_params()).config == gear.config
    with pytest.raises(TypeError, match="nosuch"):
        Gear(nosuch=1)  # type: ignore[call-arg]  # that it is refused is the test
    allowed = "allowed: labels or a number from 0 to 1"
    for value in ("label", -0.1, 1.5, True, None):
        with pytest.raises(ParameterError, match=rf"^setting r2_limit: got [^\n]*{allowed}[^\n]*$"):
            gear.set_params(r2_limit=value)
    with pytest.raises(ParameterError, match="setting layers"):
        gear.set_params(layers=0)
    with pytest.raises(ParameterError, match=r"^causal: got 'nosuch'[^\n]*$"):
        Gear(causal="nosuch").fit(random_graph(n=90, edges=100))
    assert (gear.config.r2_limit, gear.config.layers) == (0.25, 2)
    assert gear.set_params(r2_limit="labels").config.r2_limit == "labels"
