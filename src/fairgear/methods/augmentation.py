"""Training the graph VAE on egos, in turns with its discriminator."""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain

import torch
from torch import Tensor

from fairgear.methods.gear_config import GeneratorConfig
from fairgear.methods.generators import Ego
from fairgear.nn import objectives
from fairgear.nn.graph_vae import Discriminator, GraphVAE
from fairgear.training import Task


class VaeTask(Task):
    """One step: the VAE minimises L_a = L_r + β L_d, then the discriminator maximises L_d.

    Args:
        vae: the graph VAE to train.
        config: its settings.
        egos: gives the egos of the chosen rows.
        rows: all nodes.
    """

    def __init__(
        self, vae: GraphVAE, config: GeneratorConfig, egos: Callable[[Tensor], Ego], rows: int
    ) -> None:
        self.vae = vae
        self.config = config
        self.egos = egos
        self.rows = rows
        device = next(vae.parameters()).device
        latent = vae.posterior.out_features // 2
        self.discriminator = Discriminator(latent, config.hidden, config.ranges).to(device)
        self.modules = {"vae": vae, "discriminator": self.discriminator}
        self.optimizers = {
            name: torch.optim.Adam(module.parameters(), lr=config.learning_rate)
            for name, module in self.modules.items()
        }

    def step(self, number: int) -> dict[str, Tensor]:
        """Both turns on one batch."""
        # A falling rate lets the decoder settle: at a constant one its shift jitters by more
        # than the data leave uncertain.
        for optimizer in self.optimizers.values():
            for group in optimizer.param_groups:
                group["lr"] = self.config.learning_rate * (1 - number / self.config.steps)
        device = next(self.vae.parameters()).device
        ego = self.egos(torch.randint(self.rows, (self.config.batch_size,), device=device))
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
        self._update("vae", terms.total)
        guess = objectives.log_probability(self.discriminator(h.detach(), ego.mask), target)
        self._update("discriminator", -guess)
        return {name: part.detach() for name, part in terms.parts.items()}

    def _update(self, name: str, loss: Tensor) -> None:
        optimizer = self.optimizers[name]
        for other in chain(self.modules["vae"].parameters(), self.discriminator.parameters()):
            other.grad = None
        loss.backward()  # type: ignore[no-untyped-call]  # torch gives it no type
        torch.nn.utils.clip_grad_norm_(self.modules[name].parameters(), 5.0)
        optimizer.step()
