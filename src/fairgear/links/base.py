"""What every model of links is: fitted to a split, then asked for pairs of people in any graph."""

from __future__ import annotations

from abc import ABC, abstractmethod
from pathlib import Path
from typing import ClassVar, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from fairgear.graph import SensitiveGraph
from fairgear.links.split import LinkSplit
from fairgear.registry import Registry

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


class PairScorer(ABC):
    """A model on one graph: what it needs of the graph is computed once, then pairs are scored.

    Args:
        graph: without the pairs in question.

    Example:
        >>> import torch
        >>> from fairgear.links import PairScorer
        >>> from fairgear.testing import toy_graph
        >>> class SameGroup(PairScorer):
        ...     def pairs(self, ends):
        ...         one, other = self.graph.sens[ends]
        ...         return (one == other).double().numpy()
        >>> scorer = SameGroup(toy_graph())
        >>> scorer.pairs(torch.tensor([[0], [0]])).tolist()
        [1.0]
        >>> scorer.block(torch.tensor([2, 4])).shape
        (2, 160)
    """

    def __init__(self, graph: SensitiveGraph) -> None:
        self.graph = graph

    @abstractmethod
    def pairs(self, ends: Tensor) -> Floats:
        """Scores (m,) of pairs of rows (2, m): the higher, the likelier a link."""

    def vectors(self) -> tuple[Tensor, Tensor] | None:
        """Two (n, d) whose products of rows, of a first and a second end, are the scores.

        None where scores are not such products. Where those of `ranking` are, up to rounding and a
        function that strictly rises, lists are found without scoring everybody.
        """
        return None

    def exceptions(self, rows: Tensor) -> tuple[Integers, Integers]:
        """Those with whom some people's scores are not the products of `vectors`, few of all.

        Places in `rows`, and rows.
        """
        return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)

    def most_exceptions(self, rows: Tensor) -> Integers:
        """How many of these each of some people has, at most."""
        return np.zeros(len(rows), dtype=np.int64)

    def ranking(self) -> PairScorer:
        """What lists are made by: the same order, where these scores would round to equal ones."""
        return self

    def block(self, rows: Tensor) -> Floats:
        """Scores (b, n) of some people with everybody, themselves included.

        One pair after the other; models that can do so faster override it.
        """
        n = len(self.graph.x)
        everyone = torch.arange(n)
        ends = torch.stack([rows.repeat_interleave(n), everyone.repeat(len(rows))])
        found = np.full(len(rows) * n, -np.inf)
        others = (ends[0] != ends[1]).numpy()
        found[others] = self.pairs(ends[:, torch.from_numpy(others)])
        return found.reshape(len(rows), n)


class LinkModel(ABC):
    """Says how likely people are linked; `fit` learns from a split and returns self.

    Example:
        >>> from fairgear.links import LinkModel, PairScorer, split_links
        >>> from fairgear.testing import toy_graph
        >>> class Degrees(PairScorer):
        ...     def pairs(self, ends):
        ...         degree = self.graph.edge_index[0].bincount(minlength=len(self.graph.x))
        ...         return degree[ends].prod(dim=0).double().numpy()
        >>> class Popular(LinkModel):
        ...     def fit(self, split, *, checkpoint=None):
        ...         return self
        ...     def scorer(self, graph):
        ...         return Degrees(graph)
        >>> split = split_links(toy_graph())
        >>> Popular().fit(split).score(split.input, split.test.ends).shape
        (138,)
    """

    name: ClassVar[str]
    threshold_: float | None = None
    """Scores above it predict a link."""

    @abstractmethod
    def fit(self, split: LinkSplit, *, checkpoint: Path | None = None) -> Self:
        """Learn from the training pairs and the graph without the pairs in question.

        Args:
            split: test pairs are never read, nor any edge between pairs in question.
            checkpoint: a folder to resume from, and to write to regularly.
        """

    @abstractmethod
    def scorer(self, graph: SensitiveGraph) -> PairScorer:
        """The model on a graph, which may be another than that of the fit."""

    def score(self, graph: SensitiveGraph, ends: Tensor) -> Floats:
        """Scores (m,) of pairs of rows (2, m)."""
        return self.scorer(graph).pairs(ends)


LINK_METHODS: Registry[type[LinkModel]] = Registry("link method")
