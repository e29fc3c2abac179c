"""What Gear trains: a Siamese encoder and classifier on factual and counterfactual egos."""

from __future__ import annotations

import copy

import torch
import torch.nn.functional as F
from sklearn.metrics import roc_auc_score
from torch import Tensor

from fairgear.methods.gear_config import GearConfig, Regime
from fairgear.methods.gear_data import GearData
from fairgear.methods.gear_loss import GearLoss, Views, flip_rate, joined_views
from fairgear.methods.gear_network import GearNetwork
from fairgear.methods.generators import Generator
from fairgear.methods.pressure import adjusted
from fairgear.methods.thresholds import advice, most_accurate
from fairgear.nn import objectives
from fairgear.ranks import ranks
from fairgear.training import Task, Validation
from fairgear.training.adam import adam
from fairgear.training.micro_batches import accumulated
from fairgear.training.precision import computing, forward_in
from fairgear.training.recorded import Recorded

# People validated at a time: bounds memory whatever the size of the graph.
CHUNK = 1024
# Of more validation people than this, so many are looked at during training.
JUDGES = 10_000


class GearTask(Task):
    """GearLoss + μ‖θ‖², on batches of egos."""

    def __init__(
        self,
        network: GearNetwork,
        config: GearConfig,
        regime: Regime,
        generator: Generator | None,
        data: GearData,
    ) -> None:
        self.network = network
        self.config = config
        self.regime = regime
        self.egos = data.egos
        self.y, self.sens_around = data.y, data.sens_around
        self.train_rows = data.train_rows
        self.val_rows = judges(data.val_rows, data.y, JUDGES)
        self.loss = GearLoss(network, generator, config, regime)
        # The average over the last steps is what is validated and kept: it is steadier than any
        # one of them. Without averaging it is the network itself.
        self.average = network
        if regime.averaging > 0:
            self.average = copy.deepcopy(network).requires_grad_(False)
        self.average_loss = GearLoss(self.average, generator, config, regime)
        self.modules = {"network": network, "pressure": self.loss.pressure}
        if self.average is not network:
            self.modules["average"] = self.average
        # Adam adds weight_decay·θ to the gradient; that of μ‖θ‖² is 2μθ.
        self.optimizers = {
            "network": adam(network, regime.learning_rate, weight_decay=2 * regime.weight_decay)
        }
        self._update = Recorded(self._plain_update) if self.can_be_recorded() else None

    def step(self, number: int) -> dict[str, Tensor]:
        """One batch of labelled people for L_p, one of all people for L_f."""
        update = self._plain_update if self._update is None else self._update
        return update(*self.draw())

    def draw(self) -> tuple[Tensor, Tensor]:
        """The people of a step: labelled ones, and anyone."""
        size = min(self.regime.batch_size, len(self.train_rows))
        labelled = self.train_rows[
            torch.randperm(len(self.train_rows), device=self.y.device)[:size]
        ]
        anyone = torch.randint(len(self.y), (self.regime.batch_size,), device=self.y.device)
        return labelled, anyone

    def validate(self) -> Validation:
        """AUROC, loss and flips on the validation people, under the learned generator."""
        self.average_loss.eval()
        chunks = torch.split(self.val_rows, CHUNK)
        views = [self.average_loss.views(self.egos(rows))[0] for rows in chunks]
        outcome = self.judged(joined_views(views))
        self.heed(outcome)
        return outcome

    def heed(self, outcome: Validation) -> None:
        """Press harder on R², or less, as the validation people say."""
        if self.loss.pressure.limited:
            # Machines round differently; all must press alike.
            r2 = ranks().agreed(outcome.figures["dependence"])
            self.loss.pressure.heed(r2, self.config.validate_every)

    def judged(self, views: Views) -> Validation:
        """What the views of the validation people say."""
        y = self.y[self.val_rows]
        usable = bool(views.logits.isfinite().all())
        auroc = float(roc_auc_score(y.cpu(), views.logits.cpu())) if usable else 0.0
        parts = {
            "prediction": F.binary_cross_entropy_with_logits(
                views.logits, y.to(views.logits.dtype)
            ),
            **self.average_loss.fairness(views),
        }
        figures = {name: float(value) for name, value in parts.items()}
        cut = self._cut(y, views.logits) if usable else 0.0
        if self.loss.pressure.limited:
            # Of the labels, since that is what is reported; training needs a gradient.
            found = objectives.explained(views.logits > cut, self.sens_around[self.val_rows])
            figures["dependence"] = adjusted(float(found), len(y))
        figures |= {"auroc": auroc, "flips": flip_rate(views, cut)}
        return Validation(self._score(figures, views.logits, cut), figures)

    def _cut(self, y: Tensor, logits: Tensor) -> float:
        """The logit above which the label is 1, by the people who judge."""
        if self.regime.threshold != "validation":
            return 0.0
        chosen = most_accurate(y.cpu().numpy(), logits.double().sigmoid().cpu().numpy())
        return float(torch.tensor(chosen, dtype=torch.float64).logit(eps=1e-12))

    @torch.no_grad()
    def advice(self) -> str:
        """What the people who judge say about the threshold, of the state that was kept."""
        if self.regime.threshold != "half":
            return ""
        self.average.eval()
        chunks = torch.split(self.val_rows, CHUNK)
        logits = torch.cat([self.average(self.egos(rows))[1] for rows in chunks])
        y, scores = self.y[self.val_rows].cpu().numpy(), logits.double().sigmoid().cpu().numpy()
        return advice(y, scores)

    def _plain_update(self, labelled: Tensor, anyone: Tensor) -> dict[str, Tensor]:
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
        precision = self.config.precision
        with computing(precision):
            with forward_in(precision, self.y.device):
                terms: objectives.Terms = self.loss(
                    others, self.sens_around[anyone], ego, self.y[labelled]
                )
            return objectives.backward(terms)

    def can_be_recorded(self) -> bool:
        """Whether a step does the same on the card each time, without a word from outside.

        Infomax asks how many members there are, and a causal model's worlds are looked up.
        """
        return (
            self.egos.on_card
            and self.config.micro_batches == 1
            and self.config.encoder != "infomax"
            and not self.config.uses_causal_model
        )

    def _score(self, figures: dict[str, float], logits: Tensor, cut: float) -> float:
        """Higher is better; constant logits, or some that are no numbers, lose to all others.

        So does one label for everybody: it never flips, and says nothing.
        """
        if not float(logits.std()) >= 1e-3:
            return -2e6
        if bool((logits > cut).all()) or bool((logits <= cut).all()):
            return figures["auroc"] - 1e6
        if self.config.selection == "tradeoff":
            price = self.loss.pressure.price(figures.get("dependence", 0.0))
            return figures["auroc"] - figures["flips"] - price
        fairness = self.config.fairness_weight * figures.get("fairness", 0.0)
        return -(figures["prediction"] + fairness)

    @torch.no_grad()
    def _update_average(self) -> None:
        decay = self.regime.averaging
        if decay == 0:
            return
        for mean, now in zip(
            self.average.state_dict().values(), self.network.state_dict().values(), strict=True
        ):
            if mean.is_floating_point():
                mean.lerp_(now, 1 - decay)
            else:
                mean.copy_(now)


def judges(rows: Tensor, y: Tensor, most: int) -> Tensor:
    """At most so many of the rows, at even distances within each class, in their order."""
    if len(rows) <= most:
        return rows
    classes = [rows[y[rows] == label] for label in (0, 1)]
    # A rare class keeps at least one in four of the places, as far as it goes.
    fewest = min(min(len(part) for part in classes), most // 4)
    kept = []
    for part in classes:
        places = max(fewest, min(len(part) * most // len(rows), most - fewest))
        step = torch.arange(places, device=rows.device) * len(part) // places
        kept.append(part[step])
    return torch.cat(kept).sort().values
