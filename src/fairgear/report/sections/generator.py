"""What the generator of counterfactuals does, and whether H still reveals s."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from fairgear.report.charts import Range, Scale, ranged
from fairgear.report.numbers import measure, percent
from fairgear.report.sections.diagnostics import Explained

_OF_LINKS = "As a share of the links around them."
# Name and meaning of each figure, and how it is written.
_FIGURES = {
    "feature_r2": (
        "features explained",
        "Share of the variance of the features that the generator rebuilds; 1 is all of it. What "
        "it cannot rebuild is kept as it is, not lost.",
        measure,
    ),
    "edge_auroc": (
        "links distinguished from non-links",
        "How well it knows which people around a person are linked; 0.5 is guessing.",
        measure,
    ),
    "kl": (
        "information in H",
        "What H knows of a person, in nats per person; near 0 it knows nothing.",
        measure,
    ),
    "shift_norm": (
        "learned shift",
        "Length of the mean change of the features from s = 0 to s = 1, in standard deviations; of "
        "several groups, from the first to the furthest; of a number, over one standard deviation.",
        measure,
    ),
    "feature_error": (
        "error against the exact counterfactual",
        "Known only where the causal model is known; as a share of the true shift, 0 is exact.",
        percent,
    ),
    "edge_precision": (
        "changed links that truly change",
        "Of the links at a person that the generator changes, the share that the exact "
        "counterfactual changes too.",
        percent,
    ),
    "edge_recall": (
        "true changes found",
        "Of the links at a person that the exact counterfactual changes within the ego, the "
        "share that the generator changes too.",
        percent,
    ),
    "self_features_moved": (
        "own flip: features moved",
        "How far a person's features move when their own s is flipped, in standard deviations.",
        measure,
    ),
    "self_edges_added": ("own flip: links added", _OF_LINKS, percent),
    "self_edges_removed": ("own flip: links removed", _OF_LINKS, percent),
    "neighbor_features_moved": (
        "neighbours' flips: features moved",
        "How far features move when the s of the surrounding people is redrawn.",
        measure,
    ),
    "neighbor_edges_added": ("neighbours' flips: links added", _OF_LINKS, percent),
    "neighbor_edges_removed": ("neighbours' flips: links removed", _OF_LINKS, percent),
}


@dataclass(frozen=True)
class GeneratorSection:
    """The section on the generator.

    Attributes:
        base_rate: how often a reader that always names the largest group is right about s; 0 where
            s is a number.
        accuracy: how often a reader of H is; the share of its variance where s is a number.
        verdict: what the two mean.
        range: both, drawn.
        rows: all other figures that are known.
    """

    base_rate: float
    accuracy: float
    verdict: str
    range: Range
    rows: tuple[Explained, ...]


def generator_section(report: Mapping[str, float]) -> GeneratorSection:
    """The section on one generator."""
    base, accuracy = (report.get(name, math.nan) for name in ("base_rate", "sens_from_h"))
    rows = [
        Explained(label, written(report[name]), meaning)
        for name, (label, meaning, written) in _FIGURES.items()
        if name in report
    ]
    return GeneratorSection(
        base_rate=base,
        accuracy=accuracy,
        verdict=_verdict(accuracy - base),
        range=ranged(Scale(0.0, 1.0, 1.0), accuracy, reference=None if math.isnan(base) else base),
        rows=tuple(rows),
    )


def _verdict(gain: float) -> str:
    if math.isnan(gain):
        return "Whether H reveals s is not known."
    if gain <= 0.02:
        return "H says next to nothing about s, as it should."
    if gain <= 0.1:
        return "H says a little about s: counterfactuals keep a little of what they should change."
    return (
        "H still reveals s: counterfactuals made from it keep part of what they should change, so "
        "that training against them demands too little of the model."
    )
