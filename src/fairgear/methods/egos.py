"""Batches of egos as networks see them, wherever the graph is kept, and values of s for them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, Self

import torch
from torch import Tensor

from fairgear.causal import LocalWorld
from fairgear.egos import EgoBatch, EgoIndex, NearbyEgos, PageRank
from fairgear.egos.batches import unpack
from fairgear.graph import SensitiveGraph
from fairgear.methods.features import FeatureScaler
from fairgear.nn.objectives import mean_of_members
from fairgear.nn.sens_code import NUMBER

# Bytes of scaled features that are kept; larger graphs are scaled batch by batch.
KEPT = 2 * 2**30
# People scaled at a time.
_CHUNK = 2**16
# People whose egos stand for all in a report on a generator, and the label of that draw.
_PEOPLE, SAMPLE = 4000, "generator report"


@dataclass(frozen=True)
class Ego:
    """A batch of egos as networks see them: features without the sensitive column, s apart."""

    x: Tensor
    """(B, k, d), scaled; zero for padded members."""
    sens: Tensor
    """(B, k)."""
    adjacency: Tensor
    """(B, k, k)."""
    mask: Tensor
    """(B, k), false for padded members."""
    n_id: Tensor | None = None
    """(B, k), the members' rows of the graph if known; the centre's for padding."""

    @classmethod
    def of(cls, batch: EgoBatch, sens: Tensor) -> Self:
        """A batch of an index whose features are scaled already; `sens` is that of all people."""
        return cls(batch.x, batch.gather(sens), batch.adjacency, batch.mask, batch.n_id)

    def __len__(self) -> int:
        return len(self.x)

    def flat(self) -> Ego:
        """Several views of the same egos (views, B, …) as one batch."""
        fields = (self.x, self.sens, self.adjacency, self.mask)
        return Ego(*(values.flatten(0, 1) for values in fields))

    def changed(self, sens: Tensor, x: Tensor, adjacency: Tensor) -> Ego:
        """The egos with another s, x and A; all fields get the leading sizes of `sens`."""
        lead = sens.shape[:-2]
        return Ego(
            x.expand(*lead, *self.x.shape),
            sens,
            adjacency.expand(*lead, *self.adjacency.shape),
            self.mask.expand(*lead, *self.mask.shape),
            None if self.n_id is None else self.n_id.expand(*lead, *self.n_id.shape),
        )


class EgoGenerator(Protocol):
    """Returns what egos would be, had s been `sens`.

    `sens` is (B, k), or (views, B, k) for several questions at once; the result has the same
    leading sizes.
    """

    def counterfactual(self, ego: Ego, sens: Tensor) -> Ego:
        """The counterfactual egos."""
        ...


class EgoSource:
    """Returns the egos of people by their place in `order`.

    Index and features are moved to the device if they fit into half of its free memory. Otherwise
    they stay where they are, perhaps memory-mapped, and each batch is collected and sent; edges
    are sent as bits and unpacked on the device.

    The index has the egos of all people of the graph, or of some; `order` has its rows in the
    order of the people, if that is another.
    """

    def __init__(
        self,
        graph: SensitiveGraph,
        index: EgoIndex,
        scaler: FeatureScaler,
        device: torch.device,
        order: Tensor | None = None,
    ) -> None:
        self.device = device
        held = device if _fits(graph, index, device) else torch.device("cpu")
        scaler.check(graph)
        self._index = index.to(held)
        self._sens = graph.sens.to(held)
        self._order = None if order is None else order.to(held)
        self._x = _features(graph, scaler) if held == device else ScaledRows(graph.x, scaler)

    @property
    def on_gpu(self) -> bool:
        """Whether batches are made on a GPU without copies from the CPU."""
        return self._sens.is_cuda

    def __call__(self, people: Tensor) -> Ego:
        """Their egos, on the device."""
        people = people.to(self._sens.device)
        rows = people if self._order is None else self._order[people]
        members = self._index.ids[rows].long()
        here = (members, self._index.mask[rows], self._index.adjacency[rows], self._sens[members])
        n_id, mask, words, sens = (_sent(values, self.device) for values in here)
        x = _without_padding(self._x[members], mask)
        return Ego(x, sens * mask, unpack(words).to(x.dtype), mask, n_id)

    def means(self) -> Tensor:
        """The mean of s over each ego."""
        found = []
        parts = (torch.split(part, _CHUNK) for part in (self._index.ids, self._index.mask))
        for ids, mask in zip(*parts, strict=True):
            sens = self._sens[ids.long().to(self._sens.device)]
            found.append(mean_of_members(sens, mask.to(sens.device)))
        return torch.cat(found)


class LocalEgos:
    """Returns the egos of people in worlds that differ from a graph around few people."""

    def __init__(
        self, graph: SensitiveGraph, scaler: FeatureScaler, egos: NearbyEgos, how: PageRank
    ) -> None:
        scaler.check(graph)
        self._graph, self._scaler = graph, scaler
        self._egos, self._how = egos, how

    def __call__(self, worlds: Sequence[LocalWorld], nodes: Sequence[Tensor]) -> Ego:
        """The egos of the rows `nodes[i]` in `worlds[i]`, one world after another."""
        found = [
            self._egos.find(self._how, world.removed, world.added, some)
            for world, some in zip(worlds, nodes, strict=True)
        ]
        members, mask, words = (torch.cat(part) for part in zip(*found, strict=True))
        sens = self._graph.sens[members.to(self._graph.sens.device)].cpu()
        x = ScaledRows(self._graph.x, self._scaler)[members]
        rows = torch.cat([world.rows for world in worlds])
        groups = torch.cat([world.sens for world in worlds]).to(sens.dtype)
        new = self._scaler.scaled(torch.cat([world.x for world in worlds]))
        # Each ego belongs to the world of its number; a world may move several people.
        sizes = torch.tensor([len(some) for some in nodes])
        first = torch.tensor([0, *(len(world.rows) for world in worlds)]).cumsum(dim=0)
        world_of = torch.arange(len(worlds)).repeat_interleave(sizes)
        for place in range(int(first.diff().max())):
            at = first[world_of] + place
            inside = at < first[world_of + 1]
            at = at.clamp(max=len(rows) - 1)
            ego, member = ((members == rows[at][:, None]) & inside[:, None]).nonzero(as_tuple=True)
            sens[ego, member] = groups[at[ego]]
            x[ego.to(x.device), member.to(x.device)] = new[at[ego].to(new.device)]
        device = x.device
        n_id, mask, words, sens = (of.to(device) for of in (members, mask, words, sens))
        return Ego(_without_padding(x, mask), sens * mask, unpack(words).to(x.dtype), mask, n_id)


def _without_padding(x: Tensor, mask: Tensor) -> Tensor:
    """Features (B, k, d) that are set to zero for padded members, in place."""
    return x.masked_fill_(~mask[..., None], 0.0)


class ScaledRows:
    """Features that are scaled when they are read."""

    def __init__(self, x: Tensor, scaler: FeatureScaler) -> None:
        self._x = x
        self._scaler = scaler

    def __getitem__(self, rows: Tensor) -> Tensor:
        """The scaled features of these rows of the graph, on the scaler's device."""
        taken = self._x[rows.to(self._x.device)]
        return self._scaler.scaled(_sent(taken, self._scaler.mean.device))


