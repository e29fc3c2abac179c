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


class PairScorer(ABC):
    """A model on one graph: what it needs of the graph is computed once, then pairs are scored.

    Args:
        graph: without the pairs in question.

    Example:
        >>> import torch
        >>> from fairgear.links import LINK_METHODS, split_links
        >>> from fairgear.testing import toy_graph
        >>> split = split_links(toy_graph())
        >>> scorer = LINK_METHODS["logistic"]().fit(split).scorer(split.input)
        >>> scorer.block(torch.tensor([4, 9])).shape
        (2, 160)
    """

    def __init__(self, graph: SensitiveGraph) -> None:
        self.graph = graph

    @abstractmethod
    def pairs(self, ends: Tensor) -> Floats:
        """Scores (m,) of pairs of rows (2, m): the higher, the likelier a link."""

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
        >>> from fairgear.links import LINK_METHODS, LinkModel, split_links
        >>> from fairgear.testing import toy_graph
        >>> split = split_links(toy_graph())
        >>> model = LINK_METHODS["adamic-adar"]().fit(split)
        >>> isinstance(model, LinkModel), model.score(split.input, split.val.ends).shape
        (True, (46,))
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
