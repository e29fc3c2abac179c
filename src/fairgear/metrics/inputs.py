"""What a measure takes: one value per person, as a NumPy array, a tensor or a sequence."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from fairgear.errors import ParameterError, UndefinedMetricWarning

Values = NDArray[Any] | Tensor | Sequence[float] | Sequence[bool]
Integers = NDArray[np.int64]
Floats = NDArray[np.float64]
# Clusters that are resampled one by one; see `pooled`.
MOST_CLUSTERS = 10_000


def as_vector(name: str, values: Values) -> NDArray[Any]:
    """`values` as a one-dimensional NumPy array that is not empty."""
    array = values.detach().cpu().numpy() if isinstance(values, Tensor) else np.asarray(values)
    if array.ndim != 1 or array.size == 0 or array.dtype.kind not in "biuf":
        got, allowed = f"{array.dtype} of shape {array.shape}", "numbers of shape (n,), n ≥ 1"
        raise ParameterError(name, got, allowed, "pass one value per person")
    return array


def as_labels(name: str, values: Values) -> Integers:
    """Labels, predicted labels or groups: 0 or 1 for each person."""
    array = as_vector(name, values)
    wrong = array[(array != 0) & (array != 1)]
    if len(wrong):
        got = f"the values {', '.join(f'{value:g}' for value in np.unique(wrong)[:5])}"
        step = "keep people with a label only, and threshold scores before comparing labels"
        raise ParameterError(name, got, "0 or 1", step)
    return array.astype(np.int64)


def as_finite(name: str, values: Values) -> Floats:
    """Finite numbers, one for each person."""
    array = as_vector(name, values).astype(np.float64)
    wrong = np.flatnonzero(~np.isfinite(array))
    if len(wrong):
        got = f"{len(wrong)} NaN or infinite values, the first in row {wrong[0]}"
        raise ParameterError(name, got, "finite numbers", "check the model's scores in that row")
    return array


def as_scores(name: str, values: Values) -> Floats:
    """Scores, of which only the order matters. Integers that are all 0 or 1 are refused.

    Those are labels, and ranking by labels silently gives a smaller number than ranking by scores.
    Integers with more than two values, such as deciles of risk, are scores.
    """
    array = as_vector(name, values)
    if array.dtype.kind in "biu" and bool(((array == 0) | (array == 1)).all()):
        got, allowed = f"{array.dtype} labels 0 and 1", "scores, such as probabilities or logits"
        raise ParameterError(name, got, allowed, "pass predict_proba, not predict")
    return as_finite(name, array)


def as_shares(name: str, values: Values) -> Floats:
    """Numbers from 0 to 1: a share of draws for each person, or 0/1."""
    array = as_finite(name, values)
    if array.min() < 0 or array.max() > 1:
        got = f"values from {array.min():g} to {array.max():g}"
        step = "pass 0/1 for each person, or the mean over the draws"
        raise ParameterError(name, got, "0 to 1", step)
    return array


def as_clusters(name: str, values: Values, length: int) -> Integers:
    """Clusters as integers 0 to C − 1, whatever their labels were."""
    array = as_vector(name, values)
    same_length(**{name: array, "values": np.empty(length)})
    inverse: Integers = np.unique(array, return_inverse=True)[1].astype(np.int64)
    return inverse


def pooled(clusters: Integers) -> Integers:
    """Clusters to resample: as they are, or of very many some together, chosen by chance.

    Sums over groups of independent clusters vary as those of the clusters do, and a million
    clusters in a thousand resamples would be 8 GB of weights.
    """
    count = int(clusters.max()) + 1 if len(clusters) else 0
    if count <= MOST_CLUSTERS:
        return clusters
    group = np.random.default_rng(0).permutation(count) % MOST_CLUSTERS
    found: Integers = group[clusters].astype(np.int64)
    return found


def clustered_shares(
    name: str, values: Values, clusters: Values, level: float
) -> tuple[Floats, Integers]:
    """Shares with the cluster of each, for an interval of a valid level."""
    shares = as_shares(name, values)
    label = as_clusters("clusters", clusters, len(shares))
    check_level(level)
    return shares, label


def same_length(**arrays: NDArray[Any]) -> None:
    """All of `arrays` have one value for each of the same people."""
    lengths = {name: len(array) for name, array in arrays.items()}
    if len(set(lengths.values())) > 1:
        what = " and ".join(lengths)
        got = f"lengths {', '.join(str(length) for length in lengths.values())}"
        step = "pass the same people, in the same order, to all"
        raise ParameterError(what, got, "the same length", step)


def check_level(level: float) -> None:
    """A confidence level is strictly between 0 and 1."""
    if not 0 < level < 1:
        raise ParameterError("level", level, "more than 0, less than 1", "use 0.95")


def undefined(metric: str, why: str) -> float:
    """The value of a measure that has none: NaN, with a warning."""
    warnings.warn(f"{metric} is undefined: {why}", UndefinedMetricWarning, stacklevel=3)
    return math.nan
