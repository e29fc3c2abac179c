"""A method whose network reads egos: scores of a graph, and of worlds of few people."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Protocol

import torch
from torch import Tensor, nn

from fairgear import distributed
from fairgear.causal import LocalWorld
from fairgear.egos import EgoIndex, NearbyEgos, PageRank, cached
from fairgear.errors import GraphError
from fairgear.graph import SensitiveGraph, rows_of
from fairgear.methods.base import Scores
from fairgear.methods.ego_settings import ALPHA
from fairgear.methods.egos import EgoGenerator, EgoSource, LocalEgos
from fairgear.methods.network_method import NetworkMethod
from fairgear.progress import bar

# The folder among the checkpoints with the egos of a large graph. It stays after the fit, since
# the same graph is scored next, perhaps in other processes.
EGOS_FOLDER = "egos"
# Egos per forward pass when scoring, which bounds memory.
_CHUNK = 1024
# The egos of fewer people than this are not cached.
_FEW = 32
# Worlds of one person that are scored together.
_TOGETHER = 64


class EgoSettings(Protocol):
    """The settings that say what an ego is."""

    @property
    def k(self) -> int:
        """Members of an ego."""
        ...

    def ego_precision(self, people: int) -> str:
        """`exact` or `close`, for a graph of that many people."""
        ...


class EgoMethod(NetworkMethod):
    """A method whose network maps a batch of egos to representations and logits.

    Subclasses set `_fitted_config` and `_network` when they are fitted or restored.
    """

    _fitted_config: EgoSettings
    _network: nn.Module
    _nearby: NearbyEgos | None = None
    # Whether edges had directions in the fit.
    _directed: bool = False

    def generator(self) -> EgoGenerator | None:
        """What makes the counterfactual egos of the fitted model, if anything does."""
        return None

    @torch.no_grad()
    def chunks(
        self, graph: SensitiveGraph, *, nodes: Tensor | None = None
    ) -> Iterator[tuple[Tensor, Tensor]]:
        """A few people at a time; several processes share each chunk."""
        self._fitted_threshold()
        self._to_device()
        self._check_attribute(graph)
        nodes = rows_of(graph, nodes)
        every = len(nodes) > len(graph.x) // 4
        index = self.ego_index(graph, None if every else nodes)
        rows = nodes if every else torch.arange(len(nodes))
        egos = EgoSource(graph, index, self.scaler_, self.torch_device())
        with bar("embedding", total=len(rows)) as progress:
            for chunk in torch.split(rows, _CHUNK * distributed.size()):
                own = self._network(egos(chunk[distributed.share(len(chunk))]))
                z, logits = (distributed.all_gather(part.cpu(), len(chunk)) for part in own)
                yield z, logits
                progress.advance(len(chunk))

    @torch.no_grad()
    def predict_near(self, worlds: Sequence[LocalWorld], nodes: Sequence[Tensor]) -> Scores | None:
        """The same from the egos of these people alone; None where edges have more than ends."""
        self._fitted_threshold()
        self._to_device()
        graph = worlds[0].factual
        self._check_attribute(graph)
        self._check_links(graph)
        if not graph.plain:
            return None
        if self._nearby is None or self._nearby.canonical is not graph.canonical:
            self._nearby = NearbyEgos(graph.canonical)
        config = self._fitted_config
        how = PageRank(config.k, ALPHA, precision=config.ego_precision(len(graph.x)))
        egos = LocalEgos(graph, self.scaler_, self._nearby, how)
        logits = [
            self._network(egos(worlds[at : at + _TOGETHER], nodes[at : at + _TOGETHER]))[1]
            for at in range(0, len(worlds), _TOGETHER)
        ]
        return self.head.answers(torch.cat(logits).cpu())

    def _check_links(self, graph: SensitiveGraph) -> None:
        """Refuse arcs where the fit had edges, and the reverse."""
        if graph.directed != self._directed:
            kinds = ("edges without directions", "edges with directions")
            raise GraphError(
                f"a graph for a fitted {self.name}",
                kinds[graph.directed],
                f"{kinds[self._directed]}, as in the fit",
                "fit a model on such a graph",
            )

    def _to_device(self) -> None:
        """Move what was learned: `device` may have been changed since the fit."""
        for module in (self.scaler_, *self._networks().values()):
            module.to(self.torch_device())

    def ego_index(
        self, graph: SensitiveGraph, nodes: Tensor | None = None, folder: Path | None = None
    ) -> EgoIndex:
        """The ego index, cached and shared by all models.

        That of a large graph is written to `folder`, if there is one, while it is made.
        """
        self._check_links(graph)
        k, precision = self._fitted_config.k, self._fitted_config.ego_precision(len(graph.x))
        if nodes is not None and len(nodes) < _FEW:
            # A world of one person, which nobody uses again.
            return EgoIndex.build(graph, k, ALPHA, nodes=nodes, precision=precision)
        return cached(graph, k, ALPHA, nodes, precision, folder)
