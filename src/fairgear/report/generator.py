"""What the generator of counterfactuals does, in plain words, and whether H still tells s."""

from __future__ import annotations

from dataclasses import dataclass

from fairgear.report.explained import Explained
from fairgear.report.figures import Range, ranged
from fairgear.report.numbers import measure, percent, plain
from fairgear.report.parts import Part, finite, mapping, number
from fairgear.report.scales import Scale

# Name and meaning of each field, and whether it is a share.
_FIELDS = {
    "feature_r2": (
        "features explained",
        "Share of the variance of the features that the generator rebuilds; 1 is all of it. What "
        "it cannot rebuild is kept as it is, not lost.",
        False,
    ),
    "edge_auroc": (
        "links told from non-links",
        "How well it knows which people around somebody are linked; 0.5 is guessing.",
        False,
    ),
    "kl": (
        "information in H",
        "What H knows of a person, in nats a person; near 0 it knows nothing.",
        False,
    ),
    "shift_norm": (
        "shift it has learned",
        "Length of the mean change of the features from s = 0 to s = 1, in standard deviations.",
        False,
    ),
    "feature_error": (
        "error against the exact counterfactual",
        "Known only where the causal model is known; as a share of the true shift, 0 is exact.",
        True,
    ),
    "edge_precision": (
        "changed links that truly change",
        "Of the links at a person that the generator changes, the share that the exact "
        "counterfactual changes too.",
        True,
    ),
    "edge_recall": (
        "true changes found",
        "Of the links at a person that the exact counterfactual changes within the ego, the "
        "share that the generator changes too.",
        True,
    ),
    "self_features_moved": (
        "own flip: features moved",
        "How far a person's features move when their own s is flipped, in standard deviations.",
        False,
    ),
    "self_edges_added": ("own flip: links added", "As a share of the links around them.", True),
    "self_edges_removed": ("own flip: links removed", "As a share of the links around them.", True),
    "neighbor_features_moved": (
        "neighbours' flips: features moved",
        "How far features move when the s of the people around is drawn anew.",
        False,
    ),
    "neighbor_edges_added": (
        "neighbours' flips: links added",
        "As a share of the links around them.",
        True,
    ),
    "neighbor_edges_removed": (
        "neighbours' flips: links removed",
        "As a share of the links around them.",
        True,
    ),
}
_READABLE = ("base_rate", "sens_from_h")


@dataclass(frozen=True)
class Readability:
    """How well s can be read from H, against what one gets right without reading."""

    base_rate: str
    accuracy: str
    verdict: str
    range: Range


@dataclass(frozen=True)
class GeneratorSection:
    """Everything said about the generator."""

    readability: Readability | None
    rows: tuple[Explained, ...]


def generator_section(run: Part) -> GeneratorSection | None:
    """The section; None where no generator was reported."""
    report = mapping(mapping(run, "details"), "generator")
    if not report:
        return None
    known = [_row(name, report[name]) for name in _FIELDS if name in report]
    unknown = [
        Explained(name.replace("_", " "), plain(value), "")
        for name, value in report.items()
        if name not in _FIELDS and name not in _READABLE
    ]
    return GeneratorSection(_readability(report), (*known, *unknown))


def _row(name: str, value: object) -> Explained:
    label, meaning, share = _FIELDS[name]
    known = finite(value)
    return Explained(label, percent(known) if share else measure(known), meaning)


def _readability(report: Part) -> Readability | None:
    if not any(name in report for name in _READABLE):
        return None
    base, accuracy = (number(report, name) for name in _READABLE)
    return Readability(
        base_rate=percent(base),
        accuracy=percent(accuracy),
        verdict=_verdict(base, accuracy),
        range=ranged(Scale(0.0, 1.0, 1.0), accuracy, None, base),
    )


def _verdict(base: float | None, accuracy: float | None) -> str:
    if base is None or accuracy is None:
        return "Whether s can be read from H is not known."
    if accuracy - base <= 0.02:
        return "H says next to nothing about s, as it should."
    if accuracy - base <= 0.1:
        return "H says a little about s: counterfactuals keep a little of what they should change."
    return (
        "H still tells s: counterfactuals made from it keep part of what they should change, so "
        "that training against them asks too little of the model."
    )
