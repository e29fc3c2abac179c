"""The settings of Gear, and the constants of its training recipes. Imports no torch."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Self

from fairgear.methods.ego_settings import check_micro_batches, ego_precision
from fairgear.settings import Config, OneOf, Range

# Training labels up to which both recipes are trained.
FEW_LABELS = 5000


@dataclass(frozen=True)
class GeneratorConfig(Config):
    """The graph VAE that makes counterfactual egos."""

    latent: Annotated[int, Range(1, 4096)] = 16
    """Dimension of H."""
    hidden: Annotated[int, Range(1, 4096)] = 64
    """Width of its hidden layers."""
    discriminator_weight: Annotated[float, Range(0, math.inf)] = 0.0
    """β: how much H must hide the ego's mean sensitive value from the discriminator."""
    ranges: Annotated[int, Range(2, 64)] = 4
    """B: equal ranges of that mean which the discriminator tells apart."""
    covariance_weight: Annotated[float, Range(0, math.inf)] = 100.0
    """How much H must be uncorrelated with s, node by node."""
    steps: Annotated[int, Range(1, 10**7)] = 1000
    """Training steps, one batch each."""
    batch_size: Annotated[int, Range(2, 10**6)] = 200
    """Egos a batch."""
    learning_rate: Annotated[float, Range(1e-8, 10.0)] = 0.003
    """Of Adam, for the VAE and the discriminator."""


@dataclass(frozen=True)
class Recipe(Config):
    """How encoder and classifier are trained: constants that were tuned once.

    With few labels, the right amount of regularisation depends on how predictable the label is. So
    with few labels both `REGULARISED` and `FLEXIBLE` are trained, and the validation set decides;
    with many, `FLEXIBLE_MANY` is. The defaults are those of `REGULARISED`.
    """

    layers: Annotated[int, Range(1, 16)] = 1
    """Of the encoder."""
    dropout: Annotated[float, Range(0, 0.99)] = 0.5
    """In encoder and classifier."""
    weight_decay: Annotated[float, Range(0, math.inf)] = 1e-3
    """μ: weight of the squared norm of the parameters."""
    logit_weight: Annotated[float, Range(0, math.inf)] = 1.0
    learning_rate: Annotated[float, Range(1e-8, 10.0)] = 0.01
    steps: Annotated[int, Range(1, 10**7)] = 1000
    batch_size: Annotated[int, Range(2, 10**6)] = 100
    threshold: Annotated[str, OneOf("half", "validation")] = "half"
    row_norm: bool = False
    """Whether rows are scaled to unit norm, which removes a factor common to all features."""
    direction: Annotated[str, OneOf("generator", "means")] = "generator"
    """What is erased: the generator's shift, or the difference of the groups' means."""
    consistency: Annotated[str, OneOf("logit", "boundary")] = "logit"
    """What must be alike: the logit, or its tanh, which differs only near the boundary."""
    ranks: bool = False
    """Whether the encoder also sees the rank of each feature."""
    averaging: Annotated[float, Range(0, 0.9999)] = 0.99
    """Decay of the running average of the weights that is validated and kept; 0 for none."""
    min_dose: Annotated[float, Range(0, 1)] = 0.0
    """Counterfactual changes are scaled by a dose drawn from [min_dose, 1]."""
    edge_noise: Annotated[float, Range(0, 1)] = 1.0
    """Each training ego loses up to this share of its edges and gains as many elsewhere."""
    use_sens: bool = False
    """Whether the encoder sees s."""
    selection: Annotated[str, OneOf("tradeoff", "loss")] = "tradeoff"
    """The state to keep: best AUROC less flips and excess R², or least loss."""
    validate_every: Annotated[int, Range(1, 10**7)] = 20
    """Steps between two validations."""


REGULARISED = Recipe()
FLEXIBLE = Recipe(
    layers=2,
    dropout=0.3,
    weight_decay=1e-5,
    logit_weight=2.0,
    steps=2000,
    row_norm=True,
    direction="means",
    consistency="boundary",
    ranks=True,
    averaging=0.0,
)
FLEXIBLE_MANY = replace(FLEXIBLE, learning_rate=0.003, batch_size=300, threshold="validation")


