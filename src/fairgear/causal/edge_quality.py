"""How well an edge model foretells pairs that it has not seen, and whether that is enough."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import expit

from fairgear.causal.edge_fit import PairRegression
from fairgear.causal.edge_kernel import Floats
from fairgear.causal.edge_pairs import FOLDS
from fairgear.metrics import weighted_auroc
from fairgear.progress import bar

# Below, an edge and a non-edge would be told apart in less than seven cases of ten, which the
# usual reading (Hosmer and Lemeshow) calls poor.
LEAST_AUC = 0.7
# Degrees stay as they are in every world: a model that tells edges by them moves edges blindly.
LEAST_AUC_WITHOUT_DEGREES = 0.6
# The number of edges may be off by a twentieth; and a tenth of them may be expected among pairs
# of another kind than those that have them.
MOST_OFF, MOST_MISPLACED = 0.05, 0.1
# Fewer where there are fewer edges: a bin of 50 is already off by 11 % by chance.
BINS, LEAST_IN_BIN = 10, 50


@dataclass(frozen=True)
class EdgeQuality:
    """Each fifth of the pairs, foretold by a model that was fitted on the other four.

    Attributes:
        auc: weighted, of the chance that an edge gets the higher probability than a non-edge.
        auc_without_degrees: the same from likeness and groups alone, which are what moves.
        expected, actual: number of edges.
        bins: (expected, actual) in up to ten classes of pairs by probability, each with about
            the same number of edges expected.
    """

    auc: float
    auc_without_degrees: float
    expected: float
    actual: float
    bins: tuple[tuple[float, float], ...]

    @property
    def misplaced(self) -> float:
        """Σ |expected − actual| over the bins, halved, as a share of the actual edges.

        The share of edges that the model expects in another bin than they are in.
        """
        return sum(abs(e - a) for e, a in self.bins) / 2 / self.actual

    def shortcoming(self) -> str | None:
        """Why the model is not good enough to move edges by, if it is not."""
        off = self.expected / self.actual - 1
        if not self.auc >= LEAST_AUC:
            return (
                f"the AUC on held-out pairs is {self.auc:.2f}, below {LEAST_AUC} (edges and "
                "non-edges are hardly told apart)"
            )
        if not self.auc_without_degrees >= LEAST_AUC_WITHOUT_DEGREES:
            return (
                f"the AUC on held-out pairs is {self.auc:.2f}, but {self.auc_without_degrees:.2f} "
                f"without degrees, below {LEAST_AUC_WITHOUT_DEGREES} (what would move the edges, "
                "likeness and groups, hardly tells them)"
            )
        if not abs(off) <= MOST_OFF:
            return (
                f"{self.expected:.0f} edges are expected on held-out pairs and {self.actual:.0f} "
                f"are there, {off:+.0%}, more than {MOST_OFF:.0%} off"
            )
        if not self.misplaced <= MOST_MISPLACED:
            return (
                f"{self.misplaced:.0%} of the edges on held-out pairs are expected among pairs of "
                f"another probability than theirs, more than {MOST_MISPLACED:.0%}"
            )
        return None

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        return {
            "auc": self.auc,
            "auc_without_degrees": self.auc_without_degrees,
            "held_out_edges": {"expected": self.expected, "actual": self.actual},
            "bins": [{"expected": e, "actual": a} for e, a in self.bins],
            "misplaced": self.misplaced,
        }


def held_out_quality(regression: PairRegression, theta: Floats) -> EdgeQuality:
    """Fit five times, each time without a fifth of the pairs, and foretell that fifth.

    Args:
        regression: the pairs.
        theta: where to start from; the fits do not depend on it.
    """
    pairs = regression.pairs
    p, bare = np.empty(len(pairs)), np.empty(len(pairs))
    with bar("testing the edge model", total=FOLDS) as shown:
        for fold in range(FOLDS):
            held = pairs.fold == fold
            fitted = regression.fit(~held, start=theta)
            p[held] = expit(regression.logits(fitted, held))
            bare[held] = regression.logits(fitted, held, degree=False)
            shown.advance()
    weights = pairs.weight[None]
    return EdgeQuality(
        auc=float(weighted_auroc(pairs.joined, p)(weights)[0]),
        auc_without_degrees=float(weighted_auroc(pairs.joined, bare)(weights)[0]),
        expected=float(p @ pairs.weight),
        actual=float(pairs.joined @ pairs.weight),
        bins=_bins(p, pairs.weight, pairs.joined * pairs.weight),
    )


def _bins(p: Floats, weight: Floats, joined: Floats) -> tuple[tuple[float, float], ...]:
    count = int(np.clip(joined.sum() // LEAST_IN_BIN, 1, BINS))
    order = np.argsort(p, kind="stable")
    share = np.cumsum((p * weight)[order])
    share /= share[-1]
    cuts = p[order][np.searchsorted(share, np.arange(1, count) / count)]
    # By value, so that pairs of the same probability share a bin.
    at = np.searchsorted(cuts, p, side="left")
    expected = np.bincount(at, p * weight, minlength=count)
    actual = np.bincount(at, joined, minlength=count)
    return tuple(
        (e, a) for e, a in zip(expected.tolist(), actual.tolist(), strict=True) if e > 0 or a > 0
    )
