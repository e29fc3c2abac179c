"""The pairs of people that the synthetic model joins in some world."""

from __future__ import annotations

from functools import cached_property

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from fairgear.causal.synthetic.mechanism import STEP, SyntheticMechanism
from fairgear.causal.synthetic.settings import SyntheticSettings
from fairgear.graph import SensitiveGraph, undirected_edges
from fairgear.progress import bar

# A block of 2,048 × 16,384 float32 products is 128 MiB, whatever the number of nodes.
_ROWS, _COLUMNS = 2048, 16384
# float32 products are accurate to about 1e-6; pairs within this margin are computed again.
_MARGIN = 1e-4
# How fast weights grow with nearness.
_SPREAD = 10.0
# Coarse enough that sums of products with them are exact too.
_WEIGHT_STEP = 2.0**-8


class SyntheticPairs:
    """The pairs of nodes that can be an edge in some world, with their cosines.

    `pull` (n,) is how much nearer each node is to those who may point to it.
    """

    def __init__(self, latent: Tensor, settings: SyntheticSettings, pull: Tensor) -> None:
        self._latent = latent
        self._settings = settings
        self._pull = pull

    def fields(self, sens: Tensor) -> dict[str, Tensor]:
        """The fields of a graph for the edges of the world in which the attribute is `sens`."""
        if not self._settings.directed and not self._settings.weighted:
            return {"edge_index": self.edges(sens)}
        pairs, cosines = (found.to(sens.device) for found in self._found)
        arcs, near = torch.cat([pairs, pairs.flip(0)], dim=1), torch.cat([cosines, cosines])
        near = near + self._settings.a * self.agreement(sens[arcs[0]], sens[arcs[1]])
        if self._settings.directed:
            near = near + self._pull.to(sens.device)[arcs[1]]
        reached = near >= self._settings.threshold
        arcs, excess = arcs[:, reached], near[reached] - self._settings.threshold
        order = (arcs[0] * len(sens) + arcs[1]).argsort()
        if not self._settings.weighted:
            return {"edge_index": arcs[:, order]}
        weight = (torch.exp2(_SPREAD * excess) / _WEIGHT_STEP).round() * _WEIGHT_STEP
        return {"edge_index": arcs[:, order], "edge_weight": weight[order]}

    def made(self, graph: SensitiveGraph) -> bool:
        """Whether the edges of a graph are those of its attribute."""
        fields = self.fields(graph.sens)
        if ("edge_weight" in fields) != (graph.edge_weight is not None):
            return False
        same = graph.directed == self._settings.directed
        return same and all(torch.equal(graph[key], value) for key, value in fields.items())

    @cached_property
    def _found(self) -> tuple[Tensor, Tensor]:
        lowest = self._settings.threshold - max(self._settings.a, 0.0)
        if self._settings.directed:
            lowest -= self._settings.reach
        vectors: NDArray[np.float64] = self._latent.cpu().numpy()
        # One step below: both the sum cos + a and the difference threshold − a are rounded.
        pairs, cosines = _cosine_pairs(vectors, np.nextafter(lowest, -2.0))
        return torch.from_numpy(pairs), torch.from_numpy(cosines)

    def edges(self, sens: Tensor) -> Tensor:
        """The edges of the world in which the attribute is `sens`."""
        pairs, cosines = (found.to(sens.device) for found in self._found)
        same = self.agreement(sens[pairs[0]], sens[pairs[1]])
        reached = cosines + self._settings.a * same >= self._settings.threshold
        return undirected_edges(pairs[:, reached], len(sens))

    def changes(self, people: Tensor, after: Tensor, sens: Tensor) -> tuple[Tensor, Tensor]:
        """The edges lost and gained if some people's attribute became `after`; on the CPU."""
        pairs, cosines = self._found
        begin, incident = self._incident
        parts = [incident[begin[i] : begin[i + 1]] for i in people.tolist()]
        chosen = torch.unique(torch.cat([incident[:0], *parts]))
        pairs, cosines = pairs[:, chosen], cosines[chosen]
        old = sens[pairs]
        new = old.clone()
        for person, value in zip(people.tolist(), after.tolist(), strict=True):
            new[pairs == person] = value
        was, is_now = (
            cosines + self._settings.a * self.agreement(*one) >= self._settings.threshold
            for one in (old, new)
        )
        return pairs[:, was & ~is_now], pairs[:, is_now & ~was]

    def agreement(self, one: Tensor, other: Tensor) -> Tensor:
        """How much the attributes of two people agree, 0 to 1."""
        if self._settings.continuous:
            return (1 - (one - other).abs()).clamp(min=0)
        values = self._settings.second_groups
        if values == 1:
            return one == other
        first, second = one // values == other // values, one % values == other % values
        return (first.double() + second.double()) / 2

    def joined(self, ends: Tensor, sens: Tensor) -> Tensor:
        """Whether pairs (2, m) are linked, from the first to the second, where s is `sens`."""
        unit = _unit(self._latent.cpu().numpy())
        one, other = ends.numpy()
        near = torch.from_numpy((unit[one] * unit[other]).sum(axis=1))
        near = near + self._settings.a * self.agreement(sens[ends[0]], sens[ends[1]])
        if self._settings.directed:
            near = near + self._pull.cpu()[ends[1]]
        return near >= self._settings.threshold

    @cached_property
    def _incident(self) -> tuple[Tensor, Tensor]:
        """Where the pairs of each node begin, and the pairs."""
        pairs, n = self._found[0], len(self._latent)
        ends, order = pairs.flatten().sort(stable=True)
        return torch.searchsorted(ends, torch.arange(n + 1)), order % max(pairs.shape[1], 1)


