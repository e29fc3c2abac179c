"""The fitted model on graphs of real people, where their files are at hand."""

from __future__ import annotations

import os
import time
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


@pytest.mark.parametrize("name", ["nba", "german"])
def test_edges_are_foretold_within_a_twentieth(name: str) -> None:
    graph = load(name)
    told = fg.causal.for_graph(graph).diagnostics()
    assert told.quality["gate_open"]
    counted = told.quality["held_out_edges"]
    assert counted["expected"] == pytest.approx(counted["actual"], rel=0.05)
    assert counted["actual"] == graph.num_undirected_edges
    assert all(effect.edges_added + effect.edges_removed > 0 for effect in told.effects)


@pytest.mark.parametrize(("name", "auc"), [("bail", 0.65), ("credit", 0.77)])
def test_the_cosine_of_the_paper_is_held_back(name: str, auc: float) -> None:
    graph = load(name)
    quality = FittedCausalModel(edges="cosine").fit(graph)._quality()
    assert quality["auc"] == pytest.approx(auc, abs=0.01)
    assert not quality["gate_open"]


def test_one_counterfactual_bail_in_under_fifteen_seconds() -> None:
    graph = load("bail")
    model = FittedCausalModel(gate=False).fit(graph)
    start = time.perf_counter()
    world = model.counterfactual(graph, 0)
    assert time.perf_counter() - start < 15
    assert all(pairs.shape[1] > 0 for pairs in edge_changes(graph, world))
