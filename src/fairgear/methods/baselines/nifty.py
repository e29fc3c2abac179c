"""NIFTY: representations that stay alike when s is flipped, values are noisy and edges missing."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated, Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.utils import parametrize

from fairgear.methods.base import METHODS
from fairgear.methods.baselines.gnn import LayeredGraph
from fairgear.methods.baselines.layers import GcnLayer, SageLayer
from fairgear.methods.baselines.neighbors import (
    Neighbors,
    NodeBatch,
    link_numbers,
    without_links,
)
from fairgear.methods.baselines.whole_graph import WholeGraphConfig, WholeGraphTask, outputs
from fairgear.nn import objectives
from fairgear.nn.sens_code import NUMBER, SensCode
from fairgear.settings import Range
from fairgear.training import Validation


@dataclass(frozen=True)
class NiftyConfig(WholeGraphConfig):
    """How views of the graph differ, and how much their representations must be alike."""

    similarity_weight: Annotated[float, Range(0, 1)] = 0.6
    """λ: the share of the similarity in the loss; the cross-entropy has the rest."""
    feature_noise: Annotated[float, Range(0, 1)] = 0.1
    """Probability that a value gets standard normal noise in a view."""
    drop_edges: Annotated[float, Range(0, 1)] = 0.001
    """Probability that an edge is left out of a view."""
    label_flipped: bool = True
    """Whether the labels are also learned in the view with s flipped."""


class UnitSpectralNorm(nn.Module):
    """W / ‖W‖₂, so that a product with it is no longer than its argument.

    The norm is computed exactly: torch's spectral_norm iterates from a random start, so that
    results would depend on the number of earlier calls.
    """

    def forward(self, weight: Tensor) -> Tensor:
        """The weights at a spectral norm of 1; zeros stay zeros."""
        # ‖W‖₂ = ‖W v‖ for the leading right singular vector v, and with v held fixed the gradient
        # is the same.
        tall = weight if len(weight) >= weight.shape[1] else weight.T
        with torch.no_grad():
            leading = leading_vector(tall.double().T @ tall.double()).to(weight)
        scaled: Tensor = weight / torch.linalg.vector_norm(tall @ leading).clamp(min=1e-12)
        return scaled


def leading_vector(matrix: Tensor) -> Tensor:
    """A unit vector (d) of the largest eigenvalue of a positive semidefinite matrix.

    From the 2¹⁶-th power by squaring: a GPU need not wait for the processor, as it would for a
    decomposition.
    """
    for _ in range(16):
        matrix = matrix / torch.linalg.matrix_norm(matrix).clamp(min=1e-30)
        matrix = matrix @ matrix
    column = matrix.index_select(1, matrix.diagonal().argmax(keepdim=True)).squeeze(1)
    unit: Tensor = column / torch.linalg.vector_norm(column).clamp(min=1e-30)
    return unit


def normalize_weights(module: nn.Module) -> nn.Module:
    """Give all linear layers of the module weights of spectral norm 1."""
    for part in list(module.modules()):
        if isinstance(part, nn.Linear):
            parametrize.register_parametrization(part, "weight", UnitSpectralNorm())
    return module


def new_predictor(dim: int) -> nn.Module:
    """t: predicts the representation in one view from that in the other; for training only."""
    # Layer norm, since a batch may be a single person.
    return nn.Sequential(nn.Linear(dim, dim), nn.LayerNorm(dim), nn.ReLU(), nn.Linear(dim, dim))


def similarity_loss(predictor: nn.Module, one: Tensor, other: Tensor) -> Tensor:
    """L_s = ½ D(t(z), sg(z')) + ½ D(t(z'), sg(z)), D the negative cosine, sg without gradient."""
    forth = F.cosine_similarity(predictor(one), other.detach(), dim=1)
    back = F.cosine_similarity(predictor(other), one.detach(), dim=1)
    return -(forth + back).mean() / 2


def with_noise(x: Tensor, rate: float, spared: int) -> Tensor:
    """Standard normal noise on each value with probability `rate`, except the last columns."""
    if rate == 0:
        return x
    noise = torch.randn_like(x) * (torch.rand_like(x) < rate)
    noise[:, x.shape[1] - spared :] = 0
    return x + noise


def flipped(
    x: Tensor, groups: int = 2, *, drawn: bool = True, values: Tensor | None = None
) -> Tensor:
    """Everybody in another group, where the last columns are the code of s.

    Of two groups that is the other one. Of several it is drawn, or the next one. A number (no
    groups) becomes one of the observed `values` (ascending) that is drawn, or the one half of the
    people further on, from the highest on to the lowest.
    """
    if groups == 2:
        return torch.cat([x[:, :-1], 1 - x[:, -1:]], dim=1)
    if groups == NUMBER:
        assert values is not None
        if drawn:
            place = torch.randint(len(values), (len(x),), device=x.device)
        else:
            own = torch.searchsorted(values, x[:, -1].contiguous())
            place = (own + len(values) // 2) % len(values)
        return torch.cat([x[:, :-1], values[place, None]], dim=1)
    code = x[:, 1 - groups :]
    own = torch.cat([1 - code.sum(dim=1, keepdim=True), code], dim=1).argmax(dim=1)
    steps = torch.randint(1, groups, own.shape, device=x.device) if drawn else 1
    other = SensCode(groups)((own + steps) % groups).to(x)
    return torch.cat([x[:, : 1 - groups], other], dim=1)


class NiftyTask(WholeGraphTask):
    """(1 − λ) L_c + λ L_s on two views of a batch, the second with s flipped.

    The state with the least loss on the validation set is kept, in the graph as it is and with s
    flipped.
    """

    config: NiftyConfig

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.predictor = self.modules["predictor"]
        self.optimizers["predictor"] = self.optimizer(self.predictor)
        share = self.config.similarity_weight
        self.weights = {"prediction": 1 - share, "similarity": share}
        sens = self.graph.sens
        number = sens.is_floating_point()
        self.groups = NUMBER if number else max(2, int(sens.max()) + 1)
        self.spared = SensCode(self.groups).width * self.config.use_sens
        self.values = sens.sort().values if number else None

    def views(self, batch: NodeBatch) -> tuple[tuple[Tensor, Neighbors], tuple[Tensor, Neighbors]]:
        """Features and neighbours, twice, each with its own noise and missing edges."""
        x, use_sens = batch.inputs(self.graph.x), self.config.use_sens
        whole = batch is self.graph.links.everyone
        numbers = self._all_links if whole else link_numbers(batch.neighbors)
        one, other = (
            (
                with_noise(x, self.config.feature_noise, spared=self.spared),
                without_links(batch.neighbors, numbers, self.config.drop_edges),
            )
            for _ in range(2)
        )
        if not use_sens:
            return one, other
        values = None if self.values is None else self.values.to(x.device)
        return one, (flipped(other[0], self.groups, values=values), other[1])

    def terms(
        self, batch: NodeBatch, z: Tensor, logits: Tensor, labelled: Tensor, y: Tensor
    ) -> dict[str, Tensor]:
        """L_c and L_s of the labelled people, from stacked z and logits of both views."""
        return self._terms(z, logits, labelled, batch.people(labelled), y)

    def _terms(
        self, z: Tensor, logits: Tensor, labelled: Tensor, people: Tensor, y: Tensor
    ) -> dict[str, Tensor]:
        views = range(2 if self.config.label_flipped else 1)
        learned = torch.stack(
            [self.answers(z[view], logits[view], labelled, people) for view in views]
        )
        target = y.expand(len(learned), -1)
        return {
            "prediction": self.head.loss(learned, target),
            "similarity": similarity_loss(self.predictor, z[0, labelled], z[1, labelled]),
        }

    def step(self, number: int) -> dict[str, Tensor]:
        """Two views of one batch, or of the whole graph."""
        batch, labelled, y = self.draw()
        with parametrize.cached():  # norms once a step, not once a view
            found = [self.network(*view) for view in self.views(batch)]
            z, logits = (torch.stack([pair[part] for pair in found]) for part in (0, 1))
            terms = self.terms(batch, z, logits, labelled, y)
        return self.descend(terms, "network", "predictor")

    def validate(self) -> Validation:
        """Score by the loss on the validation set; the AUROC is reported too."""
        figures = self.scored().figures
        worlds = [self.graph]
        if self.config.use_sens:
            moved = flipped(self.graph.x, self.groups, drawn=False, values=self.values)
            worlds.append(replace(self.graph, x=moved))
        people = self.people(self.val_rows)
        found = [outputs(self.network, world, people, self.config) for world in worlds]
        z, logits = (torch.stack([pair[part] for pair in (found[0], found[-1])]) for part in (0, 1))
        everyone = torch.arange(len(people), device=z.device)
        y = self.y[self.val_rows].to(z.device)
        loss = objectives.weighted(self._terms(z, logits, everyone, people, y), self.weights)
        parts = {name: float(part) for name, part in loss.parts.items()}
        total = float(loss.total)
        return Validation(-total if math.isfinite(total) else -math.inf, figures | parts)

    @cached_property
    def _all_links(self) -> Tensor:
        return link_numbers(self.graph.links.everyone.neighbors)


class Nifty(LayeredGraph):
    """A stack of layers with normalised weights, trained on two views."""

    several_groups = number_of_s = True
    config_type = NiftyConfig
    config: NiftyConfig
    task_type = NiftyTask

    def build(self, width: int) -> dict[str, nn.Module]:
        """The network and the predictor."""
        modules = super().build(width) | {"predictor": new_predictor(self._settings.dim)}
        return {name: normalize_weights(module) for name, module in modules.items()}


class NiftyGcn(Nifty):
    """NIFTY (Agarwal, Lakkaraju and Zitnik, UAI 2021) on a graph convolutional network."""

    name = "nifty-gcn"
    layer = GcnLayer


class NiftySage(Nifty):
    """NIFTY (Agarwal, Lakkaraju and Zitnik, UAI 2021) on GraphSAGE."""

    name = "nifty-sage"
    layer = SageLayer


for _method in (NiftyGcn, NiftySage):
    METHODS.add(_method.name, _method)
