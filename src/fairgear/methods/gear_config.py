"""The settings of Gear and of its generator, with the default and the `paper` preset."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Annotated, Any, Self

from fairgear.errors import ParameterError
from fairgear.settings import Config, OneOf, Range

ENCODER_NAMES = ("graphsage", "gcn", "gin", "jk", "infomax")
VARIANTS = ("full", "ns", "nn", "np", "nc")
PRECISIONS = ("float32", "tf32", "bf16")
# Training labels up to which both ways to train are tried.
FEW_LABELS = 5000
# People of a graph up to which the members of egos are proven, where it is left open.
EXACT_UP_TO = 50_000


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
    learning_rate: Annotated[float, Range(1e-08, 10.0)] = 0.003
    """Of Adam, for the VAE and the discriminator."""


@dataclass(frozen=True)
class Regime:
    """How hard to train, and how much to hold the network back.

    What few labels can bear hangs on how plainly the features tell the label: a hard task is
    learned by heart unless the network is held back, an easy one is not learned if it is. So with
    few labels both ways are tried, and the validation people decide.
    """

    layers: int
    dropout: float
    weight_decay: float
    logit_weight: float
    learning_rate: float
    steps: int
    batch_size: int
    normalize_rows: bool
    direction: str
    threshold: str
    consistency: str
    ranks: str
    averaging: float

    @classmethod
    def held_back(cls) -> Self:
        """For up to `FEW_LABELS`, where the task is hard."""
        return cls(
            layers=1,
            dropout=0.5,
            weight_decay=1e-3,
            logit_weight=1.0,
            learning_rate=0.01,
            steps=1000,
            batch_size=100,
            normalize_rows=False,
            direction="generator",
            threshold="half",
            consistency="logit",
            ranks="unseen",
            averaging=0.99,
        )

    @classmethod
    def let_loose(cls) -> Self:
        """For up to `FEW_LABELS`, where it is easy."""
        return cls(
            layers=2,
            dropout=0.3,
            weight_decay=1e-5,
            logit_weight=2.0,
            learning_rate=0.01,
            steps=2000,
            batch_size=100,
            normalize_rows=True,
            direction="means",
            threshold="half",
            consistency="boundary",
            ranks="beside",
            averaging=0.0,
        )

    @classmethod
    def many(cls) -> Self:
        """Above: let loose, in smaller steps on larger batches."""
        return replace(
            cls.let_loose(),
            learning_rate=0.003,
            batch_size=300,
            threshold="validation",
        )

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """From plain values; what a setting could not be is refused, and so is one left open."""
        regime = cls(**values)
        GearConfig.from_dict(asdict(regime))
        if any(value in (None, "auto") for value in asdict(regime).values()):
            raise ParameterError("regime", "a setting left open", "all of them", "fill it in")
        return regime

    @property
    def from_generator(self) -> bool:
        """Whether the direction to erase is the generator's, where there is one."""
        return self.direction == "generator"


@dataclass(frozen=True)
class RegimeTrial:
    """A regime that was tried, and its best score on the validation people."""

    regime: Regime
    score: float


