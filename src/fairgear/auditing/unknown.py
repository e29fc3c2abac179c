"""People whose sensitive attribute is unknown, in an audit: how many, ranges and bounds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from fairgear.auditing.adapters.base import Predictions
from fairgear.graph import SensitiveGraph
from fairgear.graph.sensitive_graph import MASKS
from fairgear.graph.targets import is_known
from fairgear.graph.unknown import Guessing
from fairgear.metrics import Interval
from fairgear.metrics.classes import counted
from fairgear.metrics.gap_bounds import GapBounds, gap_bounds


@dataclass(frozen=True)
class Part:
    """Some people, such as those of the training set: how many, and how many did not tell."""

    name: str
    people: int
    unknown: int


@dataclass(frozen=True)
class UnknownPeople:
    """What is not known of the people in a graph, and how much the figures depend on it.

    Attributes:
        parts: everybody, each part of the split, and the audited people.
        completions: how often unknown values were drawn; figures are means over them.
        guessing: how well the attribute is guessed of those who told.
        ranges: the least and the largest value of each metric over the completions.
        bounds: of the gaps between groups, over every group that the audited people of unknown
            group could be of, with the answers held; none where the attribute is a number.
    """

    parts: tuple[Part, ...]
    completions: int
    guessing: Guessing
    ranges: dict[str, Interval]
    bounds: dict[str, GapBounds]

    @property
    def everybody(self) -> Part:
        """The first part."""
        return self.parts[0]

    @property
    def audited(self) -> Part:
        """The last part."""
        return self.parts[-1]

    @property
    def summary(self) -> str:
        """A sentence to read with the numbers."""
        total, audited = self.everybody, self.audited
        who = (
            f"The sensitive attribute of {total.unknown:,} of {total.people:,} people, "
            f"{audited.unknown:,} of the {audited.people:,} audited, is unknown"
        )
        if self.completions == 1:
            return f"{who}: figures are those of one guess, and intervals do not contain its error."
        return (
            f"{who}: figures are means over {self.completions} completions, and intervals contain "
            "what differs between them. What the model reads, the diagnostics of the causal model "
            "and the most affected people are those of the first."
        )


def has_unknown(graph: SensitiveGraph) -> bool:
    """Whether anybody's attribute is not known."""
    return graph.sens_known is not None and not bool(graph.sens_known.all())


def parts_of(graph: SensitiveGraph, rows: Tensor) -> tuple[Part, ...]:
    """Counts of the people and of those who did not tell; `rows` are the audited ones."""
    assert graph.sens_known is not None
    unknown = ~graph.sens_known.cpu()

    def part(name: str, among: Tensor) -> Part:
        return Part(name, len(unknown[among]), int(unknown[among].sum()))

    everybody = part("everybody", torch.ones_like(unknown))
    split = [part(key.removesuffix("_mask"), graph[key].cpu()) for key in MASKS]
    return (everybody, *(one for one in split if one.people), part("audited", rows.cpu()))


def bounds_of(graph: SensitiveGraph, rows: Tensor, answers: Predictions) -> dict[str, GapBounds]:
    """Bounds of the gaps between groups that an audit reports, by the names of its metrics."""
    if graph.continuous or graph.sens_known is None:
        return {}
    target, labels = answers.how.target, answers.labels
    y, sens, known = (of[rows.to(of.device)].cpu().numpy() for of in _columns(graph))

    def bounds(values: NDArray[Any], among: NDArray[np.bool_]) -> GapBounds:
        return gap_bounds(values[among], sens[among], known[among], graph.num_groups)

    everyone, labelled = np.ones(len(y), dtype=np.bool_), is_known(y)
    if target.is_number:
        return {
            "delta_mean": bounds(labels / target.sd, everyone),
            "delta_residual": bounds((y - labels) / target.sd, labelled),
        }
    classes = counted(len(target.classes))
    return {
        "delta_dp": GapBounds.over([bounds(labels == one, everyone) for one in classes]),
        "delta_eo": GapBounds.over([bounds(labels == one, y == one) for one in classes]),
    }


def _columns(graph: SensitiveGraph) -> tuple[Tensor, Tensor, Tensor]:
    assert graph.sens_known is not None
    return graph.y, graph.sens, graph.sens_known
