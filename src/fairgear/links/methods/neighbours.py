"""Floors that learn nothing: how many neighbours two people share, and how popular they are."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
from scipy import sparse
from torch import Tensor

from fairgear.graph import SensitiveGraph
from fairgear.links.base import LINK_METHODS, Floats, PairScorer
from fairgear.links.methods.base import CanonicalScorer, LinkMethod
from fairgear.links.methods.nodes import canonical_pairs
from fairgear.links.methods.shared import Sides, links_of
from fairgear.links.origin import SplitOrigin
from fairgear.links.split import LinkSplit
from fairgear.methods.thresholds import most_accurate
from fairgear.progress import bar
from fairgear.settings import Config

# Pairs whose neighbours are looked up at a time.
_CHUNK = 2**16


@dataclass(frozen=True)
class NeighbourConfig(Config):
    """Nothing to set."""


class NeighbourScorer(CanonicalScorer):
    """Σ_k first_ik · second_jk = c, as the score c / (1 + c), which rises from 0 to 1.

    Args:
        graph: what the sides were taken from.
        sides: what both ends bring.
    """

    def __init__(self, graph: SensitiveGraph, sides: Sides) -> None:
        super().__init__(graph)
        self.sides = sides

    def score_pairs(self, ends: Tensor) -> Floats:
        """See the base class."""
        places = ends.numpy()
        found = np.empty(places.shape[1])
        with bar("scoring pairs", total=len(found)) as shown:
            for begin in range(0, len(found), _CHUNK):
                first, second = places[:, begin : begin + _CHUNK]
                found[begin : begin + _CHUNK] = self.sides.pairs(first, second)
                shown.advance(len(first))
        return _bounded(found)

    def score_block(self, people: Tensor) -> Floats:
        """See the base class."""
        return _bounded(self.sides.block(people.numpy()))


def _bounded(counts: Floats) -> Floats:
    found: Floats = counts / (1 + counts)
    return found


class NeighbourFloor(LinkMethod):
    """A score that is read off the graph; the fit chooses the threshold alone.

    A person's neighbours are those of the graph at hand. Of weighted edges, two in a row count the
    geometric mean of their weights; of arcs, those from the first person to somebody, and from
    there to the second.
    """

    config_type = NeighbourConfig

    @abstractmethod
    def sides(self, out: Any) -> Sides:
        """From the sparse weights (n, n) of edges, from row to column."""

    def fit(self, split: LinkSplit, *, checkpoint: Path | None = None) -> Self:
        """Choose the threshold that is most accurate on the validation pairs."""
        graph, val = split.input, split.val
        canonical_pairs(graph, val)
        self.groups_ = 0 if graph.continuous else graph.num_groups
        scores = self.scorer(graph).pairs(val.ends)
        self.threshold_ = most_accurate(val.linked.cpu().numpy(), scores)
        self.origin_ = SplitOrigin.of(split)
        return self

    def scorer(self, graph: SensitiveGraph) -> PairScorer:
        """Reads the graph's edges."""
        return NeighbourScorer(graph, self.sides(links_of(graph)))

    def _state(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        # A file of tensors has at least one.
        return {"threshold": torch.tensor(self.threshold_, dtype=torch.float64)}, {}

    def _restore(self, path: Path, tensors: dict[str, Tensor], facts: dict[str, Any]) -> None:
        """Nothing but the threshold was learned."""


class CommonNeighbours(NeighbourFloor):
    """How many neighbours two people share.

    Example:
        >>> import torch
        >>> from fairgear.links import LINK_METHODS, split_links
        >>> from fairgear.testing import toy_graph
        >>> graph = toy_graph()
        >>> model = LINK_METHODS["common-neighbours"]().fit(split_links(graph))
        >>> score = model.score(graph, torch.tensor([[0], [1]]))
        >>> (score / (1 - score)).round(6).tolist()
        [0.0]
    """

    name = "common-neighbours"

    def sides(self, out: Any) -> Sides:
        """Whom the first person points to, and who points to the second."""
        return Sides.common(out)


class AdamicAdar(NeighbourFloor):
    """The same, each shared neighbour at 1 / log of how many neighbours (or arcs) they have.

    Adamic and Adar, Social Networks, 2003.
    """

    name = "adamic-adar"

    def sides(self, out: Any) -> Sides:
        """As for common neighbours, with these weights on the first side."""
        common, each = Sides.common(out), np.diff(out.indptr)
        if (out != out.T).nnz:
            each = each + np.diff(out.tocsc().indptr)
        # Whoever is shared has two or more.
        weight = 1 / np.log(np.maximum(each, 2))
        return replace(common, first=common.first.multiply(weight).tocsr())


class PreferentialAttachment(NeighbourFloor):
    """The product of their degrees; weights are summed, and arcs counted as they point.

    Barabási and Albert, Science, 1999.
    """

    name = "preferential-attachment"

    def sides(self, out: Any) -> Sides:
        """One column each."""
        sent, got = (np.asarray(out.sum(axis=axis)).reshape(-1, 1) for axis in (1, 0))
        return Sides(sparse.csr_array(sent), sparse.csr_array(got))


for _method in (CommonNeighbours, AdamicAdar, PreferentialAttachment):
    LINK_METHODS.add(_method.name, _method)
