"""FairGNN: a classifier that hides a sensitive attribute which few people have disclosed."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated, Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from fairgear.errors import GraphError
from fairgear.graph import SensitiveGraph, rows_of
from fairgear.graph.targets import MULTICLASS, REGRESSION, Target
from fairgear.hashing import node_uniform
from fairgear.methods.base import METHODS, Scores
from fairgear.methods.baselines.layers import GcnLayer, GraphLayer, LayeredEncoder, SageLayer
from fairgear.methods.baselines.neighbors import NodeBatch
from fairgear.methods.baselines.whole_graph import (
    Inputs,
    WholeGraph,
    WholeGraphConfig,
    WholeGraphNetwork,
    WholeGraphTask,
    outputs,
)
from fairgear.methods.heads import BINARY_HEAD, Head
from fairgear.nn.sens_code import NUMBER, SensCode
from fairgear.settings import OneOf, Range
from fairgear.training import Validation, train

_LAYERS: dict[str, GraphLayer] = {"gcn": GcnLayer, "graphsage": SageLayer}
# Lower than Adam's default of 0.9, as is common in adversarial training.
_ADVERSARY_MOMENTUM = 0.5
# The share of steps before which the adversary is too weak for its verdict to count.
_SETTLED = 0.5


@dataclass(frozen=True)
class FairGnnConfig(WholeGraphConfig):
    """How FairGNN is built and trained; docs/reference/methods/fairgnn.md has the sources."""

    encoder: Annotated[str, OneOf("gcn", "graphsage")] = "gcn"
    """The layers of the classifier: gcn or graphsage."""
    use_sens: bool = False
    """Whether the classifier sees the sensitive attribute, of everybody then."""
    known_sens: Annotated[int, Range(0, 10**9)] = 200
    """People whose sensitive attribute training may read; 0 for everybody. Where some people's is
    unknown, it reads that of all others."""
    alpha: Annotated[float, Range(0, math.inf)] = 10.0
    """Weight of the covariance of predictions and sensitive attribute."""
    beta: Annotated[float, Range(0, math.inf)] = 1.0
    """Weight of the adversary's loss, which the representations should raise."""
    learning_rate: Annotated[float, Range(1e-8, 10.0)] = 0.003
    """Of Adam, for classifier and estimator."""
    adversary_steps: Annotated[int, Range(1, 1000)] = 5
    """Steps of the adversary for each of the classifier."""
    adversary_rate: Annotated[float, Range(1e-8, 10.0)] = 0.1
    """Learning rate of the adversary, which must keep up with the classifier."""
    estimator_dim: Annotated[int, Range(1, 65536)] = 128
    """Width of the layers that estimate the sensitive attribute; there are `layers` of them."""
    estimator_steps: Annotated[int, Range(1, 10**7)] = 100
    """Steps in which these are trained, before all others."""


@dataclass(frozen=True)
class PartlyKnown(Inputs):
    """A graph in which only some people have disclosed their sensitive attribute."""

    known: Tensor
    """(n,) whether they have."""


class Adversary(nn.Module):
    """A linear reader of s in representations of width `dim`.

    They are standardised first: otherwise the classifier could hide s by scaling it down, where
    any other reader would still find it.
    """

    def __init__(self, dim: int, guesses: int = 1) -> None:
        super().__init__()
        self.linear = nn.Linear(dim, guesses)

    def forward(self, z: Tensor) -> Tensor:
        """Logits (m,) of s = 1, or (m, groups) of each of several; the guess (m,) of a number."""
        centred = z - z.mean(dim=0)
        scale = (centred.square().mean(dim=0) + 1e-6).sqrt()
        logits: Tensor = self.linear(centred / scale)
        return logits[:, 0] if logits.shape[1] == 1 else logits


