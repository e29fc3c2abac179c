"""How Gear is trained: batches, the loss, validation, and the choice of a state."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from fairgear.methods.baselines.neighbors import (
    Neighbors,
    NodeBatch,
    link_numbers,
    without_links,
)
from fairgear.methods.baselines.whole_graph import Inputs, WholeGraphTask
from fairgear.methods.gear.config import VALIDATE_EVERY, GearConfig
from fairgear.methods.gear.family import MovedPeople
from fairgear.methods.gear.loss import (
    Boundary,
    DependencePenalty,
    ModelWeights,
    adjusted,
    assignment,
    together,
)
from fairgear.methods.heads import BINARY_HEAD, Head
from fairgear.methods.thresholds import most_accurate, validation_subset
from fairgear.nn import objectives
from fairgear.training import Validation
from fairgear.training.cuda_graph import set_learning_rate

# People of a larger validation set that are used during training.
VALIDATED = 20_000
# The share of the steps in which the learning rate grows, and its first value.
_WARM_UP, _FIRST = 0.3, 0.04
# The share of the steps in which the weight of the inconsistency grows.
_RAMP = 0.5


class Moved(NamedTuple):
    """A batch after some of its people were moved."""

    x: Tensor
    neighbors: Neighbors
    model: Tensor
    """(m,), the model of the family that each person would be moved by."""


class Drawn(NamedTuple):
    """What a step is about."""

    batch: NodeBatch
    labelled: Tensor
    """The places in it of the labels' people."""
    y: Tensor
    asked: Tensor | None
    """The places of those whose answers are to be alike; None for everybody in the batch."""
    around: Tensor
    """The mean of s around these."""


