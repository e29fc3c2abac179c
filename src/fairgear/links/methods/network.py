"""Networks for links: representations of people, and a head for two of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from fairgear.graph import SensitiveGraph
from fairgear.links.base import LINK_METHODS, Integers, PairScorer
from fairgear.links.methods.base import LinkMethod, LogitScorer
from fairgear.links.methods.heads import PairNetwork, ProductHead
from fairgear.links.methods.nodes import (
    PairCenc,
    PairFairDrop,
    PairGcn,
    PairNiftyGcn,
    PairNiftySage,
    PairNode,
    PairSage,
)
from fairgear.links.methods.settings import (
    FairDropConfig,
    LinkCencConfig,
    LinkNetworkConfig,
    LinkNiftyConfig,
)
from fairgear.links.methods.shared import SharedNeighbours
from fairgear.links.origin import SplitOrigin
from fairgear.links.split import LinkSplit
from fairgear.methods.thresholds import HALF, most_accurate
from fairgear.tensor_files import damaged
from fairgear.training import History

# Pairs whose representations are read at a time.
_CHUNK = 2**18


class NetworkScorer(LogitScorer):
    """Everybody's representations, computed once, and a head: scores are probabilities.

    Args:
        graph: what the representations were computed on.
        z: representations (n, dim), in canonical order.
        network: the head, from two of them to a logit.
        shared: what the head reads of the graph's links, if anything.
    """

    def __init__(
        self,
        graph: SensitiveGraph,
        z: Tensor,
        network: PairNetwork,
        shared: SharedNeighbours | None = None,
    ) -> None:
        super().__init__(graph)
        self.z, self.network, self.shared = z, network, shared
        with torch.no_grad():
            self._second = network.head.prepared(z)

    def pair_logits(self, ends: Tensor) -> Tensor:
        """See the base class."""
        return torch.cat([self._logits(of) for of in torch.split(ends, _CHUNK, dim=1)])

    def block_logits(self, people: Tensor) -> Tensor:
        """See the base class."""
        shared = None if self.shared is None else self.shared.block(people).to(self.z.device)
        first = self.z[people.to(self.z.device)]
        return self.network.block(first, self._second, shared)

    @torch.no_grad()
    def vectors(self) -> tuple[Tensor, Tensor] | None:
        """What both people, by row, bring to a product, if the logit is one.

        That of a pair with shared neighbours has more, see `exceptions`.
        """
        head, weights = self.network.head, self.network.shared
        if not isinstance(head, ProductHead):
            return None
        first, second = head.left(self.z), head.right(self.z)
        if self.shared is not None and weights is not None:
            sent, got = (weights[1] * of.to(self.z.device) for of in self.shared.degrees())
            one = torch.ones_like(sent)
            first = torch.cat([first, torch.stack([sent, one], dim=1)], dim=1)
            second = torch.cat([second, torch.stack([one, got], dim=1)], dim=1)
        numbers = self.graph.canonical.numbers.to(self.z.device)
        return first[numbers], second[numbers]

    def exceptions(self, rows: Tensor) -> tuple[Integers, Integers]:
        """Those who share neighbours."""
        if self.shared is None:
            return super().exceptions(rows)
        order = self.graph.canonical
        places, numbers = self.shared.near(order.numbers[rows])
        return places, order.rows[torch.from_numpy(numbers)].numpy()

    def most_exceptions(self, rows: Tensor) -> Integers:
        """See the base class."""
        if self.shared is None:
            return super().most_exceptions(rows)
        return self.shared.most_near(self.graph.canonical.numbers[rows])

    def _logits(self, ends: Tensor) -> Tensor:
        shared = None if self.shared is None else self.shared.pairs(ends).to(self.z.device)
        first, second = self.z[ends.to(self.z.device)]
        return self.network.logits(first, second, shared).cpu()


class LinkNetwork(LinkMethod):
    """Representations by a network of `fairgear.methods`, and a head: dot, bilinear or MLP.

    After `fit`: `history_` (loss terms and validation over time, by stage).
    """

    node_type: ClassVar[type[PairNode]]
    _node: PairNode

    def __init__(self, *, seed: int = 0, device: str = "auto", **settings: Any) -> None:
        super().__init__(seed=seed, device=device, **settings)
        self.history_: dict[str, History] = {}

    def fit(self, split: LinkSplit, *, checkpoint: Path | None = None) -> Self:
        """Train on the training pairs, and keep the state with the best validation score."""
        self.threshold_, self.history_ = None, {}
        self._settings = self.config
        self._node = node = self._new_node()
        files = node.learn(split, checkpoint)
        self.groups_, self.history_ = node.groups_, node.history_
        self._set_threshold(HALF)
        if node.config.threshold == "validation":
            val = split.val
            scores = self.score(split.input, val.ends)
            self._set_threshold(most_accurate(val.linked.cpu().numpy(), scores))
        files.remove()
        self.origin_ = SplitOrigin.of(split)
        return self

    def scorer(self, graph: SensitiveGraph) -> PairScorer:
        """Encodes everybody in a graph."""
        z = self._encoded(graph, graph.canonical.rows)
        return NetworkScorer(graph, z, self._node.network, self._node.shared_in(graph))

    def embed(self, graph: SensitiveGraph) -> NDArray[np.float32]:
        """Representations (n, dim): what the head reads."""
        everybody = torch.arange(len(graph.x))
        found: NDArray[np.float32] = self._encoded(graph, everybody).cpu().numpy()
        return found

    def _encoded(self, graph: SensitiveGraph, rows: Tensor) -> Tensor:
        self._fitted_threshold()
        # It may have been changed since the fit.
        self._node.device = self.device
        return self._node.representations(graph, rows)

    def _set_threshold(self, threshold: float) -> None:
        self.threshold_ = self._node.threshold_ = threshold

    def _new_node(self) -> PairNode:
        return self.node_type.from_config(self.config, seed=self.seed, device=self.device)

    def _state(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        tensors, facts = self._node._state()
        return tensors, facts | {"directed": self._node.directed}

    def _restore(self, path: Path, tensors: dict[str, Tensor], facts: dict[str, Any]) -> None:
        if not isinstance(facts.get("directed"), bool):
            raise damaged(path)
        self._node = node = self._new_node()
        node.groups_, node.directed, node.threshold_ = self.groups_, facts["directed"], HALF
        node._restore(path, tensors, facts)
        self.history_ = node.history_


class LinkSage(LinkNetwork):
    """GraphSAGE (Hamilton, Ying and Leskovec, NeurIPS 2017) for links.

    Example:
        >>> from fairgear.links import LINK_METHODS, split_links
        >>> from fairgear.testing import toy_graph
        >>> split = split_links(toy_graph())
        >>> model = LINK_METHODS["graphsage"](steps=20, dim=8).fit(split)
        >>> model.embed(split.input).shape
        (160, 8)
    """

    name = "graphsage"
    config_type = LinkNetworkConfig
    node_type = PairSage


class LinkGcn(LinkNetwork):
    """A graph convolutional network (Kipf and Welling, ICLR 2017) for links."""

    name = "gcn"
    config_type = LinkNetworkConfig
    node_type = PairGcn


class LinkNiftySage(LinkNetwork):
    """NIFTY (Agarwal, Lakkaraju and Zitnik, UAI 2021) on GraphSAGE, for links."""

    name = "nifty-sage"
    config_type = LinkNiftyConfig
    node_type = PairNiftySage


class LinkNiftyGcn(LinkNetwork):
    """NIFTY (Agarwal, Lakkaraju and Zitnik, UAI 2021) on a graph convolutional network."""

    name = "nifty-gcn"
    config_type = LinkNiftyConfig
    node_type = PairNiftyGcn


class LinkCenc(LinkNetwork):
    """C-ENC (Bose and Hamilton, ICML 2019) for links."""

    name = "c-enc"
    config_type = LinkCencConfig
    node_type = PairCenc


class FairDrop(LinkNetwork):
    """FairDrop (Spinelli, Scardapane, Hussain and Uncini, IEEE TAI 2021).

    In each step about half of the edges are left out, those within a group sooner than others.

    Example:
        >>> from fairgear.links import LINK_METHODS, split_links
        >>> from fairgear.testing import toy_graph
        >>> LINK_METHODS["fairdrop"](steps=20, delta=0.3).fit(split_links(toy_graph())).name
        'fairdrop'
    """

    name = "fairdrop"
    config_type = FairDropConfig
    node_type = PairFairDrop


for _method in (LinkSage, LinkGcn, LinkNiftySage, LinkNiftyGcn, LinkCenc, FairDrop):
    LINK_METHODS.add(_method.name, _method)
