from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from fairgear.methods.egos import Ego, neighbor_perturbed, self_perturbed
from fairgear.methods.gear_paper.config import VaeConfig
from fairgear.methods.gear_paper.generator import FlipOnly, VaeGenerator
from fairgear.nn import GraphVAE
from tests.nn.ego_batches import random_egos

WAYS = [VaeConfig(counterfactuals=way) for way in ("abduction", "decoder")]
WAYS += [replace(config, sample_latent=True) for config in WAYS]


def strong_vae(seed: int = 0) -> GraphVAE:
    """A decoder on which s has a large effect."""
    torch.manual_seed(seed)
    vae = GraphVAE(5, 16, 4)
    with torch.no_grad():
        vae.feature_shift.normal_()
        for parameter in vae.position.parameters():
            parameter.mul_(4)
    return vae


def by_hand(vae: GraphVAE, h: Tensor, s: Tensor) -> Tensor:
    """The decoder's features (5,) of one member: two layers, and s times its own weights."""
    first, _, second = vae.features
    assert isinstance(first, torch.nn.Linear)
    assert isinstance(second, torch.nn.Linear)
    both = torch.cat([h, s[None].float()])
    hidden = (first.weight @ both + first.bias).clamp(min=0)
    return second.weight @ hidden + second.bias + s * vae.feature_shift


@settings(max_examples=25)
@given(seed=st.integers(0, 1000), sample=st.booleans())
def test_under_abduction_s_as_it_is_gives_the_ego_as_it_is(seed: int, sample: bool) -> None:
    ego = random_egos(seed=seed)
    config = VaeConfig(sample_latent=sample)
    same = VaeGenerator(strong_vae(seed), config).counterfactual(ego, ego.sens)
    torch.testing.assert_close(same.x, ego.x, atol=1e-6, rtol=0)
    assert torch.equal(same.adjacency, ego.adjacency)
    assert torch.equal(same.sens, ego.sens)
    assert torch.equal(same.mask, ego.mask)


@pytest.mark.parametrize("config", WAYS)
def test_features_are_those_of_the_way_that_was_chosen(config: VaeConfig) -> None:
    ego, vae = random_egos(), strong_vae()
    sens = neighbor_perturbed(ego)
    torch.manual_seed(5)
    moved = VaeGenerator(vae, config).counterfactual(ego, sens)
    assert not moved.x.requires_grad
    with torch.no_grad():
        latent = vae.encode(ego.x, ego.sens, ego.adjacency, ego.mask)
        h = latent.mean
        if config.sample_latent:
            torch.manual_seed(5)
            deviation = latent.log_variance.exp().sqrt()
            h = latent.mean + deviation * torch.randn(latent.mean.shape)
        for row in range(6):
            for member in range(8):
                place = row, member
                expected = by_hand(vae, h[place], sens[place])
                if config.counterfactuals == "abduction":
                    expected += ego.x[place] - by_hand(vae, h[place], ego.sens[place])
                if not ego.mask[place]:
                    expected = torch.zeros(5)
                torch.testing.assert_close(moved.x[place], expected, atol=1e-5, rtol=1e-5)


def test_a_sampled_h_differs_from_draw_to_draw_and_the_mean_does_not() -> None:
    ego, vae = random_egos(), strong_vae()
    for sample in (False, True):
        generator = VaeGenerator(vae, VaeConfig(counterfactuals="decoder", sample_latent=sample))
        one, other = (generator.counterfactual(ego, self_perturbed(ego)).x for _ in range(2))
        assert torch.equal(one, other) != sample