class GearTask(WholeGraphTask):
    """L = cross-entropy + λ · inconsistency + π · R², with π the weight of the penalty.

    The inconsistency is that of the answers of the same people in the graph as it is, and after
    some people were moved to another value by models of the family and some edges were left out.

    Args:
        network: what is trained.
        config: the settings, with a batch size.
        graph: what the network sees of it, in canonical order like everything here.
        y: labels.
        train_rows, val_rows: rows of the labelled people.
        moved: the same people at other values.
        sens_around: (n,), the mean of s over each person and their neighbours.
    """

    # How many numbers R² is of, for each label.
    summaries = 1

    config: GearConfig  # type: ignore[assignment]  # has what the base class reads

    def __init__(
        self,
        network: nn.Module,
        config: GearConfig,
        graph: Inputs,
        y: Tensor,
        train_rows: Tensor,
        val_rows: Tensor,
        moved: MovedPeople,
        sens_around: Tensor,
        head: Head = BINARY_HEAD,
    ) -> None:
        val_rows = validation_subset(val_rows, y, VALIDATED)
        super().__init__({"network": network}, config, graph, y, train_rows, val_rows, head)  # type: ignore[arg-type]  # see above
        self.moved, self.sens_around = moved, sens_around
        limit = self.labels_r2() if config.r2_limit == "labels" else float(config.r2_limit)
        device = next(network.parameters()).device
        self.penalty = DependencePenalty(limit, len(val_rows), self.summaries).to(device)
        self.model_weights = ModelWeights(moved.models).to(device)
        self.boundary = Boundary(head).to(device)
        self.modules |= {
            "penalty": self.penalty,
            "weights": self.model_weights,
            "boundary": self.boundary,
        }
        self._all_links: Tensor | None = None

    def labels_r2(self) -> float:
        """R² of the validation labels on the mean of s around a person, adjusted.

        Of the people whose answers it is a limit for: with the labels of others, chance alone makes
        good answers exceed it, and a state that has learned little would be chosen.
        """
        rows = self.val_rows
        answers = self.head.columns(self.y[rows])
        found = float(objectives.explained(answers, self.around_s(rows)))
        return max(0.0, adjusted(found, len(rows), self.summaries))

    def around_s(self, rows: Tensor) -> Tensor:
        """What R² is of, for some labels."""
        return self.sens_around[rows]

    def optimizer(self, module: nn.Module) -> torch.optim.Optimizer:
        """Adam; it adds weight_decay·θ to the gradient, and that of μ‖θ‖² is 2μθ."""
        decay = 2 * self.config.weight_decay
        return torch.optim.Adam(module.parameters(), self.config.learning_rate, weight_decay=decay)

    def step(self, number: int) -> dict[str, Tensor]:
        """The whole graph, or labelled people and as many others with those around them."""
        set_learning_rate(self.optimizers["network"], self._rate(number))
        drawn = self._draw()
        batch = drawn.batch
        x = batch.inputs(self.graph.x)
        other = self._moved(batch, x) if self.config.fairness_weight > 0 else None
        # The generators' state is put back afterwards: both passes drop the same units, and
        # answers differ by what was moved alone.
        with torch.random.fork_rng([x.device] if x.is_cuda else []):
            z, logits = self.network(x, batch.neighbors)
        answers = self.answers(z, logits, drawn.labelled, batch.people(drawn.labelled))
        parts = {"prediction": self.head.loss(answers, drawn.y.to(answers.device))}
        factual = self._asked(z, logits, drawn)
        if other is not None:
            z, logits = self.network(other.x, other.neighbors)
            elsewhere = self._asked(z, logits, drawn)
            share = self._shares(other.model, drawn.asked)
            parts["consistency"] = self._inconsistency(factual, elsewhere, share)
        if self.penalty.active:
            soft = self.head.decided(factual.float(), torch.zeros_like(self.boundary.cut))
            parts["dependence"] = objectives.explained(soft, drawn.around.to(factual.device))
        self.weights = {
            "consistency": self.config.fairness_weight * self._ramp(number),
            "dependence": float(self.penalty.weight),
        }
        return self.descend(parts)

    def validate(self) -> Validation:
        """AUROC, the most flips under a model of the family, and R², on the validation set."""
        factual = self._logits(self.graph.x)
        everyone = torch.arange(len(self.graph.x), device=self.graph.x.device)
        first = torch.zeros_like(everyone)
        worlds = []
        for model in range(self.moved.models):
            # Everybody whom the last draw of maps moves to a group, group by group; of a number,
            # those whom it lowers, and those whom it raises.
            last = first + self.moved.draws - 1
            other = self.moved(everyone, first + model, last)
            target = self.moved.target(everyone, last)
            parts = together(self.graph.sens, target, self.moved.groups)
            moved = (torch.where(part[:, None], other, self.graph.x) for part in parts)
            worlds.append(torch.stack([self._logits(x) for x in moved]))
        outcome = self.judged(factual, torch.stack(worlds))
        if self.penalty.active:
            self.penalty.update(outcome.figures["dependence"], VALIDATE_EVERY)
        return outcome

    def judged(self, factual: Tensor, worlds: Tensor) -> Validation:
        """The score of the logits (m,) of the validation set, and (models, worlds, m) of others.

        AUROC, or −RMSE, less the largest share of flips, and less a price for R² above its limit.
        Constant or non-finite logits lose to all others, and so does one answer for everybody.
        """
        rows = self.val_rows
        y, usable, head = self.y[rows].cpu(), bool(factual.isfinite().all()), self.head
        worth = head.score(y, factual)
        self.boundary.cut.copy_(self._cut(y, factual) if usable else self.boundary.cut * 0)
        answers, others = (head.labels(of, self.boundary.cut) for of in (factual, worlds))
        flips = head.differ(others, answers).double().mean(dim=(1, 2))
        around = self.around_s(rows).to(factual.device)
        explained = float(objectives.explained(head.columns(answers), around))
        r2 = adjusted(explained, len(y), self.summaries)
        figures = {head.measure: worth, "flips": float(flips.max()), "dependence": r2}
        score = worth - figures["flips"] - (self.penalty.price(r2) if self.penalty.active else 0.0)
        if not float(factual.std(dim=0).max()) >= 1e-3:
            score = -2e6
        elif bool((answers == answers[0]).all()):
            score = worth - 1e6
        return Validation(score, figures)

    def _draw(self) -> Drawn:
        """Everybody, or labelled people and as many others."""
        rows, size = self.drawn(), self.config.batch_size
        if not size:
            whole = self.graph.links.everyone
            return Drawn(whole, rows, self.y[rows], None, self.sens_around)
        people = torch.cat([rows, torch.randint(len(self.graph.x), (size,))])
        batch, places = self.around(people)
        return Drawn(batch, places[: len(rows)], self.y[rows], places, self.sens_around[people])

    def _asked(self, z: Tensor, logits: Tensor, drawn: Drawn) -> Tensor:
        """The logits of those whose answers are to be alike."""
        if drawn.asked is None:
            return logits
        return self.answers(z, logits, drawn.asked, drawn.batch.people(drawn.asked))

    def _shares(self, model: Tensor, asked: Tensor | None) -> Tensor:
        """How much of each such answer (m, models) is moved by each model of the family."""
        return F.one_hot(model if asked is None else model[asked], self.moved.models)

    def _moved(self, batch: NodeBatch, x: Tensor) -> Moved:
        """The same people after some were moved by models of the family, with fewer edges."""
        home = self.graph.x.device
        everyone = batch.rows
        if everyone is None:
            everyone = torch.arange(len(self.graph.x), device=home)
        sens = self.graph.sens[everyone]
        chance = self.model_weights()
        model = torch.multinomial(chance.to(home), len(everyone), replacement=True)
        draw = torch.randint(self.moved.draws, model.shape, device=home)
        # Whoever is to be where their draw of the family moves them.
        target = self.moved.target(everyone, draw)
        changes = (assignment(sens, target, self.moved.groups) == target)[:, None]
        other = self.moved(everyone, model, draw).to(x.device)
        other = torch.where(changes.to(x.device), other, x)
        return Moved(other, self._with_noise(batch), model.to(x.device))

    def _inconsistency(self, factual: Tensor, answers: Tensor, share: Tensor) -> Tensor:
        """Of the answers, squared; models with more of it are drawn more often."""
        gaps = self.head.gaps(self.boundary(factual), self.boundary(answers))
        counted = share.to(gaps.dtype)
        self.model_weights.update(gaps.detach() @ counted, counted.sum(dim=0))
        return gaps.mean()

    def _with_noise(self, batch: NodeBatch) -> Neighbors:
        """The neighbours without up to `edge_noise` of the edges.

        A network whose answers hardly depend on it does not rely on edges that another world would
        not have.
        """
        rate = self.config.edge_noise * float(torch.rand(()))
        if rate == 0 or not self.config.reads_graph:
            return batch.neighbors
        if batch.rows is not None:
            return without_links(batch.neighbors, link_numbers(batch.neighbors), rate)
        if self._all_links is None:
            self._all_links = link_numbers(batch.neighbors)
        return without_links(batch.neighbors, self._all_links, rate)

    def _logits(self, x: Tensor) -> Tensor:
        """Of the validation set, for features of everybody."""
        return self.validated(replace(self.graph, x=x))[1]

    def _cut(self, y: Tensor, logits: Tensor) -> Tensor:
        """The logit above which the label is 1, or the classes' offsets, by the validation set."""
        if self.config.threshold != "validation":
            return torch.zeros_like(self.boundary.cut)
        chosen = 0.5
        if self.head.target.is_binary:
            chosen = most_accurate(y.numpy(), logits.double().sigmoid().cpu().numpy())
        return self.head.cut(y, logits, chosen)

    def _ramp(self, number: int) -> float:
        """The share of the weight λ: answers that say nothing yet are alike already."""
        return min(1.0, (number + 1) / (_RAMP * self.config.steps))

    def _rate(self, number: int) -> float:
        """The learning rate: it rises in the first part of the steps and then falls to 0."""
        top, done = self.config.learning_rate, (number + 1) / self.config.steps
        if done < _WARM_UP:
            return top * (_FIRST + (1 - _FIRST) * (1 - math.cos(math.pi * done / _WARM_UP)) / 2)
        return top * (1 + math.cos(math.pi * (done - _WARM_UP) / (1 - _WARM_UP))) / 2
