"""How well predictions agree with the labels: accuracy, F1 and AUROC."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.stats import rankdata

from fairgear.metrics.inputs import Floats, Values, as_labels, as_scores, same_length, undefined


def accuracy(y: Values, pred: Values) -> float:
    """Share of people whose predicted label is their label.

    Example:
        >>> from fairgear.metrics import accuracy
        >>> accuracy([0, 1, 1, 0], [0, 1, 0, 0])
        0.75
    """
    y, pred = as_labels("y", y), as_labels("pred", pred)
    same_length(y=y, pred=pred)
    return float((y == pred).mean())


def f1(y: Values, pred: Values) -> float:
    """F1 of class 1: 2TP / (2TP + FP + FN).

    Of class 1, not the average over both classes: the micro average equals accuracy. NaN only if
    nobody is of class 1 and nobody is predicted to be.

    Example:
        >>> from fairgear.metrics import f1
        >>> round(f1([0, 1, 1, 0], [0, 1, 0, 0]), 3)
        0.667
    """
    y, pred = as_labels("y", y), as_labels("pred", pred)
    same_length(y=y, pred=pred)
    both, either = int((y & pred).sum()), int((y | pred).sum())
    if either == 0:
        return undefined("F1", "nobody is of class 1 and nobody is predicted to be")
    return 2 * both / (both + either)


def auroc(y: Values, scores: Values) -> float:
    """Probability that class 1 has a higher score than class 0, ties counted half.

    Takes scores and refuses hard labels. NaN if only one class is present.

    Example:
        >>> from fairgear.metrics import auroc
        >>> auroc([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
        0.75
    """
    y, scores = as_labels("y", y), as_scores("scores", scores)
    same_length(y=y, scores=scores)
    positives = int(y.sum())
    negatives = len(y) - positives
    if positives == 0 or negatives == 0:
        return undefined("AUROC", "only one class is present")
    wins = rankdata(scores)[y == 1].sum() - positives * (positives + 1) / 2
    return float(np.clip(wins / (positives * negatives), 0.0, 1.0))


def weighted_auroc(y: Values, scores: Values) -> Callable[[Floats], Floats]:
    """AUROC as a function of weights (resamples, n), for `cluster_bootstrap`.

    It returns one AUROC per resample, NaN if a class has no weight.

    Example:
        >>> import numpy as np
        >>> from fairgear.metrics import cluster_bootstrap, weighted_auroc
        >>> y = np.tile([0, 1], 50)
        >>> scores = np.linspace(0, 1, 100) + 0.3 * y
        >>> statistic = weighted_auroc(y, scores)
        >>> statistic(np.ones((1, 100))).round(3).tolist()
        [0.762]
        >>> interval = cluster_bootstrap(statistic, np.arange(100) // 4)
    """
    y, scores = as_labels("y", y), as_scores("scores", scores)
    same_length(y=y, scores=scores)
    order = np.argsort(scores, kind="stable")
    ranked, label = scores[order], y[order]
    positive, negative = order[label == 1], order[label == 0]
    # For each positive, the negatives below it and those not above it: ties lie between.
    below = np.searchsorted(ranked[label == 0], ranked[label == 1], side="left")
    upto = np.searchsorted(ranked[label == 0], ranked[label == 1], side="right")
    tied = bool((below != upto).any())

    def value(weights: Floats) -> Floats:
        losers = np.zeros((len(weights), len(negative) + 1))
        np.cumsum(weights[:, negative], axis=1, out=losers[:, 1:])
        winners = weights[:, positive]
        wins = np.einsum("ij,ij->i", winners, losers[:, below])
        if tied:
            wins = (wins + np.einsum("ij,ij->i", winners, losers[:, upto])) / 2
        result: Floats = wins / (winners.sum(axis=1) * losers[:, -1])
        return result

    return value
