"""Graphs drawn from the synthetic model."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from fairgear.causal.synthetic.mechanism import STEP, SyntheticMechanism
from fairgear.causal.synthetic.pairs import pairs_of
from fairgear.causal.synthetic.settings import SyntheticSettings
from fairgear.graph import SensitiveGraph
from fairgear.settings import check_seed


def sample(
    settings: SyntheticSettings | None = None, *, seed: int = 0, name: str = "synthetic"
) -> SensitiveGraph:
    """A graph of the synthetic model, with its exogenous variables; no masks yet.

    Example:
        >>> from fairgear.causal import SyntheticSettings, sample
        >>> graph = sample(SyntheticSettings(n=100), seed=1)
        >>> graph.num_nodes, tuple(graph.latent.shape)
        (100, (100, 50))
    """
    settings = SyntheticSettings() if settings is None else settings
    rng = np.random.default_rng(check_seed("seed of the graph", seed))
    columns = torch.from_numpy(np.sort(rng.choice(settings.d_z, settings.d, replace=False)))
    v = torch.from_numpy(rng.standard_normal(settings.d))
    w = torch.from_numpy(rng.standard_normal(settings.d_z))
    uniform = rng.random(settings.n)
    sens = torch.from_numpy((uniform < settings.p).astype(np.int64))
    if settings.continuous:
        # In steps that a float32 column holds exactly.
        sens = torch.from_numpy(np.floor(uniform / STEP) * STEP)
    latent = torch.from_numpy(rng.standard_normal((settings.n, settings.d_z)))
    # Drawn last, so that everything else is the paper's whatever these are.
    stretch, skew = settings.shape * torch.from_numpy(rng.standard_normal((2, settings.d)))
    if settings.noise:
        noise = torch.from_numpy(rng.standard_normal((settings.n, settings.d)))
        latent = torch.cat([latent, noise], dim=1)
    if settings.groups > 2:
        sens = torch.from_numpy(rng.integers(settings.groups, size=settings.n))
        more = torch.from_numpy(rng.standard_normal((settings.groups - 2, settings.d)))
        v = torch.cat([torch.zeros_like(v)[None], v[None], more])
    if settings.second_groups > 1:
        second = torch.from_numpy(rng.integers(settings.second_groups, size=settings.n))
        u = torch.from_numpy(rng.standard_normal((settings.second_groups, settings.d)))
        u[0] = 0
        v = v if v.dim() == 2 else torch.stack([torch.zeros_like(v), v])
        sens = sens * settings.second_groups + second
        v = (v[:, None] + u).flatten(end_dim=1)
    draft = SyntheticMechanism(settings, v, w, columns, stretch.exp(), skew.tanh(), 0.0)
    edges = pairs_of(draft, latent).fields(sens)
    edge_index, edge_weight = edges["edge_index"], edges.get("edge_weight")
    scores = draft.scores(latent, sens, edge_index, edge_weight)
    mechanism = draft.known_scores(scores)
    several = settings.classes > 2 and not settings.number
    names: dict[str, Any] = {}
    if several:
        names["label_names"] = tuple(map(str, range(settings.classes)))
    return SensitiveGraph(
        mechanism.features(latent, sens),
        edge_index,
        mechanism.labels(scores),
        sens,
        sens_column=0,
        attributes=settings.attributes,
        name=name,
        feature_names=["s", *(f"z{int(c)}" for c in columns)],
        latent=latent,
        mechanism=mechanism,
        directed=settings.directed,
        edge_weight=edge_weight,
        **names,
    )
