from __future__ import annotations

import numpy as np
import pytest
import torch

from fairgear.nn import Discriminator, GraphVAE, SensCode
from fairgear.nn.graph_vae import Latent
from tests.nn.ego_batches import centre_first_order, padded, random_egos, reordered


@pytest.fixture
def vae() -> GraphVAE:
    torch.manual_seed(0)
    made = GraphVAE(5, 16, 4)
    with torch.no_grad():
        made.feature_shift.normal_()
        made.edge_bias.fill_(-1.0)
    return made


def test_the_posterior_and_the_decoded_edges_of_real_members_ignore_padding(vae: GraphVAE) -> None:
    ego = random_egos()
    more = padded(ego)
    one, other = (vae.encode(e.x, e.sens, e.adjacency, e.mask) for e in (ego, more))
    assert torch.allclose(other.mean[:, :8], one.mean, atol=1e-6)
    assert torch.allclose(other.log_variance[:, :8], one.log_variance, atol=1e-6)
    edges = vae.decode_edges(one.mean, ego.sens), vae.decode_edges(other.mean, more.sens)
    assert torch.allclose(edges[1][:, :8, :8], edges[0], atol=1e-5)
    features = vae.decode_features(one.mean, ego.sens), vae.decode_features(other.mean, more.sens)
    assert torch.allclose(features[1][:, :8], features[0], atol=1e-5)


def test_the_posterior_follows_reordered_members(vae: GraphVAE) -> None:
    ego, order = random_egos(), centre_first_order(8)
    other = reordered(ego, order)
    one = vae.encode(ego.x, ego.sens, ego.adjacency, ego.mask).mean
    two = vae.encode(other.x, other.sens, other.adjacency, other.mask).mean
    assert torch.allclose(two, one[:, order], atol=1e-5)


def test_the_encoder_sees_s(vae: GraphVAE) -> None:
    ego = random_egos()
    one = vae.encode(ego.x, ego.sens, ego.adjacency, ego.mask).mean
    two = vae.encode(ego.x, (1 - ego.sens) * ego.mask, ego.adjacency, ego.mask).mean
    assert not torch.allclose(one[ego.mask], two[ego.mask], atol=1e-3)


@pytest.mark.parametrize("k", [3, 5, 20])
def test_decoded_edges_are_symmetric_and_depend_on_s(vae: GraphVAE, k: int) -> None:
    h = torch.randn(40, k, 4, generator=torch.Generator().manual_seed(0))
    sens = torch.randint(0, 2, (40, k), generator=torch.Generator().manual_seed(1))
    logits = vae.decode_edges(h, sens)
    assert torch.allclose(logits, logits.transpose(1, 2), atol=1e-5)
    assert not torch.allclose(logits, vae.decode_edges(h, 1 - sens), atol=1e-3)


def test_s_moves_features_along_the_direct_path_and_the_network(vae: GraphVAE) -> None:
    h = torch.randn(2, 3, 4, generator=torch.Generator().manual_seed(0))
    zeros, ones = torch.zeros(2, 3, dtype=torch.int64), torch.ones(2, 3, dtype=torch.int64)
    mlp = [vae.features(torch.cat([h, s[..., None].float()], dim=-1)) for s in (zeros, ones)]
    moved = vae.decode_features(h, ones) - vae.decode_features(h, zeros)
    assert torch.allclose(moved, mlp[1] - mlp[0] + vae.feature_shift, atol=1e-5)


def test_samples_of_h_have_the_posteriors_moments() -> None:
    torch.manual_seed(0)
    latent = Latent(torch.full((20_000, 1, 1), 3.0), torch.full((20_000, 1, 1), np.log(4.0)))
    drawn = latent.sample()
    assert float(drawn.mean()) == pytest.approx(3, abs=0.06)
    assert float(drawn.std()) == pytest.approx(2, abs=0.05)


def test_log_variances_stay_within_bounds_whatever_goes_in(vae: GraphVAE) -> None:
    ego = random_egos()
    latent = vae.encode(1e4 * ego.x, ego.sens, ego.adjacency, ego.mask)
    assert latent.log_variance.min().item() >= -8
    assert latent.log_variance.max().item() <= 4


def test_the_discriminator_ignores_padding_and_the_order_of_members() -> None:
    torch.manual_seed(0)
    discriminator = Discriminator(4, 16, 3)
    ego = random_egos(d=4)
    expected = discriminator(ego.x, ego.mask)
    assert expected.shape == (6, 3)
    more, order = padded(ego), centre_first_order(8)
    garbage = more.x + 9 * (~more.mask)[..., None]
    assert torch.allclose(discriminator(garbage, more.mask), expected, atol=1e-5)
    assert torch.allclose(discriminator(ego.x[:, order], ego.mask[:, order]), expected, atol=1e-5)


def test_an_arc_is_decoded_from_both_of_its_ends_and_not_as_its_reverse() -> None:
    torch.manual_seed(0)
    vae = GraphVAE(5, 16, 4, directed=True)
    vae.edge_bias.data.fill_(-0.5)
    h, sens = torch.randn(2, 3, 4), torch.randint(0, 2, (2, 3))
    with torch.no_grad():
        logits = vae.decode_edges(h, sens)
        place = vae.position(torch.cat([h, sens[..., None].float()], dim=-1))
    for row, to, of in ((0, 0, 1), (0, 1, 0), (1, 2, 1)):
        expected = float(place[row, to, :4] @ place[row, of, 4:]) / 2 - 0.5
        assert float(logits[row, to, of]) == pytest.approx(expected, abs=1e-5)
    assert not torch.allclose(logits, logits.transpose(1, 2), atol=1e-3)


def test_each_group_has_a_direct_path_of_its_own() -> None:
    torch.manual_seed(0)
    vae = GraphVAE(5, 16, 4, SensCode(3))
    vae.feature_shift.data.normal_()
    h, zeros = torch.randn(2, 3, 4), torch.zeros(2, 3, dtype=torch.int64)
    for group in range(3):
        code = torch.zeros(2, 3, 2)
        if group:
            code[..., group - 1] = 1
        direct = vae.feature_shift[group - 1] if group else torch.zeros(5)
        expected = vae.features(torch.cat([h, code], dim=-1)) + direct
        assert torch.allclose(vae.decode_features(h, zeros + group), expected, atol=1e-5)


def test_a_number_is_read_standardised() -> None:
    torch.manual_seed(0)
    vae = GraphVAE(5, 16, 4, SensCode(0))
    vae.code.fit(torch.tensor([30.0, 50.0], dtype=torch.float64))
    vae.feature_shift.data.normal_()
    h, ages = torch.randn(1, 2, 4), torch.tensor([[60.0, 35.0]], dtype=torch.float64)
    code = torch.tensor([[[2.0], [-0.5]]])
    expected = vae.features(torch.cat([h, code], dim=-1)) + code * vae.feature_shift
    assert torch.allclose(vae.decode_features(h, ages), expected, atol=1e-5)


def test_a_discriminator_of_several_values_has_a_head_for_each() -> None:
    torch.manual_seed(0)
    discriminator = Discriminator(4, 16, 3, 2)
    ego = random_egos(d=4)
    logits = discriminator(ego.x, ego.mask)
    assert logits.shape == (6, 2, 3)
    last = discriminator.ego[-1]
    assert isinstance(last, torch.nn.Linear)
    last.bias.data[3:] += 1
    moved = discriminator(ego.x, ego.mask) - logits
    assert torch.allclose(moved[:, 0], torch.zeros(6, 3), atol=1e-6)
    assert torch.allclose(moved[:, 1], torch.ones(6, 3), atol=1e-6)
