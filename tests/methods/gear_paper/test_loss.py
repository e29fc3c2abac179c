"""The loss of GearPaper against one that is written out, person by person."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from fairgear.methods.egos import Ego
from fairgear.methods.gear_paper.config import GearPaperConfig
from fairgear.methods.gear_paper.generator import FlipOnly
from fairgear.methods.gear_paper.loss import PaperLoss, Views
from fairgear.methods.gear_paper.network import PaperNetwork
from tests.nn.ego_batches import random_egos


class Recording(FlipOnly):
    """Keeps what it was asked for."""

    def __init__(self) -> None:
        self.asked: list[Tensor] = []

    def counterfactual(self, ego: Ego, sens: Tensor) -> Ego:
        self.asked.append(sens)
        return super().counterfactual(ego, sens)


def cosine_distance(one: Tensor, other: Tensor) -> float:
    return 1 - float(one @ other / (one.norm() * other.norm()))


@pytest.mark.parametrize("variant", ["full", "ns", "nn", "np"])
def test_the_loss_is_that_of_the_text(variant: str) -> None:
    config = GearPaperConfig(
        variant=variant, dim=6, fairness_weight=0.8, neighbor_weight=0.3, neighbor_draws=3
    )
    ego, labelled = random_egos(batch=9, seed=1), random_egos(batch=7, seed=2)
    y = torch.arange(7) % 2
    network = PaperNetwork(5, config).eval()
    generator = Recording()
    terms = PaperLoss(network, generator, config)(ego, labelled, y)
    with torch.no_grad():
        probability = network(labelled)[1].sigmoid()
        right = torch.where(y == 1, probability, 1 - probability)
        expected = -float(right.log().mean())
        z = network(ego)[0]
        if variant != "np":
            (asked,) = generator.asked
            views = [network(FlipOnly().counterfactual(ego, sens))[0] for sens in asked]
            own = views[:1] if variant in ("full", "nn") else []
            around = views[len(own) :]
            assert len(around) == (0 if variant == "nn" else 3)
            total = 0.0
            for person in range(9):
                if own:
                    total += 0.7 * cosine_distance(z[person], own[0][person])
                if around:
                    mean = sum(view[person] for view in around) / 3
                    assert isinstance(mean, Tensor)
                    total += 0.3 * cosine_distance(z[person], mean)
            expected += 0.8 * total / 9
    assert float(terms.total.detach()) == pytest.approx(expected, abs=1e-5)


def test_what_the_encoder_sees_are_features_and_s() -> None:
    ego = random_egos()
    seen = PaperNetwork(5, GearPaperConfig(dim=4)).inputs(ego)
    assert torch.equal(seen[..., :5], ego.x)
    assert torch.equal(seen[..., 5], ego.sens.float())


def test_flips_are_counted_at_the_threshold_in_use() -> None:
    logits = torch.tensor([-1.0, 0.5, 2.0, 3.0])
    own = logits + torch.tensor([0.0, -1.0, 0.0, -1.5])
    every = (logits, own, logits - 0.2)
    views = Views(every, every, own=1)
    # At 0 one of four changes sign under its own perturbation; at 1.9 two do in all.
    assert views.flip_rate() == (1 / 4 + 0) / 2
    assert views.flip_rate(1.9) == (1 / 4 + 1 / 4) / 2
