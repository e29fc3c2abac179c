"""What all measurements on one graph share: the graph, and the egos of some people."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from fairgear.bench.config import Bench
from fairgear.egos import EgoIndex
from fairgear.graph import SensitiveGraph
from fairgear.methods.ego_source import EgoSource
from fairgear.methods.gear_config import GearConfig
from fairgear.methods.gear_data import GearData
from fairgear.methods.inputs import FeatureScaler

# Egos are found for so many people; what is timed per ego needs no more.
POOL = 4096


@dataclass(frozen=True)
class Scene:
    """A graph to measure on, and the plan."""

    graph: SensitiveGraph
    plan: Bench

    @cached_property
    def pool(self) -> Pool:
        """Some people of the graph with their egos."""
        return Pool.of(self.graph, self.people(POOL))

    def people(self, count: int) -> Tensor:
        """Rows of `count` people, or of all, drawn from the seed; a shorter draw is its start."""
        order = np.random.default_rng([self.plan.seed, 1]).permutation(len(self.graph.x))
        return torch.from_numpy(order[:count])


@dataclass(frozen=True)
class Pool:
    """The egos of some people; features are everybody's, so that members lie anywhere."""

    graph: SensitiveGraph
    index: EgoIndex
    scaler: FeatureScaler
    y: Tensor
    """Of the people of the pool."""

    @classmethod
    def of(cls, graph: SensitiveGraph, people: Tensor) -> Pool:
        """Find the egos of `people`, as Gear does at the graph's size."""
        scaler = FeatureScaler(graph.x.shape[1] - 1, graph.sens_column).fit(graph)
        precision = GearConfig().ego_precision(len(graph.x))
        index = EgoIndex.build(graph, nodes=people, precision=precision)
        return cls(graph, index, scaler, graph.y[people])

    def __len__(self) -> int:
        return len(self.y)

    @property
    def features(self) -> int:
        """Columns without the sensitive one."""
        return len(self.scaler.mean)

    def egos(self, device: torch.device, *, recorded: bool = True) -> EgoSource:
        """The egos of people of the pool, by their number in it.

        What looks at the edges themselves, as sparse batches do, cannot be recorded on a card.
        """
        kind = EgoSource if recorded else _NotRecorded
        return kind(self.graph, self.index, self.scaler.to(device), device)

    def data(self, egos: EgoSource) -> GearData:
        """What a training of Gear reads; the last people of the pool are kept to validate."""
        device = egos.device
        everyone = torch.arange(len(self), device=device)
        cut = len(self) - min(512, len(self) // 4)
        some = self.index.ids[:, 0].cpu().long()
        return GearData(
            egos,
            self.y.to(device),
            # Asked for where the loss has a weight on it, which is not timed.
            torch.zeros(len(self), device=device),
            self.scaler.to(device).scaled(self.graph.x[some]),
            self.graph.sens[some].to(device),
            everyone[:cut],
            everyone[cut:],
        )


class _NotRecorded(EgoSource):
    """Egos for work whose sizes differ from step to step."""

    @property
    def on_card(self) -> bool:
        """Never, as far as recordings go."""
        return False
