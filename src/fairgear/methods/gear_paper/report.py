"""The quality of a generator: what it rebuilds, what it moves, and whether H still tells s."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import cross_val_score
from torch import Tensor

from fairgear.graph import SensitiveGraph
from fairgear.methods.ego_method import EgoMethod
from fairgear.methods.egos import (
    SAMPLE,
    Ego,
    EgoSource,
    SensValues,
    neighbor_perturbed,
    sampled_egos,
    self_perturbed,
)
from fairgear.nn import GraphVAE, SensCode, objectives
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
    """Share of the largest group: the accuracy of always guessing it; 0 where s is a number."""
    sens_from_h: float
    """Accuracy of the better of two fresh classifiers that read a node's s from its H; of a number,
    R² of prediction, at least 0."""
    shift_norm: float
    """Norm of the mean change of the features from s = 0 to s = 1, in standard deviations; of
    several groups the largest from the first to another, of a number that of one deviation."""
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
        values = SensValues.of(graph, device)
        own = generator.counterfactual(ego, self_perturbed(ego, values))
        around = generator.counterfactual(ego, neighbor_perturbed(ego, values))
    latent = vae.encode(ego.x, ego.sens, ego.adjacency, ego.mask)
    h = latent.mean
    residual = (vae.decode_features(h, ego.sens) - ego.x)[ego.mask]
    pairs = objectives.member_pairs(ego.mask, directed=vae.directed)
    linked, logits = ego.adjacency[pairs].cpu(), vae.decode_edges(h, ego.sens)[pairs].cpu()
    both = bool((linked != linked[:1]).any())
    base_rate, accuracy = _readability(h[:, 0], ego.sens[:, 0], vae.code)
    own_added, own_removed = _edge_changes(ego, own)
    around_added, around_removed = _edge_changes(ego, around)
    return GeneratorReport(
        feature_r2=1 - float(residual.square().sum() / ego.x[ego.mask].square().sum()),
        edge_auroc=float(roc_auc_score(linked, logits)) if both else float("nan"),
        kl=float(objectives.normal_kl(latent.mean, latent.log_variance, ego.mask)),
        base_rate=base_rate,
        sens_from_h=accuracy,
        shift_norm=_shift(vae, ego, h),
        self_features_moved=float((own.x - ego.x)[:, 0].norm(dim=-1).mean()),
        self_edges_added=own_added,
        self_edges_removed=own_removed,
        neighbor_features_moved=float((around.x - ego.x)[ego.mask].norm(dim=-1).mean()),
        neighbor_edges_added=around_added,
        neighbor_edges_removed=around_removed,
    )


def _shift(vae: GraphVAE, ego: Ego, h: Tensor) -> float:
    """The norm of the mean change of the scaled features from one s to another."""
    first, code = torch.zeros_like(ego.sens), vae.code
    if code.is_number:
        others = [first + code.mean + code.scale]
        first = first + code.mean
    else:
        others = [first + group for group in range(1, code.groups)]
    before = vae.decode_features(h, first)
    changes = [vae.decode_features(h, other) - before for other in others]
    return max(float(change[ego.mask].mean(dim=0).norm()) for change in changes)


def _edge_changes(before: Ego, after: Ego) -> tuple[float, float]:
    total = before.adjacency.sum().clamp(min=1)
    change = after.adjacency - before.adjacency
    return float((change > 0).sum() / total), float((change < 0).sum() / total)


def _readability(h: Tensor, sens: Tensor, code: SensCode) -> tuple[float, float]:
    """The base rate, and the cross-validated accuracy of fresh classifiers of s from H.

    Of a number, 0 and the R² of fresh regressions.
    """
    values, s = h.cpu().numpy(), sens.cpu().numpy()
    if code.is_number:
        if not np.isfinite(values).all():
            return 0.0, float("nan")
        readers = (LinearRegression(), HistGradientBoostingRegressor(max_iter=50, random_state=0))
        found = [float(cross_val_score(reader, values, s, cv=5).mean()) for reader in readers]
        return 0.0, max(0.0, *found)
    count = np.bincount(s, minlength=code.groups)
    base = float(count.max() / len(s))
    if min(count) < 5 or not np.isfinite(values).all():
        return base, float("nan")
    classifiers = (
        LogisticRegression(max_iter=500),
        HistGradientBoostingClassifier(max_iter=50, random_state=0),
    )
    return base, max(float(cross_val_score(each, values, s, cv=5).mean()) for each in classifiers)
