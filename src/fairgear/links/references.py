"""References: what models of links without judgement measure on the same pairs and worlds."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_matrix
from torch import Tensor

from fairgear.auditing.world import World
from fairgear.auditing.worlds import Worlds
from fairgear.causal import changed_groups
from fairgear.graph import SensitiveGraph, groups_of
from fairgear.links.ranks import average_precision, hits_at
from fairgear.links.result import LinkReference
from fairgear.links.split import LinkSplit
from fairgear.methods.thresholds import most_accurate
from fairgear.metrics import auroc
from fairgear.metrics.inputs import Floats, Integers

COPYING, COMMON = "copying", "common neighbours"
# Pairs whose neighbours are compared at a time.
_AT_ONCE = 2**16


@dataclass(frozen=True, eq=False)
class Compared:
    """What references are measured on.

    Attributes:
        split: of the graph.
        worlds: of the whole graph; None where there are none.
        ends: rows (2, m) of the audited pairs.
        linked: which of them are.
        chosen: positions of the pairs whose ends are changed alone and together.
        k: of hits@k.
    """

    split: LinkSplit
    worlds: Worlds | None
    ends: Tensor
    linked: Integers
    chosen: Tensor
    k: int


def link_references(given: Compared) -> tuple[LinkReference, ...]:
    """Copying, and common neighbours where there are validation pairs to choose a threshold on.

    Without them all pairs are for test, as those of a file of scores, which say nothing of the
    edges that a model saw.
    """
    if not len(given.split.val):
        return (_copying(given),)
    return _copying(given), _common(given)


def _copying(given: Compared) -> LinkReference:
    graph = given.split.graph

    def same(sens: Tensor, ends: Tensor) -> Floats:
        first, second = groups_of(graph, sens).cpu()[ends]
        found: Floats = (first == second).double().numpy()
        return found

    factual = same(graph.sens, given.ends)
    metrics = _factual(given, factual, factual > 0)
    if given.worlds is not None:
        rates = _by_world(given.worlds, lambda world: same(world.sens, given.ends) != factual)
        metrics["delta_cf"] = rates
        metrics["delta_cf_neighbours"] = 0.0
        metrics |= _copied_ends(given, given.worlds)
    meaning = "a link is predicted where both ends are of one group"
    return LinkReference(COPYING, meaning, metrics)


def _copied_ends(given: Compared, worlds: Worlds) -> dict[str, float]:
    """Flips where one end alone, or both, are in the group that *self* puts them in."""
    graph, ends = worlds.graph, given.ends[:, given.chosen]
    if not ends.shape[1]:
        return {}
    own = [groups_of(graph).cpu()[rows] for rows in ends]
    other = [_in_bands(graph, rows, changed_groups(graph, rows, seed=worlds.seed)) for rows in ends]
    before = own[0] == own[1]
    either = [(other[0] == own[1]) != before, (own[0] == other[1]) != before]
    both = (other[0] == other[1]) != before
    rate = torch.stack(either).double().mean()
    return {"delta_cf_either": float(rate), "delta_cf_both_ends": float(both.double().mean())}


def _in_bands(graph: SensitiveGraph, rows: Tensor, values: Tensor) -> Tensor:
    """Groups of other values of the attribute."""
    return groups_of(graph, values).cpu() if graph.continuous else values.cpu()


def _common(given: Compared) -> LinkReference:
    split = given.split
    threshold = most_accurate(
        split.val.linked.numpy(), common_neighbours(split.input, split.val.ends)
    )
    scores = common_neighbours(split.input, given.ends)
    predicted = scores > threshold
    metrics = _factual(given, scores, predicted)
    if given.worlds is not None:

        def flips(graph: SensitiveGraph) -> NDArray[np.bool_]:
            there = common_neighbours(split.seen(graph), given.ends) > threshold
            changed: NDArray[np.bool_] = there != predicted
            return changed

        metrics["delta_cf"] = _by_world(given.worlds, lambda world: flips(world.graph))
    meaning = "scores are how many neighbours both ends have in common, above the threshold that "
    return LinkReference(COMMON, f"{meaning}is most accurate on the validation pairs", metrics)


def _factual(given: Compared, scores: Floats, predicted: NDArray[np.bool_]) -> dict[str, float]:
    linked = given.linked
    both = 0 < int(linked.sum()) < len(linked)
    different = np.diff(groups_of(given.split.graph).cpu().numpy()[given.ends.numpy()], axis=0)[0]
    sides = [predicted[different == 0], predicted[different != 0]]
    gap = abs(sides[0].mean() - sides[1].mean()) if all(map(len, sides)) else math.nan
    return {
        "accuracy": float((predicted == (linked == 1)).mean()),
        "auroc": auroc(linked, scores) if both else math.nan,
        "average_precision": average_precision(linked, scores) if both else math.nan,
        "hits_at_k": hits_at(linked, scores, given.k) if both else math.nan,
        "gap_same_different": float(gap),
    }


def _by_world(worlds: Worlds, flips: Callable[[World], NDArray[np.bool_]]) -> float:
    """δCF: the mean over rates of the mean over draws."""
    each: Iterable[float] = (
        float(np.mean([flips(world).mean() for world in draws])) for draws in worlds.strict.values()
    )
    return float(np.mean(list(each)))


def common_neighbours(graph: SensitiveGraph, ends: Tensor) -> Floats:
    """How many people both ends of pairs (2, m) are linked with, or of arcs point to.

    Example:
        >>> import torch
        >>> from fairgear.links.references import common_neighbours
        >>> from fairgear.testing import toy_graph
        >>> common_neighbours(toy_graph(), torch.tensor([[0, 1], [2, 3]])).tolist()
        [0.0, 0.0]
    """
    indptr, indices = graph.canonical.csr
    n = len(graph.x)
    lists = csr_matrix((np.ones(len(indices)), indices, indptr), shape=(n, n))
    first, second = graph.canonical.numbers[ends].numpy()
    parts = [
        np.asarray(
            lists[first[at : at + _AT_ONCE]].multiply(lists[second[at : at + _AT_ONCE]]).sum(1)
        )
        for at in range(0, len(first), _AT_ONCE)
    ]
    found: Floats = np.concatenate([np.empty((0, 1)), *parts])[:, 0]
    return found
