"""What Gear minimises: prediction, alike answers under the family, and no more R² than allowed."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from fairgear.methods.egos import Ego
from fairgear.methods.gear.config import GearConfig
from fairgear.methods.gear.family import MovedPeople
from fairgear.methods.gear.network import GearNetwork
from fairgear.nn import objectives

# Answers differ where a logit crosses the cut. The cut is as soft as this share of the logits'
# standard deviation: squeezing all logits towards it gains nothing.
SOFTNESS = 0.5
# How much the models with more inconsistency are drawn more often, and
_TILT = 1.0
# the share of a step in their running means.
_SHARE = 0.1
# Constants of the dependence penalty. Growth of its integral per step and relative excess of R²,
_RATE = 0.014
# weight of the present excess: R² reacts late, and would oscillate without it,
_DAMPING = 1.4
# the least limit that an excess is relative to,
_LEAST = 0.01
# the largest weight: above it, nothing but R² would be learned,
_MOST = 10.0
# and the price of a unit of excess R² in the score of a state, in AUROC.
_PRICE = 10.0


class ModelWeights(nn.Module):
    """How often each model of the family is drawn: w ∝ exp(running inconsistency / its mean).

    A module, so that checkpoints hold its state and a captured step reads it anew.
    """

    running: Tensor

    def __init__(self, models: int) -> None:
        super().__init__()
        self.register_buffer("running", torch.ones(models))

    def forward(self) -> Tensor:
        """The probabilities (models,)."""
        relative = self.running / self.running.mean().clamp(min=1e-12)
        return torch.softmax(_TILT * relative, dim=0)

    @torch.no_grad()
    def update(self, sums: Tensor, counts: Tensor) -> None:
        """Take in the inconsistency of a step, summed by model, and how often each was drawn."""
        seen = counts > 0
        # Counts are means over micro-batches, and may be below one.
        mean = torch.where(seen, sums / torch.where(seen, counts, 1.0), self.running)
        self.running.lerp_(mean, _SHARE)


class DependencePenalty(nn.Module):
    """The weight of R² in the loss, which keeps R² on the validation set at a limit.

    Dual ascent with damping: above the limit the weight grows with each validation, below it the
    weight shrinks again, so that training ends with R² at the limit. A limit of 1 allows all.

    Args:
        limit: of R².
        people: in the validation set; what so few show by chance is no excess.
    """

    integral: Tensor
    weight: Tensor

    def __init__(self, limit: float, people: int) -> None:
        super().__init__()
        # R² of n independent people is χ²/n in a large sample, which is below 4/n with 95 %.
        self.limit = limit + (4 / people if limit < 1 else 0.0)
        self.register_buffer("integral", torch.zeros(()))
        self.register_buffer("weight", torch.zeros(()))

    @property
    def active(self) -> bool:
        """Whether there is a limit."""
        return self.limit < 1

    @torch.no_grad()
    def update(self, r2: float, steps: int) -> None:
        """Adapt the weight to the R² after that many more steps."""
        above = (r2 - self.limit) / max(self.limit, _LEAST)
        self.integral.add_(_RATE * steps * above).clamp_(0.0, _MOST)
        self.weight.copy_((self.integral + _DAMPING * above).clamp(0.0, _MOST))

    def price(self, r2: float) -> float:
        """What is subtracted from the score of a state with that R²."""
        return _PRICE * max(0.0, r2 - self.limit)


def adjusted(r2: float, people: int) -> float:
    """R² adjusted for the number of people."""
    return 1 - (1 - r2) * (people - 1) / (people - 2) if people > 2 else 0.0


class Boundary(nn.Module):
    """The cut that divides logits into answers, as it was at the last validation."""

    cut: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("cut", torch.zeros(()))

    def forward(self, logits: Tensor, scale: Tensor) -> Tensor:
        """Answers from −1 to 1: the closer a logit is to the cut, the less decided."""
        return torch.tanh((logits - self.cut) / (SOFTNESS * scale))


@dataclass(frozen=True)
class GearLoss:
    """L = cross-entropy + λ · inconsistency + π · R², with π the weight of the penalty.

    The inconsistency is that of the answers of the same people in their ego as it is, and in the
    ego after somebody in it was moved to the other group by a model of the family.
    """

    network: GearNetwork
    moved: MovedPeople
    config: GearConfig
    weights: ModelWeights
    penalty: DependencePenalty
    boundary: Boundary

    def __call__(
        self, anyone: Ego, sens_around: Tensor, labelled: Ego, y: Tensor
    ) -> tuple[objectives.Terms, Tensor]:
        """The terms on a batch of all people, and of labelled people whose labels are `y`.

        `sens_around` is the mean of s over each of the former and their neighbours. Also returns
        the inconsistency summed by model, and how often each model was drawn, as (2, models).
        """
        logits = self.network(labelled)[1]
        parts = {"prediction": F.binary_cross_entropy_with_logits(logits, y.to(logits.dtype))}
        drawn = torch.zeros(2, self.moved.models, device=y.device)
        if self.config.fairness_weight > 0 or self.penalty.active:
            # Without dropout: the two answers must differ by what was moved alone.
            self.network.eval()
            factual = self.network(anyone)[1]
            if self.config.fairness_weight > 0:
                parts["consistency"], drawn = self._consistency(anyone, factual)
            if self.penalty.active:
                parts["dependence"] = objectives.dependence(factual, sens_around)
            self.network.train()
        weights: dict[str, float | Tensor] = {
            "consistency": self.config.fairness_weight,
            "dependence": self.penalty.weight,
        }
        return objectives.weighted(parts, weights), drawn

    def _consistency(self, ego: Ego, factual: Tensor) -> tuple[Tensor, Tensor]:
        probabilities = self.weights()
        model = torch.multinomial(probabilities, len(ego), replacement=True)
        draw = torch.randint(self.moved.DRAWS, (len(ego),), device=ego.x.device)
        other = self.network(self.perturbed(ego, assignment(ego), model, draw))[1]
        scale = factual.detach().std().clamp(min=1e-3)
        gaps = (self.boundary(factual, scale) - self.boundary(other, scale)).square()
        counted = F.one_hot(model, len(probabilities)).to(gaps.dtype)
        return gaps.mean(), torch.stack([gaps.detach() @ counted, counted.sum(dim=0)])

    def perturbed(self, ego: Ego, sens: Tensor, model: Tensor, draw: Tensor) -> Ego:
        """The egos with s set (B, k), as a model moves people, and with other edges.

        Args:
            ego: of people in the graph.
            sens: everybody's new value; those who keep theirs keep their features.
            model, draw: of `MovedPeople`, one for each ego.
        """
        assert ego.n_id is not None
        changes = ((sens != ego.sens) & ego.mask)[..., None, None]
        x = torch.where(changes, self.moved(ego.n_id, model, draw), ego.x)
        return self._noisy(replace(ego, x=x, sens=sens * ego.mask))

    def _noisy(self, ego: Ego) -> Ego:
        """Egos that lost a share of their edges and gained others.

        They gain as many as they lost, less the share of pairs that are edges already. The share
        is drawn for each ego up to `edge_noise`: an encoder whose output hardly depends on it does
        not rely on edges that another world would not have.
        """
        if self.config.edge_noise == 0 or not self.config.reads_graph:
            return ego
        share = self.config.edge_noise * torch.rand(len(ego), 1, 1, device=ego.x.device)
        pairs = ego.mask[:, :, None] & ego.mask[:, None, :]
        possible = (pairs.sum(dim=(1, 2)) - ego.mask.sum(dim=1)).clamp(min=1)
        density = (ego.adjacency.sum(dim=(1, 2)) / possible)[:, None, None]
        chance = torch.where(ego.adjacency > 0, 1 - share, share * density)
        upper = torch.triu(torch.rand_like(chance) < chance, diagonal=1) & pairs
        adjacency = (upper | upper.transpose(1, 2)).to(ego.x.dtype)
        return replace(ego, adjacency=adjacency)


def assignment(ego: Ego) -> Tensor:
    """New values of s (B, k): of the centre alone, of everyone else, or of everyone.

    A centre alone is flipped. Otherwise nobody, half of the members or all of them are set to 1.
    """
    size, device = (len(ego), 1), ego.x.device
    who = torch.randint(3, size, device=device)
    rate = torch.randint(3, size, device=device) / 2
    drawn = (torch.rand(ego.sens.shape, device=device) < rate).to(ego.sens.dtype)
    centre = torch.arange(ego.sens.shape[1], device=device) == 0
    alone = torch.where(centre, 1 - ego.sens, ego.sens)
    others = torch.where(centre, ego.sens, drawn)
    return torch.where(who == 0, alone, torch.where(who == 1, others, drawn))
