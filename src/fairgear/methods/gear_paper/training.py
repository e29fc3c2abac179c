"""What GearPaper trains: a Siamese encoder and classifier on factual and counterfactual egos."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import torch
import torch.nn.functional as F
from sklearn.metrics import roc_auc_score
from torch import Tensor

from fairgear.egos import EgoIndex
from fairgear.graph import SensitiveGraph
from fairgear.methods.egos import EgoGenerator, EgoSource
from fairgear.methods.features import FeatureScaler, statistics_sample
from fairgear.methods.gear_paper.config import WEIGHT_DECAY, GearPaperConfig
from fairgear.methods.gear_paper.loss import PaperLoss, Views
from fairgear.methods.gear_paper.network import PaperNetwork
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

    @classmethod
    def of(
        cls,
        graph: SensitiveGraph,
        index: EgoIndex,
        scaler: FeatureScaler,
        device: torch.device,
    ) -> Self:
        """Fit the scaler, and collect everything else."""
        order = graph.canonical.rows
        scaler.fit(graph, statistics_sample(order, graph.sens))
        masks = (graph.train_mask, graph.val_mask)
        rows = [mask[order].nonzero()[:, 0].to(device) for mask in masks]
        egos = EgoSource(graph, index, scaler, device, order)
        return cls(egos, graph.y[order].to(device), *rows)


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
        self.loss = PaperLoss(network, generator, config)
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
        return self.scored(Views(z, logits, views[0].own))

    def scored(self, views: Views) -> Validation:
        """The loss of the views of the validation set, negated, and other figures.

        Constant or non-finite logits lose to all others, and so does one label for everybody.
        """
        y, logits = self.y[self.val_rows], views.logits[0]
        usable = bool(logits.isfinite().all())
        auroc = float(roc_auc_score(y.cpu(), logits.cpu())) if usable else 0.0
        loss = F.binary_cross_entropy_with_logits(logits, y.to(logits.dtype))
        parts = {"prediction": loss, **self.loss.fairness(views)}
        figures = {name: float(value) for name, value in parts.items()}
        fairness = self.config.fairness_weight * figures.get("fairness", 0.0)
        score = -(figures["prediction"] + fairness)
        cut = self._cut(y, logits) if usable else 0.0
        figures |= {"auroc": auroc, "flips": views.flip_rate(cut)}
        if not float(logits.std()) >= 1e-3:
            score = -2e6
        elif bool((logits > cut).all()) or bool((logits <= cut).all()):
            score = auroc - 1e6
        return Validation(score, figures)

    @torch.no_grad()
    def advice(self) -> str:
        """What the validation set says about a threshold of 0.5, for the state that was kept."""
        if self.config.threshold != "half":
            return ""
        self.network.eval()
        chunks = torch.split(self.val_rows, _CHUNK)
        logits = torch.cat([self.network(self.egos(rows))[1] for rows in chunks])
        y, scores = self.y[self.val_rows].cpu().numpy(), logits.double().sigmoid().cpu().numpy()
        return advice(y, scores)

    def _cut(self, y: Tensor, logits: Tensor) -> float:
        """The logit above which the label is 1, by the validation set."""
        if self.config.threshold != "validation":
            return 0.0
        chosen = most_accurate(y.cpu().numpy(), logits.double().sigmoid().cpu().numpy())
        return float(torch.tensor(chosen, dtype=torch.float64).logit(eps=1e-12))

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