@settings(max_examples=25)
@given(seed=st.integers(0, 1000), config=st.sampled_from(WAYS))
def test_a_counterfactual_is_an_ego(seed: int, config: VaeConfig) -> None:
    ego = random_egos(seed=seed)
    moved = VaeGenerator(strong_vae(seed), config).counterfactual(ego, neighbor_perturbed(ego))
    assert bool((moved.x[~ego.mask] == 0).all())
    pairs = ego.mask[:, :, None] & ego.mask[:, None, :]
    assert bool((moved.adjacency[~pairs] == 0).all())
    assert torch.equal(moved.adjacency, moved.adjacency.transpose(1, 2))
    assert bool((moved.adjacency.diagonal(dim1=1, dim2=2) == 0).all())
    assert set(moved.adjacency.unique().tolist()) <= {0.0, 1.0}  # type: ignore[no-untyped-call]


@pytest.mark.parametrize("config", WAYS)
def test_several_questions_at_once_are_answered_one_by_one(config: VaeConfig) -> None:
    ego, vae = random_egos(), strong_vae()
    asked = [self_perturbed(ego), neighbor_perturbed(ego), ego.sens]
    torch.manual_seed(5)
    together = VaeGenerator(vae, config).counterfactual(ego, torch.stack(asked))
    for view, sens in enumerate(asked):
        torch.manual_seed(5)
        alone = VaeGenerator(vae, config).counterfactual(ego, sens)
        torch.testing.assert_close(together.x[view], alone.x, atol=1e-6, rtol=1e-5)
    assert together.mask.shape == (3, 6, 8)
    assert torch.equal(together.flat().sens, torch.cat(asked))


class TableVAE(GraphVAE):
    """p(edge) is looked up by how many of the two have s = 1."""

    def __init__(self, table: list[float]) -> None:
        super().__init__(5, 4, 2)
        self.table = torch.tensor(table)

    def decode_edges(self, h: Tensor, sens: Tensor) -> Tensor:
        return torch.logit(self.table[sens[:, :, None] + sens[:, None, :]])


def triangle_of(batch: int) -> Ego:
    """Three people each; 0 and 1 are linked, s is 0."""
    adjacency = torch.zeros(batch, 3, 3)
    adjacency[:, [0, 1], [1, 0]] = 1
    sens = torch.zeros(batch, 3, dtype=torch.int64)
    mask = torch.ones(batch, 3, dtype=torch.bool)
    return Ego(torch.zeros(batch, 3, 5), sens, adjacency, mask)


@pytest.mark.parametrize(("before", "after"), [(0.6, 0.15), (0.2, 0.7)])
def test_edges_have_the_probabilities_of_the_way_that_was_chosen(
    before: float, after: float
) -> None:
    batch = 6000
    ego, vae = triangle_of(batch), TableVAE([before, after, 0.5])
    tolerance = 4 * (0.25 / batch) ** 0.5
    abduction, decoder = (
        VaeGenerator(vae, config).counterfactual(ego, self_perturbed(ego)).adjacency
        for config in WAYS[:2]
    )
    kept, added = min(1.0, after / before), max(0.0, (after - before) / (1 - before))
    assert float(abduction[:, 0, 1].mean()) == pytest.approx(kept, abs=tolerance)
    assert float(abduction[:, 0, 2].mean()) == pytest.approx(added, abs=tolerance)
    # Members 1 and 2 keep their s, so their pair keeps its p and stays as it was.
    assert float(abduction[:, 1, 2].sum()) == 0
    # The marginal probability of an edge moves from p to p'.
    assert before * kept + (1 - before) * added == pytest.approx(after)
    # The decoder's output forgets which edges there were.
    for pair, chance in {(0, 1): after, (0, 2): after, (1, 2): before}.items():
        assert float(decoder[:, *pair].mean()) == pytest.approx(chance, abs=tolerance)


def test_flip_only_changes_s_alone() -> None:
    ego = random_egos()
    sens = self_perturbed(ego)
    moved = FlipOnly().counterfactual(ego, sens)
    assert torch.equal(moved.sens, sens)
    for field in ("x", "adjacency", "mask"):
        assert torch.equal(getattr(moved, field), getattr(ego, field))
