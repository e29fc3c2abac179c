from __future__ import annotations

import numpy as np
import pytest
import torch
from sklearn.metrics import roc_auc_score
from torch import Tensor

from fairgear.methods import GearConfig, GearPaperConfig
from fairgear.methods.egos import Ego
from fairgear.methods.gear.config import WITHOUT_GRAPH
from fairgear.nn import ENCODERS, Classifier, EgoEncoder, encoders
from fairgear.nn.encoders import Infomax, JumpingKnowledge
from fairgear.settings import settings_of
from tests.nn.ego_batches import centre_first_order, padded, random_egos, reordered

NAMES = list(ENCODERS)


def made(name: str, layers: int = 2, dropout: float = 0.0) -> EgoEncoder:
    torch.manual_seed(0)
    return ENCODERS[name](5, 12, layers, dropout)


def test_every_encoder_that_the_settings_allow_exists() -> None:
    allowed = settings_of(GearPaperConfig)["encoder"].limit
    assert sorted(allowed or ()) == sorted(NAMES)
    own = set(settings_of(GearConfig)["encoder"].limit or ()) - set(WITHOUT_GRAPH)
    assert own < set(NAMES)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("layers", [1, 2, 3])
def test_one_embedding_a_centre_and_gradients_for_every_parameter(name: str, layers: int) -> None:
    ego = random_egos(batch=20)
    encoder = made(name, layers)
    z = encoder(ego.x, ego.adjacency, ego.mask)
    assert z.shape == (20, 12)
    loss: Tensor = z.square().sum()
    auxiliary = encoder.auxiliary_loss(ego.x, ego.adjacency, ego.mask)
    assert (auxiliary is not None) == (name == "infomax")
    (loss if auxiliary is None else loss + auxiliary).backward()  # type: ignore[no-untyped-call]
    for label, parameter in encoder.named_parameters():
        assert parameter.grad is not None, label
        assert float(parameter.grad.abs().max()) > 0, label


@pytest.mark.parametrize("name", NAMES)
def test_padding_and_the_order_of_neighbours_change_no_embedding_and_no_logit(name: str) -> None:
    ego = random_egos()
    encoder, classifier = made(name).eval(), Classifier(12, 12, 0.5).eval()
    with torch.no_grad():
        z = [
            encoder(e.x, e.adjacency, e.mask)
            for e in (ego, padded(ego), reordered(ego, centre_first_order(8)))
        ]
        logits = [classifier(part) for part in z]
    for other in (1, 2):
        assert torch.allclose(z[other], z[0], atol=1e-5)
        assert torch.allclose(logits[other], logits[0], atol=1e-5)


@pytest.mark.parametrize("name", NAMES)
def test_neighbours_count_as_far_as_there_are_layers(name: str) -> None:
    """A path 0–1–2: two layers let the centre hear of member 2, one does not."""
    adjacency = torch.zeros(1, 3, 3)
    adjacency[0, [0, 1, 1, 2], [1, 0, 2, 1]] = 1
    mask = torch.ones(1, 3, dtype=torch.bool)
    x = torch.randn(1, 3, 5, generator=torch.Generator().manual_seed(1))
    moved = x.clone()
    moved[0, 2] += 5
    for layers, hears in ((1, False), (2, True)):
        encoder = made(name, layers).eval()
        same = torch.allclose(encoder(x, adjacency, mask), encoder(moved, adjacency, mask))
        assert same != hears


def test_dropout_acts_in_training_only() -> None:
    ego = random_egos()
    encoder = made("graphsage", dropout=0.5)
    assert not torch.equal(*(encoder(ego.x, ego.adjacency, ego.mask) for _ in range(2)))
    encoder.eval()
    assert torch.equal(*(encoder(ego.x, ego.adjacency, ego.mask) for _ in range(2)))


def test_jumping_knowledge_mixes_every_layer() -> None:
    ego = random_egos()
    encoder = made("jk", layers=3).eval()
    assert isinstance(encoder, JumpingKnowledge)
    centres = [state[:, 0] for state in encoder.hidden(ego.x, ego.adjacency)[1:]]
    last = encoder.layers[-1](encoder.hidden(ego.x, ego.adjacency)[-1], ego.adjacency, ego.mask)[
        :, 0
    ]
    expected = encoder.mix(torch.cat([*centres, last], dim=1))
    whole = encoder(ego.x, ego.adjacency, ego.mask)
    assert torch.allclose(whole, expected, atol=1e-5)
    for layer in range(3):
        kept = encoder.mix.weight.detach().clone()
        with torch.no_grad():
            encoder.mix.weight[:, 12 * layer : 12 * (layer + 1)] = 0
        assert not torch.allclose(encoder(ego.x, ego.adjacency, ego.mask), whole, atol=1e-4)
        with torch.no_grad():
            encoder.mix.weight.copy_(kept)


