"""Every causal model keeps the laws; files and assignments that are refused."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import fairgear as fg
from fairgear.causal import (
    CausalModel,
    SimilarityCausalModel,
    SyntheticCausalModel,
    SyntheticSettings,
    for_graph,
    sample,
)
from fairgear.errors import FileError, GraphError, NotFittedError
from fairgear.graph import SensitiveGraph, SimilarityRule, similarity_graph, split
from fairgear.tensor_files import write_tensors
from fairgear.testing import check_causal_model


def table_graph(n: int = 90, seed: int = 0, neighbors: int | None = None) -> SensitiveGraph:
    """A graph built from a small table of whole and of real numbers, with ids out of order."""
    rng = np.random.default_rng(seed)
    sens = rng.integers(0, 2, n)
    raw = np.stack(
        [rng.integers(0, 3, n) + sens, sens, rng.normal(size=n) * (1 + sens), rng.random(n) < 0.3],
        axis=1,
    ).astype(float)
    graph = similarity_graph(
        torch.from_numpy(raw),
        torch.from_numpy(rng.integers(0, 2, n)),
        torch.from_numpy(sens),
        rule=SimilarityRule(0.8, neighbors),
        sens_column=1,
        feature_names=["a", "s", "b", "c"],
        node_id=torch.arange(n) * 3 + 2**60,
        name="table",
    )
    return split(graph)


def tied_graph(neighbors: int | None) -> SensitiveGraph:
    """Small whole numbers, so that most distances occur many times, and ids in no order."""
    rng = np.random.default_rng(7)
    sens = rng.integers(0, 2, 80)
    raw = np.stack([rng.integers(0, 3, 80), sens, rng.integers(0, 2, 80)], axis=1)
    return similarity_graph(
        torch.from_numpy(raw),
        None,
        torch.from_numpy(sens),
        rule=SimilarityRule(0.7, neighbors),
        sens_column=1,
        feature_names=["a", "s", "b"],
        node_id=torch.from_numpy(rng.permutation(80)),
    )


MODELS: dict[str, tuple[Callable[[], CausalModel], Callable[[], SensitiveGraph]]] = {
    "synthetic": (
        SyntheticCausalModel,
        lambda: split(sample(SyntheticSettings(n=150, d_z=8, d=4, a=0.15, threshold=0.7), seed=3)),
    ),
    "synthetic, neighbours": (
        SyntheticCausalModel,
        lambda: fg.datasets.load("synthetic-neighbours", n=150, a=0.15, threshold=0.7, seed=3),
    ),
    "shift": (SimilarityCausalModel, table_graph),
    "quantile": (lambda: SimilarityCausalModel("quantile"), table_graph),
    "nearest rows": (SimilarityCausalModel, lambda: table_graph(neighbors=4)),
    "ties": (SimilarityCausalModel, lambda: tied_graph(None)),
    "nearest rows, ties": (SimilarityCausalModel, lambda: tied_graph(5)),
}


@pytest.mark.parametrize("neighbors", [None, 4])
def test_a_table_in_another_order_is_the_same_graph(neighbors: int | None) -> None:
    graph = tied_graph(neighbors)
    assert graph.raw is not None
    order = torch.from_numpy(np.random.default_rng(1).permutation(80))
    again = similarity_graph(
        graph.raw[order],
        None,
        graph.sens[order],
        rule=graph.mechanism.rule,
        sens_column=1,
        feature_names=graph.feature_names,
        node_id=graph.node_id[order],
    )
    assert again.fingerprint() == graph.permute(order).fingerprint()


@pytest.mark.parametrize("name", MODELS)
def test_the_laws_hold(name: str) -> None:
    make, graph = MODELS[name]
    assert len(check_causal_model(make, graph())) == 6


def test_a_model_of_another_kind_is_refused_by_name(tmp_path: Path) -> None:
    graph, path = table_graph(), tmp_path / "model.safetensors"
    for_graph(graph).save(path)
    assert isinstance(CausalModel.load(path), SimilarityCausalModel)
    with pytest.raises(FileError, match="similarity"):
        SyntheticCausalModel.load(path)


def test_diagnostics_need_a_graph_once() -> None:
    with pytest.raises(NotFittedError, match="diagnostics"):
        SyntheticCausalModel().diagnostics()
    with pytest.raises(NotFittedError, match="never fitted"):
        SimilarityCausalModel().counterfactual(table_graph(), 0)


def test_files_that_are_no_causal_models_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "model.safetensors"
    with pytest.raises(NotFittedError, match="never fitted"):
        SimilarityCausalModel().save(path)
    for facts in ({}, {"causal_model": "similarity"}, {"causal_model": "similarity", "state": {}}):
        write_tensors(path, {}, facts)
        with pytest.raises(FileError, match="cannot read"):
            CausalModel.load(path)


@pytest.mark.parametrize(
    "sens", [np.zeros(90), torch.zeros(0), torch.full((90,), torch.nan), torch.zeros(90, 1), "1"]
)
def test_what_cannot_be_an_assignment_is_refused_in_one_line(sens: Any) -> None:
    graph = table_graph()
    with pytest.raises(GraphError, match="counterfactual sens"):
        for_graph(graph).counterfactual(graph, sens)
