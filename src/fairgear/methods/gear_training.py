"""What Gear trains: a Siamese encoder and classifier on factual and counterfactual egos."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass, replace

import torch
import torch.nn.functional as F
from sklearn.metrics import roc_auc_score
from torch import Tensor, nn

from fairgear.methods.gear_config import GearConfig, Regime
from fairgear.methods.generators import Ego, Generator, neighbor_perturbed, self_perturbed
from fairgear.methods.inputs import Erasure, FeatureScaler, UnitRows
from fairgear.nn import ENCODERS, Classifier, objectives, projection_head
from fairgear.training import Task, Validation

# People validated at a time: bounds memory whatever the size of the graph.
_CHUNK = 1024


class GearNetwork(nn.Module):
    """The shared encoder φ, the classifier f, and what prepares an ego for them."""

    def __init__(self, features: int, config: GearConfig, regime: Regime) -> None:
        super().__init__()
        self.use_sens = config.use_sens
        self.erasure = None if config.erase is None else Erasure(features, config.erase)
        self.unit_rows = UnitRows(features) if regime.normalize_rows else None
        width = features + int(config.use_sens)
        self.encoder = ENCODERS[config.encoder](width, config.dim, regime.layers, regime.dropout)
        self.classifier = Classifier(config.dim, config.dim, regime.dropout)
        self.projector = projection_head(config.dim) if config.projection_heads else None
        self.predictor = projection_head(config.dim) if config.projection_heads else None

    def fit_inputs(
        self, x: Tensor, sens: Tensor, scaler: FeatureScaler, shift: Tensor | None
    ) -> None:
        """Learn from all people, without labels, what is done to their features first.

        Args:
            x: scaled features.
            sens: their groups.
            scaler: what scaled them.
            shift: the direction to erase; the difference of the groups' means if None.
        """
        if self.erasure is not None:
            self.erasure.fit(x, sens, shift)
        if self.unit_rows is not None:
            self.unit_rows.fit(x, sens, scaler, self.erasure)

    def inputs(self, ego: Ego) -> Tensor:
        """What the encoder sees of each member."""
        x: Tensor = ego.x
        if self.unit_rows is not None:
            x = self.unit_rows(x, ego.sens, self.erasure)
        elif self.erasure is not None:
            x = self.erasure(x, ego.sens)
        if self.use_sens:
            x = torch.cat([x, ego.sens[..., None].to(x.dtype)], dim=-1)
        return x * ego.mask[..., None]

    def forward(self, ego: Ego) -> tuple[Tensor, Tensor]:
        """Embeddings (B, dim) and logits (B,) of the centres."""
        z = self.encoder(self.inputs(ego), ego.adjacency, ego.mask)
        return z, self.classifier(z)

    def distance(self, z: Tensor, other: Tensor) -> Tensor:
        """The cosine distance of two embeddings of the same people, behind the heads if any."""
        if self.projector is None or self.predictor is None:
            return objectives.cosine_distance(z, other)
        one, two = self.projector(z), self.projector(other)
        forth = objectives.cosine_distance(self.predictor(one), two.detach())
        back = objectives.cosine_distance(self.predictor(two), one.detach())
        return (forth + back) / 2


@dataclass(frozen=True)
class _Views:
    """Embeddings and logits of the same people in the factual and the perturbed egos."""

    z: Tensor
    logits: Tensor
    own: tuple[Tensor, Tensor] | None
    """Self-perturbed."""
    around: tuple[Tensor, Tensor] | None
    """Neighbour-perturbed, (draws, B, …)."""


class GearTask(Task):
    """L = L_p + λ L_f + weight·(logit inconsistency) + μ‖θ‖² (+ the encoder's own term)."""

    def __init__(
        self,
        network: GearNetwork,
        config: GearConfig,
        regime: Regime,
        generator: Generator | None,
        egos: Callable[[Tensor], Ego],
        y: Tensor,
        train_rows: Tensor,
        val_rows: Tensor,
    ) -> None:
        self.network = network
        self.config = config
        self.regime = regime
        self.generator = generator
        self.egos = egos
        self.y = y
        self.train_rows = train_rows
        self.val_rows = val_rows
        # The average over the last steps is what is validated and kept: it is steadier than any
        # one of them.
        self.average = copy.deepcopy(network).requires_grad_(False)
        self.modules = {"network": network, "average": self.average}
        # Adam adds weight_decay·θ to the gradient; that of μ‖θ‖² is 2μθ.
        self.optimizers = {
            "network": torch.optim.Adam(
                network.parameters(), lr=regime.learning_rate, weight_decay=2 * regime.weight_decay
            )
        }

    def step(self, number: int) -> dict[str, Tensor]:
        """One batch of labelled people for L_p, one of all people for L_f."""
        size = min(self.regime.batch_size, len(self.train_rows))
        labelled = self.train_rows[
            torch.randperm(len(self.train_rows), device=self.y.device)[:size]
        ]
        anyone = torch.randint(len(self.y), (self.regime.batch_size,), device=self.y.device)
        ego = self.egos(labelled)
        views = self._views(self.egos(anyone), also=ego)
        parts = {
            "prediction": F.binary_cross_entropy_with_logits(
                views[1], self.y[labelled].to(views[1].dtype)
            )
        }
        parts |= self._fairness(views[0], self.network)
        auxiliary = self.network.encoder.auxiliary_loss(
            self.network.inputs(ego), ego.adjacency, ego.mask
        )
        if auxiliary is not None:
            parts["infomax"] = auxiliary
        terms = objectives.weighted(
            parts,
            {"fairness": self.config.fairness_weight, "consistency": self.regime.logit_weight},
        )
        self.optimizers["network"].zero_grad(set_to_none=True)
        terms.total.backward()  # type: ignore[no-untyped-call]  # torch gives it no type
        self.optimizers["network"].step()
        self._update_average()
        return {name: part.detach() for name, part in terms.parts.items()}

    def validate(self) -> Validation:
        """AUROC, loss and flips on the validation people, under the learned generator."""
        chunks = torch.split(self.val_rows, _CHUNK)
        views = _joined_views(
            [self._views(self.egos(rows), network=self.average)[0] for rows in chunks]
        )
        y = self.y[self.val_rows]
        usable = bool(views.logits.isfinite().all())
        auroc = float(roc_auc_score(y.cpu(), views.logits.cpu())) if usable else 0.0
        parts = {
            "prediction": F.binary_cross_entropy_with_logits(
                views.logits, y.to(views.logits.dtype)
            ),
            **self._fairness(views, self.average),
        }
        flips = self._flip_rate(views)
        figures = {name: float(value) for name, value in parts.items()}
        figures |= {"auroc": auroc, "flips": flips}
        return Validation(self._score(figures, views.logits), figures)

    def _score(self, figures: dict[str, float], logits: Tensor) -> float:
        """Higher is better; constant logits, or some that are no numbers, lose to all others.

        So does one label for everybody: it never flips, and says nothing.
        """
        if not float(logits.std()) >= 1e-3:
            return -2e6
        if bool((logits > 0).all()) or bool((logits <= 0).all()):
            return figures["auroc"] - 1e6
        if self.config.selection == "tradeoff":
            return figures["auroc"] - figures["flips"]
        fairness = self.config.fairness_weight * figures.get("fairness", 0.0)
        return -(figures["prediction"] + fairness)

    def _fairness(self, views: _Views, network: GearNetwork) -> dict[str, Tensor]:
        """L_f and the inconsistency of the logits, over the perturbations that take part."""
        distances, gaps = [], []
        share = self.config.neighbor_weight
        if views.own is not None:
            distances.append((1 - share) * network.distance(views.z, views.own[0]))
            gaps.append(objectives.logit_inconsistency(views.logits, views.own[1]))
        if views.around is not None:
            z, logits = views.around
            distances.append(share * network.distance(views.z, z.mean(dim=0)))
            gaps.append(objectives.logit_inconsistency(views.logits[None], logits))
        if not distances:
            return {}
        parts = {"fairness": torch.stack(distances).sum()}
        if self.regime.logit_weight > 0:
            parts["consistency"] = torch.stack(gaps).mean()
        return parts

    @torch.no_grad()
    def _update_average(self) -> None:
        decay = self.config.averaging
        for mean, now in zip(
            self.average.state_dict().values(), self.network.state_dict().values(), strict=True
        ):
            if mean.is_floating_point():
                mean.lerp_(now, 1 - decay)
            else:
                mean.copy_(now)

    def _views(
        self, ego: Ego, also: Ego | None = None, network: GearNetwork | None = None
    ) -> tuple[_Views, Tensor]:
        """Factual and perturbed egos, and the logits of the egos `also`, in one pass."""
        config = self.config
        network = self.network if network is None else network
        draws = config.neighbor_draws if config.perturbs_neighbors else 0
        batches = [ego]
        if config.perturbs_self:
            batches.append(self._perturbed(ego, self_perturbed(ego)))
        batches += [self._perturbed(ego, neighbor_perturbed(ego)) for _ in range(draws)]
        batches += [also] if also is not None else []
        # Validation asks what becomes of the egos as they are, so those stay without noise.
        first = [self._noisy(ego) if network.training else ego]
        z, logits = network(joined(first + [self._noisy(batch) for batch in batches[1:]]))
        sizes = [len(batch) for batch in batches]
        zs, ls = list(z.split(sizes)), list(logits.split(sizes))
        last = ls.pop() if also is not None else ls[0]
        own = (zs[1], ls[1]) if config.perturbs_self else None
        begin = 1 + int(config.perturbs_self)
        around = None
        if draws:
            around = (torch.stack(zs[begin : begin + draws]), torch.stack(ls[begin:]))
        return _Views(zs[0], ls[0], own, around), last

    def _perturbed(self, ego: Ego, sens: Tensor) -> Ego:
        assert self.generator is not None
        low = self.config.least_dose
        dose = low + (1 - low) * torch.rand(len(ego), device=ego.x.device)
        return self.generator.counterfactual(ego, sens, dose)

    def _noisy(self, ego: Ego) -> Ego:
        """Training egos lose a share of their edges and gain as many elsewhere.

        The share is drawn for each ego up to `edge_noise`: an encoder that gives the same answer
        whatever the share does not lean on edges that another world would not have.
        """
        if self.config.edge_noise == 0:
            return ego
        share = self.config.edge_noise * torch.rand(len(ego), 1, 1, device=ego.x.device)
        pairs = ego.mask[:, :, None] & ego.mask[:, None, :]
        possible = (pairs.sum(dim=(1, 2)) - ego.mask.sum(dim=1)).clamp(min=1)
        density = (ego.adjacency.sum(dim=(1, 2)) / possible)[:, None, None]
        chance = torch.where(ego.adjacency > 0, 1 - share, share * density)
        upper = torch.triu(torch.rand_like(chance) < chance, diagonal=1) & pairs
        adjacency = (upper | upper.transpose(1, 2)).to(ego.x.dtype)
        return replace(ego, adjacency=adjacency)

    def _flip_rate(self, views: _Views) -> float:
        label = views.logits > 0
        flips = []
        if views.own is not None:
            flips.append(((views.own[1] > 0) != label).double().mean())
        if views.around is not None:
            flips.append(((views.around[1] > 0) != label).double().mean())
        return float(torch.stack(flips).mean()) if flips else 0.0


def _joined_views(parts: list[_Views]) -> _Views:
    """The views of several chunks of people as those of all."""

    def both(pairs: list[tuple[Tensor, Tensor] | None], dim: int) -> tuple[Tensor, Tensor] | None:
        present = [pair for pair in pairs if pair is not None]
        if not present:
            return None
        z, logits = zip(*present, strict=True)
        return torch.cat(z, dim=dim), torch.cat(logits, dim=dim)

    return _Views(
        torch.cat([part.z for part in parts]),
        torch.cat([part.logits for part in parts]),
        both([part.own for part in parts], 0),
        both([part.around for part in parts], 1),
    )


def joined(egos: list[Ego]) -> Ego:
    """Several batches as one, for the network: whose egos they are, it does not ask."""
    return Ego(
        *(
            torch.cat([getattr(ego, key) for ego in egos])
            for key in ("x", "sens", "adjacency", "mask")
        )
    )
