"""FairGNN: a classifier whose representations are to hide a sensitive attribute that few told."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from fairgear.errors import GraphError
from fairgear.graph import SensitiveGraph, rows_of
from fairgear.hashing import node_uniform
from fairgear.methods.base import METHODS, Scores
from fairgear.methods.fairgnn_config import FairGnnConfig
from fairgear.methods.gnn import GcnLayer, GraphLayer, LayeredEncoder, SageLayer
from fairgear.methods.node_batches import NodeBatch
from fairgear.methods.whole_graph import (
    People,
    WholeGraph,
    WholeGraphNetwork,
    WholeGraphTask,
    outputs,
)
from fairgear.methods.whole_graph_config import WholeGraphConfig
from fairgear.nn import objectives
from fairgear.training import Validation, train

_LAYERS: dict[str, type[GraphLayer]] = {"gcn": GcnLayer, "graphsage": SageLayer}
# Lower than the usual 0.9, as is common where two networks play against each other.
_ADVERSARY_MOMENTUM = 0.5
# Before that the adversary has not caught up, and representations that tell s look fine to it.
_SETTLED = 0.5


@dataclass(frozen=True)
class PartlyKnownPeople(People):
    """People of whom only some have told their sensitive attribute."""

    known: Tensor
    """(n,) who has."""


class Adversary(nn.Module):
    """A linear reader of s in representations.

    They are brought to zero mean and unit variance first: otherwise the classifier could hide s
    from it by making small what tells it, where anybody else would still find it.

    Args:
        dim: the width of the representations.
    """

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.linear = nn.Linear(dim, 1)

    def forward(self, z: Tensor) -> Tensor:
        """Logits (m,) of s = 1."""
        centred = z - z.mean(dim=0)
        scale = (centred.square().mean(dim=0) + 1e-6).sqrt()
        logits: Tensor = self.linear(centred / scale)
        return logits[:, 0]


class FairGnnTask(WholeGraphTask):
    """L_C + α |Cov(ŝ, ŷ)| − β L_A for the classifier, L_A for the adversary, in turns.

    ŝ is the sensitive attribute of those who told it, and for the others an estimate: the first
    step begins with the training of the estimator, which then stays as it is.
    """

    config: FairGnnConfig
    people: PartlyKnownPeople

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.optimizers["adversary"] = torch.optim.Adam(
            self.modules["adversary"].parameters(),
            lr=self.config.adversary_rate,
            betas=(_ADVERSARY_MOMENTUM, 0.999),
        )
        self._number = 0
        self.weights = {"covariance": self.config.alpha, "adversary": -self.config.beta}
        self.known_rows = self.people.known.nonzero()[:, 0]
        groups = set(self.people.sens[self.known_rows].tolist())
        if len(groups) < 2:
            raise GraphError(
                f"the {len(self.known_rows)} people whose sensitive attribute is known",
                f"group {groups.pop()} alone",
                "people of both groups",
                "raise known_sens",
            )

    @cached_property
    def sens_score(self) -> Tensor:
        """ŝ (n,): what is known, else the estimated probability of s = 1."""
        estimate = estimated(self.modules["estimator"], self.people, self.config)
        told = self.people.sens.to(estimate.dtype)
        return torch.where(self.people.known, told, estimate.to(told.device))

    def train_estimator(self) -> None:
        """Cross-entropy of those who told, from features and links alone."""
        people = without_sens(self.people, self.config)
        rows = self.known_rows
        task = WholeGraphTask(
            {"network": self.modules["estimator"]}, self.config, people, people.sens, rows, rows
        )
        train(
            task,
            steps=self.config.estimator_steps,
            # That of the step: what is drawn here follows from the seed of the fit, too.
            seed=torch.initial_seed(),
            description="training the estimator",
        )

    def terms(
        self, batch: NodeBatch, z: Tensor, logits: Tensor, labelled: Tensor, y: Tensor
    ) -> dict[str, Tensor]:
        """L_C of the labelled people; |Cov| and L_A of everybody whom the batch is about."""
        sens = batch.outputs(batch.inputs(self.sens_score))
        return super().terms(batch, z, logits, labelled, y) | {
            "covariance": covariance(sens, batch.outputs(logits).sigmoid()).abs(),
            "adversary": self.adversary_loss(batch.outputs(z), sens),
        }

    def adversary_loss(self, z: Tensor, sens: Tensor) -> Tensor:
        """L_A: the cross-entropy of ŝ as the adversary reads it from the representations."""
        return F.binary_cross_entropy_with_logits(self.modules["adversary"](z), sens)

    def step(self, number: int) -> dict[str, Tensor]:
        """One of the classifier against the adversary, and then the adversary's own."""
        self._number = number
        if number == 0:
            self.train_estimator()
        batch, labelled, y = self.draw()
        z, logits = self.network(batch.inputs(self.people.x), batch.neighbors)
        loss = objectives.weighted(self.terms(batch, z, logits, labelled, y), self.weights)
        self.descend("network", loss.total)
        seen = batch.outputs(z.detach())
        sens = batch.outputs(batch.inputs(self.sens_score))
        for _ in range(self.config.adversary_steps):
            self.descend("adversary", self.adversary_loss(seen, sens))
        return {name: part.detach() for name, part in loss.parts.items()}

    def validate(self) -> Validation | None:
        """AUROC less |corr(ŝ, ŷ)| on the validation people, in the second half of the steps.

        Where α = β = 0, the AUROC alone, and always.
        """
        if self.config.alpha == self.config.beta == 0:
            return self.judged()
        if self._number + 1 < _SETTLED * self.config.steps:
            return None
        judged = self.judged()
        _, logits = outputs(self.network, self.people, self.val_rows, self.config)
        sens = self.sens_score[self.val_rows].to(logits.device)
        found = correlation(sens, logits.sigmoid()).abs()
        # A state that gives no numbers is as bad as one can be.
        dependence = float(found.nan_to_num(nan=1.0))
        figures = {**judged.figures, "dependence": dependence}
        return Validation(judged.score - dependence, figures)


