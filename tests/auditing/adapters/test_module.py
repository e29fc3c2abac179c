from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch_geometric.nn import GCNConv, SGConv

from fairgear.auditing.adapters import ModuleAdapter, adapt
from fairgear.auditing.world import World
from fairgear.auditing.worlds import Worlds
from fairgear.errors import ParameterError

ALL = torch.arange(60)
SOME = torch.tensor([5, 2, 40])
CALLABLE = "pass a callable such as lambda graph: module(graph.x, graph.edge_index)[:, 1]"


class Says(nn.Module):
    """Outputs what a function makes of the features."""

    def __init__(self, answer: Callable[[Tensor], Any]) -> None:
        super().__init__()
        self.answer = answer

    def forward(self, x: Tensor, edge_index: Tensor) -> Any:
        return self.answer(x)


def total(x: Tensor) -> Tensor:
    return x.sum(dim=1) * 3


def two(x: Tensor) -> Tensor:
    return torch.stack([x[:, 1], total(x)], dim=1)


READ = [
    (total, lambda x: total(x).sigmoid(), "Its one column of outputs goes beyond 0 to 1 and is "),
    (
        lambda x: total(x).sigmoid()[:, None],
        lambda x: total(x).sigmoid(),
        "Its one column of outputs lies within 0 to 1 and is read as probabilities.",
    ),
    (two, lambda x: two(x).softmax(1)[:, 1], "Its two columns of outputs do not sum to 1 and are "),
    (
        lambda x: two(x).log_softmax(1),
        lambda x: two(x).softmax(1)[:, 1],
        "Its two columns of outputs do not sum to 1 and are read as logits.",
    ),
    (
        lambda x: two(x).softmax(1),
        lambda x: two(x).softmax(1)[:, 1],
        "Its two columns of outputs sum to 1 and are read as probabilities.",
    ),
    (
        lambda x: two(x).softmax(1).half(),
        lambda x: two(x).softmax(1)[:, 1],
        "Its two columns of outputs sum to 1 and are read as probabilities.",
    ),
]


@pytest.mark.parametrize(("answer", "expected", "note"), READ)
def test_outputs_are_read_as_what_they_are(
    worlds: Worlds,
    answer: Callable[[Tensor], Tensor],
    expected: Callable[[Tensor], Tensor],
    note: str,
) -> None:
    adapter = adapt(Says(answer))
    scores = adapter.scores(worlds.factual, SOME)
    assert scores.dtype == np.float64
    np.testing.assert_allclose(scores, expected(worlds.graph.x)[SOME].numpy(), atol=1e-3)
    (said,) = adapter.notes
    assert said.startswith(note)


def test_what_was_decided_is_kept(worlds: Worlds, other: World) -> None:
    # Logits in the factual world, numbers from 0 to 1 in the other one.
    factual = worlds.graph.x
    module = Says(lambda x: torch.full((60,), 3.0 if torch.equal(x, factual) else 1.0))
    adapter = adapt(module)
    expected = torch.sigmoid(torch.tensor([3.0, 1.0], dtype=torch.float64)).tolist()
    found = [float(adapter.scores(world, SOME)[0]) for world in (worlds.factual, other)]
    assert found == expected
    assert adapter.notes == ("Its one column of outputs goes beyond 0 to 1 and is read as logits.",)
    # Asked the other way round, the same model is read otherwise, and the surprise is an error.
    adapter = adapt(module)
    assert adapter.scores(other, SOME)[0] == 1
    with pytest.raises(ParameterError) as caught:
        adapter.scores(worlds.factual, SOME)
    assert str(caught.value) == (
        "the model 'Says' in the world 'factual-unchanged-draw-0': got scores from 3 to 3; "
        "allowed: probabilities, 0 to 1. Next: if these are logits, pass ModuleAdapter(module, "
        "output='logits')."
    )