def clustered(seed: int) -> Ego:
    """Egos whose members resemble each other: a shuffled centre does not fit its ego."""
    ego = random_egos(batch=60, k=6, seed=seed, density=0.8)
    draw = torch.Generator().manual_seed(seed)
    place = 2 * torch.randint(0, 2, (60, 1, 5), generator=draw).float() - 1
    x = (2 * place + 0.3 * ego.x) * ego.mask[..., None]
    return Ego(x, ego.sens, ego.adjacency, ego.mask)


def own_against_shuffled(encoder: Infomax, ego: Ego) -> float:
    """AUROC of the bilinear score of centre and summary, own centres against shuffled egos'."""
    encoder.eval()
    with torch.no_grad():
        members = encoder.layers[-1](
            encoder.hidden(ego.x, ego.adjacency)[-1], ego.adjacency, ego.mask
        )
        scores = []
        shuffled = ego.x.clone()
        real = ego.x[ego.mask]
        shuffled[ego.mask] = real[
            torch.randperm(len(real), generator=torch.Generator().manual_seed(9))
        ]
        for features in (ego.x, shuffled):
            centre = encoder(features, ego.adjacency, ego.mask)
            for row in range(len(ego)):
                summary = torch.sigmoid(members[row][ego.mask[row]].mean(dim=0))
                scores.append(float(centre[row] @ encoder.bilinear @ summary))
    encoder.train()
    labels = np.repeat([1, 0], len(ego))
    return float(roc_auc_score(labels, scores))


def test_infomax_learns_to_tell_own_centres_from_shuffled_ones() -> None:
    encoder = made("infomax")
    assert isinstance(encoder, Infomax)
    ego, unseen = clustered(0), clustered(1)
    optimizer = torch.optim.Adam(encoder.parameters(), lr=0.01)
    losses = []
    for _ in range(60):
        loss = encoder.auxiliary_loss(ego.x, ego.adjacency, ego.mask)
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        losses.append(loss.item())
    assert min(losses) > 0
    assert np.mean(losses[-5:]) < 0.8 * losses[0]
    assert own_against_shuffled(encoder, unseen) > 0.75


def test_infomax_ignores_padding() -> None:
    encoder = made("infomax").eval()
    assert isinstance(encoder, Infomax)
    ego = random_egos()
    values = []
    for each in (ego, padded(ego)):
        torch.manual_seed(3)
        values.append(encoder.auxiliary_loss(each.x, each.adjacency, each.mask).item())
    assert values[0] == pytest.approx(values[1], abs=1e-5)


def plain(inputs: Tensor, weight: Tensor, rows: Tensor) -> Tensor:
    return torch.bmm(rows, torch.relu(inputs @ weight.T))


def example(egos: int, members: int, width: int, out: int) -> tuple[Tensor, ...]:
    torch.manual_seed(egos + members)
    inputs, rows = torch.randn(egos, members, width), torch.rand(egos, 2, members)
    weight = torch.randn(out, width)
    return inputs, weight.requires_grad_(), rows


@pytest.mark.parametrize("block", [1, 500, 2**19])
@pytest.mark.parametrize("shape", [(7, 5, 9, 33), (1, 1, 3, 2), (40, 20, 16, 64)])
def test_values_and_gradients_are_those_of_plain_steps(
    shape: tuple[int, int, int, int], block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(encoders, "_BLOCK", block)
    inputs, weight, rows = example(*shape)
    found = encoders.blocked_hidden(inputs, weight, rows, 0.0)
    expected = plain(inputs, weight, rows)
    torch.testing.assert_close(found, expected, atol=1e-4, rtol=1e-4)
    gradient = torch.randn_like(expected)
    own, other = (torch.autograd.grad(value, weight, gradient)[0] for value in (found, expected))
    torch.testing.assert_close(own, other, atol=1e-3, rtol=1e-4)


def test_dropout_keeps_the_mean_and_the_gradient_follows_what_was_kept() -> None:
    inputs, weight, rows = example(6, 8, 5, 30)
    draws = [encoders.blocked_hidden(inputs, weight, rows, 0.25) for _ in range(400)]
    expected = plain(inputs, weight, rows)
    mean = torch.stack(draws).mean(dim=0)
    # 400 draws: six standard errors of the largest.
    assert float((mean - expected).detach().abs().max()) < 0.3 * float(expected.detach().max())
    assert not torch.equal(draws[0], draws[1])
    # The operation is linear in the weights where the signs stay: its value is its gradient's.
    (gradient,) = torch.autograd.grad(draws[0].sum(), weight)
    torch.testing.assert_close((gradient * weight).sum(), draws[0].sum(), atol=1e-2, rtol=1e-3)


def test_the_encoder_gives_the_same_with_and_without_blocks() -> None:
    torch.manual_seed(0)
    encoder = ENCODERS["graphsage"](6, 16, 2, 0.5).eval()
    ego = random_egos(d=6)
    fast = encoder(ego.x, ego.adjacency, ego.mask)
    # Inputs with gradients take the plain way.
    x = ego.x.clone().requires_grad_()
    plain = encoder(x, ego.adjacency, ego.mask)
    torch.testing.assert_close(fast, plain, atol=1e-5, rtol=1e-5)
    assert torch.autograd.grad(plain.sum(), x)[0].abs().sum() > 0
