"""Every kind of model of links: the same answers, and errors of one line."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, Self

import numpy as np
import pandas as pd
import pytest
import torch
from torch import Tensor, nn
from torch_geometric.nn import GCNConv

from fairgear import SensitiveGraph
from fairgear.errors import FileError, ParameterError
from fairgear.links import (
    GivenLinks,
    LinkAudit,
    LinkCommand,
    LinkModel,
    LinkSplit,
    Pairs,
    PairScorer,
    audit_links,
    split_links,
)
from fairgear.links.adapters import adapt_links
from fairgear.report.sections.link_verdict import link_verdict
from fairgear.testing import toy_graph
from tests.links.models import alike

QUICK: dict[str, Any] = {"draws": 1, "self_pairs": 2, "list_people": 5, "k": 4, "threshold": -3.0}


@pytest.fixture(scope="module")
def split() -> LinkSplit:
    return split_links(toy_graph())


@pytest.fixture(scope="module")
def expected(split: LinkSplit) -> LinkAudit:
    return audit_links(alike, split, **QUICK)


class Alike(LinkModel):
    name = "alike"
    threshold_ = -3.0

    def fit(self, split: LinkSplit, *, checkpoint: Path | None = None) -> Self:
        return self

    def scorer(self, graph: SensitiveGraph) -> PairScorer:
        return _Alike(graph)


class _Alike(PairScorer):
    def pairs(self, ends: Tensor) -> np.ndarray:
        return alike(self.graph, ends).numpy()

    def block(self, rows: Tensor) -> np.ndarray:
        x = self.graph.x.double()
        return -(x[rows, None] - x[None]).square().sum(dim=2).numpy()


class AlikeModule(nn.Module):
    """The same, where codes are the features in double precision."""

    calls: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("calls", torch.zeros(1, dtype=torch.float64))

    def encode(self, x: Tensor, edge_index: Tensor) -> Tensor:
        assert not self.training
        self.calls += 1
        return x.double() + 0 * self.calls

    def decode(self, z: Tensor, edge_label_index: Tensor) -> Tensor:
        first, second = z[edge_label_index]
        return torch.neg((first - second).square().sum(dim=1, keepdim=True))


SCRIPT = """
import csv, struct, sys

def table(name):
    with open(f"{sys.argv[1]}/{name}.csv", newline="") as file:
        return list(csv.DictReader(file))

def single(text):
    return struct.unpack("f", struct.pack("f", float(text)))[0]

people = {
    row["node_id"]: [single(value) for name, value in row.items() if name.startswith("x")]
    for row in table("nodes")
}
assert table("edges")
out = open(sys.argv[2], "w") if len(sys.argv) > 2 else sys.stdout
print("extra,target,score,source", file=out)
# In another order, either end first, and more columns than are read.
for row in reversed(table("pairs")):
    both = zip(people[row["source"]], people[row["target"]])
    score = -sum((a - b) ** 2 for a, b in both)
    print(f"0,{row['source']},{score!r},{row['target']}", file=out)
