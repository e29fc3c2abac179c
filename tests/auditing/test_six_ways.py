"""One model in each of the six ways that an audit takes: the answers are the same.

A GraphSAGE is asked as a fairgear method, a torch module, a callable, a command and a folder of
scores. scikit-learn estimators see a person's features and no edges, so that none of them can be
that GraphSAGE. What one can be is the same network with the same weights where nobody has a
neighbour: `Alone` is asked in all six ways, the sixth as an estimator that holds the network.
"""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
import pandas as pd
import pytest
import torch
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression
from torch import Tensor, nn
from torch_geometric.nn import SAGEConv

from fairgear import SensitiveGraph
from fairgear.auditing import Audit, CommandAdapter, FolderAdapter, Worlds, audit, export_worlds
from fairgear.auditing.affected import Affected
from fairgear.methods.base import Method
from fairgear.settings import Config
from tests.auditing.models import small_graph

PEOPLE = torch.arange(40, 55)
ALONE = 2
Score = Callable[[SensitiveGraph], Tensor]


class Sage(nn.Module):
    """Two layers of PyG's mean aggregation, and the probability of class 1."""

    def __init__(self, seed: int = 8) -> None:
        super().__init__()
        with torch.random.fork_rng():
            torch.manual_seed(seed)
            self.first = SAGEConv(26, 6)
            self.second = SAGEConv(6, 1)

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        # Weights drawn as PyG draws them answer everyone alike: these do not.
        hidden = torch.relu(self.first(4 * x, edge_index))
        logits: Tensor = self.second(2 * hidden, edge_index)
        return logits.sigmoid()


class Alone(Sage):
    """The same network, the same weights, and no edges."""

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        return super().forward(x, edge_index[:, :0])


def probabilities(module: nn.Module) -> Score:
    """The model as a function: the fourth way, and what the others are held against."""

    def score(graph: SensitiveGraph) -> Tensor:
        with torch.no_grad():
            found: Tensor = module(graph.x.double(), graph.edge_index)
        return found

    return score


@dataclass(frozen=True)
class NoSettings(Config):
    """None."""


