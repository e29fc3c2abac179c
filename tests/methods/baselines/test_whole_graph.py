"""GCN, GraphSAGE and GIN, and what all methods on whole graphs have in common."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.metrics import roc_auc_score
from torch import Tensor, nn
from torch_geometric.nn import GCNConv, GINConv, SAGEConv

import fairgear as fg
from fairgear import SensitiveGraph
from fairgear.errors import FileError, GraphError, NotFittedError, ParameterError
from fairgear.methods import METHODS, load_model
from fairgear.methods.baselines.gnn import Gcn, Gin, GraphSage
from fairgear.methods.baselines.layers import GcnLayer, GinLayer, SageLayer
from fairgear.methods.baselines.neighbors import Links, NodeBatch
from fairgear.methods.baselines.whole_graph import (
    WholeGraph,
    WholeGraphConfig,
    WholeGraphNetwork,
    WholeGraphTask,
)
from fairgear.methods.saved import read_saved, write_saved
from fairgear.tensor_files import read_tensors, write_tensors
from fairgear.training import Checkpoint
from tests.graphs import random_graph
from tests.training.toy import Interrupted, same_weights

KINDS = (Gcn, GraphSage, Gin)
BATCHES: list[dict[str, Any]] = [{}, {"batch_size": 30}, {"batch_size": 30, "fanout": 3}]


def small(kind: type[WholeGraph] = GraphSage, **settings: Any) -> WholeGraph:
    """16 dimensions, 20 steps."""
    given: dict[str, Any] = {"dim": 16, "steps": 20, "validate_every": 5, "device": "cpu"}
    return kind(**(given | settings))


@pytest.fixture(scope="module")
def graph() -> SensitiveGraph:
    return fg.datasets.load("synthetic", n=300, threshold=0.3, a=0.05)


@pytest.fixture(scope="module", params=KINDS, ids=lambda kind: str(kind.name))
def fitted(request: pytest.FixtureRequest, graph: SensitiveGraph) -> WholeGraph:
    """Tests must leave it as it is."""
    return small(request.param, threshold="validation").fit(graph)


def own_layer(kind: type[nn.Module], theirs: nn.Module, width: int, out: int) -> nn.Module:
    """A layer with the weights of PyTorch Geometric's."""
    ours = kind(width, out)
    names = {
        GcnLayer: {"linear.weight": "lin.weight", "bias": "bias"},
        SageLayer: {
            "around.weight": "lin_l.weight",
            "around.bias": "lin_l.bias",
            "own.weight": "lin_r.weight",
        },
        GinLayer: {"eps": "eps"},
    }[kind]
    state = theirs.state_dict()
    renamed = {own: state[other] for own, other in names.items()}
    if kind is GinLayer:
        renamed = {key: state[key.replace("mlp", "nn")] for key in ours.state_dict()}
    ours.load_state_dict(renamed)
    return ours


