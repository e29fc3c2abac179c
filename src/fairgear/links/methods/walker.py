"""Rounds of fair walks on a graph, and what people learn from them."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from fairgear.graph import SensitiveGraph
from fairgear.hashing import node_hash
from fairgear.links.methods.settings import FairWalkConfig
from fairgear.links.methods.walks import FairSteps, Keys, States, fair_walks, skip_gram
from fairgear.training import Task


class Contexts(nn.Module):
    """What is learned: contexts of the people of the fit, who are known by their ids.

    Args:
        people: how many.
        dim: of the contexts.
    """

    ids: Tensor
    contexts: Tensor
    noise: Tensor

    def __init__(self, people: int, dim: int) -> None:
        super().__init__()
        self.register_buffer("ids", torch.zeros(people, dtype=torch.int64))
        self.register_buffer("contexts", torch.zeros(people, dim))
        self.register_buffer("noise", torch.zeros(people, dtype=torch.float64))

    def rows(self, ids: Tensor) -> NDArray[np.int64]:
        """The row of each person's context; −1 for those who were not there."""
        known = self.ids.numpy()
        place = np.searchsorted(known, ids.numpy()).clip(0, len(known) - 1)
        return np.where(known[place] == ids.numpy(), place, -1)


class Walker:
    """Rounds of walks on a graph: in each, one from everybody, in the order of their ids."""

    def __init__(self, graph: SensitiveGraph, config: FairWalkConfig, seed: int) -> None:
        self.config, self.seed = config, seed
        self.ids = graph.node_id.cpu()[graph.canonical.rows]
        self.steps = FairSteps.of(graph)

    def walks(self, number: int) -> Keys:
        """Those of one round: whoever keeps their neighbours takes the same steps in any graph."""
        steps = self.steps
        given = (steps.begin, steps.groups, steps.to, steps.reach, self._bits(f"walk {number}"))
        return fair_walks(*given, self.config.length)

    def learn(self, number: int, vectors: Tensor, known: Contexts, *, learns: bool) -> float:
        """A round: vectors (n, dim) are changed in place, and so are contexts if told."""
        config = self.config
        return skip_gram(
            self.walks(number),
            self._bits(f"others {number}"),
            config.window,
            config.negatives,
            config.rate(number),
            vectors.numpy(),
            known.contexts.numpy(),
            known.rows(self.ids),
            known.noise.numpy(),
            learns,
        )

    def _bits(self, stream: str) -> States:
        return node_hash(self.ids.numpy(), self.seed, stream)


class WalkTask(Task):
    """Skip-gram with negative sampling: a round of walks is a step."""

    def __init__(self, walker: Walker, known: Contexts) -> None:
        people, dim = known.contexts.shape
        self.walker, self.known = walker, known
        self.vectors = nn.ParameterDict()
        drawn = (torch.rand(people, dim) - 0.5) / dim
        self.vectors["all"] = nn.Parameter(drawn, requires_grad=False)
        self.modules = {"known": known, "vectors": self.vectors}
        self.optimizers = {}

    def step(self, number: int) -> dict[str, Tensor]:
        """One walk from everybody."""
        loss = self.walker.learn(number, self.vectors["all"].data, self.known, learns=True)
        return {"loss": torch.tensor(loss)}