def test_output_says_what_they_are(worlds: Worlds) -> None:
    half = Says(lambda x: torch.full((60, 1), 0.5))
    logits = ModuleAdapter(half, output="logits")
    assert logits.scores(worlds.factual, SOME)[0] == torch.sigmoid(torch.tensor(0.5).double())
    assert ModuleAdapter(half, output="probabilities").scores(worlds.factual, SOME)[0] == 0.5
    assert logits.notes == ()
    with pytest.raises(ParameterError) as caught:
        ModuleAdapter(half, output="odds")
    assert str(caught.value) == (
        "output of 'Says': got 'odds'; allowed: auto, logits, probabilities. "
        "Next: use 'auto' to decide by the outputs."
    )


def test_modes_come_back_and_no_gradient_is_kept(worlds: Worlds) -> None:
    class Dropped(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first = nn.Linear(worlds.graph.x.shape[1], 8).double()
            self.norm = nn.BatchNorm1d(8).double()
            self.drop = nn.Dropout(0.9)
            self.last = nn.Linear(8, 1).double()
            self.kept: list[Tensor] = []

        def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
            out: Tensor = self.last(self.drop(self.norm(self.first(x))))
            self.kept.append(out)
            return out

    module = Dropped()
    module.norm.eval()
    before = {name: part.training for name, part in module.named_modules()}
    running = module.norm.running_mean
    assert running is not None
    mean = running.clone()
    adapter = adapt(module)
    first = adapter.scores(worlds.factual, SOME)
    np.testing.assert_array_equal(first, adapter.scores(worlds.factual, SOME))
    assert {name: part.training for name, part in module.named_modules()} == before
    assert before["drop"]
    assert not before["norm"]
    assert torch.equal(mean, running)
    assert not module.kept[0].requires_grad


def test_modes_come_back_after_an_error(worlds: Worlds) -> None:
    module = Says(lambda x: x @ x)
    with pytest.raises(ParameterError) as caught:
        adapt(module).scores(worlds.factual, SOME)
    assert module.training
    message = str(caught.value)
    assert message.startswith(
        "the model 'Says' in the world 'factual-unchanged-draw-0': got RuntimeError: mat1 and mat2"
    )
    assert message.endswith(f"Next: check that module(x, edge_index) works, or {CALLABLE}.")


def test_a_module_that_works_in_place_harms_no_world(worlds: Worlds) -> None:
    class InPlace(nn.Module):
        def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
            edge_index.zero_()
            return x.mul_(0)[:, 0]

    before = worlds.graph.fingerprint()
    adapt(InPlace()).scores(worlds.factual, SOME)
    assert worlds.graph.fingerprint() == before


@pytest.mark.parametrize("layer", [GCNConv, SGConv])
def test_layers_that_keep_a_graph_look_at_each(worlds: Worlds, layer: Any) -> None:
    width = worlds.graph.x.shape[1]
    torch.manual_seed(0)

    class Net(nn.Module):
        def __init__(self, cached: bool) -> None:
            super().__init__()
            self.layer = layer(width, 2, cached=cached)

        def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
            out: Tensor = self.layer(x, edge_index)
            return out

    keeps, looks = Net(True), Net(False)
    looks.load_state_dict(keeps.state_dict())
    keeps(worlds.graph.x, worlds.graph.edge_index)
    kept = {key: value for key, value in vars(keeps.layer).items() if key.startswith("_cached")}
    adapter, plain = adapt(keeps), adapt(looks)
    for world in (worlds.factual, worlds.edgeless):
        np.testing.assert_array_equal(adapter.scores(world, ALL), plain.scores(world, ALL))
    assert keeps.layer.cached is True
    assert all(vars(keeps.layer)[key] is value for key, value in kept.items())
    assert any(value is not None for value in kept.values())
    assert adapter.notes[0] == (
        "It has layers that cache the first graph they see (cached=True): here they read every "
        "graph."
    )
    assert len(plain.notes) == 1


def test_a_forward_with_other_arguments() -> None:
    class Whole(nn.Module):
        def forward(self, data: Any) -> Tensor:
            raise AssertionError

    with pytest.raises(ParameterError) as caught:
        adapt(Whole())
    assert str(caught.value) == (
        "the model 'Whole': got forward(data: 'Any'); allowed: forward(x, edge_index). "
        f"Next: {CALLABLE}."
    )


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (lambda x: (x, x), f"got a tuple; allowed: one tensor. Next: {CALLABLE}."),
        (
            lambda x: x[:, :1].repeat(1, 3),
            "got scores of shape (60, 3); allowed: shape (60,), (60, 1) or (60, 2), one row a "
            "node. Next: return one score for each node, in the order of the graph.",
        ),
        (
            lambda x: torch.where(torch.arange(60) == 2, torch.nan, total(x)),
            "got 1 NaN or infinite scores, the first of node 2; allowed: finite numbers. "
            "Next: find out why the model gives no score there.",
        ),
    ],
)
def test_wrong_outputs(worlds: Worlds, answer: Callable[[Tensor], Any], message: str) -> None:
    with pytest.raises(ParameterError) as caught:
        adapt(Says(answer)).scores(worlds.factual, SOME)
    where = "the model 'Says' in the world 'factual-unchanged-draw-0': "
    assert str(caught.value) == where + message