"""


@pytest.fixture
def script(tmp_path: Path) -> str:
    path = tmp_path / "links.py"
    path.write_text(SCRIPT)
    return f"{sys.executable} {path} {{graph}}"


def same(found: LinkAudit, expected: LinkAudit) -> None:
    pd.testing.assert_frame_equal(found.pairs, expected.pairs, rtol=1e-9)
    for key, value in expected.metrics.items():
        assert found.metrics[key] == pytest.approx(value, nan_ok=True), key
    assert found.lists is not None
    assert expected.lists is not None
    for one, other in zip(found.lists.people, expected.lists.people, strict=True):
        assert [x.person for x in one.factual] == [x.person for x in other.factual]
        assert [world.entered for world in one.worlds] == [world.entered for world in other.worlds]


def test_a_fitted_method(split: LinkSplit, expected: LinkAudit) -> None:
    settings = {key: value for key, value in QUICK.items() if key != "threshold"}
    found = audit_links(Alike(), split, **settings)
    same(found, expected)
    assert (found.model.name, found.model.kind, found.model.threshold) == (
        "alike",
        "fairgear method",
        -3.0,
    )


def test_a_module_is_left_as_it_was(split: LinkSplit, expected: LinkAudit) -> None:
    module = AlikeModule()
    found = audit_links(module, split, **QUICK)
    same(found, expected)
    assert module.training
    assert module.calls.item() == 0
    assert found.model.kind == "PyTorch module"


def test_a_pyg_module_reads_the_edges_that_are_left(split: LinkSplit) -> None:
    torch.manual_seed(0)

    class Coder(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = GCNConv(split.graph.x.shape[1], 4)

        def encode(self, x: Tensor, edge_index: Tensor) -> Tensor:
            asked = {tuple(pair) for pair in split.asked.T.tolist()}
            assert not asked & {tuple(edge) for edge in edge_index.T.tolist()}
            return torch.as_tensor(self.layer(x, edge_index))

        def decode(self, z: Tensor, pairs: Tensor) -> Tensor:
            return torch.sum(z[pairs[0]] * z[pairs[1]], dim=1)

    settings = QUICK | {"threshold": None}
    found = audit_links(Coder(), split, name="coder", **settings)
    assert found.model.name == "coder"
    # Scores beyond 0 to 1: the threshold is that of the validation pairs.
    assert any("validation pairs" in note for note in found.notes)


@pytest.mark.parametrize("writes", [True, False], ids=["file", "stdout"])
def test_a_command(split: LinkSplit, script: str, expected: LinkAudit, writes: bool) -> None:
    settings = QUICK | {"self_pairs": 1, "list_people": 2}
    command = f"{script} {{scores}}" if writes else script
    found = audit_links(LinkCommand(command), split, **settings)
    same(found, audit_links(alike, split, **settings))
    assert found.model.kind == "command"


def test_a_file_knows_the_factual_world_alone(
    split: LinkSplit, expected: LinkAudit, tmp_path: Path
) -> None:
    table = expected.pairs[["target", "source", "score"]].sample(frac=1, random_state=1)
    for name, write in (("a.csv", table.to_csv), ("a.parquet", table.to_parquet)):
        path = tmp_path / name
        write(path, index=False)
        found = audit_links(path, split, threshold=-3.0)
        for key in ("auroc", "average_precision", "accuracy", "gap_cells", "r2"):
            assert found.metrics[key] == pytest.approx(expected.metrics[key]), key
        assert np.isnan(found.metrics["delta_cf"])
        assert found.lists is None
        assert not found.flips
        assert any("other worlds" in note for note in found.notes)


def test_names_in_a_file() -> None:
    graph = toy_graph()
    names = [f"p{node}" for node in range(int(graph.node_id.max()) + 1)]
    graph["node_names"] = names
    split = split_links(graph)
    ids = graph.node_id[split.test.ends].numpy()
    table = pd.DataFrame(
        {"source": [names[i] for i in ids[0]], "target": [names[i] for i in ids[1]]}
    )
    found = audit_links(table.assign(score=np.linspace(0, 1, len(table))), split)
    assert {"source_name", "target_name"} <= set(found.pairs)


def test_a_command_answers_by_number_whatever_people_are_called(script: str) -> None:
    settings = QUICK | {"self_pairs": 1, "list_people": 2}
    graph = toy_graph()
    expected = audit_links(alike, split_links(graph), **settings)
    # The names of people are the numbers of others.
    count = int(graph.node_id.max()) + 1
    graph["node_names"] = [str((7 * node + 3) % count) for node in range(count)]
    found = audit_links(LinkCommand(script), split_links(graph), **settings)
    np.testing.assert_allclose(found.pairs["score"], expected.pairs["score"])


def test_pairs_of_a_file_alone_have_no_floor(split: LinkSplit) -> None:
    graph = split.graph
    none = Pairs(torch.empty(2, 0, dtype=torch.int64), torch.empty(0, dtype=torch.int64))
    # All edges are in question.
    first, second = graph.edge_index
    linked = graph.edge_index[:, first < second]
    ends = torch.cat([linked, split.test.ends[:, split.test.linked == 0]], dim=1)
    marks = torch.arange(ends.shape[1]) < linked.shape[1]
    alone = LinkSplit(graph, none, none, Pairs(ends, marks.long()))
    source, target = graph.node_id[ends].numpy()
    table = pd.DataFrame({"source": source, "target": target, "score": 0.2 + 0.5 * marks.numpy()})
    found = audit_links(table, alone)
    assert [one.name for one in found.references] == ["copying"]
    assert np.isnan(found.metrics["r2"])
    assert "common neighbours" not in link_verdict(found).accurate


def test_lists_have_at_most_all_others(split: LinkSplit) -> None:
    people = len(split.graph.x)
    found = audit_links(alike, split, **(QUICK | {"k": 1000, "list_people": 2}))
    assert found.setup.k == people - 1
    assert f"the {people - 1} people" in link_verdict(found).sentences[0]


class TestErrors:
    def test_missing_pairs(self, split: LinkSplit, expected: LinkAudit) -> None:
        table = expected.pairs[["source", "target", "score"]]
        with pytest.raises(ParameterError, match="no score of 3 pairs, the first"):
            audit_links(GivenLinks(table.iloc[3:]), split, threshold=0.0)

    def test_repeated_pairs(self, split: LinkSplit, expected: LinkAudit) -> None:
        table = expected.pairs[["source", "target", "score"]]
        turned = table.rename(columns={"source": "target", "target": "source"})
        with pytest.raises(FileError, match="2 repeated pairs"):
            audit_links(pd.concat([table, turned.iloc[:2]]), split, threshold=0.0)

    def test_ids_of_nobody(self, split: LinkSplit, expected: LinkAudit) -> None:
        table = expected.pairs[["source", "target", "score"]].assign(source=-5)
        with pytest.raises(FileError, match="ids of nobody, the first '-5'"):
            audit_links(table, split, threshold=0.0)

    def test_other_columns(self, split: LinkSplit) -> None:
        with pytest.raises(FileError, match="name the columns source, target and score"):
            audit_links(pd.DataFrame({"a": [1]}), split)

    def test_a_file_of_scores_beyond_one_needs_a_threshold(
        self, split: LinkSplit, expected: LinkAudit
    ) -> None:
        with pytest.raises(ParameterError, match="no threshold"):
            audit_links(expected.pairs[["source", "target", "score"]], split)

    @pytest.mark.parametrize(
        ("model", "message"),
        [
            (lambda graph, pairs: pairs[0, :3].double(), r"shape \(3,\)"),
            (lambda graph, pairs: pairs[0] * np.nan, "NaN or infinite"),
            (lambda graph, pairs: ["a"] * pairs.shape[1], "numbers of shape"),
            (lambda graph, pairs: 1 / 0, "ZeroDivisionError"),
            (lambda graph: graph.x[:, 0], "TypeError"),
        ],
    )
    def test_what_a_callable_returns(self, split: LinkSplit, model: Any, message: str) -> None:
        with pytest.raises(ParameterError, match=message) as caught:
            audit_links(model, split, **QUICK)
        assert "\n" not in str(caught.value)

    @pytest.mark.parametrize("model", ["a text", LinkModel, nn.Linear(2, 2), 3])
    def test_what_is_no_model_of_links(self, model: Any) -> None:
        with pytest.raises(ParameterError, match="a model of links to audit"):
            adapt_links(model)

    def test_a_threshold_that_is_no_number(self) -> None:
        with pytest.raises(ParameterError, match="threshold of links"):
            adapt_links(alike, threshold=float("nan"))

    @pytest.mark.parametrize(
        ("code", "message"),
        [
            ("raise SystemExit('no luck')", "exit status 1: no luck"),
            ("print('source,target,score')", "no rows"),
            ("print('source,target,score\\n11,39,0.5')", "no score of"),
            ("print('a,b\\n1,2')", "name the columns"),
        ],
    )
    def test_what_a_command_does(
        self, split: LinkSplit, tmp_path: Path, code: str, message: str
    ) -> None:
        path = tmp_path / "broken.py"
        path.write_text(code)
        with pytest.raises((ParameterError, FileError), match=message):
            audit_links(LinkCommand(f"{sys.executable} {path} {{graph}}"), split, **QUICK)

    def test_a_command_without_a_graph(self) -> None:
        with pytest.raises(ParameterError, match="command"):
            LinkCommand("python links.py")
        with pytest.raises(ParameterError, match="format of pairs"):
            LinkCommand("python links.py {graph}", format="npz")
        with pytest.raises(ParameterError, match="timeout"):
            LinkCommand("python links.py {graph}", timeout=0)


def test_a_callable_may_overwrite_what_it_gets(split: LinkSplit, expected: LinkAudit) -> None:
    def greedy(graph: SensitiveGraph, pairs: Tensor) -> Tensor:
        found = alike(graph, pairs)
        graph.x.zero_()
        pairs.zero_()
        return found

    same(audit_links(greedy, split, **QUICK), expected)
