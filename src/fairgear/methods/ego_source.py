"""The egos of a graph's people as a network asks for them, wherever the graph is kept."""

from __future__ import annotations

import torch
from torch import Tensor

from fairgear.egos import EgoIndex
from fairgear.egos.batches import make_batch
from fairgear.graph import SensitiveGraph
from fairgear.methods.generators import Ego
from fairgear.methods.inputs import FeatureScaler

# Bytes of scaled features that are made once and kept; more are scaled batch by batch.
KEPT = 2 * 2**30
# People scaled at a time.
_CHUNK = 2**16


class EgoSource:
    """Gives the egos of people by their place in `order`.

    Indices and features lie on the device where they fit into half of what is free there.
    Otherwise they stay where they are, mapped from a file perhaps, and what a batch needs of them
    is collected and sent; links are sent as bits and unpacked on the device.

    Args:
        graph: whose people.
        index: egos of all of them, or of some.
        scaler: of the features.
        device: where batches are wanted.
        order: rows of the index in the order that people are asked for; as they are if None.
    """

    def __init__(
        self,
        graph: SensitiveGraph,
        index: EgoIndex,
        scaler: FeatureScaler,
        device: torch.device,
        order: Tensor | None = None,
    ) -> None:
        self.device = device
        held = torch.device("cpu")
        if device.type == "cuda" and _size(graph, index) < _free(device) // 2:
            held = device
        scaler.check(graph)
        self._index = index.to(held)
        self._sens = graph.sens.to(held)
        self._order = None if order is None else order.to(held)
        self._x = _features(graph, scaler) if held == device else ScaledRows(graph.x, scaler)

    @property
    def on_card(self) -> bool:
        """Whether batches come about on a CUDA card alone."""
        return self._sens.is_cuda

    def __call__(self, people: Tensor) -> Ego:
        """Their egos, on the device."""
        people = people.to(self._sens.device)
        rows = people if self._order is None else self._order[people]
        if self._sens.device.type == self.device.type:
            return Ego.of(self._index.batch(rows, self._x), self._sens)
        index = self._index
        ids = index.ids[rows]
        x, sens = self._x[ids.long()], _sent(self._sens[ids.long()], self.device)
        sent = (ids, index.mask[rows], index.adjacency[rows])
        ids, mask, words = (_sent(values, self.device) for values in sent)
        batch = make_batch(ids, mask, words, _Collected(x))
        return Ego(batch.x, sens * mask, batch.adjacency, mask, batch.n_id)


class ScaledRows:
    """Scaled features that are made when they are asked for, where the scaler is."""

    dtype = torch.float32

    def __init__(self, x: Tensor, scaler: FeatureScaler) -> None:
        self._x = x
        self._scaler = scaler

    def __getitem__(self, rows: Tensor) -> Tensor:
        """The features of these rows of the graph."""
        taken = self._x[rows.to(self._x.device)]
        return self._scaler.scaled(_sent(taken, self._scaler.mean.device))


class _Collected:
    """Members' features that are where they are wanted already."""

    dtype = torch.float32

    def __init__(self, x: Tensor) -> None:
        self._x = x

    def __getitem__(self, rows: Tensor) -> Tensor:
        return self._x


def _features(graph: SensitiveGraph, scaler: FeatureScaler) -> Tensor | ScaledRows:
    """Scaled features where the scaler is: all of them, or a way to make them."""
    n, width, device = len(graph.x), len(scaler.mean), scaler.mean.device
    if device.type == "cpu" and 4 * n * width > KEPT:
        return ScaledRows(graph.x, scaler)
    kept = torch.empty(n, width, device=device)
    for begin in range(0, n, _CHUNK):
        part = slice(begin, begin + _CHUNK)
        kept[part] = scaler.scaled(graph.x[part])
    return kept


def _sent(values: Tensor, device: torch.device) -> Tensor:
    """The same on the device; from pinned memory, so that the work there need not wait."""
    if device.type == values.device.type:
        return values
    return values.pin_memory().to(device, non_blocking=True)


def _size(graph: SensitiveGraph, index: EgoIndex) -> int:
    held = (index.ids, index.mask, index.adjacency, graph.x, graph.sens)
    return sum(tensor.nbytes for tensor in held)


def _free(device: torch.device) -> int:
    return int(torch.cuda.mem_get_info(device)[0])
