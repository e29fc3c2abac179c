from __future__ import annotations

from pathlib import Path

import numpy as np
import torch

from fairgear import Gear, SensitiveGraph
from fairgear.methods.gear.data import EgoSource
from fairgear.methods.gear.generator import Ego
from tests.methods.gear.tiny import tiny


def ego_of(graph: SensitiveGraph, model: Gear) -> Ego:
    index = model.ego_index(graph)
    return EgoSource(graph, index, model.scaler_, torch.device("cpu"))(torch.arange(3))


def test_a_model_sees_ranks_and_is_saved_with_them(graph: SensitiveGraph, tmp_path: Path) -> None:
    model, plain = (tiny(ranks=ranks, layers=1).fit(graph) for ranks in (True, False))
    features = graph.x.shape[1] - 1
    assert model._network.inputs(ego_of(graph, model)).shape[-1] == 2 * features
    assert plain._network.inputs(ego_of(graph, plain)).shape[-1] == features
    scores = model.predict_proba(graph)
    assert not np.allclose(scores, plain.predict_proba(graph))
    model.save(tmp_path)
    assert np.array_equal(Gear.load(tmp_path).predict_proba(graph), scores)
