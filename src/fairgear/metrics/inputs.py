"""What a measure may be given: one value a node, as a NumPy array, a tensor or a sequence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from fairgear.errors import ParameterError

Values = NDArray[Any] | Tensor | Sequence[float] | Sequence[bool]
Integers = NDArray[np.int64]
Floats = NDArray[np.float64]


def as_vector(name: str, values: Values) -> NDArray[Any]:
    """`values` as a one-dimensional NumPy array that is not empty."""
    array = values.detach().cpu().numpy() if isinstance(values, Tensor) else np.asarray(values)
    if array.ndim != 1 or array.size == 0 or array.dtype.kind not in "biuf":
        raise ParameterError(
            name,
            f"{array.dtype} of shape {array.shape}",
            "numbers of shape (nodes,), at least one",
            "pass one value a node",
        )
    return array


def as_labels(name: str, values: Values) -> Integers:
    """Labels, predicted labels or groups: 0 or 1 for each node."""
    array = as_vector(name, values)
    wrong = array[(array != 0) & (array != 1)]
    if len(wrong):
        shown = ", ".join(f"{value:g}" for value in np.unique(wrong)[:5])
        raise ParameterError(
            name,
            f"the values {shown}",
            "0 or 1",
            "keep the labelled nodes only, and threshold scores before comparing labels",
        )
    return array.astype(np.int64)


def as_finite(name: str, values: Values) -> Floats:
    """Finite numbers, one for each node."""
    array = as_vector(name, values).astype(np.float64)
    wrong = np.flatnonzero(~np.isfinite(array))
    if len(wrong):
        raise ParameterError(
            name,
            f"{len(wrong)} NaN or infinite values, the first at node {wrong[0]}",
            "finite numbers",
            "find out why the model gives no score there",
        )
    return array


def as_scores(name: str, values: Values) -> Floats:
    """Scores whose order matters. Integers that are all 0 or 1 are labels and are refused.

    Ranking by hard labels silently gives another, smaller number than ranking by scores. Whole
    numbers with more than these two values, such as deciles of risk, are scores.
    """
    array = as_vector(name, values)
    if array.dtype.kind in "biu" and bool(((array == 0) | (array == 1)).all()):
        raise ParameterError(
            name,
            f"{array.dtype} labels 0 and 1",
            "scores, such as probabilities or logits",
            "pass predict_proba, not predict",
        )
    return as_finite(name, array)


def as_shares(name: str, values: Values) -> Floats:
    """Numbers from 0 to 1: a share of draws for each node, or 0/1."""
    array = as_finite(name, values)
    if array.min() < 0 or array.max() > 1:
        raise ParameterError(
            name,
            f"values from {array.min():g} to {array.max():g}",
            "0 to 1",
            "pass 0/1 for each node, or its mean over the draws",
        )
    return array


def as_clusters(name: str, values: Values, length: int) -> Integers:
    """Clusters as whole numbers 0 to C − 1, whatever their labels were."""
    array = as_vector(name, values)
    same_length(**{name: array, "values": np.empty(length)})
    inverse: Integers = np.unique(array, return_inverse=True)[1].astype(np.int64)
    return inverse


def same_length(**arrays: NDArray[Any]) -> None:
    """All of `arrays` have one value for each of the same nodes."""
    lengths = {name: len(array) for name, array in arrays.items()}
    if len(set(lengths.values())) > 1:
        raise ParameterError(
            " and ".join(lengths),
            f"lengths {', '.join(str(length) for length in lengths.values())}",
            "the same length",
            "pass the same nodes, in the same order, to all",
        )


def check_level(level: float) -> None:
    """A confidence level is strictly between 0 and 1."""
    if not 0 < level < 1:
        raise ParameterError("level", level, "more than 0, less than 1", "use 0.95")