class SageMethod(Method):
    """The first way: a method of this package, whose `fit` takes the network as it is."""

    name = "sage"
    config_type = NoSettings

    def of(self, module: nn.Module) -> Self:
        self.module_ = module
        self.threshold_ = 0.5
        return self

    def fit(self, graph: SensitiveGraph, *, checkpoint: Path | None = None) -> Self:
        return self

    def predict_proba(
        self, graph: SensitiveGraph, *, nodes: Tensor | None = None
    ) -> NDArray[np.float64]:
        positive = probabilities(self.module_)(graph)[slice(None) if nodes is None else nodes]
        return torch.cat([1 - positive, positive], dim=1).numpy()

    def embed(self, graph: SensitiveGraph, *, nodes: Tensor | None = None) -> NDArray[np.float32]:
        return self.predict_proba(graph, nodes=nodes).astype(np.float32)

    def _state(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        return dict(self.module_.state_dict()), {}

    def _restore(self, path: Path, tensors: dict[str, Tensor], facts: dict[str, Any]) -> None:
        self.module_.load_state_dict(tensors)


class TableSage(ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # they ship no types
    """The third way: an estimator on node features that holds the network."""

    def __init__(self, module: nn.Module) -> None:
        self.module = module

    def fit(self, x: NDArray[Any], y: NDArray[Any]) -> Self:
        self.classes_, self.n_features_in_ = np.unique(y), x.shape[1]
        return self

    def predict_proba(self, x: NDArray[Any]) -> NDArray[np.float64]:
        nobody = torch.empty((2, 0), dtype=torch.int64)
        with torch.no_grad():
            positive = self.module(torch.from_numpy(x).double(), nobody).numpy()
        return np.concatenate([1 - positive, positive], axis=1)


# The fifth way: a program that knows no torch, and computes both layers with loops.
PROGRAM = """
import csv, json, math, sys

with open(sys.argv[1]) as file:
    weights = json.load(file)
with open(sys.argv[2] + "/nodes.csv") as file:
    rows = list(csv.reader(file))[1:]
near = {row[0]: [] for row in rows}
with open(sys.argv[2] + "/edges.csv") as file:
    for source, target in list(csv.reader(file))[1:]:
        if weights["edges"]:
            near[source].append(target)
            near[target].append(source)


def layer(values, name):
    found = {}
    for node, own in values.items():
        around = [values[other] for other in near[node]]
        sums = [sum(column) for column in zip(*around)] or [0.0] * len(own)
        mean = [value / max(len(around), 1) for value in sums]
        found[node] = [
            bias + sum(a * m for a, m in zip(left, mean)) + sum(b * o for b, o in zip(right, own))
            for bias, left, right in zip(
                weights[name + ".lin_l.bias"],
                weights[name + ".lin_l.weight"],
                weights[name + ".lin_r.weight"],
            )
        ]
    return found


values = {row[0]: [4 * float(cell) for cell in row[1:]] for row in rows}
hidden = layer(values, "first")
hidden = {node: [2 * max(value, 0.0) for value in own] for node, own in hidden.items()}
with open(sys.argv[3], "w") as file:
    file.write("node_id,score\\n")
    for node, (logit,) in layer(hidden, "second").items():
        file.write("%s,%r\\n" % (node, 1 / (1 + math.exp(-logit))))
"""


def as_command(module: nn.Module, folder: Path) -> CommandAdapter:
    weights: dict[str, Any] = {k: v.tolist() for k, v in module.state_dict().items()}
    weights["edges"] = not isinstance(module, Alone)
    (folder / "weights.json").write_text(json.dumps(weights))
    (folder / "sage.py").write_text(PROGRAM)
    words = [sys.executable, "-I", "-S", str(folder / "sage.py"), str(folder / "weights.json")]
    return CommandAdapter(shlex.join(words) + " {graph} {scores}")


def as_folder(module: nn.Module, worlds: Worlds, folder: Path) -> FolderAdapter:
    """The sixth way: all worlds exported, read again from the files, scored, and handed back."""
    others = [w for other in worlds.family.members[1:] for w in other.all_worlds()]
    manifest = export_worlds(
        worlds, folder, nodes=PEOPLE, self_people=ALONE, format="npz", extra=others
    )
    for entry in manifest.worlds:
        with np.load(folder / entry.path) as found:
            fields: dict[str, Any] = {key: torch.from_numpy(found[key]) for key in found}
        graph = SensitiveGraph(**fields)
        table = {"node_id": graph.node_id, "score": probabilities(module)(graph)[:, 0]}
        pd.DataFrame(table).to_csv(folder / entry.scores, index=False)
    return FolderAdapter(folder)


@pytest.fixture(scope="module")
def worlds() -> Worlds:
    return Worlds(small_graph(60), draws=1)


def audited(worlds: Worlds, model: object, **more: Any) -> Audit:
    few: dict[str, Any] = {"self_people": ALONE, "affected_people": 3}
    return audit(model, worlds, name="sage", nodes=PEOPLE, **few, **more)


Ways = dict[str, dict[str, Audit]]


@pytest.fixture(scope="module")
def ways(worlds: Worlds, tmp_path_factory: pytest.TempPathFactory) -> Ways:
    """Both networks in every way that they can take; the callable comes first."""
    found: Ways = {}
    for module in (Sage().double(), Alone().double()):
        folder = tmp_path_factory.mktemp(type(module).__name__)
        models: dict[str, object] = {
            "callable": probabilities(module),
            "method": SageMethod().of(module),
            "module": module,
            "command": as_command(module, folder),
            "folder": as_folder(module, worlds, folder / "worlds"),
        }
        if isinstance(module, Alone):
            graph = worlds.graph
            models["table"] = TableSage(module).fit(graph.x.numpy(), graph.y.numpy())
        found[type(module).__name__] = {
            way: audited(worlds, model, other_causal_models=isinstance(module, Sage))
            for way, model in models.items()
        }
    return found


WAYS = [
    *(("Sage", way) for way in ("method", "module", "command", "folder")),
    *(("Alone", way) for way in ("method", "module", "command", "folder", "table")),
]
KINDS = {
    "callable": "Python callable",
    "method": "fairgear method",
    "module": "PyTorch module",
    "command": "command",
    "folder": "folder of scores",
    "table": "scikit-learn estimator",
}
# Of a row of flips, what is counted in people, and must be the same to the last bit.
COUNTED = ["protocol", "intervention", "rate", "interval", "gains", "losses", "people", "draws"]


@pytest.mark.parametrize(("network", "way"), WAYS)
def test_the_answers_are_the_same(ways: Ways, network: str, way: str) -> None:
    one, other = ways[network]["callable"], ways[network][way]
    assert other.model.kind == KINDS[way]
    assert len(one.flips) == len(other.flips) == 8
    for before, after in zip(one.flips, other.flips, strict=True):
        for key in COUNTED:
            assert getattr(before, key) == getattr(after, key), (before.key, key)
        # Sums in another order end in another last digit.
        assert after.score_shift == pytest.approx(before.score_shift, abs=1e-6)
        assert after.score_size == pytest.approx(before.score_size, abs=1e-6)
    assert other.metrics == pytest.approx(one.metrics, abs=1e-12, nan_ok=True)
    for key, interval in one.intervals.items():
        assert list(other.intervals[key]) == pytest.approx(list(interval), abs=1e-9, nan_ok=True)
    assert other.groups == one.groups
    measured = [key for key in map(str, one.people) if key != "neighbors_that_matter"]
    for key in measured:
        exact = not key.startswith("score")
        np.testing.assert_allclose(
            other.people[key], one.people[key], rtol=0, atol=0 if exact else 1e-6
        )


@pytest.mark.parametrize("way", [way for network, way in WAYS if network == "Sage"])
def test_other_causal_models_say_the_same(ways: Ways, way: str) -> None:
    one, other = (ways["Sage"][name].causal_models for name in ("callable", way))
    assert one is not None
    assert other is not None
    assert other.verdict == one.verdict
    for before, after in zip(one.rows, other.rows, strict=True):
        assert (after.model, after.rate, after.error) == (before.model, before.rate, None)
        assert after.difference_interval == before.difference_interval


@pytest.mark.parametrize("network", ["Sage", "Alone"])
def test_in_this_process_not_a_bit_differs(ways: Ways, network: str) -> None:
    one = ways[network]["callable"]
    for way in ("method", "module"):
        other = ways[network][way]
        pd.testing.assert_frame_equal(one.people, other.people, check_exact=True)
        assert other.flips == one.flips
        assert other.intervals == one.intervals
        assert other.affected == one.affected


@pytest.mark.parametrize(("network", "way"), WAYS)
def test_what_it_looks_at_is_seen_from_every_side(ways: Ways, network: str, way: str) -> None:
    probes = ways[network][way].probes
    assert probes is not None
    assert probes.sens is True
    assert probes.graph is (network == "Sage")
    assert probes.repeats is (None if way == "folder" else True)


@pytest.mark.parametrize(("network", "way"), WAYS)
def test_the_people_who_are_affected_are_the_same(ways: Ways, network: str, way: str) -> None:
    one, other = ways[network]["callable"].affected, ways[network][way].affected
    assert [person.node_id for person in other] == [person.node_id for person in one]
    near = [mattering(person) for person in one]
    assert any(near) is (network == "Sage")
    if way != "folder":
        # Of the neighbours of others, nobody exported a world.
        assert [mattering(person) for person in other] == near


def mattering(person: Affected) -> list[int | str]:
    """The neighbours that matter; other batches of an estimator may end in another last digit."""
    return [neighbor.node_id for neighbor in person.neighbors if abs(neighbor.change) > 1e-9]


def test_the_network_is_worth_asking(ways: Ways) -> None:
    """Otherwise everything above could hold for a constant."""
    sage, alone = (ways[name]["callable"] for name in ("Sage", "Alone"))
    for one in (sage, alone):
        assert 0 < one.metrics["delta_cf"] < 1
        assert one.people["label"].nunique() == 2
    assert sage.people["flip_strict_neighbours"].sum() > 0
    assert alone.metrics["delta_cf_neighbor"] == 0
    assert sage.metrics["delta_cf"] != alone.metrics["delta_cf"]


def test_a_real_scikit_learn_estimator_is_its_module_and_its_callable(worlds: Worlds) -> None:
    graph = worlds.graph
    fitted = LogisticRegression().fit(graph.x.numpy(), graph.y.numpy())
    weights = torch.from_numpy(fitted.coef_[0]).double()

    class Linear(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weights = nn.Parameter(weights)

        def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
            return x @ self.weights + float(fitted.intercept_[0])

    one = audited(worlds, fitted)
    assert one.probes is not None
    assert one.probes.graph is False
    for model in (Linear(), lambda graph: fitted.predict_proba(graph.x.numpy())):
        other = audited(worlds, model)
        assert other.metrics == pytest.approx(one.metrics, nan_ok=True)
        flips = [key for key in map(str, one.people) if key.startswith("flip_")]
        pd.testing.assert_frame_equal(one.people[flips], other.people[flips], check_exact=True)
        np.testing.assert_allclose(other.people["score"], one.people["score"], atol=1e-6)
