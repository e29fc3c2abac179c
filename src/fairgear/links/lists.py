"""Lists: the k people whom a model of links puts first for each of some people."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from fairgear.errors import GraphError, ParameterError
from fairgear.graph import SensitiveGraph
from fairgear.graph.sensitive_graph import checked_rows
from fairgear.hashing import pair_uniform
from fairgear.links.base import PairScorer
from fairgear.links.search import ROWS, Factors
from fairgear.progress import bar

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
# Scores held at a time: a block of 2²² in float64 is 32 MiB, and ranking it needs a few such.
_CELLS = 2**22
# The share of all people up to which scores that are no products are looked at one by one.
_MANY = 1 / 8


def top_lists(
    scorer: PairScorer, rows: Tensor, k: int, *, exclude: SensitiveGraph | None = None
) -> Tensor:
    """The rows (b, k) of the best-scored other people for each of `rows`, the best first.

    Equal scores are ordered by a hash of both ids: neither the order of rows nor that of ids, which
    may be one of groups, decides who is shown. Memory does not grow with the number of `rows`.

    Args:
        scorer: a model on a graph; a pair that it scores −∞ is never in a list.
        rows: for whom.
        k: the length of a list; −1 stands where fewer people are left.
        exclude: a graph of the same people: those linked in it, or to whom an arc points, are left
            out.

    Example:
        >>> import torch
        >>> from fairgear.links import PairScorer, top_lists
        >>> from fairgear.testing import toy_graph
        >>> class Nearest(PairScorer):
        ...     def pairs(self, ends):
        ...         one, other = self.graph.x[ends].double()
        ...         return -(one - other).square().sum(dim=1).numpy()
        >>> graph = toy_graph()
        >>> top_lists(Nearest(graph), torch.tensor([3, 5]), 4, exclude=graph).shape
        torch.Size([2, 4])
    """
    graph, scorer = scorer.graph, scorer.ranking()
    n = len(graph.x)
    rows = checked_rows(rows, n, "people with lists")
    check_length(k)
    left_out = LeftOut(graph, exclude)
    vectors = scorer.vectors()
    find = _Blocks(scorer, left_out) if vectors is None else _Products(scorer, left_out, vectors)
    found = torch.full((len(rows), k), -1)
    with bar("lists of people", total=len(rows)) as progress:
        for block in torch.split(torch.arange(len(rows)), find.size):
            best = find.best(rows[block], k)
            found[block, : best.shape[1]] = _rows(best, graph)
            progress.advance(len(block))
    return found


class _Blocks:
    """Lists from the scores of some people with everybody."""

    def __init__(self, scorer: PairScorer, left_out: LeftOut) -> None:
        self._scorer, self._left_out = scorer, left_out
        self.size = max(1, _CELLS // max(len(scorer.graph.x), 1))

    def best(self, rows: Tensor, k: int) -> Integers:
        """Numbers of the best k for each of some rows, the best first; −1 where nobody is left."""
        graph = self._scorer.graph
        scores = checked_scores(self._scorer.block(rows), (len(rows), len(graph.x)))
        by_number = scores if graph.canonical.sorted else scores[:, graph.canonical.rows]
        hidden = self._left_out.hide(by_number, rows)
        k = min(k, hidden.shape[1])
        worst = np.partition(hidden, -k, axis=1)[:, -k][:, None]
        places, numbers = np.nonzero(hidden >= worst)
        noise = self._left_out.noise(rows, places, numbers)
        return _first(places, numbers, hidden[places, numbers], noise, len(rows), k)


class _Products:
    """The same lists where scores are products of vectors, but for some pairs."""

    size = ROWS

    def __init__(
        self, scorer: PairScorer, left_out: LeftOut, vectors: tuple[Tensor, Tensor]
    ) -> None:
        self._scorer, self._left_out = scorer, left_out
        self._slow = _Blocks(scorer, left_out)
        canonical = scorer.graph.canonical
        first, second = (one.detach().cpu()[canonical.rows] for one in vectors)
        if vectors[0] is vectors[1]:
            first = second
        self._factors = Factors(first, second)

    def best(self, rows: Tensor, k: int) -> Integers:
        """Numbers of the best k for each of some rows, the best first; −1 where nobody is left."""
        n = len(self._scorer.graph.canonical)
        k = min(k, n)
        best = np.full((len(rows), k), -1, dtype=np.int64)
        most = self._scorer.most_exceptions(rows)
        # Where products say little, everybody is scored.
        many = most > _MANY * n
        few = np.flatnonzero(~many)
        # As many at once as leave their exceptions in the memory of a block.
        blocks = np.cumsum(most[few]) // _CELLS
        for places in np.split(few, np.flatnonzero(np.diff(blocks)) + 1):
            if len(places):
                best[places], crowded = self._few(rows[torch.from_numpy(places)], k)
                many[places[crowded]] = True
        for block in torch.split(torch.from_numpy(np.flatnonzero(many)), self._slow.size):
            if len(block):
                best[block.numpy()] = self._slow.best(rows[block], k)
        return best

    def _few(self, rows: Tensor, k: int) -> tuple[Integers, NDArray[np.bool_]]:
        """The same of people with few exceptions; and for whom products say too little."""
        canonical = self._scorer.graph.canonical
        left_out, others = self._left_out.cells(rows), self._exceptions(rows)
        apart = [np.concatenate(of) for of in zip(left_out, others, strict=True)]
        found = self._factors.candidates(canonical.numbers[rows], k, (apart[0], apart[1]))
        also = ~np.isin(_keys(others, len(canonical)), _keys(left_out, len(canonical)))
        also &= ~found.crowded[others[0]]
        places, numbers = (
            np.concatenate([one, other[also]])
            for one, other in zip(found.pairs(), others, strict=True)
        )
        ends = torch.stack([rows[places], canonical.rows[numbers]])
        scores = checked_scores(self._scorer.pairs(ends), (len(places),))
        noise = self._left_out.noise(rows, places, numbers)
        return _first(places, numbers, scores, noise, len(rows), k), found.crowded

    def _exceptions(self, rows: Tensor) -> tuple[Integers, Integers]:
        """Places in `rows`, and numbers."""
        places, others = self._scorer.exceptions(rows)
        return places, self._scorer.graph.canonical.numbers[torch.from_numpy(others)].numpy()


def _keys(cells: tuple[Integers, Integers], size: int) -> Integers:
    return cells[0] * size + cells[1]


def _first(
    places: Integers, numbers: Integers, scores: Floats, noise: Floats, people: int, k: int
) -> Integers:
    """The best k numbers (people, k) of each place, from candidates; −1 for nobody.

    Of those who score alike, the first by `noise`.
    """
    order = np.lexsort((noise, -scores, places))
    places, numbers, scores = places[order], numbers[order], scores[order]
    rank = np.arange(len(places)) - np.searchsorted(places, places)
    kept = (rank < k) & (scores > -np.inf)
    best = np.full((people, k), -1, dtype=np.int64)
    best[places[kept], rank[kept]] = numbers[kept]
    return best


class LeftOut:
    """Who is in nobody's list: oneself, and those one is linked to in a graph."""

    def __init__(self, graph: SensitiveGraph, exclude: SensitiveGraph | None) -> None:
        if exclude is not None and not torch.equal(exclude.node_id.cpu(), graph.node_id.cpu()):
            raise GraphError(
                "the graph whose links are left out of lists",
                f"{len(exclude.x):,} people, not those of the model's graph in their order",
                f"the {len(graph.x):,} people of the model's graph, in their order",
                "pass that graph or a world of it",
            )
        self._numbers = graph.canonical.numbers
        self._ids = graph.node_id.cpu()[graph.canonical.rows].numpy()
        self._lists = None if exclude is None else exclude.canonical.csr

    def cells(self, rows: Tensor) -> tuple[Integers, Integers]:
        """Places in `rows`, and the numbers that are left out there; each place's together."""
        numbers = self._numbers[rows].numpy()
        own = np.arange(len(numbers))
        if self._lists is None:
            return own, numbers
        indptr, indices = self._lists
        count = np.diff(indptr)[numbers]
        first = np.repeat(indptr[numbers] - np.cumsum(count) + count, count)
        linked = indices[first + np.arange(count.sum())].astype(np.int64)
        places = np.concatenate([own, np.repeat(own, count)])
        others = np.concatenate([numbers, linked])
        order = np.argsort(places, kind="stable")
        return places[order], others[order]

    def noise(self, rows: Tensor, places: Integers, numbers: Integers) -> Floats:
        """One number in [0, 1) for a place in `rows` and a person, by both ids.

        Ids may follow groups, or anything else: the first by id are nobody to prefer. It is the
        same in every world.
        """
        own = self._ids[self._numbers[rows].numpy()]
        return pair_uniform(own[places], self._ids[numbers], 0, "lists")

    def hide(self, scores: Floats, rows: Tensor) -> Floats:
        """Scores (b, n) by number, −∞ for those who are left out."""
        scores = np.array(scores, dtype=np.float64)
        scores[self.cells(rows)] = -np.inf
        return scores


def check_length(k: int) -> None:
    """Refuse lists of nobody."""
    if k < 1:
        raise ParameterError("length of lists", k, "at least 1", "use 10")


def checked_scores(scores: Floats, shape: tuple[int, ...]) -> Floats:
    """Scores that a model gave; refused where they cannot be ranked."""
    if scores.shape != shape or bool(np.isnan(scores).any()):
        got = f"shape {scores.shape}, {int(np.isnan(scores).sum())} not numbers"
        allowed = f"numbers of shape {shape}"
        raise ParameterError("scores of pairs", got, allowed, "let the model score every pair")
    return scores


def _rows(numbers: Integers, graph: SensitiveGraph) -> Tensor:
    """Rows of the graph from its numbers; −1 stays."""
    given = torch.from_numpy(numbers)
    return torch.where(given < 0, given, graph.canonical.rows[given.clamp(min=0)])
