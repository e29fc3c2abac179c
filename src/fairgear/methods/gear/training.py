"""What Gear trains: a Siamese encoder and classifier on factual and counterfactual egos."""

from __future__ import annotations

import copy
from dataclasses import replace

import torch
import torch.nn.functional as F
from sklearn.metrics import roc_auc_score
from torch import Tensor, nn

from fairgear.distributed import broadcast
from fairgear.methods.gear.config import GearConfig, Recipe
from fairgear.methods.gear.data import GearData
from fairgear.methods.gear.generator import Generator
from fairgear.methods.gear.loss import DependencePenalty, GearLoss, Views, adjusted
from fairgear.methods.gear.network import GearNetwork
from fairgear.methods.gear_paper.training import VALIDATED, validation_subset
from fairgear.methods.thresholds import advice, most_accurate
from fairgear.nn import objectives
from fairgear.training import Task, Validation
from fairgear.training.cuda_graph import CapturedStep, adam
from fairgear.training.micro_batches import accumulated

# People validated at a time, which bounds memory.
_CHUNK = 1024


class GearTask(Task):
    """GearLoss + μ‖θ‖², on batches of egos."""

    def __init__(
        self,
        network: GearNetwork,
        config: GearConfig,
        recipe: Recipe,
        generator: Generator | None,
        data: GearData,
    ) -> None:
        self.network = network
        self.config = config
        self.recipe = recipe
        self.egos = data.egos
        self.y, self.sens_around = data.y, data.sens_around
        self.train_rows = data.train_rows
        self.val_rows = validation_subset(data.val_rows, data.y, VALIDATED)
        self.penalty = DependencePenalty(config.r2_limit).to(self.y.device)
        self.loss = GearLoss(network, generator, config, recipe, self.penalty)
        # The average over the last steps, which varies less than any of them, is validated and
        # kept. Without averaging it is the network itself.
        self.modules: dict[str, nn.Module] = {"network": network, "penalty": self.penalty}
        self.average = network
        if recipe.averaging > 0:
            self.average = copy.deepcopy(network).requires_grad_(False)
            self.modules["average"] = self.average
        self.average_loss = replace(self.loss, network=self.average)
        # Adam adds weight_decay·θ to the gradient; that of μ‖θ‖² is 2μθ.
        self.optimizers = {
            "network": adam(network, recipe.learning_rate, weight_decay=2 * recipe.weight_decay)
        }
        # Can be captured if all steps run the same kernels on the GPU, without waiting for the CPU.
        # Infomax needs the number of members, and a causal model's worlds are looked up.
        waits = config.encoder == "infomax" or config.uses_causal_model
        captured = self.egos.on_gpu and config.micro_batches == 1 and not waits
        self._run = CapturedStep(self._update) if captured else self._update

    def step(self, number: int) -> dict[str, Tensor]:
        """One batch of labelled people for L_p, one of all people for L_f."""
        device, size = self.y.device, self.recipe.batch_size
        drawn = torch.randperm(len(self.train_rows), device=device)[:size]
        anyone = torch.randint(len(self.y), (size,), device=device)
        return self._run(self.train_rows[drawn], anyone)

    def validate(self) -> Validation:
        """AUROC, loss and flips on the validation set, under the generator."""
        rows = torch.split(self.val_rows, _CHUNK)
        views = [self.average_loss.validation_views(self.egos(part)) for part in rows]
        z, logits = (
            tuple(torch.cat(part) for part in zip(*chunks, strict=True))
            for chunks in ([one.z for one in views], [one.logits for one in views])
        )
        outcome = self.scored(Views(z, logits, views[0].own))
        if self.penalty.active:
            # Machines round differently; rank 0 decides for all.
            r2 = broadcast(outcome.figures["dependence"])
            self.penalty.update(r2, self.recipe.validate_every)
        return outcome

    def scored(self, views: Views) -> Validation:
        """The score of the views of the validation set."""
        y, logits = self.y[self.val_rows], views.logits[0]
        usable = bool(logits.isfinite().all())
        auroc = float(roc_auc_score(y.cpu(), logits.cpu())) if usable else 0.0
        loss = F.binary_cross_entropy_with_logits(logits, y.to(logits.dtype))
        parts = {"prediction": loss, **self.average_loss.fairness(views)}
        figures = {name: float(value) for name, value in parts.items()}
        cut = self._cut(y, logits) if usable else 0.0
        if self.penalty.active:
            # Of labels, as the audit reports it; the loss uses scores, which have a gradient.
            found = objectives.explained(logits > cut, self.sens_around[self.val_rows])
            figures["dependence"] = adjusted(float(found), len(y))
        figures |= {"auroc": auroc, "flips": views.flip_rate(cut)}
        return Validation(self._score(figures, logits, cut), figures)

    @torch.no_grad()
    def advice(self) -> str:
        """What the validation set says about a threshold of 0.5, for the state that was kept."""
        if self.recipe.threshold != "half":
            return ""
        self.average.eval()
        chunks = torch.split(self.val_rows, _CHUNK)
        logits = torch.cat([self.average(self.egos(rows))[1] for rows in chunks])
        y, scores = self.y[self.val_rows].cpu().numpy(), logits.double().sigmoid().cpu().numpy()
        return advice(y, scores)

    def _cut(self, y: Tensor, logits: Tensor) -> float:
        """The logit above which the label is 1, by the validation set."""
        if self.recipe.threshold != "validation":
            return 0.0
        chosen = most_accurate(y.cpu().numpy(), logits.double().sigmoid().cpu().numpy())
        return float(torch.tensor(chosen, dtype=torch.float64).logit(eps=1e-12))

    def _score(self, figures: dict[str, float], logits: Tensor, cut: float) -> float:
        """Higher is better; constant or non-finite logits lose to all others.

        So does one label for everybody, which never flips.
        """
        if not float(logits.std()) >= 1e-3:
            return -2e6
        if bool((logits > cut).all()) or bool((logits <= cut).all()):
            return figures["auroc"] - 1e6
        if self.recipe.selection == "tradeoff":
            price = self.penalty.price(figures.get("dependence", 0.0))
            return figures["auroc"] - figures["flips"] - price
        fairness = self.config.fairness_weight * figures.get("fairness", 0.0)
        return -(figures["prediction"] + fairness)

    def _update(self, labelled: Tensor, anyone: Tensor) -> dict[str, Tensor]:
        optimizer = self.optimizers["network"]
        optimizer.zero_grad(set_to_none=True)
        terms = accumulated(
            self.config.micro_batches, [self.network], self._backward, labelled, anyone
        )
        optimizer.step()
        self._update_average()
        return terms

    def _backward(self, labelled: Tensor, anyone: Tensor) -> dict[str, Tensor]:
        ego, others = self.egos(labelled), self.egos(anyone)
        return objectives.backward(
            self.loss(others, self.sens_around[anyone], ego, self.y[labelled])
        )

    @torch.no_grad()
    def _update_average(self) -> None:
        if self.average is self.network:
            return
        for mean, now in zip(
            self.average.state_dict().values(), self.network.state_dict().values(), strict=True
        ):
            if mean.is_floating_point():
                mean.lerp_(now, 1 - self.recipe.averaging)
            else:
                mean.copy_(now)