@dataclass(frozen=True)
class RecipeTrial:
    """A recipe that was trained, and its best validation score."""

    recipe: Recipe
    score: float


@dataclass(frozen=True)
class GearConfig(Config):
    """The settings of `Gear`, which says what they mean."""

    encoder: Annotated[str, OneOf("graphsage", "gcn", "gin", "jk", "infomax")] = "graphsage"
    variant: Annotated[str, OneOf("full", "ns", "nn", "np", "nc")] = "full"
    augmentation: Annotated[str, OneOf("vae", "causal")] = "vae"
    k: Annotated[int, Range(1, 64)] = 20
    egos: Annotated[str, OneOf("auto", "exact", "close")] = "auto"
    dim: Annotated[int, Range(1, 65536)] = 64
    fairness_weight: Annotated[float, Range(0, math.inf)] = 0.6
    neighbor_weight: Annotated[float, Range(0, 1)] = 0.4
    neighbor_draws: Annotated[int, Range(1, 64)] = 2
    logit_weight: Annotated[float | None, Range(0, math.inf)] = None
    erase: Annotated[float | None, Range(0, 1)] = 1.0
    r2_limit: Annotated[float, Range(0, 1)] = 0.035
    learning_rate: Annotated[float | None, Range(1e-8, 10.0)] = None
    steps: Annotated[int | None, Range(1, 10**7)] = None
    batch_size: Annotated[int | None, Range(2, 10**6)] = None
    micro_batches: Annotated[int, Range(1, 10**4)] = 1
    threshold: Annotated[str, OneOf("auto", "half", "validation")] = "auto"
    generator: GeneratorConfig = field(default_factory=GeneratorConfig)
    recipe: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        super().__post_init__()
        Recipe.from_dict(self.recipe)

    def recipes(self, labels: int) -> tuple[Recipe, ...]:
        """The recipes to train for that many labels, with the settings of this config."""
        found = (REGULARISED, FLEXIBLE) if labels <= FEW_LABELS else (FLEXIBLE_MANY,)
        own = {
            "logit_weight": self.logit_weight,
            "learning_rate": self.learning_rate,
            "steps": self.steps,
            "batch_size": self.batch_size,
            "threshold": None if self.threshold == "auto" else self.threshold,
        }
        given = self.recipe | {name: value for name, value in own.items() if value is not None}
        # Unit rows serve the `released` protocol, which needs everything erased.
        ready = (replace(one, row_norm=one.row_norm and self.erase == 1) for one in found)
        return tuple(dict.fromkeys(replace(one, **given) for one in ready))

    def effective(self) -> Self:
        """The settings that the variant leaves in force.

        Without perturbations (np), there is no fairness machinery. Without the generator (nc),
        nothing is learned from it, and s must be an input or its flip would change nothing.
        """
        if self.variant == "np":
            recipe = self.recipe | {"use_sens": True, "edge_noise": 0.0}
            return replace(self, erase=None, r2_limit=1.0, recipe=recipe)
        if self.variant == "nc":
            return replace(self, erase=None, recipe=self.recipe | {"use_sens": True})
        return self

    def check_batches(self, labels: int, processes: int = 1) -> None:
        """Refuse micro-batches that cannot be shared or normalised."""
        sizes = (self.batch_size, self.generator.batch_size, labels)
        smallest = min(size for size in sizes if size is not None)
        check_micro_batches(self.micro_batches, smallest, processes)

    def ego_precision(self, people: int) -> str:
        """`exact` or `close`, for a graph of that many people."""
        return ego_precision(self.egos, people)

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
        return self.variant not in ("np", "nc") and self.augmentation == "vae"

    @property
    def uses_causal_model(self) -> bool:
        """Whether a causal model takes its place."""
        return self.variant not in ("np", "nc") and self.augmentation == "causal"
