"""Networks for links: what they minimise, whom they see, and what becomes of their state."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
import torch
from sklearn.metrics import roc_auc_score
from torch import Tensor
from torch.nn.functional import binary_cross_entropy, cosine_similarity

from fairgear.errors import GraphError, ParameterError
from fairgear.graph import SensitiveGraph
from fairgear.links import LINK_METHODS, LinkSplit, Pairs, split_links
from fairgear.links.base import Floats
from fairgear.links.methods import LinkNetwork
from fairgear.links.methods.tasks import CencPairTask, NiftyPairTask, PairTask
from fairgear.testing import toy_graph
from fairgear.training import Checkpoint
from tests.links.methods.graphs import NETWORKS, by_hand, fitted, homophilous, new, split_of
from tests.methods.untrained import untrained

BATCHES: list[dict[str, Any]] = [{}, {"batch_size": 20, "fanout": 3}]


@pytest.fixture
def caught(monkeypatch: pytest.MonkeyPatch) -> list[PairTask]:
    """The tasks of the fits to come."""
    return untrained(monkeypatch, PairTask)


def scores(model: Any, split: LinkSplit) -> Floats:
    found: Floats = model.score(split.input, split.test.ends)
    return found


def representations(task: PairTask) -> Tensor:
    """Of everybody, in canonical order."""
    z: Tensor = task.network(task.graph.x, task.graph.links.everyone.neighbors)[0]
    return z


@pytest.mark.parametrize("batches", BATCHES)
@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("kind", ["homophilous", "directed", "weighted"])
def test_the_loss_is_the_cross_entropy_of_the_training_pairs(
    kind: str, shared: bool, batches: dict[str, Any], caught: list[PairTask]
) -> None:
    split = split_of(kind)
    new("graphsage", **batches | {"fanout": 0, "shared_neighbours": shared}).fit(split)
    (task,) = caught
    weights = torch.zeros(2)
    if task.network.shared is not None:
        weights = torch.tensor([0.7, -0.2])
        task.network.shared.data = weights
    ids = split.graph.node_id[split.graph.canonical.rows]
    own = set(zip(*split.graph.node_id[split.train.ends].tolist(), strict=True))
    torch.manual_seed(0)
    batch, places, y = task.draw()
    places = places.view(2, -1)
    rows = torch.arange(len(ids)) if batch.rows is None else batch.rows
    met = ids[rows[places]].T.tolist()
    assert len(met) == (batches.get("batch_size") or len(split.train))
    for one, other in met:
        assert (one, other) in own or (kind != "directed" and (other, one) in own)
    with torch.no_grad():
        z = representations(task)[rows]
        heads = [float(task.network.head(z[i : i + 1], z[j : j + 1])) for i, j in places.T]
    known = [shared_by_hand(split.input, pair) for pair in rows[places].T.tolist()]
    logits = torch.tensor(heads) + torch.tensor(known) @ weights
    torch.manual_seed(0)
    found = task.step(0)
    expected = binary_cross_entropy(logits.sigmoid(), y.float())
    assert float(found["prediction"]) == pytest.approx(float(expected), abs=1e-5)


def shared_by_hand(graph: SensitiveGraph, numbers: list[int]) -> list[float]:
    """What a head may read of the links of two people, by their numbers."""
    first, second = graph.canonical.rows[torch.tensor(numbers)].tolist()
    source, target = graph.edge_index
    weight = torch.ones(len(source)) if graph.edge_weight is None else graph.edge_weight
    sent, got = float(weight[source == first].sum()), float(weight[target == second].sum())
    common = by_hand("common-neighbours", graph, first, second)
    return [math.log1p(common), math.log1p(sent) + math.log1p(got)]


@pytest.mark.parametrize("name", ["nifty-sage", "c-enc", "gear"])
@pytest.mark.parametrize("batches", BATCHES)
def test_what_is_validated_is_what_scores_are_made_of(
    name: str, batches: dict[str, Any], caught: list[PairTask]
) -> None:
    split, model = split_of(), new(name, shared_neighbours=True, **batches)
    with patch("fairgear.links.methods.network.most_accurate", return_value=0.5):
        model.fit(split)
    (task,) = caught
    assert task.network.shared is not None
    task.network.shared.data = torch.tensor([0.7, -0.2])
    with torch.no_grad():
        logits = task.validated(task.graph)[1]
        outcome = task.validate()
    ends = split.graph.canonical.rows[task.graph.ends[:, task.val_rows]]
    found = torch.from_numpy(model.scorer(split.input).pairs(ends)).float()
    torch.testing.assert_close(logits.sigmoid(), found, atol=1e-6, rtol=0)
    assert outcome is not None
    y = task.y[task.val_rows].float()
    if name == "gear":
        auroc = roc_auc_score(y, found)
        assert outcome.figures["auroc"] == pytest.approx(auroc, abs=1e-9)
    elif name == "c-enc":
        loss = float(binary_cross_entropy(found, y))
        assert outcome.figures["prediction"] == pytest.approx(loss, abs=1e-5)
    else:
        other = task.graph.x.clone()
        other[:, -1] = 1 - other[:, -1]
        with torch.no_grad():
            moved = task.validated(replace(task.graph, x=other))[1].sigmoid()
        loss = float((binary_cross_entropy(found, y) + binary_cross_entropy(moved, y)) / 2)
        assert outcome.figures["prediction"] == pytest.approx(loss, abs=1e-5)


def test_a_step_follows_the_gradient_of_encoder_and_head(caught: list[PairTask]) -> None:
    new("gcn", head="mlp", shared_neighbours=True, dropout=0.0).fit(split_of())
    (task,) = caught
    before = {name: value.clone() for name, value in task.network.named_parameters()}
    task.step(0)
    changed = {
        name.split(".")[0]
        for name, value in task.network.named_parameters()
        if not torch.equal(value, before[name])
    }
    assert changed == {"people", "head", "shared"}
    # Nothing is left of the classifier of people.
    assert all(value.grad is not None for value in task.network.parameters())


def test_nifty_compares_the_ends_of_the_pairs(caught: list[PairTask]) -> None:
    new("nifty-sage", feature_noise=0.0, drop_edges=0.0, dropout=0.0).fit(split_of())
    (task,) = caught
    assert isinstance(task, NiftyPairTask)
    other = task.graph.x.clone()
    other[:, -1] = 1 - other[:, -1]
    neighbors = task.graph.links.everyone.neighbors
    with torch.no_grad():
        z = [task.network(x, neighbors)[0] for x in (task.graph.x, other)]
        ends = task.graph.ends[:, task.train_rows]
        forth, back = (
            cosine_similarity(task.predictor(one)[ends], two[ends], dim=2)
            for one, two in (z, z[::-1])
        )
        logits = torch.stack([task.network.head(of[ends[0]], of[ends[1]]) for of in z])
    found = task.step(0)
    assert float(found["similarity"]) == pytest.approx(-float((forth + back).mean()) / 2, abs=1e-5)
    y = task.y[task.train_rows].float().expand(2, -1)
    expected = binary_cross_entropy(logits.sigmoid(), y)
    assert float(found["prediction"]) == pytest.approx(float(expected), abs=1e-5)


@pytest.mark.parametrize("batches", BATCHES)
def test_c_enc_hides_s_of_everybody_or_of_the_ends(
    batches: dict[str, Any], caught: list[PairTask]
) -> None:
    new("c-enc", discriminator_steps=1, **batches).fit(split_of())
    (task,) = caught
    assert isinstance(task, CencPairTask)
    torch.manual_seed(0)
    batch, places, _ = task.draw()
    sens = task.sens(batch)
    rows = torch.arange(150) if batch.rows is None else batch.rows[places]
    assert torch.equal(sens, task.graph.sens[rows])
    assert len(sens) == (40 if batches else 150)


@pytest.mark.parametrize("name", NETWORKS)
def test_batches_give_a_model_too(name: str) -> None:
    split = split_of()
    model = new(name, steps=20, batch_size=30, fanout=4, head="bilinear").fit(split)
    assert isinstance(model, LinkNetwork)
    again = new(name, steps=20, batch_size=30, fanout=4, head="bilinear").fit(split)
    np.testing.assert_array_equal(scores(model, split), scores(again, split))
    # Encoding in parts gives what encoding at once does.
    whole = model.embed(split.input)
    model._node._settings = replace(model._node._settings, batch_size=0)
    np.testing.assert_allclose(model.embed(split.input), whole, atol=1e-5)


class Stopped(BaseException):
    """Stands for a killed process."""


@pytest.mark.parametrize("name", NETWORKS)
def test_a_fit_goes_on_where_it_was_stopped(name: str, tmp_path: Path) -> None:
    split, write, due = split_of(), Checkpoint.write, []

    def written(self: Checkpoint, tensors: dict[str, Tensor], facts: dict[str, Any]) -> None:
        write(self, tensors, facts)
        raise Stopped

    def after_some(self: Checkpoint) -> bool:
        due.append(self)
        return len(due) == 23

    with (
        patch.object(Checkpoint, "write", written),
        patch.object(Checkpoint, "due", after_some),
        pytest.raises(Stopped),
    ):
        new(name).fit(split, checkpoint=tmp_path)
    assert len(due) == 23
    read: list[Any] = []
    original = Checkpoint.read

    def noted(self: Checkpoint) -> Any:
        read.append(original(self))
        return read[-1]

    with patch.object(Checkpoint, "read", noted):
        model = new(name).fit(split, checkpoint=tmp_path)
    assert read[0][1]["next_step"] == 23
    np.testing.assert_array_equal(scores(model, split), scores(fitted(name), split))
    assert model.threshold_ == fitted(name).threshold_
    assert not list(tmp_path.iterdir())


def test_other_pairs_are_another_fit(tmp_path: Path) -> None:
    split = split_of()
    other = LinkSplit(
        split.graph, Pairs(split.train.ends[:, :-1], split.train.linked[:-1]), split.val, split.test
    )
    kept: list[str] = []
    original = Checkpoint.__init__

    def noted(self: Checkpoint, path: Path, key: str) -> None:
        kept.append(key)
        original(self, path, key)

    with patch.object(Checkpoint, "__init__", noted):
        for one in (split, other, split):
            new("gcn", steps=1).fit(one, checkpoint=tmp_path)
    assert kept[0] == kept[2] != kept[1]


def test_representations_are_by_row_and_of_the_graph_at_hand() -> None:
    split, model = split_of(), fitted("graphsage")
    assert isinstance(model, LinkNetwork)
    z = model.embed(split.input)
    assert z.shape == (150, 16)
    assert z.dtype == np.float32
    ends = split.test.ends
    head = model._node.network.head
    with torch.no_grad():
        one, other = (torch.from_numpy(z[end.numpy()]) for end in ends)
        expected = head(one, other).sigmoid()
    np.testing.assert_allclose(scores(model, split), expected, atol=1e-6)
    fewer = split.input.replace(edge_index=split.input.edge_index[:, :0])
    assert np.abs(model.embed(fewer) - z).max() > 0.01


def test_pairs_of_a_large_graph_are_drawn_anew_in_each_step(
    caught: list[PairTask], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fairgear.links.methods.tasks._MOST", 50)
    new("gcn").fit(split_of())
    (task,) = caught
    torch.manual_seed(0)
    met = [task.drawn().tolist() for _ in range(40)]
    assert {len(set(rows)) for rows in met} == {50}
    assert {row for rows in met for row in rows} == set(task.train_rows.tolist())


def test_a_graph_without_labels_or_masks_and_with_constants_is_enough() -> None:
    graph = homophilous()
    assert bool((graph.y == -1).all())
    assert not bool((graph.train_mask | graph.val_mask | graph.test_mask).any())
    for name in LINK_METHODS:
        assert np.isfinite(scores(fitted(name), split_of())).all()


def test_a_graph_without_a_group_and_unknown_devices_are_refused() -> None:
    graph = homophilous()
    x = graph.x.clone()
    x[:, 3] = 0
    split = split_links(graph.replace(x=x, sens=torch.zeros_like(graph.sens)))
    with pytest.raises(GraphError, match="each group"):
        new("graphsage").fit(split)
    with pytest.raises(ParameterError, match="device"):
        LINK_METHODS["graphsage"](device="tpu").fit(split_of())  # type: ignore[call-arg]
    with pytest.raises(GraphError, match="sensitive attribute"):
        fitted("gcn").scorer(toy_graph(sens="continuous").replace())
