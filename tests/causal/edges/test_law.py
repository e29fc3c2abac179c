"""What a fitted law of edges is stored as."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from fairgear.causal import SyntheticSettings, sample
from fairgear.causal.edges import EdgeLaw, Factual
from fairgear.causal.fitted import FittedCausalModel


@pytest.mark.parametrize("groups", [2, 3])
def test_two_groups_are_stored_as_before_there_were_others(groups: int) -> None:
    """So the fingerprint of a model of two groups, and of its worlds, is what it was."""
    settings = SyntheticSettings(n=60, d_z=8, d=4, threshold=0.3, a=0.2, groups=groups)
    graph = sample(settings, seed=2)
    model = FittedCausalModel("shift", gate=False).fit(graph)
    tensors, facts = model._state()
    edges = facts["fitted_edges"]
    assert edges.get("groups") == (None if groups == 2 else 3)
    own = {name[6:]: value for name, value in tensors.items() if name.startswith("edges.")}
    again = EdgeLaw.from_state(own, edges)
    assert again.model is not None
    assert again.model.terms.groups == groups
    np.testing.assert_array_equal(again.model.theta, own["theta"].numpy())
    world = torch.zeros_like(graph.sens)
    assert Factual.of(graph).groups == groups
    assert model.counterfactual(graph, world).sens.sum() == 0
