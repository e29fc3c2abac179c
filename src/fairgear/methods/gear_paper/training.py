"""What GearPaper trains: a Siamese encoder and classifier on factual and counterfactual egos."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import torch
from torch import Tensor

from fairgear.egos import EgoIndex
from fairgear.graph import SensitiveGraph
from fairgear.methods.egos import TWO_GROUPS, EgoGenerator, EgoSource, SensValues
from fairgear.methods.features import FeatureScaler, statistics_sample
from fairgear.methods.gear_paper.config import WEIGHT_DECAY, GearPaperConfig
from fairgear.methods.gear_paper.loss import PaperLoss, Views
from fairgear.methods.gear_paper.network import PaperNetwork
from fairgear.methods.heads import BINARY_HEAD, Head
from fairgear.methods.thresholds import advice, most_accurate, validation_subset
from fairgear.nn import objectives
from fairgear.training import Task, Validation, seeded
from fairgear.training.cuda_graph import CapturedStep, adam
from fairgear.training.micro_batches import accumulated

# People validated at a time, which bounds memory.
_CHUNK = 1024
# People of a larger validation set that are used during training.
VALIDATED = 10_000


@dataclass(frozen=True)
class PaperData:
    """People in canonical order, so that reordering the rows of a graph changes nothing."""

    egos: EgoSource
    y: Tensor
    """(n,) labels."""
    train_rows: Tensor
    val_rows: Tensor
    values: SensValues = TWO_GROUPS
    """What perturbations draw."""
    head: Head = BINARY_HEAD

    @classmethod
    def of(
        cls,
        graph: SensitiveGraph,
        index: EgoIndex,
        scaler: FeatureScaler,
        device: torch.device,
        head: Head = BINARY_HEAD,
    ) -> Self:
        """Fit the scaler, and collect everything else."""
        order = graph.canonical.rows
        scaler.fit(graph, statistics_sample(order, graph.sens))
        masks = (graph.train_mask, graph.val_mask)
        train_rows, val_rows = (mask[order].nonzero()[:, 0].to(device) for mask in masks)
        egos = EgoSource(graph, index, scaler, device, order)
        values = SensValues.of(graph, device)
        return cls(egos, graph.y[order].to(device), train_rows, val_rows, values, head)


class PaperTask(Task):
    """PaperLoss + μ‖θ‖², on batches of egos."""

    def __init__(
        self,
        network: PaperNetwork,
        config: GearPaperConfig,
        generator: EgoGenerator | None,
        data: PaperData,
        *,
        seed: int = 0,
    ) -> None:
        self.network = network
        self.config = config
        self.seed = seed
        self.egos = data.egos
        self.y = data.y
        self.train_rows = data.train_rows
        self.val_rows = validation_subset(data.val_rows, data.y, VALIDATED)
        self.head = data.head
        self.loss = PaperLoss(network, generator, config, data.head, data.values)
        self.modules = {"network": network}
        # Adam adds weight_decay·θ to the gradient; that of μ‖θ‖² is 2μθ.
        self.optimizers = {
            "network": adam(network, config.learning_rate, weight_decay=2 * WEIGHT_DECAY)
        }
        # Can be captured if all steps run the same kernels on the GPU, without waiting for the CPU.
        # Infomax needs the number of members, and the batches of an epoch differ in size.
        varies = config.encoder == "infomax" or config.epochs is not None
        captured = self.egos.on_gpu and config.micro_batches == 1 and not varies
        self._run = CapturedStep(self._update) if captured else self._update

    def step(self, number: int) -> dict[str, Tensor]:
        """One batch of labelled people for L_p, one of all people for L_f."""
        labelled = self.labelled(number)
        anyone = torch.randint(len(self.y), (self.config.batch_size,), device=self.y.device)
        return self._run(labelled, anyone)

    def labelled(self, number: int) -> Tensor:
        """The labelled people of a step: a fresh draw, or a part of the epoch's order."""
        rows, device = self.train_rows, self.y.device
        if self.config.epochs is None:
            return rows[torch.randperm(len(rows), device=device)[: self.config.batch_size]]
        epoch, part = divmod(number, self.config.batches(len(rows)))
        with seeded(self.seed, "epoch", epoch):
            order = torch.randperm(len(rows), device=device)
        return rows[order.tensor_split(self.config.batches(len(rows)))[part]]

    def validate(self) -> Validation:
        """AUROC, loss and flips on the validation set, under the generator."""
        rows = torch.split(self.val_rows, _CHUNK)
        views = [self.loss.validation_views(self.egos(part)) for part in rows]
        z, logits = (
            tuple(torch.cat(part) for part in zip(*chunks, strict=True))
            for chunks in ([one.z for one in views], [one.logits for one in views])
        )
        return self.scored(Views(z, logits, views[0].own, self.head))

    def scored(self, views: Views) -> Validation:
        """The loss of the views of the validation set, negated, and other figures.

        Constant or non-finite logits lose to all others, and so does one label for everybody.
        """
        y, logits = self.y[self.val_rows], views.logits[0]
        usable, found = bool(logits.isfinite().all()), self.head.score(y, logits)
        parts = {"prediction": self.head.loss(logits, y), **self.loss.fairness(views)}
        figures = {name: float(value) for name, value in parts.items()}
        fairness = self.config.fairness_weight * figures.get("fairness", 0.0)
        score = -(figures["prediction"] + fairness)
        cut = self._cut(y, logits) if usable else torch.zeros(())
        figures |= {self.head.measure: found, "flips": views.flip_rate(cut)}
        answers = self.head.labels(logits, cut.to(logits.device))
        if not float(logits.std(dim=0).max()) >= 1e-3:
            score = -2e6
        elif bool((answers == answers[0]).all()):
            score = found - 1e6
        return Validation(score, figures)

    @torch.no_grad()
    def advice(self) -> str:
        """What the validation set says about a threshold of 0.5, for the state that was kept."""
        if self.config.threshold != "half" or not self.head.target.is_binary:
            return ""
        self.network.eval()
        chunks = torch.split(self.val_rows, _CHUNK)
        logits = torch.cat([self.network(self.egos(rows))[1] for rows in chunks])
        y, scores = self.y[self.val_rows].cpu().numpy(), logits.double().sigmoid().cpu().numpy()
        return advice(y, scores)

    def _cut(self, y: Tensor, logits: Tensor) -> Tensor:
        """The boundary by the validation set, as the head's labels take it."""
        chosen = 0.5
        if self.config.threshold != "validation":
            return torch.zeros(())
        if self.head.target.is_binary:
            chosen = most_accurate(y.cpu().numpy(), logits.double().sigmoid().cpu().numpy())
        return self.head.cut(y, logits, chosen)

    def _update(self, labelled: Tensor, anyone: Tensor) -> dict[str, Tensor]:
        optimizer = self.optimizers["network"]
        optimizer.zero_grad(set_to_none=True)
        terms = accumulated(
            self.config.micro_batches, [self.network], self._backward, labelled, anyone
        )
        optimizer.step()
        return terms

    def _backward(self, labelled: Tensor, anyone: Tensor) -> dict[str, Tensor]:
        ego, others = self.egos(labelled), self.egos(anyone)
        return objectives.backward(self.loss(others, ego, self.y[labelled]))
