"""Training the graph VAE on egos, in turns with its discriminator."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from fairgear.methods.egos import Ego, EgoSource
from fairgear.methods.gear_paper.config import VaeConfig
from fairgear.nn import objectives
from fairgear.nn.graph_vae import Discriminator, GraphVAE
from fairgear.training import Task
from fairgear.training.cuda_graph import CapturedStep, adam, set_learning_rate
from fairgear.training.micro_batches import accumulated

# Gradients are clipped to this norm.
_MAX_NORM = 5.0


# What the discriminator reads: H, the mask of the members, and the true range.
Reading = tuple[Tensor, Tensor, Tensor]


class VaeTask(Task):
    """One step: the VAE minimises L_a = L_r + β L_d, then the discriminator maximises L_d."""

    def __init__(
        self,
        vae: GraphVAE,
        config: VaeConfig,
        egos: EgoSource,
        people: int,
        micro_batches: int = 1,
    ) -> None:
        self.vae = vae
        self.config = config
        self.egos = egos
        self.people = people
        self.micro_batches = micro_batches
        latent = vae.posterior.out_features // 2
        sizes = (latent, config.hidden, config.ranges, vae.code.width)
        self.discriminator = Discriminator(*sizes).to(egos.device)
        self.modules = {"vae": vae, "discriminator": self.discriminator}
        self.optimizers = {
            name: adam(module, config.learning_rate) for name, module in self.modules.items()
        }
        captured = egos.on_gpu and micro_batches == 1
        self._run = CapturedStep(self._update) if captured else self._update
        # Of a number, the ranges are parts of what the means of all egos span.
        self._ends = torch.empty(0)
        if vae.code.is_number:
            self._ends = torch.stack(torch.aminmax(egos.means())).to(egos.device)

    def step(self, number: int) -> dict[str, Tensor]:
        """Both turns on one batch."""
        # The rate falls to zero: at a constant one the learned shift varies from step to step by
        # more than its statistical error.
        for optimizer in self.optimizers.values():
            rate = self.config.learning_rate * (1 - number / self.config.steps)
            set_learning_rate(optimizer, rate)
        people = torch.randint(self.people, (self.config.batch_size,), device=self.egos.device)
        return self._run(people)

    def loss(self, ego: Ego) -> tuple[objectives.Terms, Reading]:
        """L_a, and what the discriminator reads in its own turn."""
        vae, config = self.vae, self.config
        target = self.ranges(ego)
        latent = vae.encode(ego.x, ego.sens, ego.adjacency, ego.mask)
        h = latent.sample()
        decoded = vae.decode_features(h, ego.sens)
        parts = {
            "features": objectives.gaussian_nll(ego.x, decoded, vae.feature_log_variance, ego.mask),
            "edges": objectives.edge_nll(
                ego.adjacency, vae.decode_edges(h, ego.sens), ego.mask, directed=vae.directed
            ),
            "kl": objectives.normal_kl(latent.mean, latent.log_variance, ego.mask),
            "discriminator": objectives.log_probability(self.discriminator(h, ego.mask), target),
        }
        weights = {"discriminator": config.discriminator_weight}
        return objectives.weighted(parts, weights), (h.detach(), ego.mask, target)

    def ranges(self, ego: Ego) -> Tensor:
        """The true range (B,) of the egos' mean s; (B, groups − 1) of several groups' shares."""
        code, ranges = self.vae.code, self.config.ranges
        if code.is_number:
            return objectives.mean_range(ego.sens, ego.mask, ranges, self._ends)
        if code.width == 1:
            return objectives.sensitive_range(ego.sens, ego.mask, ranges)
        return objectives.sensitive_range(code(ego.sens), ego.mask[..., None], ranges)

    def _update(self, people: Tensor) -> dict[str, Tensor]:
        kept: list[Reading] = []

        def vae_turn(part: Tensor) -> dict[str, Tensor]:
            terms, reading = self.loss(self.egos(part))
            kept.append(reading)
            return objectives.backward(terms)

        def discriminator_turn(part: Tensor) -> dict[str, Tensor]:
            h, mask, target = kept.pop(0)
            guess = objectives.log_probability(self.discriminator(h, mask), target)
            return objectives.backward(objectives.weighted({"guess": guess}, {"guess": -1.0}))

        terms = self._turn("vae", vae_turn, people)
        self._turn("discriminator", discriminator_turn, people)
        return terms

    def _turn(
        self, name: str, work: Callable[[Tensor], dict[str, Tensor]], people: Tensor
    ) -> dict[str, Tensor]:
        # Each turn also leaves gradients in the other network.
        for module in self.modules.values():
            module.zero_grad(set_to_none=True)
        terms = accumulated(self.micro_batches, [self.modules[name]], work, people)
        torch.nn.utils.clip_grad_norm_(self.modules[name].parameters(), _MAX_NORM)
        self.optimizers[name].step()
        return terms
