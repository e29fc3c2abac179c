"""How much of the predictions the neighbourhood's sensitive attribute explains."""

from __future__ import annotations

import numpy as np

from fairgear.metrics.inputs import Floats, Values, as_finite, as_labels, same_length, undefined


def r2(pred: Values, summary: Values) -> float:
    """R² of a linear regression of the predicted label on a summary of the neighbourhood.

    With one regressor that is the squared Pearson correlation. The summary is the mean sensitive
    value of the closed one-hop neighbourhood, `fairgear.graph.closed_neighborhood_mean`. NaN if
    the predictions are constant (there is nothing to explain) or the summary is (a zero would
    claim that no dependence was found where none could be measured).

    Example:
        >>> from fairgear.metrics import r2
        >>> round(r2([0, 1, 1, 0], [0.2, 0.9, 0.6, 0.5]), 3)
        0.64
    """
    labels, means = as_labels("pred", pred), as_finite("summary", summary)
    same_length(pred=labels, summary=means)
    for name, values in (("all predicted labels", labels), ("all summaries", means)):
        if np.ptp(values) == 0:
            return undefined("R²", f"{name} are equal")
    return float(correlation(labels.astype(np.float64), means) ** 2)


def correlation(first: Floats, second: Floats) -> float:
    """Pearson correlation of two vectors that vary."""
    a, b = first - first.mean(), second - second.mean()
    # Scaled first, so that tiny summaries do not underflow when squared.
    a, b = a / np.abs(a).max(), b / np.abs(b).max()
    return float(np.clip((a @ b) / np.sqrt((a @ a) * (b @ b)), -1.0, 1.0))
