"""The synthetic causal model of the paper: it samples graphs and knows their counterfactuals.

S_i ~ Bernoulli(p),  Z_i ~ N(0, I),  X_i = Z_i[columns] + S_i v
A_ij = 1 where cos(Z_i, Z_j) + a·1[S_i = S_j] ≥ threshold
Y_i = 1 where w·Z_i + w_s · mean of S over i and its neighbours > the factual mean of that score
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from fairgear.causal.base import CAUSAL_MODELS, CausalModel, as_assignment
from fairgear.causal.similar_pairs import cosine_pairs
from fairgear.errors import GraphError, ParameterError
from fairgear.graph import SensitiveGraph, closed_neighborhood_mean, undirected_edges
from fairgear.seeds import check_seed


@dataclass(frozen=True)
class SyntheticSettings:
    """The parameters of the structural equations, with the paper's values."""

    n: int = 2000
    p: float = 0.4
    d_z: int = 50
    d: int = 25
    a: float = 0.01
    w_s: float = 0.5
    threshold: float = 0.4

    def __post_init__(self) -> None:
        for name, low, high in (
            ("n", 1, float("inf")),
            ("p", 0.0, 1.0),
            ("d_z", 1, float("inf")),
            ("d", 1, self.d_z),
            ("a", -1.0, 1.0),
            ("w_s", -1e6, 1e6),
            ("threshold", -1.0, 2.0),
        ):
            value = getattr(self, name)
            whole = not isinstance(low, int) or isinstance(value, int)
            if not whole or not low <= value <= high:
                raise ParameterError(
                    f"synthetic setting {name}",
                    value,
                    f"{low} to {high}",
                    f"choose {name} in that range",
                )


@dataclass(frozen=True, eq=False)
class SyntheticMechanism:
    """What a sampled graph keeps so that its counterfactuals can be computed exactly."""

    settings: SyntheticSettings
    v: Tensor
    w: Tensor
    columns: Tensor
    label_threshold: float

    def scores(self, latent: Tensor, sens: Tensor, edge_index: Tensor) -> Tensor:
        """The label's score before it is compared with the threshold."""
        # Summed row by row, not by a matrix product: a row's sum must not depend on its place.
        own = (latent * self.w.to(latent.device)).sum(dim=1)
        return own + self.settings.w_s * closed_neighborhood_mean(sens, edge_index)

    def features(self, latent: Tensor, sens: Tensor) -> Tensor:
        """The sensitive column, then d latent columns moved by v where the attribute is 1."""
        v, columns = self.v.to(latent.device), self.columns.to(latent.device)
        shifted = latent[:, columns] + sens.to(latent.dtype)[:, None] * v
        return torch.cat([sens.to(latent.dtype)[:, None], shifted], dim=1).float()


def sample(settings: SyntheticSettings | None = None, *, seed: int = 0) -> SensitiveGraph:
    """A graph of the synthetic model, with its exogenous variables; no masks yet."""
    settings = SyntheticSettings() if settings is None else settings
    rng = np.random.default_rng(check_seed("seed of the graph", seed))
    columns = torch.from_numpy(np.sort(rng.choice(settings.d_z, settings.d, replace=False)))
    v = torch.from_numpy(rng.standard_normal(settings.d))
    w = torch.from_numpy(rng.standard_normal(settings.d_z))
    sens = torch.from_numpy((rng.random(settings.n) < settings.p).astype(np.int64))
    latent = torch.from_numpy(rng.standard_normal((settings.n, settings.d_z)))
    draft = SyntheticMechanism(settings, v, w, columns, label_threshold=0.0)
    edge_index = _Pairs(latent, settings).edges(sens)
    scores = draft.scores(latent, sens, edge_index)
    mechanism = SyntheticMechanism(settings, v, w, columns, label_threshold=float(scores.mean()))
    return SensitiveGraph(
        mechanism.features(latent, sens),
        edge_index,
        (scores > mechanism.label_threshold).long(),
        sens,
        sens_column=0,
        name="synthetic",
        feature_names=["s", *(f"z{int(c)}" for c in columns)],
        latent=latent,
        mechanism=mechanism,
    )


