"""A run on a graph in which 40 % of the people did not tell their attribute."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import torch

from fairgear import SensitiveGraph, load_model
from fairgear.auditing import Audit
from fairgear.auditing.completions import COMPLETIONS
from fairgear.datasets.source import GraphSource
from fairgear.graph import complete
from fairgear.hashing import node_uniform
from fairgear.runs.config import RunConfig
from fairgear.runs.execution import run
from fairgear.runs.folder import RunFolder
from tests.auditing.models import small_graph


@pytest.fixture(scope="module")
def hidden() -> SensitiveGraph:
    graph = small_graph(150)
    return graph.replace(sens_known=node_uniform(graph.node_id, 0, "told") > 0.4)


@pytest.mark.parametrize("method", ["gear", "fairgnn"])
def test_a_run(
    method: str, hidden: SensitiveGraph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def load(*given: Any, **options: Any) -> SensitiveGraph:
        return hidden

    monkeypatch.setattr("fairgear.datasets.load", load)
    assert torch.equal(GraphSource("synthetic").load().sens, complete(hidden).sens)
    few = {"gear": {}, "fairgnn": {"estimator_steps": 2}}[method]
    config = RunConfig(
        dataset="synthetic",
        method=method,
        settings={"steps": 4, **few},
        self_people=3,
        affected_people=0,
        other_causal_models=False,
        device="cpu",
    )
    folder = RunFolder(tmp_path)
    found = run(config, folder)
    assert found.unknown is not None
    assert found.unknown.completions == COMPLETIONS
    assert Audit.load(tmp_path).unknown == found.unknown
    predictions = pd.read_parquet(folder.predictions)
    assert len(predictions) == 150
    assert int((~predictions["sens_known"]).sum()) == found.unknown.everybody.unknown
    assert predictions["sens"].tolist() == complete(hidden).sens.tolist()
    # Trained on the first completion.
    again = load_model(folder.model).predict_proba(complete(hidden))
    assert again[:, 1] == pytest.approx(predictions["score"].to_numpy())
    assert "People whose attribute is unknown" in folder.report.read_text()
