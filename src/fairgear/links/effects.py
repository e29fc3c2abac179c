"""Effects on predicted links: what each intervention does to the pairs that are audited."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from fairgear.auditing.adapters.base import Predictions
from fairgear.auditing.effects import AVERAGE, Effect, partial_effect, whole_graph_effects
from fairgear.auditing.world import World
from fairgear.auditing.worlds import Worlds
from fairgear.graph import SensitiveGraph
from fairgear.hashing import pair_uniform
from fairgear.links.adapters import AuditedLinks
from fairgear.links.base import PairScorer
from fairgear.links.intervals import PairBootstrap
from fairgear.links.result import LinkFlips
from fairgear.links.split import LinkSplit
from fairgear.metrics import Flips
from fairgear.progress import Bar, bar, quiet

EITHER, BOTH, NEIGHBOURS = "either end", "both ends", "neighbours"
# The intervention from which each metric is read.
FLIPS = {
    "delta_cf": AVERAGE,
    "delta_cf_either": EITHER,
    "delta_cf_both_ends": BOTH,
    "delta_cf_neighbours": NEIGHBOURS,
}
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


def canonical_pairs(graph: SensitiveGraph, ends: Tensor) -> Tensor:
    """Places of pairs (2, m) sorted by the ids of their ends; see `oriented`."""
    first, second = graph.canonical.numbers[ends]
    order: Tensor = (first * len(graph.x) + second).argsort()
    return order


def oriented(graph: SensitiveGraph, ends: Tensor) -> Tensor:
    """Pairs whose first end has the lesser id, unless the order means something."""
    if graph.directed:
        return ends
    first, second = graph.canonical.numbers[ends]
    found: Tensor = torch.where(first < second, ends, ends.flip(0))
    return found


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


def measure_flips(
    asked: AuditedPairs,
    worlds: Worlds,
    factual: Predictions,
    chosen: Tensor,
    read: Reader,
    read_own: OwnReader,
) -> list[Effect]:
    """The effect of every intervention on the pairs.

    Args:
        asked: the model and the pairs.
        worlds: of the graph with all its edges.
        factual: predictions of the graph as it is.
        chosen: positions of the pairs whose ends are changed alone and together.
        read: sees the model in each world of everybody.
        read_own: sees the model in the world of each end of the chosen pairs, by row.
    """
    people = worlds.graph.canonical.by_id(asked.ends[:, chosen].flatten())
    drawn = sum(len(values) for values in worlds.assignments.values())
    total = drawn + worlds.draws + len(people) + len(chosen)
    with bar("predicted links in other worlds", total=total) as progress:

        def predict(world: World) -> Predictions:
            answer = asked.predict(world, read)
            progress.advance()
            return answer

        found = whole_graph_effects(predict, worlds.strict, factual)
        return [
            *found,
            *_neighbours(asked, worlds, factual, progress),
            *_either(asked, worlds, factual, chosen, people, read_own, progress),
            *_both(asked, worlds, factual, chosen, progress),
        ]


def _neighbours(
    asked: AuditedPairs, worlds: Worlds, factual: Predictions, progress: Bar
) -> list[Effect]:
    """The random worlds, read for the pairs both ends of which kept their values."""
    before, answers, kept = worlds.graph.sens, [], []
    for world in worlds.random:
        answers.append(asked.predict(world))
        kept.append((world.sens == before).cpu()[asked.ends].all(dim=0).numpy())
        progress.advance()
    return partial_effect(NEIGHBOURS, factual, answers, np.stack(kept))


def _either(
    asked: AuditedPairs,
    worlds: Worlds,
    factual: Predictions,
    chosen: Tensor,
    people: Tensor,
    read_own: OwnReader,
    progress: Bar,
) -> list[Effect]:
    """The chosen pairs in the world of each end: the first, and the second."""
    scores = np.stack([factual.scores, factual.scores])
    part = np.zeros(scores.shape, dtype=np.bool_)
    part[:, chosen.numpy()] = True
    ends = asked.ends[:, chosen]
    for row, world in zip(people.tolist(), worlds.alone(people), strict=True):
        side, place = (ends == row).nonzero(as_tuple=True)
        with quiet():
            scorer = asked.scorer(world)
            found = scorer.pairs(ends[:, place])
            read_own(row, scorer)
        scores[side.numpy(), chosen[place].numpy()] = found
        progress.advance()
    return partial_effect(EITHER, factual, [asked.decided(one) for one in scores], part)


def _both(
    asked: AuditedPairs, worlds: Worlds, factual: Predictions, chosen: Tensor, progress: Bar
) -> list[Effect]:
    """The chosen pairs, each in the world where both ends are changed."""
    scores = factual.scores.copy()
    part = np.zeros((1, len(scores)), dtype=np.bool_)
    part[0, chosen.numpy()] = True
    ends = asked.ends[:, chosen]
    for place, (position, world) in enumerate(
        zip(chosen.tolist(), worlds.together(ends), strict=True)
    ):
        with quiet():
            scores[position] = asked.scorer(world).pairs(ends[:, place : place + 1])[0]
        progress.advance()
    return partial_effect(BOTH, factual, [asked.decided(scores)], part)


def flip_row(effect: Effect, bootstrap: PairBootstrap, total: int) -> LinkFlips:
    """The line of an effect in the table of flips; `total` pairs are audited."""
    flips = effect.flips
    parts: Sequence[Flips] = [flips] if isinstance(flips, Flips) else list(flips.by_world.values())
    everyone = np.zeros(total)
    everyone[effect.positions] = flips.by_node
    among = np.zeros(total, dtype=np.bool_)
    among[effect.positions] = True
    # Of an end alone there is one world, of which nothing is random.
    fixed = effect.intervention in (EITHER, BOTH) or math.isnan(flips.error)
    return LinkFlips(
        intervention=effect.intervention,
        rate=flips.rate,
        interval=bootstrap.rate(everyone, among, by_region=True).interval,
        error=None if fixed else flips.error,
        gained=float(np.mean([part.gains for part in parts])),
        lost=float(np.mean([part.losses for part in parts])),
        score_shift=float(np.mean([np.nanmean(moved, axis=0).mean() for moved in effect.moves])),
        score_size=float(
            np.mean([np.nanmean(np.abs(moved), axis=0).mean() for moved in effect.moves])
        ),
        pairs=len(effect.positions),
        draws=sum(len(part.draws) for part in parts),
    )