class SyntheticCausalModel(CausalModel):
    """The exact counterfactuals of a graph sampled from the synthetic model.

    The pairs that could be edges in some world are found once and serve every world after.
    """

    name = "synthetic"
    exact = True

    _mechanism: SyntheticMechanism
    _pairs: _Pairs
    _latent: Tensor

    def _fit(self, graph: SensitiveGraph) -> None:
        if not isinstance(graph.mechanism, SyntheticMechanism) or graph.latent is None:
            raise GraphError(
                "a graph for the synthetic causal model",
                "a graph without its exogenous variables",
                "a graph sampled from the synthetic model",
                "load it with fairgear.datasets.load('synthetic')",
            )
        self._mechanism = graph.mechanism
        self._pairs = _Pairs(graph.latent, graph.mechanism.settings)
        self._latent = graph.latent
        self._check_untouched(graph)

    def counterfactual(
        self, graph: SensitiveGraph, sens: Tensor | int, *, seed: int = 0
    ) -> SensitiveGraph:
        """Features, edges and labels recomputed; the label's threshold stays factual.

        The model is deterministic given its exogenous variables, so `seed` changes nothing.
        A label that was edited or hidden in `graph` stays so unless the attribute moves it.
        """
        if not hasattr(self, "_latent"):
            # Loaded from a file: all that the model needs, the graph carries.
            self._fit(graph)
        self._check_same_nodes(graph)
        sens = as_assignment(graph, sens)
        edge_index = self._pairs.edges(sens)
        before = self._labels(graph.sens, graph.edge_index)
        after = self._labels(sens, edge_index)
        moved = (before != after) & (graph.y >= 0)
        return graph.replace(
            x=self._mechanism.features(self._latent, sens),
            edge_index=edge_index,
            y=torch.where(moved, after, graph.y),
            sens=sens,
        )

    def _labels(self, sens: Tensor, edge_index: Tensor) -> Tensor:
        scores = self._mechanism.scores(self._latent, sens, edge_index)
        return (scores > self._mechanism.label_threshold).long()

    def _check_same_nodes(self, graph: SensitiveGraph) -> None:
        if graph.latent is None or not torch.equal(graph.latent, self._latent):
            raise GraphError(
                "a graph for this causal model",
                "other nodes, or nodes in another order",
                "the graph it was made for, or a counterfactual of it",
                "call fairgear.causal.for_graph(graph) again",
            )

    def _check_untouched(self, graph: SensitiveGraph) -> None:
        """Features or edges edited after sampling have no known counterfactual."""
        same_x = torch.equal(self._mechanism.features(self._latent, graph.sens), graph.x)
        if not same_x or not torch.equal(self._pairs.edges(graph.sens), graph.edge_index):
            raise GraphError(
                "a graph for the synthetic causal model",
                f"{'edges' if same_x else 'features'} that differ from its equations",
                "a sampled graph as it was sampled",
                "scale features inside the model, or drop the mechanism "
                "(graph.replace(mechanism=None)) and fit a causal model",
            )


class _Pairs:
    """The pairs of nodes whose edge can exist in some world, with their cosines."""

    def __init__(self, latent: Tensor, settings: SyntheticSettings) -> None:
        self._latent = latent
        self._settings = settings

    @cached_property
    def _found(self) -> tuple[Tensor, Tensor]:
        lowest = self._settings.threshold - max(self._settings.a, 0.0)
        vectors: NDArray[np.float64] = self._latent.cpu().numpy()
        # One step below: the sum cos + a is rounded, the difference threshold - a too.
        pairs, cosines = cosine_pairs(vectors, np.nextafter(lowest, -2.0))
        return torch.from_numpy(pairs), torch.from_numpy(cosines)

    def edges(self, sens: Tensor) -> Tensor:
        """The edges of the world in which the attribute is `sens`."""
        pairs, cosines = (found.to(sens.device) for found in self._found)
        same = sens[pairs[0]] == sens[pairs[1]]
        reached = cosines + self._settings.a * same >= self._settings.threshold
        return undirected_edges(pairs[:, reached], len(sens))


CAUSAL_MODELS.add("synthetic", SyntheticCausalModel)