STATE = "It changes a state of its own when it is called; every call began with the original state."


class Counts(nn.Module):
    """Changes a buffer in place, puts another tensor in the place of one, and adds a third."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("asked", torch.zeros(60))
        self.register_buffer("total", torch.zeros(()))
        self.register_buffer("first", None)
        self.asked: Tensor
        self.total: Tensor
        self.first: Tensor | None

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        self.asked += x.sum(dim=1)
        self.total = self.total + 1
        if self.first is None:
            self.first = x
            self.register_buffer("seen", x)
        # Its own buffer, not a copy of it.
        return self.asked if self.total == 1 else x.sum(dim=1) * 0


def test_a_state_that_is_changed_is_put_back(worlds: Worlds, other: World) -> None:
    module = Counts()
    held = module.asked
    before = {name: value.clone() for name, value in module.state_dict().items()}
    adapter = ModuleAdapter(module, output="logits")
    alone = [
        ModuleAdapter(Counts(), output="logits").scores(w, ALL) for w in (worlds.factual, other)
    ]
    for world, expected in zip((worlds.factual, other), alone, strict=True):
        np.testing.assert_array_equal(adapter.scores(world, ALL), expected)
    np.testing.assert_allclose(alone[1], other.graph.x.sum(dim=1).sigmoid().numpy(), rtol=1e-6)
    assert module.asked is held
    assert module.first is None
    assert module.state_dict().keys() == before.keys()
    assert all(torch.equal(value, before[name]) for name, value in module.state_dict().items())
    assert adapter.notes == (STATE,)


def test_a_state_is_put_back_after_an_error(worlds: Worlds) -> None:
    class Breaks(Counts):
        def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
            super().forward(x, edge_index)
            raise RuntimeError("no")

    module = Breaks()
    with pytest.raises(ParameterError, match="got RuntimeError: no"):
        adapt(module).scores(worlds.factual, SOME)
    assert torch.equal(module.asked, torch.zeros(60))


def test_a_state_that_stays_is_not_spoken_of(worlds: Worlds) -> None:
    class Quiet(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("unknown", torch.tensor([float("nan"), 1.0]))
            self.register_buffer("links", torch.eye(60).to_sparse())
            self.links: Tensor

        def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
            return (self.links @ x).sum(dim=1)

    adapter = ModuleAdapter(Quiet(), output="logits")
    adapter.scores(worlds.factual, SOME)
    assert adapter.notes == ()


def test_a_sparse_state_is_put_back(worlds: Worlds) -> None:
    class Doubles(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("links", torch.eye(60).to_sparse())
            self.links: Tensor

        def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
            self.links.mul_(2)
            return (self.links @ x).sum(dim=1)

    module = Doubles()
    adapter = ModuleAdapter(module, output="logits")
    adapter.scores(worlds.factual, SOME)
    assert torch.equal(module.links.to_dense(), torch.eye(60))
    assert adapter.notes == (STATE,)


def test_a_module_that_exits(worlds: Worlds) -> None:
    with pytest.raises(ParameterError, match="got SystemExit: 0; allowed: a model that answers"):
        adapt(Says(lambda x: sys.exit(0))).scores(worlds.factual, SOME)
