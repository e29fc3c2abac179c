"""What networks are trained on where labels are of pairs: the tasks of people, with other labels.

A label's row is the number of a pair, and its people are the ends of the pair.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import torch
import torch.nn.functional as F
from torch import Tensor

from fairgear.links.methods.heads import PairNetwork
from fairgear.links.methods.settings import FairDropConfig
from fairgear.links.methods.shared import SharedNeighbours
from fairgear.methods.baselines.cenc import CencTask
from fairgear.methods.baselines.neighbors import (
    Neighbors,
    NodeBatch,
    entry_ends,
    link_numbers,
    only_links,
)
from fairgear.methods.baselines.nifty import NiftyTask
from fairgear.methods.baselines.whole_graph import Inputs, WholeGraphTask
from fairgear.methods.gear.training import Drawn, GearTask

# Pairs of a step where the whole graph is read at once.
_MOST = 2**17


@dataclass(frozen=True)
class PairInputs(Inputs):
    """A graph as networks see it, and pairs of its people."""

    ends: Tensor
    """(2, m), in canonical order like all of it."""
    shared: SharedNeighbours | None = None
    """What the head reads of the links around pairs, if anything."""


class PairTask(WholeGraphTask):
    """The cross-entropy of the training pairs."""

    graph: PairInputs
    network: PairNetwork

    def people(self, rows: Tensor) -> Tensor:
        """The first ends of some pairs, then the second ones."""
        return self.graph.ends[:, rows].flatten()

    def answers(self, z: Tensor, logits: Tensor, places: Tensor, people: Tensor) -> Tensor:
        """By the head, from the representations of both ends, and what they share."""
        first, second = places.view(2, -1)
        shared = self.graph.shared
        seen = None if shared is None else shared.pairs(people.view(2, -1)).to(z.device)
        return self.network.logits(z[first], z[second], seen)

    def drawn(self) -> Tensor:
        """A batch of pairs, or all of them unless they are very many."""
        rows = super().drawn()
        return rows if len(rows) <= _MOST else rows[torch.randperm(len(rows))[:_MOST]]


class NiftyPairTask(PairTask, NiftyTask):
    """NIFTY's: the ends of the training pairs are to be similar in both views."""


class CencPairTask(PairTask, CencTask):
    """C-ENC's: s of everybody is hidden, or with batches that of the ends of the pairs."""


class FairDropTask(PairTask):
    """The cross-entropy, of the graph without about half of its edges, most of them within groups.

    An edge is left out with probability ½ + δ where its ends are of one group, else ½ − δ.
    """

    config: FairDropConfig

    def neighbors(self, batch: NodeBatch) -> Neighbors:
        """Those who are left in a step."""
        kept = self.neighbors_kept(batch)
        share = float(kept.float().mean()) if len(kept) else 1.0
        return only_links(batch.neighbors, kept, share)

    def neighbors_kept(self, batch: NodeBatch) -> Tensor:
        """Which entries of the matrix of neighbours stay, both directions of an edge alike."""
        whole = batch is self.graph.links.everyone
        numbers = self._all_links if whole else link_numbers(batch.neighbors)
        sens = batch.inputs(self.graph.sens)
        one, other = entry_ends(batch.neighbors)
        sign = torch.where(sens[one] == sens[other], 1.0, -1.0)
        draw = torch.rand(int(numbers.max()) + 1 if len(numbers) else 0, device=numbers.device)
        kept: Tensor = draw[numbers] >= 0.5 + self.config.delta * sign
        return kept

    @cached_property
    def _all_links(self) -> Tensor:
        return link_numbers(self.graph.links.everyone.neighbors)


class GearPairTask(PairTask, GearTask):
    """Gear's: answers for pairs are to be alike where people are moved.

    For the pairs of a step, and as many others of the same people. R² is of the mean of s around
    both ends, and of how far these are apart.
    """

    def _draw(self) -> Drawn:
        rows = self.drawn()
        people = self.people(rows)
        batch, places = self.around(people)
        other = torch.randperm(len(rows))
        asked, ends = (self._paired_anew(of, other.to(of.device)) for of in (places, people))
        return Drawn(batch, places, self.y[rows], asked, self._summary(*ends.view(2, -1)))

    @staticmethod
    def _paired_anew(places: Tensor, other: Tensor) -> Tensor:
        """The same pairs, and their first ends with second ends of other pairs."""
        first, second = places.view(2, -1)
        return torch.cat([first, first, second, second[other]])

    def _shares(self, model: Tensor, asked: Tensor | None) -> Tensor:
        assert asked is not None
        each = F.one_hot(model[asked], self.moved.models)
        return each.view(2, -1, self.moved.models).sum(dim=0)

    def around_s(self, rows: Tensor) -> Tensor:
        """The mean and the distance of s around the two ends."""
        return self._summary(*self.graph.ends[:, rows])

    def _summary(self, first: Tensor, second: Tensor) -> Tensor:
        one, other = (self.sens_around[ends].reshape(len(ends), -1) for ends in (first, second))
        return torch.cat([(one + other) / 2, (one - other).abs()], dim=1)

    @property
    def summaries(self) -> int:  # type: ignore[override]  # more for several groups
        """Two for each number that is s around a person."""
        return 2 * self.sens_around[:1].numel()