class FairGnn(WholeGraph):
    """FairGNN (Dai and Wang, WSDM 2021), for graphs where few have told their sensitive attribute.

    Which people those are hangs on the seed and their ids. See docs/methods/fairgnn.md.
    """

    name = "fairgnn"
    config_type = FairGnnConfig
    config: FairGnnConfig
    task_type = FairGnnTask

    def encoder(self, width: int, config: WholeGraphConfig) -> nn.Module:
        """A stack of the layers that the settings name."""
        assert isinstance(config, FairGnnConfig)
        return LayeredEncoder(_LAYERS[config.encoder], width, config)

    def build(self, width: int, config: WholeGraphConfig) -> dict[str, nn.Module]:
        """The network, the GCN that estimates s without seeing it, and a linear adversary."""
        assert isinstance(config, FairGnnConfig)
        # The network first: it begins as one without the others would.
        modules = super().build(width, config)
        wide = replace(config, dim=config.estimator_dim)
        estimating = LayeredEncoder(GcnLayer, width - config.use_sens, wide)
        return modules | {
            "estimator": WholeGraphNetwork(estimating, wide.dim),
            "adversary": Adversary(config.dim),
        }

    @torch.no_grad()
    def estimate_sens(self, graph: SensitiveGraph, *, nodes: Tensor | None = None) -> Scores:
        """Probabilities (m,) that `nodes` are of group 1, as estimated without their own s.

        Where few people are known, whether they mean anything decides whether the method can work.
        """
        self._fitted_threshold()
        # `device` may have been changed since the fit.
        self.scaler_.to(self._home())
        people = self._people(graph)
        assert isinstance(self._settings, FairGnnConfig)
        estimator = self._modules["estimator"].to(self.torch_device())
        guesses = estimated(estimator, people, self._settings).cpu()
        rows = people.numbers(rows_of(graph, nodes)).cpu()
        return np.asarray(guesses[rows].double().numpy())

    def _people(self, graph: SensitiveGraph) -> PartlyKnownPeople:
        people = super()._people(graph)
        assert isinstance(self._settings, FairGnnConfig)
        known = torch.ones(len(graph.node_id), dtype=torch.bool)
        if self._settings.known_sens:
            draw = node_uniform(graph.node_id, self.seed, "known sensitive attribute")
            known[draw.argsort()[self._settings.known_sens :]] = False
        return PartlyKnownPeople(
            people.x, people.sens, people.links, people.order, people.of(known)
        )


def covariance(one: Tensor, other: Tensor) -> Tensor:
    """Of two variables over the same people, in the population (divided by their number)."""
    return ((one - one.mean()) * (other - other.mean())).mean()


def correlation(one: Tensor, other: Tensor) -> Tensor:
    """Pearson's; 0 where a variable is constant."""
    spread = (covariance(one, one) * covariance(other, other)).sqrt()
    return covariance(one, other) / spread.clamp(min=1e-12)


def without_sens(people: People, config: FairGnnConfig) -> People:
    """As the estimator sees people: s, where the classifier has it, is their last feature."""
    return replace(people, x=people.x[:, : people.x.shape[1] - config.use_sens])


@torch.no_grad()
def estimated(estimator: nn.Module, people: People, config: FairGnnConfig) -> Tensor:
    """The estimated probability of s = 1 of everybody."""
    everybody = torch.arange(len(people.x), device=people.x.device)
    _, logits = outputs(estimator.eval(), without_sens(people, config), everybody, config)
    return logits.sigmoid()


METHODS.add(FairGnn.name, FairGnn)
