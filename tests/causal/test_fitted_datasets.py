"""The fitted model on graphs of real people, where their files are at hand."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import fairgear as fg
from fairgear.causal import FittedCausalModel, edge_changes
from fairgear.graph import SensitiveGraph


@pytest.fixture(scope="module", autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """The user's cache stays as it is."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FAIRGEAR_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


@cache
def load(name: str) -> SensitiveGraph:
    folder = os.environ.get("FAIRGEAR_DATA")
    if not folder or not Path(folder, name).is_dir():
        pytest.skip(f"the files of {name} are not in FAIRGEAR_DATA")
    return fg.datasets.load(name)


def test_germans_edges_are_foretold_within_a_twentieth_and_move() -> None:
    graph = load("german")
    told = fg.causal.for_graph(graph).diagnostics()
    assert told.quality["gate_open"]
    counted = told.quality["held_out_edges"]
    assert counted["expected"] == pytest.approx(counted["actual"], rel=0.05)
    assert counted["actual"] == graph.num_undirected_edges
    assert all(effect.edges_added + effect.edges_removed > 0 for effect in told.effects)


def test_nbas_edges_are_told_by_degrees_alone_and_held_fixed() -> None:
    told = fg.causal.for_graph(load("nba")).diagnostics()
    assert told.quality["auc"] > 0.75
    assert told.quality["auc_without_degrees"] < 0.6
    assert not told.quality["gate_open"]
    assert all(effect.edges_added + effect.edges_removed == 0 for effect in told.effects)
    assert any("without degrees" in note for note in told.notes)


@pytest.mark.parametrize(("name", "auc"), [("bail", 0.65), ("credit", 0.77)])
def test_the_cosine_of_the_paper_is_held_back(name: str, auc: float) -> None:
    graph = load(name)
    quality = FittedCausalModel(edges="cosine").fit(graph)._quality()
    assert quality["auc"] == pytest.approx(auc, abs=0.01)
    assert not quality["gate_open"]


def test_a_counterfactual_bail_loses_and_wins_edges() -> None:
    graph = load("bail")
    model = FittedCausalModel(gate=False).fit(graph)
    world = model.counterfactual(graph, 0)
    assert all(pairs.shape[1] > 0 for pairs in edge_changes(graph, world))
