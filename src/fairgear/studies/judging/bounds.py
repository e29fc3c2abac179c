"""Bounds: what is to be reached on the sealed people, and whether it was."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from fairgear.auditing.measures import collecting
from fairgear.errors import FileError, ParameterError
from fairgear.metrics import UNDEFINED, Estimate, Interval, cluster_bootstrap, weighted_auroc
from fairgear.metrics.inputs import Floats
from fairgear.runs.config import read_yaml
from fairgear.studies.judging.intervals import Reach, over_splits
from fairgear.studies.judging.measures import FIGURES, WORST, SavedAnswers
from fairgear.studies.judging.plan import CHOSEN

BOUNDS = Path(str(files("fairgear.studies") / "recipes" / "bounds.yaml"))
MET, MISSED, UNDECIDED = VERDICTS = ("met", "missed", "undecided")
AT_LEAST, AT_MOST = SIDES = ("at_least", "at_most")
# Figures that can be compared person by person.
PAIRED = ("auroc", "accuracy", WORST)
# Gives the answers of a method at a point with a seed; None where they were not kept.
Find = Callable[[str, str, str, int], SavedAnswers | None]


@dataclass(frozen=True)
class Reference:
    """`factor` times a figure of another method, or of another point of its dial, plus `plus`."""

    method: str
    point: str = CHOSEN
    factor: float = 1.0
    plus: float = 0.0

    def __str__(self) -> str:
        times = "" if self.factor == 1 else f"{self.factor:.3g} × "
        which = "" if self.point == CHOSEN else f", {self.point}"
        return f"{times}{self.method}{which}" + (f" {self.plus:+g}" if self.plus else "")


@dataclass(frozen=True)
class Bound:
    """One figure of one method on one dataset, and the limit it should keep."""

    dataset: str
    method: str
    figure: str
    side: str
    limit: float | Reference

    @classmethod
    def read(cls, values: Mapping[str, Any]) -> Bound:
        """From the YAML file."""
        (side,) = (name for name in SIDES if name in values)
        limit = values[side]
        if isinstance(limit, Mapping):
            limit = Reference(**limit)
        elif isinstance(limit, bool) or not isinstance(limit, int | float):
            raise TypeError(f"a limit {limit!r}")
        known = {key: values[key] for key in ("dataset", "method", "figure")}
        if len(values) != len(known) + 1 or values["figure"] not in FIGURES:
            raise KeyError(f"{sorted(values)} with the figure {values['figure']}")
        if isinstance(limit, Reference) and values["figure"] not in PAIRED:
            raise KeyError(f"a reference for the figure {values['figure']}")
        return cls(**known, side=side, limit=limit)

    def compared(self) -> Iterator[tuple[str, str, str]]:
        """Whose answers must be kept to compare them: dataset, method and point."""
        if isinstance(self.limit, Reference):
            yield self.dataset, self.method, CHOSEN
            yield self.dataset, self.limit.method, self.limit.point

    def __str__(self) -> str:
        sign = "≥" if self.side == AT_LEAST else "≤"
        limit = self.limit if isinstance(self.limit, Reference) else f"{self.limit:g}"
        return f"{self.figure} {sign} {limit}"


@dataclass(frozen=True)
class Verdict:
    """Whether a bound is met.

    Attributes:
        bound: the bound.
        value: the figure, the mean over seeds.
        margin: by how much it is on the right side, with its interval; below 0 it is not.
        seeds: how many there are.
        because: why it is undecided, where that is not the interval.
    """

    bound: Bound
    value: float
    margin: Estimate
    seeds: int
    because: str = ""

    @property
    def verdict(self) -> str:
        """Met or missed where the interval lies on one side."""
        low, high = self.margin.interval
        if low >= 0:
            return MET
        return MISSED if high < 0 else UNDECIDED


def read_bounds(path: Path = BOUNDS) -> list[Bound]:
    """The bounds of a YAML file; those of the package if not given."""
    if not path.is_file():
        raise FileError(f"bounds {path}", "no such file", "a file of bounds", "check the path")
    try:
        return [Bound.read(one) for one in read_yaml(path)["bounds"]]
    except (KeyError, TypeError, ValueError) as error:
        got = " ".join(f"{type(error).__name__}: {error}".split())
        allowed = "bounds with dataset, method, figure and one of at_least and at_most"
        raise ParameterError(f"bounds {path}", got, allowed, "correct the file") from error


def judge(bound: Bound, rows: pd.DataFrame, find: Find) -> Verdict:
    """The verdict on a bound.

    Args:
        bound: the bound.
        rows: of the opening, with the intervals parsed.
        find: gives the answers to sealed people that were kept.
    """
    own = _figures(bound, rows, bound.method, CHOSEN)
    if own.empty:
        return _open(bound, "there are no rows")
    value = float(own["value"].mean())
    if not isinstance(bound.limit, Reference):
        people = Reach.mean(own["value"].to_numpy(), list(own["interval"]))
        limit = over_splits(own["value"].to_numpy(np.float64) - bound.limit, people)
        return Verdict(bound, value, _towards(bound, limit), len(own))
    other = _figures(bound, rows, bound.limit.method, bound.limit.point)
    if not own.index.isin(other.index).all():
        return _open(bound, f"{bound.limit} has no rows, or not for every seed", value)
    apart = own["value"] - bound.limit.factor * other["value"][own.index] - bound.limit.plus
    people = _paired_reach(bound, bound.limit, list(own.index), find)
    estimate = over_splits(apart.to_numpy(np.float64), people)
    because = "" if estimate.interval.defined else "answers to compare are missing"
    return Verdict(bound, value, _towards(bound, estimate), len(own), because)


def _figures(bound: Bound, rows: pd.DataFrame, method: str, point: str) -> pd.DataFrame:
    """`value` and `interval` by seed."""
    chosen = rows[
        (rows["dataset"] == bound.dataset) & (rows["method"] == method) & (rows["point"] == point)
    ].sort_values("seed")
    ends = [Interval(*one.get(bound.figure, UNDEFINED)) for one in chosen["intervals"]]
    found = {"value": chosen[bound.figure].to_numpy(np.float64), "interval": ends}
    return pd.DataFrame(found, index=pd.Index(chosen["seed"], name="seed"))


def _open(bound: Bound, because: str, value: float = math.nan) -> Verdict:
    return Verdict(bound, value, Estimate(math.nan, UNDEFINED), 0, because)


def _towards(bound: Bound, apart: Estimate) -> Estimate:
    """The figure less the limit, as a margin: positive is good."""
    if bound.side == AT_LEAST:
        return apart
    return Estimate(-apart.value, Interval(-apart.interval.high, -apart.interval.low))


def _paired_reach(bound: Bound, limit: Reference, seeds: Sequence[int], find: Find) -> Reach:
    """The error of the sealed people in a difference: both methods on the same resamples."""
    pairs = []
    for seed in seeds:
        own = find(bound.dataset, bound.method, CHOSEN, seed)
        other = find(bound.dataset, limit.method, limit.point, seed)
        if own is None or other is None:
            return Reach(math.nan, math.nan)
        pairs.append((_resampled(own, bound.figure), _resampled(other, bound.figure)))
        clusters = own.clusters

    def difference(weights: Floats) -> Floats:
        parts = [mine(weights) - limit.factor * theirs(weights) for mine, theirs in pairs]
        mean: Floats = np.mean(parts, axis=0)
        return mean

    with collecting([]):
        interval = cluster_bootstrap(difference, clusters)
    here = float(difference(np.ones((1, len(clusters))))[0])
    return Reach.mean(np.array([here]), [interval])


def _resampled(answers: SavedAnswers, figure: str) -> Callable[[Floats], Floats]:
    """A figure as a function of weights (resamples, people)."""
    if figure == "auroc":
        return weighted_auroc(answers.y, answers.scores)
    right = (answers.labels == answers.y).astype(np.float64)[None]
    shares = answers.flips if figure == WORST else right

    def largest(weights: Floats) -> Floats:
        means: Floats = (weights @ shares.T / weights.sum(axis=1, keepdims=True)).max(axis=1)
        return means

    return largest
