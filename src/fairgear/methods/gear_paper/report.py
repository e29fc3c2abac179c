"""The quality of a generator: what it rebuilds, what it moves, and whether H still tells s."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import cross_val_score
from torch import Tensor

from fairgear.graph import SensitiveGraph
from fairgear.methods.ego_method import EgoMethod
from fairgear.methods.egos import (
    SAMPLE,
    Ego,
    EgoSource,
    neighbor_perturbed,
    sampled_egos,
    self_perturbed,
)
from fairgear.nn import GraphVAE, objectives
from fairgear.training import seeded


@dataclass(frozen=True)
class GeneratorReport:
    """The generator's own quality, on egos of the training graph."""

    feature_r2: float
    """Share of the variance of X that the decoder explains from H and s."""
    edge_auroc: float
    """How well the decoder tells linked from unlinked pairs within egos."""
    kl: float
    """KL of the posterior of H from its prior, in nats per node."""
    base_rate: float
    """Share of the larger group: the accuracy of always guessing it."""
    sens_from_h: float
    """Accuracy of the better of two fresh classifiers that read a node's s from its H."""
    shift_norm: float
    """Norm of the mean change of the features from s = 0 to s = 1, in standard deviations."""
    self_features_moved: float
    """Mean change of the centre's features under self-perturbation, in standard deviations."""
    self_edges_added: float
    """Edges that an ego gains under self-perturbation, as a share of its edges."""
    self_edges_removed: float
    neighbor_features_moved: float
    """Mean change of the members' features under neighbour-perturbation."""
    neighbor_edges_added: float
    neighbor_edges_removed: float


@torch.no_grad()
def report_generator(model: EgoMethod, graph: SensitiveGraph) -> GeneratorReport | None:
    """The report on a fitted model's graph VAE, on the graph it was fitted on.

    None for a model without one.
    """
    generator = model.generator()
    vae = getattr(generator, "vae", None)
    if generator is None or not isinstance(vae, GraphVAE):
        return None
    device = model.torch_device()
    index, scaler = model.ego_index(graph), model.scaler_.to(device)
    egos = EgoSource(graph, index, scaler, device, graph.canonical.rows)
    vae = vae.to(device)
    with seeded(model.seed, SAMPLE):
        ego = sampled_egos(egos, len(graph.x))
        own = generator.counterfactual(ego, self_perturbed(ego))
        around = generator.counterfactual(ego, neighbor_perturbed(ego))
    latent = vae.encode(ego.x, ego.sens, ego.adjacency, ego.mask)
    h = latent.mean
    residual = (vae.decode_features(h, ego.sens) - ego.x)[ego.mask]
    pairs = torch.triu(ego.mask[:, :, None] & ego.mask[:, None, :], diagonal=1)
    linked, logits = ego.adjacency[pairs].cpu(), vae.decode_edges(h, ego.sens)[pairs].cpu()
    both = bool((linked != linked[:1]).any())
    base_rate, accuracy = _readability(h[:, 0], ego.sens[:, 0])
    own_added, own_removed = _edge_changes(ego, own)
    around_added, around_removed = _edge_changes(ego, around)
    return GeneratorReport(
        feature_r2=1 - float(residual.square().sum() / ego.x[ego.mask].square().sum()),
        edge_auroc=float(roc_auc_score(linked, logits)) if both else float("nan"),
        kl=float(objectives.normal_kl(latent.mean, latent.log_variance, ego.mask)),
        base_rate=base_rate,
        sens_from_h=accuracy,
        shift_norm=float(_shift(vae, ego, h).norm()),
        self_features_moved=float((own.x - ego.x)[:, 0].norm(dim=-1).mean()),
        self_edges_added=own_added,
        self_edges_removed=own_removed,
        neighbor_features_moved=float((around.x - ego.x)[ego.mask].norm(dim=-1).mean()),
        neighbor_edges_added=around_added,
        neighbor_edges_removed=around_removed,
    )


def _shift(vae: GraphVAE, ego: Ego, h: Tensor) -> Tensor:
    """The mean change (d,) of the scaled features from s = 0 to s = 1."""
    zeros = torch.zeros_like(ego.sens)
    change = vae.decode_features(h, zeros + 1) - vae.decode_features(h, zeros)
    return change[ego.mask].mean(dim=0)


def _edge_changes(before: Ego, after: Ego) -> tuple[float, float]:
    total = before.adjacency.sum().clamp(min=1)
    change = after.adjacency - before.adjacency
    return float((change > 0).sum() / total), float((change < 0).sum() / total)


def _readability(h: Tensor, sens: Tensor) -> tuple[float, float]:
    """The base rate, and the cross-validated accuracy of fresh classifiers of s from H."""
    values, s = h.cpu().numpy(), sens.cpu().numpy()
    base = float(max(s.mean(), 1 - s.mean()))
    if min(np.bincount(s, minlength=2)) < 5 or not np.isfinite(values).all():
        return base, float("nan")
    readers = (
        LogisticRegression(max_iter=500),
        HistGradientBoostingClassifier(max_iter=50, random_state=0),
    )
    return base, max(float(cross_val_score(reader, values, s, cv=5).mean()) for reader in readers)
