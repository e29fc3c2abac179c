"""Splits of a graph's links: pairs to train, validate and test on, which no model sees as edges."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from fairgear.errors import GraphError, ParameterError
from fairgear.graph import SensitiveGraph
from fairgear.hashing import pair_uniform
from fairgear.links.pairs import Pairs, check_ends, pair_keys, without_pairs
from fairgear.registry import Registry
from fairgear.settings import check_seed

Integers = NDArray[np.int64]
# Draws of a pair that is not linked, on average, before a graph counts as too dense.
_TRIES = 200


@dataclass(frozen=True, eq=False)
class LinkSplit:
    """A graph, and the pairs in question: links, and as many times pairs that are not linked.

    Example:
        >>> from fairgear.links import split_links
        >>> from fairgear.testing import toy_graph
        >>> split = split_links(toy_graph())
        >>> len(split.test), float(split.test.linked.float().mean())
        (138, 0.5)
        >>> split.input.num_undirected_edges < split.graph.num_undirected_edges
        True
    """

    graph: SensitiveGraph
    """With all its edges."""
    train: Pairs
    val: Pairs
    test: Pairs

    def __post_init__(self) -> None:
        n = len(self.graph.x)
        for part in (self.train, self.val, self.test):
            check_ends(part.ends, n)
            if tuple(part.linked.shape) != (len(part),):
                got = f"shape {tuple(part.linked.shape)} for {len(part):,} pairs"
                step = "say of each pair whether it is linked"
                raise ParameterError("linked of a split", got, f"shape ({len(part)},)", step)
        keys = pair_keys(self.asked, n, directed=self.graph.directed)
        twice = len(keys) - len(torch.unique(keys))
        if twice:
            allowed = "each pair in one part, once"
            raise ParameterError("pairs of a split", f"{twice:,} twice", allowed, "leave one out")

    @cached_property
    def asked(self) -> Tensor:
        """All pairs in question (2, m)."""
        return torch.cat([part.ends for part in (self.train, self.val, self.test)], dim=1)

    @cached_property
    def input(self) -> SensitiveGraph:
        """What models see: the graph without any edge between a pair in question."""
        return self.seen(self.graph)

    @cached_property
    def hidden_share(self) -> float:
        """The share of the graph's links that models do not see."""
        return 1 - self.input.edge_index.shape[1] / self.graph.edge_index.shape[1]

    def seen(self, world: SensitiveGraph) -> SensitiveGraph:
        """The same of another world of the graph.

        Of the links that the graph does not have, as many are hidden: models would see worlds as
        denser than the graph that they know. Which, a hash of both ids decides.
        """
        found = without_pairs(world, self.asked)
        if world is self.graph:
            return found
        n, directed = len(world.x), world.directed
        keys = pair_keys(found.edge_index.cpu(), n, directed=directed)
        known = pair_keys(self.graph.edge_index.cpu(), n, directed=directed)
        new = found.edge_index.cpu()[:, ~torch.isin(keys, known)]
        hidden = _hash(new.numpy(), world, 0, "hidden") < self.hidden_share
        return without_pairs(found, new[:, torch.from_numpy(hidden)])


