"""What every model's answers must be: one finite number a person, a probability unless told."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from torch import Tensor

from fairgear.errors import ParameterError
from fairgear.metrics.inputs import Floats, Integers

# Sums of single-precision probabilities end a last digit beyond 1.
_ROUNDING = 1e-6


def as_columns(what: str, values: object, count: int) -> Floats:
    """What a model returned as a matrix (count, 1) or (count, 2) of float64.

    Args:
        what: the model and the world, for messages.
        values: an array, tensor, list, Series or table of numbers.
        count: how many people were asked about.
    """
    array = _as_array(values)
    if array is None or array.dtype.kind not in "biuf":
        kind = type(values).__name__ if array is None or array.ndim == 0 else array.dtype
        raise ParameterError(
            what,
            f"{kind}, which holds no numbers",
            f"{count} scores, one a node",
            "return an array or a tensor of numbers",
        )
    if array.shape not in ((count,), (count, 1), (count, 2)):
        raise ParameterError(
            what,
            f"scores of shape {array.shape}",
            f"shape ({count},), ({count}, 1) or ({count}, 2), one row a node",
            "return one score for each node, in the order of the graph",
        )
    return array.reshape(count, -1).astype(np.float64)


def check_order(what: str, values: object, ids: Integers) -> None:
    """Refuse a Series that says by its index that it is not in the order of the graph."""
    if not isinstance(values, pd.Series) or len(values) != len(ids):
        return
    index = values.index.to_numpy()
    if index.dtype.kind not in "iu" or np.array_equal(index, np.arange(len(ids))):
        return
    if not np.array_equal(index, ids) and np.array_equal(np.sort(index), np.sort(ids)):
        raise ParameterError(
            what,
            "a Series whose index holds the node ids in another order",
            "scores in the order of the graph",
            "return scores.loc[graph.node_id.numpy()]",
        )


def are_answers(values: Floats) -> bool:
    """Whether they are all 0 or 1, as what `predict` returns is."""
    return bool(((values == 0) | (values == 1)).all())


def check_finite(what: str, values: Floats, person: Callable[[int], int | str]) -> None:
    """Every person has a finite number; `person` says who is at a place."""
    wrong = np.flatnonzero(~np.isfinite(values))
    if len(wrong):
        raise ParameterError(
            what,
            f"{len(wrong)} NaN or infinite scores, the first of node {person(int(wrong[0]))!r}",
            "finite numbers",
            "find out why the model gives no score there",
        )


def within_unit(values: Floats) -> bool:
    """Whether all are from 0 to 1, but for rounding."""
    return bool(((values >= -_ROUNDING) & (values <= 1 + _ROUNDING)).all())


def as_probabilities(what: str, values: Floats, allowed: str, next_step: str) -> Floats:
    """Numbers from 0 to 1, freed of rounding beyond it."""
    if not within_unit(values):
        raise ParameterError(
            what, f"scores from {values.min():.4g} to {values.max():.4g}", allowed, next_step
        )
    return np.clip(values, 0, 1)


def _as_array(values: object) -> NDArray[np.generic] | None:
    """`values` for NumPy; None where they are no rectangle of anything."""
    try:
        if isinstance(values, Tensor):
            # NumPy knows no bfloat16.
            kept = values.detach().cpu()
            return (kept.double() if kept.is_floating_point() else kept).numpy()
        if isinstance(values, pd.Series) and pd.api.types.is_numeric_dtype(values.dtype):
            return values.to_numpy(dtype=np.float64, na_value=np.nan)
        return np.asarray(values)
    except (TypeError, ValueError, RuntimeError):
        return None
