"""C-ENC: embeddings through a filter that hides s from an adversary."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Annotated, Any

import torch.nn.functional as F
from torch import Tensor, nn

from fairgear.methods.base import METHODS
from fairgear.methods.baselines.gnn import Gcn, Gin, GraphSage
from fairgear.methods.baselines.layers import LayeredEncoder
from fairgear.methods.baselines.neighbors import Neighbors, NodeBatch
from fairgear.methods.baselines.whole_graph import WholeGraph, WholeGraphConfig, WholeGraphTask
from fairgear.settings import OneOf, Range
from fairgear.training import Validation

LAYERS = {kind.name: kind.layer for kind in (GraphSage, Gcn, Gin)}


@dataclass(frozen=True)
class CencConfig(WholeGraphConfig):
    """How C-ENC is built and trained."""

    layer: Annotated[str, OneOf("graphsage", "gcn", "gin")] = "graphsage"
    """The layers of the encoder: graphsage, gcn or gin."""
    adversary_weight: Annotated[float, Range(0, math.inf)] = 10.0
    """λ: how much the filtered embeddings must hide s from the discriminator."""
    discriminator_steps: Annotated[int, Range(1, 1000)] = 5
    """Steps of the discriminator before each step of the network."""
    selection: Annotated[str, OneOf("last", "auroc")] = "last"
    """The state to keep: the `last`, or the one with the best validation `auroc`."""


class FilteredEncoder(nn.Module):
    """An encoder as in `WholeGraphNetwork`, and the filter of s on its output (m, dim)."""

    def __init__(self, encoder: nn.Module, dim: int) -> None:
        super().__init__()
        self.encoder = encoder
        self.filter = nn.Sequential(_leaky(dim, 2 * dim, dim), nn.LeakyReLU())

    def forward(self, x: Tensor, neighbors: Neighbors) -> Tensor:
        """Filtered embeddings (m, dim)."""
        filtered: Tensor = self.filter(self.encoder(x, neighbors))
        return filtered


class CencTask(WholeGraphTask):
    """The cross-entropy of the labels, and λ times the log-probability of s by D.

    The discriminator takes its steps on the current embeddings, then the network takes one step
    against that discriminator.
    """

    config: CencConfig

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.discriminator = self.modules["discriminator"]
        self.optimizers["discriminator"] = self.optimizer(self.discriminator)
        self.weights = {"adversary": self.config.adversary_weight}
        self.steps_taken = 0

    def terms(
        self, batch: NodeBatch, z: Tensor, logits: Tensor, labelled: Tensor, y: Tensor
    ) -> dict[str, Tensor]:
        """`prediction`, and the `adversary`: the mean of log D(s)."""
        parts = super().terms(batch, z, logits, labelled, y)
        return parts | {"adversary": -self.log_loss(batch.outputs(z), self.sens(batch))}

    def sens(self, batch: NodeBatch) -> Tensor:
        """s of the people that a batch is about."""
        return batch.outputs(batch.inputs(self.graph.sens))

    def log_loss(self, z: Tensor, sens: Tensor) -> Tensor:
        """−log D(s), averaged: what the discriminator minimises; of several groups, summed.

        A number is normal around the guess. With its variance at 1 the loss is ½ where nothing is
        read, and an R² of a little takes half of that off: as much as off the cross-entropy.
        """
        logits: Tensor = self.discriminator(z)
        groups = logits.shape[1]
        if sens.is_floating_point():
            return F.mse_loss(logits[:, 0], sens.to(z.dtype)) / 2
        if groups == 1:
            return F.binary_cross_entropy_with_logits(logits[:, 0], sens.to(z.dtype))
        each = F.one_hot(sens.long(), groups).to(z.dtype)
        return groups * F.binary_cross_entropy_with_logits(logits, each)

    def step(self, number: int) -> dict[str, Tensor]:
        """The discriminator's steps and one of the network, on the same people."""
        self.steps_taken = number + 1
        batch, labelled, y = self.draw()
        z, logits = self.network(batch.inputs(self.graph.x), batch.neighbors)
        seen, sens = batch.outputs(z).detach(), self.sens(batch)
        for _ in range(self.config.discriminator_steps):
            self.descend({"log_loss": self.log_loss(seen, sens)}, "discriminator")
        return self.descend(self.terms(batch, z, logits, labelled, y))

    def validate(self) -> Validation:
        """Score by AUROC, or by the step where the last state is kept."""
        found = self.scored()
        if self.config.selection == "auroc":
            return found
        return replace(found, score=float(self.steps_taken))


class Cenc(WholeGraph):
    """C-ENC (Bose and Hamilton, ICML 2019), for one sensitive attribute and a classifier.

    With several groups the discriminator tells each of them from all others. A number it guesses.
    """

    name = "c-enc"
    several_groups = number_of_s = True
    config_type = CencConfig
    config: CencConfig
    _settings: CencConfig
    task_type = CencTask

    def encoder(self, width: int) -> nn.Module:
        """A stack of layers with the filter behind it."""
        stack = LayeredEncoder(LAYERS[self._settings.layer], width, self._settings)
        return FilteredEncoder(stack, self._settings.dim)

    def build(self, width: int) -> dict[str, nn.Module]:
        """The network, and the discriminator: logits of s from filtered embeddings.

        (m, 1) for two groups and for a number, (m, groups) for more groups.
        """
        # The network first, so that its initialisation does not depend on the discriminator's.
        modules, dim = super().build(width), self._settings.dim
        guesses = self.groups_ if self.groups_ > 2 else 1
        return modules | {"discriminator": _leaky(dim, 2 * dim, dim, max(1, dim // 2), guesses)}


def _leaky(*widths: int) -> nn.Sequential:
    """An MLP with leaky ReLU between its layers."""
    layers: list[nn.Module] = []
    for before, after in pairwise(widths):
        layers += [nn.Linear(before, after), nn.LeakyReLU()]
    return nn.Sequential(*layers[:-1])


METHODS.add(Cenc.name, Cenc)
