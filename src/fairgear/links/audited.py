"""The pairs that are audited, and what a model says of them in a world."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from fairgear.auditing.adapters.base import Predictions
from fairgear.auditing.world import World
from fairgear.auditing.worlds import Worlds
from fairgear.errors import ParameterError
from fairgear.graph import SensitiveGraph
from fairgear.hashing import pair_uniform
from fairgear.links.adapters import AuditedLinks
from fairgear.links.base import PairScorer
from fairgear.links.origin import canonical_pairs, oriented
from fairgear.links.pairs import Pairs, check_ends, pair_keys
from fairgear.links.split import LinkSplit
from fairgear.progress import quiet

# Pairs that are sampled for worlds of their own, of a command each of which costs processes.
SAMPLED, SAMPLED_COSTLY = 100, 5
# All pairs are asked where that costs no more than so many people and edges, over all worlds.
CHEAP = 5_000_000

# What else is read from a model in a world: the intervention, the rows it is about (None for all),
# and the model there.
Reader = Callable[[World, PairScorer], None]
OwnReader = Callable[[int, PairScorer], None]


@dataclass(frozen=True, eq=False)
class AuditedPairs:
    """A model, and the pairs that it is asked for.

    Attributes:
        model: adapted.
        split: says what of a world models see.
        ends: rows (2, m) of the pairs, in canonical order.
        threshold: scores above it predict a link.
    """

    model: AuditedLinks
    split: LinkSplit
    ends: Tensor
    threshold: float

    def scorer(self, world: World) -> PairScorer:
        """The model in a world, without the pairs in question."""
        return scorer_in(self.model, self.split, world.graph, world.name)

    def decided(self, scores: np.ndarray) -> Predictions:
        """Predicted links from scores."""
        return Predictions(scores, (scores > self.threshold).astype(np.int64))

    def predict(self, world: World, read: Reader | None = None) -> Predictions:
        """Scores and predicted links of all pairs in a world; `read` sees the model there."""
        with quiet():
            scorer = self.scorer(world)
            found = self.decided(scorer.pairs(self.ends))
            if read is not None:
                read(world, scorer)
        return found


def scorer_in(
    model: AuditedLinks, split: LinkSplit, graph: SensitiveGraph, name: str
) -> PairScorer:
    """A model in a world of this graph, of which it sees no pair in question."""
    return model.scorer(split.seen(graph), name)


def sampled_pairs(asked: AuditedPairs, worlds: Worlds, most: int | None) -> Tensor:
    """Sorted positions of at most `most` pairs, chosen by a hash of their ends' ids."""
    graph, total = worlds.graph, asked.ends.shape[1]
    if most is None:
        most = SAMPLED_COSTLY if asked.model.costly else SAMPLED
        each = len(graph.x) + graph.edge_index.shape[1]
        worlds_of_all = total + len(np.unique(asked.ends.numpy()))
        if not asked.model.costly and worlds_of_all * each <= CHEAP:
            most = total
    ids = graph.node_id.cpu()[asked.ends].numpy()
    noise = pair_uniform(ids[0], ids[1], worlds.seed, "pairs")
    chosen = np.lexsort((ids[0], noise))[:most]
    return torch.from_numpy(np.sort(chosen))


def pairs_to_audit(split: LinkSplit, pairs: Pairs | None) -> tuple[Tensor, Tensor]:
    """Whether they are linked, and rows (2, m) of the pairs to audit, by id."""
    graph, chosen = split.graph, split.test if pairs is None else pairs
    ends = oriented(graph, check_ends(chosen.ends, len(graph.x)))
    if tuple(chosen.linked.shape) != (ends.shape[1],) or not ends.shape[1]:
        got = f"{ends.shape[1]:,} pairs, {len(chosen.linked):,} marks whether they are linked"
        raise ParameterError("pairs to audit", got, "one mark a pair", "pass split.test")
    order = canonical_pairs(graph, ends)
    ends = ends[:, order]
    keys = pair_keys(ends, len(graph.x), directed=graph.directed)
    twice = len(keys) - len(np.unique(keys.numpy()))
    if twice:
        got = f"{twice:,} pairs more than once"
        raise ParameterError("pairs to audit", got, "each pair once", "leave the others out")
    hidden = pair_keys(split.asked, len(graph.x), directed=graph.directed)
    seen = int((~torch.isin(keys, hidden)).sum())
    if seen:
        got = f"{seen:,} pairs that are not in question, so that models see their edges"
        step = "pass pairs of the split, such as split.test"
        raise ParameterError("pairs to audit", got, "pairs in question", step)
    return chosen.linked.cpu().to(torch.int64)[order], ends
