"""Measures of factual predictions of links, with intervals."""

from __future__ import annotations

import math

import numpy as np
import torch
from torch import Tensor

from fairgear.graph import SensitiveGraph, groups_around
from fairgear.links.cells import PairGroups
from fairgear.links.intervals import PairBootstrap
from fairgear.links.ranks import average_precision, hits_at, weighted_hits, weighted_precision
from fairgear.metrics import UNDEFINED, Estimate, auroc, weighted_auroc
from fairgear.metrics.inputs import Floats, Integers


def factual_estimates(
    linked: Integers,
    scores: Floats,
    predicted: Integers,
    groups: PairGroups,
    summary: Floats | None,
    bootstrap: PairBootstrap,
    *,
    k: int,
) -> dict[str, Estimate]:
    """By the names of `LINK_METRICS`.

    Args:
        linked: whether each pair is.
        scores: of each pair.
        predicted: whether it is predicted to be linked.
        groups: of both ends.
        summary: (m, columns), see `surroundings_of`; None where models see no edges.
        bootstrap: of these pairs.
        k: of hits@k.
    """
    hits = predicted.astype(np.float64)
    _, cell = groups.cells
    true = linked == 1
    return {
        "accuracy": bootstrap.rate((linked == predicted).astype(np.float64)),
        **_ranks(linked, scores, bootstrap, k),
        "gap_same_different": bootstrap.gap(hits, groups.different),
        "gap_same_different_linked": bootstrap.gap(hits, np.where(true, groups.different, -1)),
        "gap_cells": bootstrap.largest_gap(hits, cell),
        "gap_cells_linked": bootstrap.largest_gap(hits, np.where(true, cell, -1)),
        "r2": Estimate(math.nan, UNDEFINED)
        if summary is None
        else bootstrap.dependence(hits, summary),
    }


def _ranks(
    linked: Integers, scores: Floats, bootstrap: PairBootstrap, k: int
) -> dict[str, Estimate]:
    positives = int(linked.sum())
    negatives = len(linked) - positives
    names = ("auroc", "average_precision", "hits_at_k")
    if not positives or not negatives:
        return dict.fromkeys(names, Estimate(math.nan, UNDEFINED))
    values = (
        auroc(linked, scores),
        average_precision(linked, scores),
        hits_at(linked, scores, k),
    )
    statistics = (
        weighted_auroc(linked, scores),
        weighted_precision(linked, scores),
        weighted_hits(linked, scores, k),
    )
    # All of the same resamples, whose weights are what takes time.
    product, units = bootstrap.drawn(
        lambda weights: np.stack([one(weights) for one in statistics], axis=1)
    )
    return {
        name: Estimate(
            value,
            bootstrap.share(value, (product[:, at], units[:, at]), positives, negatives),
        )
        for at, (name, value) in enumerate(zip(names, values, strict=True))
    }


def surroundings_of(graph: SensitiveGraph, ends: Tensor) -> Floats:
    """The mean of both ends' surroundings and their distance, (m, columns).

    Of each end, the mean of s over the person and their neighbours; of more than two groups, the
    share of each but the first, and so many columns of both kinds.

    Args:
        graph: what models see.
        ends: rows (2, m).

    Example:
        >>> import torch
        >>> from fairgear.links.measures import surroundings_of
        >>> from fairgear.testing import toy_graph
        >>> surroundings_of(toy_graph(), torch.tensor([[0, 1], [2, 3]])).shape
        (2, 2)
    """
    order = graph.canonical
    # Sums over neighbours in the order of ids: that of the rows would move their last digits.
    by_number = graph if order.sorted else graph.permute(order.rows)
    around = groups_around(by_number).cpu().double()
    first, second = (around[order.numbers[rows]].reshape(len(rows), -1) for rows in ends)
    found: Floats = torch.cat([(first + second) / 2, (first - second).abs()], dim=1).numpy()
    return found
