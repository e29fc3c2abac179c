"""Scores alone: a file or an array of what somebody's model gave people as they are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from fairgear.auditing.adapters.base import Adapter
from fairgear.auditing.exchange.given_scores import GivenScores, read_given
from fairgear.auditing.people import person_name
from fairgear.auditing.world import World
from fairgear.auditing.worlds import Worlds
from fairgear.errors import ParameterError
from fairgear.graph import SensitiveGraph, Target
from fairgear.metrics.inputs import Floats
from fairgear.progress import log

NOTES = (
    "Scores of people as they are say nothing about other worlds: what would change with the "
    "attribute was not measured. Audit the model itself, or have exported worlds scored "
    "(fairgear audit export).",
    "The scores do not tell whom the model was trained on: of those people, accuracy is "
    "overstated.",
)


class ScoresAdapter(Adapter):
    """Scores of people as they are, and nothing about any other world.

    Args:
        scores: the path of a file (see `read_given`), or one score for each person in the order of
            the graph; of several classes, a row of probabilities.
        name: the file's if not given.
        threshold: 0.5, of probabilities, if not given; with one, scores may be any numbers.
        id: the column of ids in the table of people, which the file may have too.

    Example:
        >>> import torch
        >>> import fairgear as fg
        >>> from fairgear.auditing import ScoresAdapter
        >>> from fairgear.testing import toy_graph
        >>> graph = toy_graph()
        >>> scores = ScoresAdapter(torch.linspace(0, 1, graph.num_nodes))
        >>> audit = fg.audit(scores, graph, what_if_people=0)
        >>> audit.metrics["delta_cf"], round(audit.metrics["accuracy"], 2)
        (nan, 0.51)
    """

    kind = "file of scores"
    factual_only = True
    can_repeat = False
    costly = True

    def __init__(
        self,
        scores: object,
        *,
        name: str | None = None,
        threshold: float | None = None,
        id: str | None = None,
    ) -> None:
        self._scores: Any = Path(scores) if isinstance(scores, str) else scores
        self._id = id
        self._given: GivenScores | None = None
        self.name = name or (str(scores) if isinstance(self._scores, Path) else "scores")
        self._set_threshold(threshold)
        self._note(*NOTES)

    def aim(self, target: Target) -> None:
        """See `Adapter`; what was read for another graph is forgotten."""
        super().aim(target)
        self._given = None

    def people(self, graph: SensitiveGraph) -> Tensor:
        """Everybody who has a score."""
        rows = self._read(graph).rows
        left = len(graph.x) - len(rows)
        if left:
            self._note(
                f"{len(rows):,} of the {len(graph.x):,} people have a score: the other {left:,} "
                "were not audited."
            )
        return torch.from_numpy(np.sort(rows))

    def can_score(self, world: World) -> bool:
        """Whether it is the graph as it is."""
        return world.protocol == "factual"

    def check(self, worlds: Worlds) -> None:
        """Read the scores of these people."""
        self._read(worlds.graph)

    def scores(self, world: World, nodes: Tensor) -> Floats:
        """The scores that were given for `nodes`."""
        rows = nodes.cpu().numpy()
        if not self.can_score(world):
            allowed = "the graph as it is"
            raise self._refusal(world, "no scores", allowed, "audit the model itself")
        values, missing = self._read(world.graph).of(rows)
        if len(missing):
            first = person_name(world.graph, int(missing[0]))
            got = f"no score of {len(missing)} people, the first {first!r}"
            step = "give them one, or leave --nodes out to audit those who have one"
            raise self._refusal(world, got, "a score of everybody to audit", step)
        return self._checked(world, values, rows)

    def _read(self, graph: SensitiveGraph) -> GivenScores:
        """The scores of a graph's people; read once."""
        if self._given is None:
            count = len(graph.x)
            if isinstance(self._scores, Path):
                found = read_given(self._scores, graph, self.target, id=self._id)
            else:
                found = GivenScores(np.arange(count), self._scores)
            if found.answers and self._chosen:
                got, allowed = "one beside answers", "one beside scores"
                step = "leave the threshold out"
                raise ParameterError(f"threshold of {self.name!r}", got, allowed, step)
            world = World("factual", "unchanged", 0, graph.sens, lambda: graph)
            table = self._columns(world, found.values, len(found.rows))
            self._given = GivenScores(found.rows, self._kept(table))
            self._note(*found.notes)
            for note in found.notes:
                log(f"{self.name}: {note}")
        return self._given
