"""Training the graph VAE on egos, in turns with its discriminator."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from fairgear.methods.ego_source import EgoSource
from fairgear.methods.gear_config import GeneratorConfig
from fairgear.methods.generators import Ego
from fairgear.nn import objectives
from fairgear.nn.graph_vae import Discriminator, GraphVAE
from fairgear.training import Task
from fairgear.training.adam import adam, set_learning_rate
from fairgear.training.micro_batches import accumulated
from fairgear.training.recorded import Recorded

# Longer gradients are cut to this length.
GREATEST_GRADIENT = 5.0


@dataclass(frozen=True)
class Reading:
    """What the discriminator reads: H, whose members count, and the true range."""

    h: Tensor
    mask: Tensor
    target: Tensor


class VaeTask(Task):
    """One step: the VAE minimises L_a = L_r + β L_d, then the discriminator maximises L_d.

    Args:
        vae: the graph VAE to train.
        config: its settings.
        egos: gives the egos of the chosen rows.
        rows: all nodes.
        micro_batches: parts of a batch, see `training.micro_batches`.
    """

    def __init__(
        self,
        vae: GraphVAE,
        config: GeneratorConfig,
        egos: EgoSource,
        rows: int,
        micro_batches: int = 1,
    ) -> None:
        self.vae = vae
        self.config = config
        self.egos = egos
        self.rows = rows
        self.micro_batches = micro_batches
        latent = vae.posterior.out_features // 2
        self.discriminator = Discriminator(latent, config.hidden, config.ranges).to(egos.device)
        self.loss = VaeLoss(vae, self.discriminator, config)
        self.modules = {"vae": vae, "discriminator": self.discriminator}
        self.optimizers = {
            name: adam(module, config.learning_rate) for name, module in self.modules.items()
        }
        recorded = egos.on_card and micro_batches == 1
        self._update = Recorded(self._plain_update) if recorded else None

    def step(self, number: int) -> dict[str, Tensor]:
        """Both turns on one batch."""
        # A falling rate lets the decoder settle: at a constant one its shift jitters by more
        # than the data leave uncertain.
        for optimizer in self.optimizers.values():
            rate = self.config.learning_rate * (1 - number / self.config.steps)
            set_learning_rate(optimizer, rate)
        update = self._plain_update if self._update is None else self._update
        return update(self.draw())

    def draw(self) -> Tensor:
        """The people of a step."""
        return torch.randint(self.rows, (self.config.batch_size,), device=self.egos.device)

    def _plain_update(self, people: Tensor) -> dict[str, Tensor]:
        kept: list[Reading] = []

        def first_turn(part: Tensor) -> dict[str, Tensor]:
            terms, reading = self.loss(self.egos(part))
            kept.append(reading)
            return objectives.backward(terms)

        def second_turn(part: Tensor) -> dict[str, Tensor]:
            guess = self.loss.guess(kept.pop(0))
            return objectives.backward(objectives.weighted({"guess": guess}, {"guess": -1.0}))

        terms = self._turn("vae", first_turn, people)
        self._turn("discriminator", second_turn, people)
        return terms

    def _turn(
        self, name: str, work: Callable[[Tensor], dict[str, Tensor]], people: Tensor
    ) -> dict[str, Tensor]:
        for parameter in self.loss.parameters():
            parameter.grad = None
        terms = accumulated(self.micro_batches, [self.modules[name]], work, people)
        torch.nn.utils.clip_grad_norm_(self.modules[name].parameters(), GREATEST_GRADIENT)
        self.optimizers[name].step()
        return terms


class VaeLoss(nn.Module):
    """What both turns minimise; holds the two networks, so that others' weights can step in."""

    def __init__(
        self, vae: GraphVAE, discriminator: Discriminator, config: GeneratorConfig
    ) -> None:
        super().__init__()
        self.vae = vae
        self.discriminator = discriminator
        self.config = config

    def forward(self, ego: Ego) -> tuple[objectives.Terms, Reading]:
        """L_a, and what the discriminator is to read in its own turn."""
        target = objectives.sensitive_range(ego.sens, ego.mask, self.config.ranges)
        latent = self.vae.encode(ego.x, ego.sens, ego.adjacency, ego.mask)
        h = latent.sample()
        terms = objectives.weighted(
            {
                "features": objectives.gaussian_nll(
                    ego.x,
                    self.vae.decode_features(h, ego.sens),
                    self.vae.feature_log_variance,
                    ego.mask,
                ),
                "edges": objectives.edge_nll(
                    ego.adjacency, self.vae.decode_edges(h, ego.sens), ego.mask
                ),
                "kl": objectives.normal_kl(latent.mean, latent.log_variance, ego.mask),
                "discriminator": objectives.log_probability(
                    self.discriminator(h, ego.mask), target
                ),
                "covariance": objectives.cross_covariance(latent.mean, ego.sens, ego.mask),
            },
            {
                "discriminator": self.config.discriminator_weight,
                "covariance": self.config.covariance_weight,
            },
        )
        return terms, Reading(h.detach(), ego.mask, target)

    def guess(self, reading: Reading) -> Tensor:
        """L_d of an H that stays as it is."""
        logits = self.discriminator(reading.h, reading.mask)
        return objectives.log_probability(logits, reading.target)
