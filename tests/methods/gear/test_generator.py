from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from fairgear.methods.egos import Ego, neighbor_perturbed, self_perturbed
from fairgear.methods.gear.generator import FlipOnly, VaeGenerator
from fairgear.nn import GraphVAE
from tests.nn.ego_batches import random_egos


def strong_vae(seed: int = 0) -> GraphVAE:
    """A decoder on which s has a large effect."""
    torch.manual_seed(seed)
    vae = GraphVAE(5, 16, 4)
    with torch.no_grad():
        vae.feature_shift.normal_()
        for parameter in vae.position.parameters():
            parameter.mul_(4)
    return vae


def doses(ego: Ego, value: float) -> Tensor:
    return torch.full((len(ego),), value)


@settings(max_examples=25)
@given(seed=st.integers(0, 1000), dose=st.floats(0, 1))
def test_s_as_it_is_gives_the_ego_as_it_is(seed: int, dose: float) -> None:
    ego = random_egos(seed=seed)
    same = VaeGenerator(strong_vae(seed)).counterfactual(ego, ego.sens, doses(ego, dose))
    assert torch.equal(same.x, ego.x)
    assert torch.equal(same.adjacency, ego.adjacency)
    assert torch.equal(same.sens, ego.sens)
    assert torch.equal(same.mask, ego.mask)


def test_dose_0_changes_s_alone() -> None:
    ego = random_egos()
    sens = self_perturbed(ego)
    moved = VaeGenerator(strong_vae()).counterfactual(ego, sens, doses(ego, 0.0))
    assert torch.equal(moved.sens, sens)
    assert torch.equal(moved.x, ego.x)
    assert torch.equal(moved.adjacency, ego.adjacency)


def test_features_move_by_the_decoders_difference_times_the_dose() -> None:
    ego, vae = random_egos(), strong_vae()
    generator = VaeGenerator(vae)
    sens = neighbor_perturbed(ego)
    h = generator.latent(ego)
    difference = vae.decode_features(h, sens) - vae.decode_features(h, ego.sens)
    dose = torch.linspace(0, 1, 6)
    moved = generator.counterfactual(ego, sens, dose)
    assert not moved.x.requires_grad
    for row in range(6):
        for member in range(8):
            expected = ego.x[row, member] + dose[row] * difference[row, member]
            if not ego.mask[row, member]:
                expected = torch.zeros(5)
            assert torch.allclose(moved.x[row, member], expected, atol=1e-5)


@settings(max_examples=25)
@given(seed=st.integers(0, 1000), dose=st.floats(0, 1))
def test_a_counterfactual_is_an_ego(seed: int, dose: float) -> None:
    ego = random_egos(seed=seed)
    moved = VaeGenerator(strong_vae(seed)).counterfactual(
        ego, neighbor_perturbed(ego), doses(ego, dose)
    )
    assert bool((moved.x[~ego.mask] == 0).all())
    pairs = ego.mask[:, :, None] & ego.mask[:, None, :]
    assert bool((moved.adjacency[~pairs] == 0).all())
    assert torch.equal(moved.adjacency, moved.adjacency.transpose(1, 2))
    assert bool((moved.adjacency.diagonal(dim1=1, dim2=2) == 0).all())
    assert set(moved.adjacency.unique().tolist()) <= {0.0, 1.0}  # type: ignore[no-untyped-call]


class TableVAE(GraphVAE):
    """p(edge) is looked up by how many of the two have s = 1."""

    def __init__(self, table: list[float]) -> None:
        super().__init__(5, 4, 2)
        self.table = torch.tensor(table)

    def decode_edges(self, h: Tensor, sens: Tensor) -> Tensor:
        return torch.logit(self.table[sens[:, :, None] + sens[:, None, :]])


@pytest.mark.parametrize("dose", [1.0, 0.5])
@pytest.mark.parametrize(("before", "after"), [(0.6, 0.15), (0.2, 0.7)])
def test_edges_are_kept_and_added_with_the_probabilities_of_abduction(
    before: float, after: float, dose: float
) -> None:
    batch = 6000
    adjacency = torch.zeros(batch, 3, 3)
    adjacency[:, [0, 1], [1, 0]] = 1
    sens = torch.zeros(batch, 3, dtype=torch.int64)
    mask = torch.ones(batch, 3, dtype=torch.bool)
    ego = Ego(torch.zeros(batch, 3, 5), sens, adjacency, mask)
    flipped = self_perturbed(ego)
    torch.manual_seed(0)
    moved = VaeGenerator(TableVAE([before, after, 0.5])).counterfactual(
        ego, flipped, doses(ego, dose)
    )
    new = before + dose * (after - before)
    kept, added = min(1.0, new / before), max(0.0, (new - before) / (1 - before))
    tolerance = 4 * (0.25 / batch) ** 0.5
    assert float(moved.adjacency[:, 0, 1].mean()) == pytest.approx(kept, abs=tolerance)
    assert float(moved.adjacency[:, 0, 2].mean()) == pytest.approx(added, abs=tolerance)
    # Members 1 and 2 keep their s, so their pair keeps its p and stays as it was.
    assert float(moved.adjacency[:, 1, 2].sum()) == 0
    # The marginal probability of an edge moves from p to p'.
    marginal = before * kept + (1 - before) * added
    assert marginal == pytest.approx(new)


def test_flip_only_changes_s_alone() -> None:
    ego = random_egos()
    sens = self_perturbed(ego)
    moved = FlipOnly().counterfactual(ego, sens, doses(ego, 1.0))
    assert torch.equal(moved.sens, sens)
    for field in ("x", "adjacency", "mask"):
        assert torch.equal(getattr(moved, field), getattr(ego, field))