def split_links(
    graph: SensitiveGraph,
    *,
    seed: int = 0,
    train: float = 0.2,
    val: float = 0.05,
    test: float = 0.15,
    negatives: str = "uniform",
    per_link: int = 1,
    times: Tensor | None = None,
    test_seed: int | None = None,
) -> LinkSplit:
    """Put some of a graph's links in question, and pairs that are not linked beside them.

    Links are drawn by a hash of the ids of their ends: the order of rows does not matter.

    Args:
        graph: a graph; arcs of a directed one are put in question one by one.
        seed: of the draw.
        train, val, test: shares of the links; all others stay visible.
        negatives: how pairs that are not linked are drawn: "uniform" among all of them, or with
            ends in proportion to their "degree", so that being popular alone tells nothing.
        per_link: how many of them for each link.
        times: (E,), when each edge of `edge_index` came to be: the latest links are for test, those
            before for validation, then training, and the earliest stay visible.
        test_seed: of the draw of the test pairs, which are then the same for every `seed`.

    Example:
        >>> from fairgear.links import split_links
        >>> from fairgear.testing import toy_graph
        >>> split = split_links(toy_graph(), seed=1, negatives="degree", per_link=2)
        >>> round(float(split.val.linked.double().mean()), 2)
        0.33
    """
    check_seed("seed of the split", seed)
    shares = {"train": train, "val": val, "test": test}
    _check(shares, per_link)
    draw = NEGATIVES[negatives]
    links = _links(graph, seed if test_seed is None else test_seed, times)
    total = links.shape[1]
    sizes = [round(share * total) for share in shares.values()]
    for name, size in zip(shares, sizes, strict=True):
        if size < 1:
            raise _too_few(f"links to {name} on", f"{shares[name]:g} of {total:,}, which is none")
    if sum(sizes) >= total:
        raise _too_few("links that models see", f"{total:,} less {' + '.join(map(str, sizes))}")
    # The last ones are for test, see `times`.
    ends_at = np.cumsum([total - sum(sizes), *sizes])
    if test_seed is None:
        drawn = _not_linked(graph, draw, sum(sizes) * per_link, seed)
    else:
        kept = total - sizes[-1]
        if times is None:
            links[:, :kept] = _in_order(links[:, :kept], graph, seed, None)
        last = _not_linked(graph, draw, sizes[-1] * per_link, test_seed)
        others = _not_linked(graph, draw, sum(sizes[:-1]) * per_link, seed, last)
        drawn = np.concatenate([others, last], axis=1)
    parts, begin = [], 0
    for low, high in pairwise(ends_at):
        count = (high - low) * per_link
        ends = np.concatenate([links[:, low:high], drawn[:, begin : begin + count]], axis=1)
        linked = np.repeat([1, 0], [high - low, count])
        begin += count
        parts.append(Pairs(torch.from_numpy(ends), torch.from_numpy(linked)))
    return LinkSplit(graph, *parts)


def _too_few(what: str, got: str) -> GraphError:
    step = "pass a graph with more links, or other shares"
    return GraphError(what, got, "at least one each", step)


def _check(shares: dict[str, float], per_link: int) -> None:
    for name, share in shares.items():
        if not 0 < share < 1:
            raise ParameterError(f"share {name} of the links", share, "above 0, below 1", "use 0.1")
    if not sum(shares.values()) < 1:
        step = "make them smaller: the rest is what models see"
        raise ParameterError("shares of the links", sum(shares.values()), "less than 1", step)
    if type(per_link) is not int or per_link < 1:
        raise ParameterError("per_link", per_link, "a whole number, at least 1", "use 1")


def _links(graph: SensitiveGraph, seed: int, times: Tensor | None) -> Integers:
    """Each link once (2, links), by time if there is one, then by the hash of its ends."""
    edges = graph.edge_index.cpu()
    ids = graph.node_id.cpu().numpy()
    once = torch.ones(edges.shape[1], dtype=torch.bool)
    if not graph.directed:
        once = torch.from_numpy(ids[edges[0].numpy()] < ids[edges[1].numpy()])
    when = None if times is None else _checked(times, graph)[once].numpy()
    return _in_order(edges[:, once].numpy(), graph, seed, when)


def _in_order(
    ends: Integers, graph: SensitiveGraph, seed: int, times: NDArray[np.generic] | None
) -> Integers:
    """Links (2, m) by time if there is one, then by the hash of their ends."""
    hashed = _hash(ends, graph, seed, "links")
    keys: list[NDArray[np.generic]] = [hashed] if times is None else [hashed, times]
    found: Integers = ends[:, np.lexsort(keys)]
    return found


def _hash(ends: Integers, graph: SensitiveGraph, seed: int, stream: str) -> NDArray[np.float64]:
    """A number in [0, 1) for each pair of rows (2, m), by both ids."""
    ids = graph.node_id.cpu().numpy()
    first, second = ids[ends[0]], ids[ends[1]]
    hashed = pair_uniform(first, second, seed, stream)
    if graph.directed:
        # Both arcs of two people have numbers of their own.
        back = pair_uniform(first, second, seed, f"{stream} back")
        hashed = np.where(first < second, hashed, back)
    return hashed