@dataclass(frozen=True)
class GearConfig(Config):
    """Everything that decides how Gear learns; the defaults are the default preset.

    What is in brackets is used where a setting is left open. Where there are two ways, one holds
    the network back and the other lets it loose: up to 5,000 training labels both are tried and
    the validation people decide, above that the network is let loose.
    """

    encoder: Annotated[str, OneOf(*ENCODER_NAMES)] = "graphsage"
    """The subgraph encoder: graphsage, gcn, gin, jk or infomax."""
    variant: Annotated[str, OneOf(*VARIANTS)] = "full"
    """full; ns, nn, np without self, neighbour, any perturbation; nc without the generator."""
    augmentation: Annotated[str, OneOf("vae", "causal")] = "vae"
    """Where counterfactual egos come from: a graph `vae` that is trained first, or a `causal`
    model, that of the graph unless another is given."""
    k: Annotated[int, Range(1, 64)] = 20
    """Members of an ego, its centre counted; at most 64."""
    alpha: Annotated[float, Range(1e-06, 1 - 1e-06)] = 0.15
    """Restart probability of the personalised PageRank that picks them."""
    egos: Annotated[str, OneOf("auto", "exact", "close")] = "auto"
    """Whether the members are proven to be the right ones: `exact`; `close`, which takes a
    fraction of the time and finds 99.5 % of them; or `auto`. [exact up to 50,000 people]"""
    layers: Annotated[int | None, Range(1, 16)] = None
    """Layers of the encoder. [1 or 2]"""
    dim: Annotated[int, Range(1, 65536)] = 64
    """Dimension of the representations."""
    dropout: Annotated[float | None, Range(0, 0.99)] = None
    """In encoder and classifier. [0.5 or 0.3]"""
    fairness_weight: Annotated[float, Range(0, math.inf)] = 0.6
    """λ: weight of the distance between embeddings of factual and counterfactual egos."""
    neighbor_weight: Annotated[float, Range(0, 1)] = 0.4
    """λ_s: share of the neighbour-perturbed egos in that distance."""
    neighbor_draws: Annotated[int, Range(1, 64)] = 2
    """C: neighbour-perturbed egos a person and step."""
    logit_weight: Annotated[float | None, Range(0, math.inf)] = None
    """Weight of the difference of factual and counterfactual logits, see `consistency`. [1 or 2]"""
    weight_decay: Annotated[float | None, Range(0, math.inf)] = None
    """μ: weight of the squared norm of the parameters. [0.001 or 0.00001]"""
    consistency: Annotated[str, OneOf("auto", "logit", "boundary")] = "auto"
    """What of the logits must be alike: the `logit` itself; its tanh, which hardly moves far from
    the `boundary` at a probability of one half; or `auto`. [logit or boundary]"""
    r2_limit: Annotated[float, Range(0, 1)] = 0.035
    """The R² between predicted labels and the mean sensitive value around a person that is allowed
    on the validation people: as long as it is above, its weight in the loss grows, and that of the
    logits with it. 1 allows all."""
    projection_heads: bool = False
    """Compare embeddings behind a projector and a predictor, as the released code does."""
    min_dose: Annotated[float, Range(0, 1)] = 0.0
    """Counterfactual changes in training are scaled by a dose drawn from [min_dose, 1]."""
    edge_noise: Annotated[float, Range(0, 1)] = 1.0
    """Each training ego loses up to this share of its edges, and gains as many elsewhere."""
    use_sens: bool = False
    """Whether the encoder sees the sensitive column."""
    erase: Annotated[float | None, Range(0, 1)] = 1.0
    """The dial between being alike under both protocols (1) and under `strict` alone (0), which
    is more accurate: the share of the direction in which the groups differ that is projected out
    of the features; the rest is undone by each person's own s. None leaves the features as they
    are."""
    direction: Annotated[str, OneOf("auto", "generator", "means")] = "auto"
    """The direction to erase: the shift that the `generator` has learned, the difference of the
    groups' `means`, or `auto`. [generator or means]"""
    normalize_rows: bool | None = None
    """Scale each person's features to unit length, so that a common factor changes nothing; by
    a length that is nearly the same for everybody, so that little else is lost. [no, or yes where
    `erase` is 1]"""
    ranks: Annotated[str, OneOf("auto", "unseen", "beside", "alone")] = "auto"
    """Whether the encoder sees where each feature, after erasing and scaling, stands among those
    of all people: `beside` the features, `alone`, `unseen`, or `auto`. [unseen or beside]"""
    learning_rate: Annotated[float | None, Range(1e-08, 10.0)] = None
    """Of Adam. [0.01 up to 5,000 training labels, above that 0.003]"""
    steps: Annotated[int | None, Range(1, 10**7)] = None
    """Training steps, one batch each. [1,000 or 2,000]"""
    batch_size: Annotated[int | None, Range(2, 10**6)] = None
    """Egos a batch, of labelled people for the prediction and of all people for fairness. [100 up
    to 5,000 training labels, above that 300]"""
    micro_batches: Annotated[int, Range(1, 10**4)] = 1
    """Parts of a batch that are computed apart, so that as many processes can share a step."""
    precision: Annotated[str, OneOf(*PRECISIONS)] = "float32"
    """Of products of matrices in training: float32, or on cards that can tf32; or bf16."""
    validate_every: Annotated[int, Range(1, 10**7)] = 20
    """Steps between two looks at the validation data."""
    patience: Annotated[int, Range(0, 10**7)] = 0
    """Steps without a better state after which training ends before its time; 0 for never."""
    averaging: Annotated[float | None, Range(0, 0.9999)] = None
    """Decay of the running average of the weights that is validated and kept; 0 for none. [0.99
    or 0]"""
    selection: Annotated[str, OneOf("tradeoff", "loss")] = "tradeoff"
    """The validated state to keep: best `tradeoff`, AUROC less flips and less ten times what
    R² is above its limit, or least `loss`."""
    threshold: Annotated[str, OneOf("auto", "half", "validation")] = "auto"
    """The decision threshold: `half` (0.5), the most accurate on `validation` data, or `auto`:
    half up to 5,000 training labels, above that validation."""
    generator: GeneratorConfig = field(default_factory=GeneratorConfig)
    """The generator of counterfactual egos."""

    def check_together(self) -> None:
        """Refuse settings that are fine one by one and not together."""
        self.check_labels(100)

    def check_labels(self, labels: int) -> None:
        """Refuse parts of a batch that so many labels cannot fill."""
        sizes = (self.batch_size, self.generator.batch_size, labels)
        smallest = min(size for size in sizes if size is not None)
        if self.micro_batches > 1 and smallest < 2 * self.micro_batches:
            # Batch norm needs two people to tell a mean from a spread.
            raise ParameterError(
                "micro_batches",
                f"{self.micro_batches} of batches that may have {smallest} people",
                "at least two people in each",
                "use fewer micro-batches, or larger batches",
            )

    @classmethod
    def paper(cls, **changes: Any) -> Self:
        """The paper to the letter: what its text says, none of what fairgear adds."""
        preset = dict(
            layers=2,
            dim=1024,
            dropout=0.5,
            weight_decay=1e-5,
            learning_rate=0.001,
            steps=1000,
            batch_size=100,
            normalize_rows=False,
            consistency="logit",
            ranks="unseen",
            direction="generator",
            threshold="half",
            averaging=0.0,
            logit_weight=0.0,
            r2_limit=1.0,
            min_dose=1.0,
            edge_noise=0.0,
            use_sens=True,
            erase=None,
            selection="loss",
            generator=GeneratorConfig(discriminator_weight=10.0, covariance_weight=0.0),
        )
        return cls.from_dict({**preset, **changes})

    def regimes(self, labels: int) -> tuple[Regime, ...]:
        """The ways to try on that many labels; what is set here goes before what they say."""
        few = (Regime.held_back(), Regime.let_loose())
        ways: tuple[Regime, ...] = few if labels <= FEW_LABELS else (Regime.many(),)
        # Unit rows are for `released` alone, which this end of the dial does not promise.
        ways = tuple(
            replace(way, normalize_rows=way.normalize_rows and self.erase == 1) for way in ways
        )
        own = {name: getattr(self, name) for name in asdict(ways[0])}
        settled = {name: value for name, value in own.items() if value not in (None, "auto")}
        return tuple(dict.fromkeys(replace(way, **settled) for way in ways))

    def effective(self) -> Self:
        """What the variant leaves of the settings.

        Without perturbations (np) nothing of the fairness machinery is left; without the
        generator (nc) nothing that is learned from it, and s must be an input or its flip would
        change nothing.
        """
        if self.variant == "np":
            return replace(self, use_sens=True, erase=None, edge_noise=0.0, r2_limit=1.0)
        if self.variant == "nc":
            return replace(self, use_sens=True, erase=None)
        return self

    def ego_precision(self, people: int) -> str:
        """How sure the members of egos are to be in a graph of so many people."""
        if self.egos != "auto":
            return self.egos
        return "exact" if people <= EXACT_UP_TO else "close"

    @property
    def least_dose(self) -> float:
        """The least dose of a training counterfactual, as far as the dial allows.

        Where s undoes the shift, an ego whose features moved by less than s says is no
        counterfactual that the encoder should ignore.
        """
        share = 1.0 if self.erase is None else self.erase
        return 1 - share * (1 - self.min_dose)

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