class FairGnnTask(WholeGraphTask):
    """L_C + α |Cov(ŝ, ŷ)| − β L_A for the classifier, L_A for the adversary, in turns.

    ŝ is the sensitive attribute of those who disclosed it, and an estimate for the others. The
    estimator is trained at the beginning of the first step and then fixed.
    """

    config: FairGnnConfig
    graph: PartlyKnown

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.optimizers["adversary"] = torch.optim.Adam(
            self.modules["adversary"].parameters(),
            lr=self.config.adversary_rate,
            betas=(_ADVERSARY_MOMENTUM, 0.999),
        )
        self._number = 0
        self.weights = {"covariance": self.config.alpha, "adversary": -self.config.beta}
        self.known_rows = self.graph.known.nonzero()[:, 0]
        sens = self.graph.sens
        self.groups = NUMBER if sens.is_floating_point() else max(2, int(sens.max()) + 1)
        values = torch.unique(sens[self.known_rows]).tolist()
        if len(values) < max(2, self.groups):
            what = f"the {len(self.known_rows)} people whose sensitive attribute is known"
            got, allowed = f"group {values[0]:g} alone", "people of both groups"
            if self.groups == NUMBER:
                got, allowed = "the same number for all of them", "numbers that differ"
            elif self.groups > 2:
                got = f"people of {len(values)} of {self.groups} groups"
                allowed = "people of all groups"
            raise GraphError(what, got, allowed, "raise known_sens")

    @cached_property
    def sens_score(self) -> Tensor:
        """ŝ (n,): s if known, else the estimated probability of s = 1, or the estimated number.

        Of several groups (n, groups): an indicator of the group, or the estimated probabilities.
        """
        estimate = estimated(self.modules["estimator"], self.graph, self.config, self.groups)
        sens, known = self.graph.sens, self.graph.known
        if self.groups > 2:
            sens, known = F.one_hot(sens, self.groups), known[:, None]
        return torch.where(known, sens.to(estimate.dtype), estimate.to(sens.device))

    def train_estimator(self) -> None:
        """Train it on those who disclosed s, from features and edges alone."""
        graph, rows = without_sens(self.graph, self.config, self.groups), self.known_rows
        modules = {"network": self.modules["estimator"]}
        head = head_of(self.groups)
        task = WholeGraphTask(modules, self.config, graph, graph.sens, rows, rows, head)
        # That of the step, which follows from the seed of the fit.
        seed = torch.initial_seed()
        steps = self.config.estimator_steps
        train(task, steps=steps, seed=seed, description="training the estimator")

    def terms(
        self, batch: NodeBatch, z: Tensor, logits: Tensor, labelled: Tensor, y: Tensor
    ) -> dict[str, Tensor]:
        """L_C of the labelled people; |Cov| and L_A of everybody the batch is about."""
        sens = batch.outputs(batch.inputs(self.sens_score))
        return super().terms(batch, z, logits, labelled, y) | {
            "covariance": self.dependence(covariance, sens, batch.outputs(logits)),
            "adversary": self.adversary_loss(batch.outputs(z), sens),
        }

    def dependence(
        self, of: Callable[[Tensor, Tensor], Tensor], sens: Tensor, logits: Tensor
    ) -> Tensor:
        """|Cov| or |corr| of ŝ and the answers; half the sum over several classes, or groups.

        For two classes that is the one of class 1, since both have the same; so for two groups.
        """
        soft = self.head.soft(logits)
        if sens.dim() == 2:
            return torch.stack([self.dependence(of, column, logits) for column in sens.T]).sum() / 2
        if soft.dim() == 1:
            return of(sens, soft).abs()
        return torch.stack([of(sens, column).abs() for column in soft.T]).sum() / 2

    def adversary_loss(self, z: Tensor, sens: Tensor) -> Tensor:
        """L_A: the cross-entropy of ŝ as the adversary reads it from the representations.

        Of several groups, summed over each against all others; of a number, half the squared error,
        as in C-ENC.
        """
        guess: Tensor = self.modules["adversary"](z)
        if self.groups == NUMBER:
            return F.mse_loss(guess, sens) / 2
        each = self.groups if self.groups > 2 else 1
        return each * F.binary_cross_entropy_with_logits(guess, sens)

    def step(self, number: int) -> dict[str, Tensor]:
        """One step of the classifier against the adversary, then those of the adversary."""
        self._number = number
        if number == 0:
            self.train_estimator()
        batch, labelled, y = self.draw()
        z, logits = self.network(batch.inputs(self.graph.x), batch.neighbors)
        terms = self.descend(self.terms(batch, z, logits, labelled, y))
        seen = batch.outputs(z.detach())
        sens = batch.outputs(batch.inputs(self.sens_score))
        for _ in range(self.config.adversary_steps):
            self.descend({"log_loss": self.adversary_loss(seen, sens)}, "adversary")
        return terms

    def validate(self) -> Validation | None:
        """AUROC less |corr(ŝ, ŷ)| on the validation set, in the second half of the steps.

        If α = β = 0, the AUROC alone, in all steps.
        """
        if self.config.alpha == self.config.beta == 0:
            return self.scored()
        if self._number + 1 < _SETTLED * self.config.steps:
            return None
        scored = self.scored()
        _, logits = outputs(self.network, self.graph, self.val_rows, self.config)
        sens = self.sens_score[self.val_rows].to(logits.device)
        found = self.dependence(correlation, sens, logits)
        # Non-finite scores count as the worst.
        dependence = float(found.nan_to_num(nan=1.0))
        figures = {**scored.figures, "dependence": dependence}
        return Validation(scored.score - dependence, figures)


