"""The settings of GearPaper, and the paper's constants. Imports no torch."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Annotated

from fairgear.methods.ego_settings import check_micro_batches, ego_precision
from fairgear.settings import Config, OneOf, Range

# Layers of the encoder.
LAYERS = 2
# In encoder and classifier.
DROPOUT = 0.5
# μ: weight of the squared norm of the parameters.
WEIGHT_DECAY = 1e-5
# Steps between two validations.
VALIDATE_EVERY = 20


@dataclass(frozen=True)
class VaeConfig(Config):
    """The graph VAE that makes counterfactual egos, and how they are made with it."""

    latent: Annotated[int, Range(1, 4096)] = 16
    """Dimension of H."""
    hidden: Annotated[int, Range(1, 4096)] = 64
    """Width of its hidden layers."""
    discriminator_weight: Annotated[float, Range(0, math.inf)] = 10.0
    """β: how much H must hide the ego's mean sensitive value from the discriminator."""
    ranges: Annotated[int, Range(2, 64)] = 4
    """B: equal ranges of that mean which the discriminator tells apart."""
    steps: Annotated[int, Range(1, 10**7)] = 1000
    """Training steps, one batch each."""
    batch_size: Annotated[int, Range(2, 10**6)] = 200
    """Egos a batch."""
    learning_rate: Annotated[float, Range(1e-8, 10.0)] = 0.003
    """Of Adam, for the VAE and the discriminator."""
    counterfactuals: Annotated[str, OneOf("abduction", "decoder")] = "abduction"
    """Counterfactual egos keep what the decoder cannot explain, or are its output (the text)."""
    sample_latent: bool = False
    """Whether H is a sample of its posterior, as in the text, or the posterior's mean."""


@dataclass(frozen=True)
class GearPaperConfig(Config):
    """The settings of `GearPaper`, which says what they mean.

    Example:
        >>> from fairgear.methods import GearPaperConfig
        >>> config = GearPaperConfig(variant="nn")
        >>> config.perturbs_self, config.perturbs_neighbors
        (True, False)
    """

    encoder: Annotated[str, OneOf("graphsage", "gcn", "gin", "jk", "infomax")] = "graphsage"
    variant: Annotated[str, OneOf("full", "ns", "nn", "np", "nc")] = "full"
    k: Annotated[int, Range(1, 64)] = 20
    egos: Annotated[str, OneOf("auto", "exact", "close")] = "auto"
    dim: Annotated[int, Range(1, 65536)] = 1024
    fairness_weight: Annotated[float, Range(0, math.inf)] = 0.6
    neighbor_weight: Annotated[float, Range(0, 1)] = 0.4
    neighbor_draws: Annotated[int, Range(1, 64)] = 2
    learning_rate: Annotated[float, Range(1e-8, 10.0)] = 0.001
    steps: Annotated[int, Range(1, 10**7)] = 1000
    epochs: Annotated[int | None, Range(1, 10**6)] = None
    batch_size: Annotated[int, Range(2, 10**6)] = 100
    micro_batches: Annotated[int, Range(1, 10**4)] = 1
    threshold: Annotated[str, OneOf("half", "validation")] = "half"
    generator: VaeConfig = field(default_factory=VaeConfig)

    @property
    def perturbs_self(self) -> bool:
        """Whether self-perturbed egos take part in training."""
        return self.variant in ("full", "nn", "nc")

    @property
    def perturbs_neighbors(self) -> bool:
        """Whether neighbour-perturbed egos take part in training."""
        return self.variant in ("full", "ns", "nc")

    @property
    def uses_vae(self) -> bool:
        """Whether a graph VAE is trained."""
        return self.variant not in ("np", "nc")

    def batches(self, labels: int) -> int:
        """The batches of an epoch of so many labelled people, as equal in size as they can be."""
        return math.ceil(labels / self.batch_size)

    def training_steps(self, labels: int) -> int:
        """`steps`, or those of all epochs."""
        return self.steps if self.epochs is None else self.epochs * self.batches(labels)

    def validate_every(self, labels: int) -> int:
        """Steps between two validations: those of an epoch where there are epochs, but not few."""
        return max(VALIDATE_EVERY, 0 if self.epochs is None else self.batches(labels))

    def check_batches(self, labels: int, processes: int = 1) -> None:
        """Refuse micro-batches that cannot be shared or normalised."""
        smallest = labels // self.batches(labels) if self.epochs else min(self.batch_size, labels)
        smallest = min(smallest, self.generator.batch_size)
        check_micro_batches(self.micro_batches, smallest, processes)

    def ego_precision(self, people: int) -> str:
        """`exact` or `close`, for a graph of that many people."""
        return ego_precision(self.egos, people)
