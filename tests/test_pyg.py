"""The datasets for PyG, by PyG's own loaders and transforms."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import torch
from torch_geometric.data import Data
from torch_geometric.loader import DataLoader, NeighborLoader, RandomNodeLoader
from torch_geometric.nn import GCNConv
from torch_geometric.transforms import Compose, NormalizeFeatures, RandomNodeSplit

import fairgear as fg
from fairgear import pyg
from fairgear.errors import GraphError, UnknownNameError
from fairgear.graph import SensitiveGraph
from fairgear.pyg import FairgearDataset
from fairgear.tensor_files import read_tensors, write_tensors

SMALL: dict[str, Any] = {"n": 120, "seed": 2}


def made(root: Path, **more: Any) -> FairgearDataset:
    return FairgearDataset(root, "synthetic", **{**SMALL, **more})


def test_it_is_the_dataset_with_its_split(tmp_path: Path) -> None:
    dataset = made(tmp_path, split_seed=3)
    graph = fg.datasets.load("synthetic", split_seed=3, **SMALL)
    data = dataset[0]
    assert type(data) is Data
    for name in ("x", "edge_index", "y", "sens", "node_id", "train_mask", "val_mask", "test_mask"):
        assert torch.equal(data[name], graph[name]), name
    assert (len(dataset), dataset.num_classes) == (1, 2)
    assert dataset.num_features == graph.x.shape[1]
    assert data.feature_names == graph.feature_names
    assert data.sens_column == graph.sens_column
    assert data.validate()
    back = dataset.to_sensitive_graph()
    assert isinstance(back, SensitiveGraph)
    assert back.fingerprint() == graph.fingerprint()
    assert back.mechanism is not None
    assert repr(dataset) == "FairgearDataset('synthetic', split='sixty-twenty-twenty', seed=3)"


def test_the_second_time_it_is_read_and_nothing_is_unpickled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = made(tmp_path)
    (path,) = (tmp_path / "synthetic" / "processed").iterdir()
    assert str(path) == first.processed_paths[0]

    def refused(*_: Any, **__: Any) -> None:
        raise AssertionError("not to be called")

    monkeypatch.setattr(torch, "load", refused)
    monkeypatch.setattr(pyg, "load", refused)
    again = made(tmp_path)
    for name, value in first[0].to_dict().items():
        other = again[0][name]
        same = torch.equal(value, other) if isinstance(value, torch.Tensor) else value == other
        assert same, name
    assert again[0].to_dict().keys() == first[0].to_dict().keys()
    with pytest.raises(AssertionError):
        made(tmp_path, force_reload=True)
    with pytest.raises(AssertionError):
        made(tmp_path, split_seed=1)


def test_other_transforms_versions_and_damage_make_the_file_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = made(tmp_path)
    scaled = made(tmp_path, pre_transform=NormalizeFeatures())
    assert not torch.equal(scaled[0].x, plain[0].x)
    torch.testing.assert_close(scaled[0].x, NormalizeFeatures()(plain[0]).x)
    assert torch.equal(made(tmp_path)[0].x, plain[0].x)
    path = Path(plain.processed_paths[0])
    tensors, facts = read_tensors(path)
    write_tensors(path, {**tensors, "x": tensors["x"] + 1}, {**facts, "made_from": ["0.0"]})
    assert torch.equal(made(tmp_path)[0].x, plain[0].x)
    path.write_bytes(path.read_bytes()[:-9])
    assert torch.equal(made(tmp_path)[0].x, plain[0].x)


def test_what_cannot_be_saved_is_refused(tmp_path: Path) -> None:
    def adds_an_object(data: Data) -> Data:
        data.model = object()
        return data

    with pytest.raises(GraphError, match=r"a object in data\.model"):
        made(tmp_path, pre_transform=adds_an_object)
    assert not list(tmp_path.rglob("*.safetensors"))
    with pytest.raises(UnknownNameError):
        FairgearDataset(tmp_path, "nobody")


def test_loaders_transforms_and_training(tmp_path: Path) -> None:
    transform = Compose([NormalizeFeatures(), RandomNodeSplit(num_val=12, num_test=12)])
    dataset = made(tmp_path, transform=transform)
    assert int(dataset[0].test_mask.sum()) == 12
    (batch,) = DataLoader(dataset, batch_size=1)
    assert torch.equal(batch.sens, dataset[0].sens)
    data = made(tmp_path)[0]
    conv = GCNConv(data.num_features, 2)
    loss = torch.nn.functional.cross_entropy(
        conv(data.x, data.edge_index)[data.train_mask], data.y[data.train_mask]
    )
    torch.autograd.backward(loss)
    assert bool(conv.lin.weight.grad.abs().sum() > 0)


def test_a_model_of_pyg_is_audited_on_the_same_people(tmp_path: Path) -> None:
    class Net(torch.nn.Module):
        def __init__(self, width: int) -> None:
            super().__init__()
            self.conv = GCNConv(width, 1)

        def forward(self, x: torch.Tensor, edge_index: torch.Tensor) -> torch.Tensor:
            found: torch.Tensor = self.conv(x, edge_index)[:, 0]
            return found

    dataset = made(tmp_path)
    torch.manual_seed(0)
    net, data = Net(dataset.num_features), dataset[0]
    audit = fg.audit(
        net, dataset.to_sensitive_graph(), draws=1, other_causal_models=False, self_people=0
    )
    scores = torch.sigmoid(net(data.x, data.edge_index))[data.test_mask]
    assert audit.people["score"].tolist() == pytest.approx(scores.tolist(), abs=1e-6)


def test_parts_of_the_graph_are_batches(tmp_path: Path) -> None:
    data = made(tmp_path)[0]
    ids = data.node_id
    found = list(RandomNodeLoader(data, num_parts=3))
    assert sum(batch.num_nodes for batch in found) == data.num_nodes
    for batch in found:
        rows = torch.searchsorted(ids, batch.node_id)
        assert torch.equal(batch.sens, data.sens[rows])
        assert torch.equal(batch.train_mask, data.train_mask[rows])


@pytest.mark.skipif(
    not (find_spec("pyg_lib") or find_spec("torch_sparse")),
    reason="PyG samples neighbours with pyg-lib or torch-sparse",
)
def test_neighbours_are_sampled(tmp_path: Path) -> None:
    data = made(tmp_path)[0]
    batches = list(
        NeighborLoader(data, num_neighbors=[5, 5], batch_size=16, input_nodes=data.train_mask)
    )
    seen = torch.cat([batch.n_id[: batch.batch_size] for batch in batches])
    assert sorted(seen.tolist()) == data.train_mask.nonzero()[:, 0].tolist()
    for batch in batches:
        assert torch.equal(batch.sens, data.sens[batch.n_id])