def _features(graph: SensitiveGraph, scaler: FeatureScaler) -> Tensor | ScaledRows:
    """Scaled features on the scaler's device, kept or made on demand."""
    n, width, device = len(graph.x), len(scaler.mean), scaler.mean.device
    if device.type == "cpu" and 4 * n * width > KEPT:
        return ScaledRows(graph.x, scaler)
    kept = torch.empty(n, width, device=device)
    for begin in range(0, n, _CHUNK):
        part = slice(begin, begin + _CHUNK)
        kept[part] = scaler.scaled(graph.x[part])
    return kept


def _sent(values: Tensor, device: torch.device) -> Tensor:
    """The values on the device, from pinned memory so that the copy is asynchronous."""
    if device.type == values.device.type:
        return values
    return values.pin_memory().to(device, non_blocking=True)


def _fits(graph: SensitiveGraph, index: EgoIndex, device: torch.device) -> bool:
    """Whether graph and index take less than half of the free memory of a GPU."""
    if device.type != "cuda":
        return False
    held = (index.ids, index.mask, index.adjacency, graph.x, graph.sens)
    return sum(tensor.nbytes for tensor in held) < torch.cuda.mem_get_info(device)[0] // 2


def sampled_egos(egos: EgoSource, people: int) -> Ego:
    """Egos of at most 4,000 of the people, drawn from torch's generator."""
    return egos(torch.randperm(people, device=egos.device)[:_PEOPLE])


@dataclass(frozen=True)
class SensValues:
    """The values of s that perturbations draw: any group, or a number that somebody has."""

    groups: int = 2
    """How many there are; 0 for a number."""
    observed: Tensor | None = None
    """(m,) the numbers that people have, in the order of their ids."""

    @classmethod
    def of(cls, graph: SensitiveGraph, device: torch.device) -> Self:
        """Of a number, the values of the training people, or of all where there are none."""
        if not graph.continuous:
            return cls(graph.num_groups)
        order = graph.canonical.rows
        among = order[graph.train_mask.cpu()[order]]
        rows = among if len(among) else order
        return cls(NUMBER, graph.sens[rows.to(graph.sens.device)].to(device))

    def another(self, sens: Tensor) -> Tensor:
        """Another group for each, evenly: 1 − s of two; of a number, the value of somebody."""
        if self.observed is not None:
            return self.any(sens)
        if self.groups == 2:
            return 1 - sens
        return (sens + torch.randint_like(sens, 1, self.groups)) % self.groups

    def any(self, sens: Tensor) -> Tensor:
        """Any group for each, evenly; of a number, the value of somebody."""
        if self.observed is None:
            return torch.randint_like(sens, 0, self.groups)
        drawn = torch.randint(len(self.observed), sens.shape, device=sens.device)
        return self.observed[drawn]


TWO_GROUPS = SensValues()


def self_perturbed(ego: Ego, values: SensValues = TWO_GROUPS) -> Tensor:
    """s with another value for the centre; with two groups it is flipped."""
    sens = ego.sens.clone()
    sens[:, 0] = values.another(sens[:, 0])
    return sens


def neighbor_perturbed(ego: Ego, values: SensValues = TWO_GROUPS) -> Tensor:
    """s with a fresh value, as `SensValues.any`, for all but the centre; padding stays 0."""
    sens = values.any(ego.sens) * ego.mask
    sens[:, 0] = ego.sens[:, 0]
    return sens