def _checked(times: Tensor, graph: SensitiveGraph) -> Tensor:
    """Times of the edges, refused where they cannot be put in order."""
    edges = graph.edge_index.cpu()
    count = edges.shape[1]
    if tuple(times.shape) != (count,) or not bool(times.double().isfinite().all()):
        raise ParameterError(
            "times of the links",
            f"shape {tuple(times.shape)}, {int((~times.double().isfinite()).sum())} unknown",
            f"finite numbers of shape ({count},)",
            "give one for each column of edge_index",
        )
    times = times.cpu()
    if not graph.directed:
        # The place of each edge's other direction.
        back = (edges[1] * len(graph.x) + edges[0]).argsort()
        other = (times != times[back]).nonzero()
        if len(other):
            column = int(other[0])
            raise ParameterError(
                "times of the links",
                f"{times[column]} and {times[back[column]]} for the two directions of one edge",
                "the same",
                "give both the earlier one, or pass a directed graph",
            )
    return times


# From the arcs that leave and reach each of n people (2, n), and a generator, to m pairs of
# numbers (2, m).
Draw = Callable[[Integers, np.random.Generator, int], Integers]
NEGATIVES: Registry[Draw] = Registry("rule for pairs that are not linked")


def _uniform(degree: Integers, rng: np.random.Generator, count: int) -> Integers:
    return rng.integers(degree.shape[1], size=(2, count))


def _by_degree(degree: Integers, rng: np.random.Generator, count: int) -> Integers:
    """First ends by the arcs that leave them, second ends by those that reach them."""
    ends_so_far = np.cumsum(degree, axis=1)
    drawn = rng.integers(ends_so_far[0, -1], size=(2, count))
    one, other = (
        np.searchsorted(so_far, at, side="right")
        for so_far, at in zip(ends_so_far, drawn, strict=True)
    )
    return np.stack([one, other])


NEGATIVES.add("uniform", _uniform)
NEGATIVES.add("degree", _by_degree)


def _not_linked(
    graph: SensitiveGraph, draw: Draw, count: int, seed: int, besides: Integers | None = None
) -> Integers:
    """Different pairs of rows (2, count) that are not linked, and not among `besides`.

    Drawn by the order of ids, so that the order of rows does not matter.
    """
    n, rows = len(graph.x), graph.canonical.rows.cpu().numpy()
    number = np.empty(n, dtype=np.int64)
    number[rows] = np.arange(n)
    edges = number[graph.edge_index.cpu().numpy()]
    degree = np.stack([np.bincount(ends, minlength=n) for ends in edges])
    taken = _keys(edges, graph)
    if besides is not None:
        taken = np.concatenate([taken, _keys(number[besides], graph)])
    rng = np.random.default_rng([seed, 1])
    found = np.empty((2, 0), dtype=np.int64)
    for _ in range(_TRIES):
        drawn = draw(degree, rng, count)
        drawn = drawn[:, drawn[0] != drawn[1]]
        found = np.concatenate([found, drawn[:, ~np.isin(_keys(drawn, graph), taken)]], axis=1)
        # Each pair once, in the order of the draw.
        _, first = np.unique(_keys(found, graph), return_index=True)
        found = found[:, np.sort(first)][:, :count]
        if found.shape[1] == count:
            # Links have the lower id first, unless edges have directions: order must not tell.
            return rows[found if graph.directed else np.sort(found, axis=0)]
    raise GraphError(
        "pairs that are not linked",
        f"{found.shape[1]:,} found",
        f"{count:,}",
        "ask for fewer links, or for fewer pairs per link",
    )


def _keys(ends: Integers, graph: SensitiveGraph) -> Integers:
    keys = pair_keys(torch.from_numpy(ends), len(graph.x), directed=graph.directed)
    found: Integers = keys.numpy()
    return found
