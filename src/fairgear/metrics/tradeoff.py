"""Trade-offs between how well models predict and how often their answers flip."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fairgear.errors import ParameterError
from fairgear.metrics.inputs import Floats


def pareto_front(utility: ArrayLike, flips: ArrayLike) -> NDArray[np.bool_]:
    """Which models no other one beats: at least as good in both, and better in one.

    Args:
        utility: one a model, more is better, such as AUROC.
        flips: one a model, fewer is better, such as the worst δCF.

    Example:
        >>> from fairgear.metrics import pareto_front
        >>> pareto_front([0.9, 0.8, 0.7], [0.2, 0.1, 0.15]).tolist()
        [True, True, False]
    """
    good, bad = _pairs(utility, flips)
    no_worse = (good[:, None] >= good) & (bad[:, None] <= bad)
    better = (good[:, None] > good) | (bad[:, None] < bad)
    beaten = np.any(no_worse & better, axis=0)
    front: NDArray[np.bool_] = ~beaten & ~np.isnan(good) & ~np.isnan(bad)
    return front


def fewest_flips(utility: ArrayLike, flips: ArrayLike, *, max_loss: float) -> int:
    """The model with the fewest flips among those whose utility is within `max_loss` of the best.

    Of equally few flips the highest utility decides, then the first place.

    Example:
        >>> from fairgear.metrics import fewest_flips
        >>> fewest_flips([0.900, 0.895, 0.7], [0.2, 0.1, 0.0], max_loss=0.01)
        1
    """
    if not max_loss >= 0:
        raise ParameterError("max_loss", max_loss, "0 or more", "use 0.01")
    good, bad = _pairs(utility, flips)
    known = ~np.isnan(good) & ~np.isnan(bad)
    if not known.any():
        allowed = "at least one model with both"
        raise ParameterError("utility and flips", "no pair of numbers", allowed, "measure again")
    near = known & (good >= good[known].max() - max_loss)
    places = np.flatnonzero(near)
    return int(min(places, key=lambda place: (bad[place], -good[place], place)))


def _pairs(utility: ArrayLike, flips: ArrayLike) -> tuple[Floats, Floats]:
    good, bad = (np.asarray(values, dtype=np.float64) for values in (utility, flips))
    if good.ndim != 1 or good.shape != bad.shape:
        got = f"shapes {good.shape} and {bad.shape}"
        raise ParameterError("utility and flips", got, "one of each a model", "pass two lists")
    return good, bad