class FairGnn(WholeGraph):
    """FairGNN (Dai and Wang, WSDM 2021), where few people have disclosed their attribute.

    Who they are depends on the seed and their ids. See docs/reference/methods/fairgnn.md.
    """

    name = "fairgnn"
    several_groups = number_of_s = True
    config_type = FairGnnConfig
    config: FairGnnConfig
    _settings: FairGnnConfig
    task_type = FairGnnTask

    def encoder(self, width: int) -> nn.Module:
        """A stack of the layers that the settings name."""
        return LayeredEncoder(_LAYERS[self._settings.encoder], width, self._settings)

    def build(self, width: int) -> dict[str, nn.Module]:
        """The network, the GCN that estimates s without seeing it, and a linear adversary."""
        config = self._settings
        # The network first, so that its initialisation does not depend on the others.
        modules = super().build(width)
        wide = replace(config, dim=config.estimator_dim)
        estimating = LayeredEncoder(GcnLayer, width - self._code.width * config.use_sens, wide)
        guesses = head_of(self.groups_).outputs
        return modules | {
            "estimator": WholeGraphNetwork(estimating, wide.dim, guesses),
            "adversary": Adversary(config.dim, guesses),
        }

    @torch.no_grad()
    def estimate_sens(self, graph: SensitiveGraph, *, nodes: Tensor | None = None) -> Scores:
        """Probabilities (m,) that `nodes` are in group 1, estimated without their own s.

        Of several groups (m, groups); of a number, the number itself. With few known people, the
        method can work only if these are informative.
        """
        self._fitted_threshold()
        # `device` may have been changed since the fit.
        self.scaler_.to(self._home())
        estimator = self._modules["estimator"].to(self.torch_device())
        guesses = estimated(estimator, self._inputs(graph), self._settings, self.groups_).cpu()
        rows = graph.canonical.numbers[rows_of(graph, nodes).cpu()]
        found = guesses[rows].double()
        if self._code.is_number:
            found = self._code.mean.cpu() + self._code.scale.cpu() * found
        return np.asarray(found.numpy())

    def _learn_inputs(self, graph: SensitiveGraph) -> None:
        super()._learn_inputs(graph)
        if self._code.is_number:
            # Those who did not tell their number have no part in its mean and deviation.
            known = self._inputs(graph).known.cpu()
            self._code.fit(graph.sens.cpu()[graph.canonical.rows][known])

    def _inputs(self, graph: SensitiveGraph) -> PartlyKnown:
        inputs = super()._inputs(graph)
        known = torch.ones(len(graph.node_id), dtype=torch.bool)
        if graph.sens_known is not None:
            known = graph.sens_known.cpu()
        elif self._settings.known_sens:
            draw = node_uniform(graph.node_id, self.seed, "known sensitive attribute")
            known[draw.argsort()[self._settings.known_sens :]] = False
        known = known[graph.canonical.rows].to(inputs.x.device)
        return PartlyKnown(inputs.x, inputs.sens, inputs.links, known)


def covariance(one: Tensor, other: Tensor) -> Tensor:
    """Of two variables over the same people, in the population (divided by their number)."""
    return ((one - one.mean()) * (other - other.mean())).mean()


def correlation(one: Tensor, other: Tensor) -> Tensor:
    """Pearson's; 0 where a variable is constant."""
    spread = (covariance(one, one) * covariance(other, other)).sqrt()
    return covariance(one, other) / spread.clamp(min=1e-12)


def without_sens(graph: Inputs, config: FairGnnConfig, groups: int) -> Inputs:
    """What the estimator sees: no s, whose code is last if the classifier has it."""
    code = SensCode(groups).width * config.use_sens
    return replace(graph, x=graph.x[:, : graph.x.shape[1] - code])


@torch.no_grad()
def estimated(
    estimator: nn.Module, graph: Inputs, config: FairGnnConfig, groups: int = 2
) -> Tensor:
    """The estimated probability of s = 1 of everybody, or of each group, or the number."""
    everybody = torch.arange(len(graph.x), device=graph.x.device)
    seen = without_sens(graph, config, groups)
    _, logits = outputs(estimator.eval(), seen, everybody, config)
    return head_of(groups).soft(logits)


def head_of(groups: int) -> Head:
    """Of s as what is estimated; a number is standardised already."""
    if groups == 2:
        return BINARY_HEAD
    if groups == NUMBER:
        return Head(Target(REGRESSION, ()))
    return Head(Target(MULTICLASS, tuple(map(str, range(groups)))))


METHODS.add(FairGnn.name, FairGnn)