@pytest.mark.parametrize("width", [5, 9])
@pytest.mark.parametrize("kind", [GcnLayer, SageLayer, GinLayer])
def test_layers_are_those_of_pytorch_geometric(kind: type[nn.Module], width: int) -> None:
    graph = random_graph(n=50, edges=80)
    torch.manual_seed(0)
    conv: nn.Module
    if kind is GcnLayer:
        conv = GCNConv(width, 7)
        conv.bias.data.normal_()  # type: ignore[operator]  # it is a parameter
    elif kind is SageLayer:
        conv = SAGEConv(width, 7)
    else:
        conv = GINConv(GinLayer(width, 7).mlp, eps=0.3, train_eps=True)
    layer = own_layer(kind, conv, width, 7)
    x = torch.randn(50, width)
    ours = layer(x, Links.of(graph.canonical).everyone.neighbors)
    torch.testing.assert_close(ours, conv(x, graph.edge_index), atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_training_learns_something_and_leaves_the_graph_alone(
    kind: type[WholeGraph], graph: SensitiveGraph
) -> None:
    before = graph.fingerprint()
    model = small(kind, steps=60)
    assert model.fit(graph) is model
    assert graph.fingerprint() == before
    scores = model.predict_proba(graph)
    assert scores.shape == (300, 2)
    assert scores.dtype == np.float64
    np.testing.assert_allclose(scores.sum(axis=1), 1)
    y, train, val = graph.y.numpy(), graph.train_mask.numpy(), graph.val_mask.numpy()
    assert roc_auc_score(y[train], scores[train, 1]) > 0.8
    auroc = roc_auc_score(y[val], scores[val, 1])
    history = model.history_["network"]
    assert history.best_score == pytest.approx(auroc), "the best state is the one that is kept"
    assert history.best_score == max(row["auroc"] for row in history.validation)
    assert history.training[-1].keys() == {"step", "prediction"}
    assert model.threshold_ == 0.5
    assert np.array_equal(model.predict(graph), scores[:, 1] > 0.5)
    z = model.embed(graph)
    assert z.shape == (300, 16)
    assert z.dtype == np.float32
    assert METHODS[kind.name] is kind


def test_a_network_reads_as_many_hops_as_it_has_layers() -> None:
    path = torch.tensor([[0, 1, 1, 2, 2, 3, 3, 4], [1, 0, 2, 1, 3, 2, 4, 3]])
    graph = random_graph(n=5).replace(edge_index=path)
    moved = graph.x.clone()
    moved[0, 0] += 1
    other = graph.replace(x=moved)
    for layers in (1, 2, 3):
        model = small(steps=1, layers=layers).fit(random_graph(n=60, edges=90))
        change = np.abs(model.embed(other) - model.embed(graph)).max(axis=1)
        assert (change > 0).tolist() == [hops <= layers for hops in range(5)]


@pytest.mark.parametrize("kind", KINDS)
def test_exact_batches_predict_as_the_whole_graph_does(
    kind: type[WholeGraph], graph: SensitiveGraph, tmp_path: Path
) -> None:
    whole = small(kind).fit(graph)
    whole.save(tmp_path)
    saved = read_saved(tmp_path)
    saved.about["config"]["batch_size"] = 40
    write_saved(tmp_path, saved.about, saved.tensors, saved.facts)
    pieces = load_model(tmp_path, device="cpu")
    assert pieces.get_params()["batch_size"] == 40
    np.testing.assert_allclose(pieces.predict_proba(graph), whole.predict_proba(graph), atol=1e-5)
    np.testing.assert_allclose(pieces.embed(graph), whole.embed(graph), atol=1e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_one_exact_batch_of_everyone_trains_as_the_whole_graph_does(
    kind: type[WholeGraph], graph: SensitiveGraph
) -> None:
    settings = {"dropout": 0.0, "steps": 5, "validate_every": 5}
    whole = small(kind, **settings).fit(graph)
    batched = small(kind, **settings, batch_size=300).fit(graph)
    np.testing.assert_allclose(batched.predict_proba(graph), whole.predict_proba(graph), atol=1e-4)


@pytest.mark.parametrize("batches", BATCHES)
def test_batches_learn_too_and_the_seed_decides(
    batches: dict[str, Any], graph: SensitiveGraph
) -> None:
    scores = []
    for state, seed in ((1, 0), (2, 0), (1, 1)):
        torch.manual_seed(state)
        before = torch.random.get_rng_state()
        model = small(seed=seed, **batches).fit(graph)
        scores.append(model.predict_proba(graph))
        assert torch.equal(torch.random.get_rng_state(), before)
    assert np.array_equal(scores[0], scores[1])
    assert not np.allclose(scores[0], scores[2], atol=1e-4)
    train = graph.train_mask.numpy()
    assert roc_auc_score(graph.y.numpy()[train], scores[0][train, 1]) > 0.75


@pytest.mark.parametrize("batches", BATCHES)
def test_reordered_rows_change_nothing(batches: dict[str, Any], graph: SensitiveGraph) -> None:
    order = torch.randperm(300, generator=torch.Generator().manual_seed(0))
    moved = graph.permute(order)
    one, other = small(**batches).fit(graph), small(**batches).fit(moved)
    expected = one.predict_proba(graph)
    assert np.array_equal(other.predict_proba(moved), expected[order.numpy()])
    assert np.array_equal(one.predict_proba(moved), expected[order.numpy()])


@pytest.mark.parametrize("batches", BATCHES)
def test_labels_of_test_nodes_are_never_read(
    batches: dict[str, Any], graph: SensitiveGraph
) -> None:
    answers = []
    for blind in (False, True):
        y = graph.y.clone()
        y[graph.test_mask] = -1 if blind else 1 - y[graph.test_mask]
        other = graph.replace(y=y)
        model = small(threshold="validation", **batches).fit(other)
        answers.append((model.threshold_, model.predict_proba(other)))
    assert answers[0][0] == answers[1][0]
    assert np.array_equal(answers[0][1], answers[1][1])


def test_some_nodes_get_what_they_get_among_all(fitted: WholeGraph, graph: SensitiveGraph) -> None:
    whole, z = fitted.predict_proba(graph), fitted.embed(graph)
    for rows in ([4], [200, 3, 3], list(range(0, 300, 2)), []):
        nodes = torch.tensor(rows, dtype=torch.int64)
        np.testing.assert_allclose(fitted.predict_proba(graph, nodes=nodes), whole[rows], atol=1e-6)
        np.testing.assert_allclose(fitted.embed(graph, nodes=nodes), z[rows], atol=1e-5)
    masked = fitted.predict_proba(graph, nodes=graph.test_mask)
    np.testing.assert_allclose(masked, whole[graph.test_mask.numpy()], atol=1e-6)
    with pytest.raises(ParameterError, match="row numbers"):
        fitted.predict_proba(graph, nodes=torch.tensor([300]))


def test_no_nodes_get_no_scores_in_batches(graph: SensitiveGraph) -> None:
    model = small(batch_size=50, steps=2).fit(graph)
    none = torch.empty(0, dtype=torch.int64)
    assert model.predict_proba(graph, nodes=none).shape == (0, 2)
    assert model.embed(graph, nodes=none).shape == (0, 16)


def test_one_person_is_not_read_with_the_whole_graph(
    fitted: WholeGraph, graph: SensitiveGraph, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[int, int]] = []
    around = Links.around

    def spy(self: Links, people: Tensor, hops: int, fanout: int = 0) -> NodeBatch:
        asked.append((len(people), fanout))
        return around(self, people, hops, fanout)

    monkeypatch.setattr(Links, "around", spy)
    fitted.predict_proba(graph, nodes=torch.tensor([5]))
    assert asked == [(1, 0)]
    fitted.predict_proba(graph)
    assert len(asked) == 1


def test_another_graph_is_scored_and_other_columns_are_refused(
    fitted: WholeGraph, graph: SensitiveGraph
) -> None:
    other = fg.datasets.load("synthetic", n=80, threshold=0.3, a=0.05, seed=5)
    assert fitted.predict_proba(other).shape == (80, 2)
    alone = graph.replace(edge_index=graph.edge_index[:, :0])
    assert not np.allclose(fitted.predict_proba(alone), fitted.predict_proba(graph), atol=1e-4)
    with pytest.raises(GraphError, match="columns"):
        fitted.predict_proba(random_graph(n=90, d=5))


def test_s_is_seen_unless_it_is_hidden() -> None:
    graph = random_graph(n=100, edges=150)
    x = graph.x.clone()
    x[:, 1] = 1 - graph.sens
    other = graph.replace(x=x, sens=1 - graph.sens)
    for use_sens in (True, False):
        model = small(use_sens=use_sens).fit(graph)
        same = np.array_equal(model.predict_proba(graph), model.predict_proba(other))
        assert same == (not use_sens)


def test_a_threshold_from_validation_is_no_less_accurate_there(
    fitted: WholeGraph, graph: SensitiveGraph
) -> None:
    val = graph.val_mask.numpy()
    y, scores = graph.y.numpy()[val], fitted.predict_proba(graph)[val, 1]
    assert fitted.threshold_ is not None
    assert np.mean((scores > fitted.threshold_) == y) >= np.mean((scores > 0.5) == y)


def test_a_model_comes_back_exactly(
    fitted: WholeGraph, graph: SensitiveGraph, tmp_path: Path
) -> None:
    fitted.save(tmp_path / "model")
    back = load_model(tmp_path / "model", device="cpu")
    assert isinstance(back, type(fitted))
    assert np.array_equal(back.predict_proba(graph), fitted.predict_proba(graph))
    assert np.array_equal(back.embed(graph), fitted.embed(graph))
    assert back.threshold_ == fitted.threshold_
    assert back.history_ == fitted.history_
    assert back.get_params() == fitted.get_params()
    back.save(tmp_path / "again")
    for name in ("model.json", "weights.safetensors"):
        ours, theirs = (tmp_path / folder / name for folder in ("model", "again"))
        assert ours.read_bytes() == theirs.read_bytes()


@pytest.mark.parametrize(
    "damage", [{"features": 0}, {"features": 3}, {"sens_column": 99}, {"history": []}]
)
def test_damaged_facts_are_refused(
    damage: dict[str, Any], fitted: WholeGraph, tmp_path: Path
) -> None:
    fitted.save(tmp_path)
    path = tmp_path / "weights.safetensors"
    tensors, facts = read_tensors(path)
    write_tensors(path, tensors, facts | damage)
    with pytest.raises(FileError):
        load_model(tmp_path)


def test_settings_changed_after_fitting_wait_for_the_next_fit(
    graph: SensitiveGraph, tmp_path: Path
) -> None:
    model = small().fit(graph)
    scores = model.predict_proba(graph)
    model.set_params(layers=1, dim=4, use_sens=False, batch_size=7)
    assert np.array_equal(model.predict_proba(graph), scores)
    model.save(tmp_path)
    assert np.array_equal(load_model(tmp_path, device="cpu").predict_proba(graph), scores)
    twin = clone(model)
    assert twin.get_params() == model.get_params()
    with pytest.raises(NotFittedError):
        twin.predict(graph)


def stop(monkeypatch: pytest.MonkeyPatch, at: int) -> None:
    """Make the next training stop at a step, once."""
    work = WholeGraphTask.step

    def step(self: WholeGraphTask, number: int) -> dict[str, Tensor]:
        if number == at:
            monkeypatch.setattr(WholeGraphTask, "step", work)
            raise Interrupted
        return work(self, number)

    monkeypatch.setattr(WholeGraphTask, "step", step)


@pytest.mark.parametrize("batches", BATCHES)
def test_an_interrupted_fit_goes_on_to_the_same_model(
    batches: dict[str, Any],
    graph: SensitiveGraph,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    whole = small(**batches).fit(graph)
    monkeypatch.setattr(Checkpoint, "due", lambda self: True)
    folder = tmp_path / "unfinished"
    stop(monkeypatch, 13)
    with pytest.raises(Interrupted):
        small(**batches).fit(graph, checkpoint=folder)
    numbers: list[int] = []
    work = WholeGraphTask.step

    def counted(self: WholeGraphTask, number: int) -> dict[str, Tensor]:
        numbers.append(number)
        return work(self, number)

    monkeypatch.setattr(WholeGraphTask, "step", counted)
    resumed = small(**batches).fit(graph, checkpoint=folder)
    assert numbers[0] == 13
    assert resumed.history_ == whole.history_
    assert same_weights(resumed._state()[0], whole._state()[0])
    assert list(folder.iterdir()) == []


def test_a_checkpoint_of_another_method_is_left_out_of_account(
    graph: SensitiveGraph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Checkpoint, "due", lambda self: True)
    stop(monkeypatch, 13)
    with pytest.raises(Interrupted):
        small(GraphSage).fit(graph, checkpoint=tmp_path)
    other = small(Gcn).fit(graph, checkpoint=tmp_path)
    assert np.array_equal(other.predict_proba(graph), small(Gcn).fit(graph).predict_proba(graph))


class Adversary(WholeGraphTask):
    """A second module that reads s from the representations, trained in turns."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.optimizers["reader"] = self.optimizer(self.modules["reader"])
        self.weights = {"hiding": 0.5}

    def terms(
        self, batch: NodeBatch, z: Tensor, logits: Tensor, labelled: Tensor, y: Tensor
    ) -> dict[str, Tensor]:
        parts = super().terms(batch, z, logits, labelled, y)
        guess = self.modules["reader"](z)[:, 0].sigmoid()
        sens = batch.inputs(self.graph.sens).float()
        return parts | {"hiding": -(guess - sens).square().mean()}


class Hiding(GraphSage):
    """What a method with more than a network overrides."""

    name = "hiding"
    task_type = Adversary

    def build(self, width: int) -> dict[str, nn.Module]:
        return super().build(width) | {"reader": nn.Linear(self._settings.dim, 1)}


@pytest.mark.parametrize("batches", BATCHES[:2])
def test_a_method_may_add_modules_and_terms(
    batches: dict[str, Any], graph: SensitiveGraph, tmp_path: Path
) -> None:
    model = small(Hiding, **batches).fit(graph)
    assert model.history_["network"].training[-1].keys() == {"step", "prediction", "hiding"}
    plain = small(GraphSage, **batches).fit(graph)
    assert not np.allclose(model.predict_proba(graph), plain.predict_proba(graph), atol=1e-4)
    model.save(tmp_path)
    assert "reader.weight" in read_tensors(tmp_path / "weights.safetensors")[0]
    back = Hiding.load(tmp_path, device="cpu")
    assert same_weights(back._state()[0], model._state()[0])
    assert isinstance(back._modules["network"], WholeGraphNetwork)


@pytest.mark.parametrize("lacking", ["group", "class", "validation"])
def test_graphs_that_nothing_can_be_learned_from_are_refused(
    lacking: str, graph: SensitiveGraph
) -> None:
    changes: dict[str, dict[str, Any]] = {
        "group": {"sens": 0 * graph.sens, "sens_column": None},
        "class": {"y": 0 * graph.y},
        "validation": {"val_mask": torch.zeros_like(graph.val_mask)},
    }
    with pytest.raises(GraphError, match="a graph to train on"):
        small().fit(graph.replace(**changes[lacking]))


def test_a_fit_that_fails_leaves_no_fitted_model(
    graph: SensitiveGraph, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = small(steps=2).fit(graph)
    stop(monkeypatch, 1)
    with pytest.raises(Interrupted):
        model.fit(graph)
    with pytest.raises(NotFittedError):
        model.predict(graph)


def test_settings_out_of_range_are_refused() -> None:
    for settings in ({"layers": 0}, {"batch_size": -1}, {"threshold": "nosuch"}, {"nosuch": 1}):
        with pytest.raises(ParameterError):
            small(**settings)


def test_the_page_names_the_defaults_and_its_code_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = (Path(__file__).parents[3] / "docs" / "reference" / "methods" / "gnn.md").read_text(
        encoding="utf-8"
    )
    table = dict(re.findall(r"^\| `([a-z_]+)` \| ([^ ]+) \|", page, flags=re.MULTILINE))
    assert table.keys() == WholeGraphConfig().to_dict().keys() - {"batch_size", "fanout"}
    for name, shown in table.items():
        default = getattr(WholeGraphConfig(), name)
        assert shown == str(default).lower() or float(shown) == default
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    for block in re.findall(r"```python\n(.*?)```", page, flags=re.DOTALL):
        exec(compile(block, "gnn.md", "exec"), names)
    assert np.array_equal(load_model("graphsage").predict_proba(names["graph"]), names["scores"])