def pairs_of(mechanism: SyntheticMechanism, latent: Tensor) -> SyntheticPairs:
    """The pairs of a sampled graph."""
    w = mechanism.w.to(latent.device)
    # Steps of 2⁻²⁰: tanh may round otherwise on another machine, or at another place of a row.
    scaled = torch.tanh(mechanism.own_scores(latent) / w.square().sum().sqrt())
    pull = mechanism.settings.reach * (scaled / STEP).round() * STEP
    return SyntheticPairs(mechanism.traits(latent), mechanism.settings, pull)


def _cosine_pairs(
    vectors: NDArray[np.float64], threshold: float
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """All pairs i < j with cos(vectors[i], vectors[j]) ≥ threshold: (2, m) and their cosines.

    A float32 matrix product finds candidates, block by block. Their cosines are then summed in
    float64, one pair at a time in the order of the dimensions, so neither the blocks nor the
    order of the nodes can move a pair across the threshold.
    """
    unit = _unit(vectors)
    single = unit.astype(np.float32)
    n = len(unit)
    found_pairs, found_cosines = [], []
    with bar("comparing nodes", total=n) as progress:
        for top in range(0, n, _ROWS):
            rows = single[top : top + _ROWS]
            for left in range(top, n, _COLUMNS):
                products = rows @ single[left : left + _COLUMNS].T
                i, j = np.nonzero(products >= threshold - _MARGIN)
                i, j = i + top, j + left
                i, j = i[i < j], j[i < j]
                cosines = (unit[i] * unit[j]).sum(axis=1)
                keep = cosines >= threshold
                found_pairs.append(np.stack([i[keep], j[keep]]))
                found_cosines.append(cosines[keep])
            progress.advance(len(rows))
    return np.concatenate(found_pairs, axis=1), np.concatenate(found_cosines)


def _unit(vectors: NDArray[np.float64]) -> NDArray[np.float64]:
    """The vectors at length 1; those of length 0 stay."""
    norms = np.sqrt((vectors * vectors).sum(axis=1, keepdims=True))
    unit: NDArray[np.float64] = np.zeros_like(vectors)
    np.divide(vectors, norms, out=unit, where=norms > 0)
    return unit
