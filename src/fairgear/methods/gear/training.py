"""How Gear is trained: batches, validation, and the choice of a state."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Self

import torch
from sklearn.metrics import roc_auc_score
from torch import Tensor, nn

from fairgear.distributed import broadcast
from fairgear.egos import EgoIndex
from fairgear.graph import SensitiveGraph, closed_neighborhood_mean
from fairgear.methods.egos import KEPT, EgoSource
from fairgear.methods.gear.config import VALIDATE_EVERY, GearConfig
from fairgear.methods.gear.family import Family, MovedPeople
from fairgear.methods.gear.loss import (
    Boundary,
    DependencePenalty,
    GearLoss,
    ModelWeights,
    adjusted,
)
from fairgear.methods.gear.network import GearNetwork
from fairgear.methods.thresholds import most_accurate, validation_subset
from fairgear.nn import objectives
from fairgear.training import Task, Validation, seeded
from fairgear.training.cuda_graph import CapturedStep, adam, set_learning_rate
from fairgear.training.micro_batches import accumulated

# People validated at a time, which bounds memory.
_CHUNK = 512
# People of a larger validation set that are used during training.
VALIDATED = 2000
# The share of the steps in which the learning rate grows, and its first value.
_WARM_UP, _FIRST = 0.3, 0.04


@dataclass(frozen=True)
class GearData:
    """People in canonical order, so that reordering the rows of a graph changes nothing."""

    egos: EgoSource
    moved: MovedPeople
    y: Tensor
    """(n,) labels."""
    sens_around: Tensor
    """(n,) the mean of s over each person and their neighbours."""
    pool: Tensor
    """Those who are asked for alike answers: everybody, or a sample of a large graph."""
    train_rows: Tensor
    val_rows: Tensor

    @classmethod
    def of(
        cls,
        graph: SensitiveGraph,
        index: EgoIndex,
        family: Family,
        egos: EgoSource,
        seed: int,
    ) -> Self:
        """Collect what a fit reads of its graph."""
        order, device = graph.canonical.rows, egos.device
        y = graph.y[order].to(device)
        train, val = (
            mask[order].nonzero()[:, 0].to(device) for mask in (graph.train_mask, graph.val_mask)
        )
        val = validation_subset(val, y, VALIDATED)
        pool, members = torch.arange(len(y)), None
        most = KEPT // MovedPeople.bytes_each(family)
        if len(y) > most:
            with seeded(seed, "pool"):
                pool = torch.randperm(len(y))[: max(1, most // index.k)].sort().values
            rows = order[torch.cat([pool, val.cpu()])]
            members = torch.unique(index.ids[rows.to(index.ids.device)].long())
        return cls(
            egos,
            MovedPeople(family, graph, members, seed),
            y,
            closed_neighborhood_mean(graph.sens, graph.edge_index)[order].float().to(device),
            pool.to(device),
            train,
            val,
        )

    def labels_r2(self) -> float:
        """R² of the training labels on the mean of s around a person, adjusted."""
        rows = self.train_rows
        found = float(objectives.explained(self.y[rows], self.sens_around[rows]))
        return max(0.0, adjusted(found, len(rows)))


class GearTask(Task):
    """GearLoss + μ‖θ‖², on batches of egos."""

    def __init__(self, network: GearNetwork, config: GearConfig, data: GearData) -> None:
        self.network, self.config, self.data = network, config, data
        device = data.y.device
        limit = data.labels_r2() if config.r2_limit == "labels" else float(config.r2_limit)
        self.penalty = DependencePenalty(limit, len(data.val_rows)).to(device)
        self.weights = ModelWeights(data.moved.models).to(device)
        self.boundary = Boundary().to(device)
        self.loss = GearLoss(network, data.moved, config, self.weights, self.penalty, self.boundary)
        self.modules: dict[str, nn.Module] = {
            "network": network,
            "penalty": self.penalty,
            "weights": self.weights,
            "boundary": self.boundary,
        }
        # Adam adds weight_decay·θ to the gradient; that of μ‖θ‖² is 2μθ.
        self.optimizers = {
            "network": adam(network, config.learning_rate, weight_decay=2 * config.weight_decay)
        }
        # Can be captured if all steps run the same kernels on the GPU, without waiting for the CPU.
        captured = data.egos.on_gpu and config.micro_batches == 1
        self._run = CapturedStep(self._update) if captured else self._update

    def step(self, number: int) -> dict[str, Tensor]:
        """One batch of labelled people for the prediction, one of all for everything else."""
        set_learning_rate(self.optimizers["network"], self._rate(number))
        data, size, device = self.data, self.config.batch_size, self.data.y.device
        drawn = torch.randperm(len(data.train_rows), device=device)[:size]
        anyone = data.pool[torch.randint(len(data.pool), (size,), device=device)]
        return self._run(data.train_rows[drawn], anyone)

    def validate(self) -> Validation:
        """AUROC, the most flips under a model of the family, and R², on the validation set."""
        rows = torch.split(self.data.val_rows, _CHUNK)
        answers = [self._answers(part) for part in rows]
        factual, worlds = (torch.cat(part, dim=-1) for part in zip(*answers, strict=True))
        outcome = self.scored(factual, worlds)
        if self.penalty.active:
            # Machines round differently; rank 0 decides for all.
            self.penalty.update(broadcast(outcome.figures["dependence"]), VALIDATE_EVERY)
        return outcome

    def scored(self, factual: Tensor, worlds: Tensor) -> Validation:
        """The score of the logits (m,) of the validation set, and (models, worlds, m) of others.

        AUROC less the largest share of flips, and less a price for R² above its limit. Constant or
        non-finite logits lose to all others, and so does one answer for everybody.
        """
        rows = self.data.val_rows
        y, usable = self.data.y[rows], bool(factual.isfinite().all())
        auroc = float(roc_auc_score(y.cpu(), factual.cpu())) if usable else 0.0
        cut = broadcast(self._cut(y, factual) if usable else 0.0)
        self.boundary.cut.fill_(cut)
        flips = ((worlds > cut) != (factual > cut)).double().mean(dim=(1, 2))
        found = objectives.explained(factual > cut, self.data.sens_around[rows])
        r2 = adjusted(float(found), len(y))
        figures = {"auroc": auroc, "flips": float(flips.max()), "dependence": r2}
        score = auroc - figures["flips"] - (self.penalty.price(r2) if self.penalty.active else 0.0)
        if not float(factual.std()) >= 1e-3:
            score = -2e6
        elif bool((factual > cut).all()) or bool((factual <= cut).all()):
            score = auroc - 1e6
        return Validation(score, figures)

    def _answers(self, people: Tensor) -> tuple[Tensor, Tensor]:
        """Logits in the graph as it is, and with everybody in either group under each model."""
        ego = self.data.egos(people)
        first = torch.zeros(len(ego), dtype=torch.long, device=people.device)
        found = []
        # The mixture is for training alone.
        for model in range(max(1, self.data.moved.models - 1)):
            worlds = (torch.full_like(ego.sens, group) for group in (0, 1))
            answers = [
                self.network(self.loss.perturbed(ego, sens, first + model, first))[1]
                for sens in worlds
            ]
            found.append(torch.stack(answers))
        return self.network(ego)[1], torch.stack(found)

    def _cut(self, y: Tensor, logits: Tensor) -> float:
        """The logit above which the label is 1, by the validation set."""
        if self.config.threshold != "validation":
            return 0.0
        chosen = most_accurate(y.cpu().numpy(), logits.double().sigmoid().cpu().numpy())
        return float(torch.tensor(chosen, dtype=torch.float64).logit(eps=1e-12))

    def _rate(self, number: int) -> float:
        """The learning rate: it rises in the first part of the steps and then falls to 0."""
        top, done = self.config.learning_rate, (number + 1) / self.config.steps
        if done < _WARM_UP:
            return top * (_FIRST + (1 - _FIRST) * (1 - math.cos(math.pi * done / _WARM_UP)) / 2)
        return top * (1 + math.cos(math.pi * (done - _WARM_UP) / (1 - _WARM_UP))) / 2

    def _update(self, labelled: Tensor, anyone: Tensor) -> dict[str, Tensor]:
        optimizer = self.optimizers["network"]
        optimizer.zero_grad(set_to_none=True)
        parts = self.config.micro_batches
        terms = accumulated(parts, [self.network], self._backward, labelled, anyone)
        optimizer.step()
        self.weights.update(*terms.pop("by model"))
        return terms

    def _backward(self, labelled: Tensor, anyone: Tensor) -> dict[str, Tensor]:
        data = self.data
        terms, drawn = self.loss(
            data.egos(anyone), data.sens_around[anyone], data.egos(labelled), data.y[labelled]
        )
        return objectives.backward(terms) | {"by model": drawn}
