"""Counterfactual egos from a causal model of the whole graph, in place of a learned generator."""

from __future__ import annotations

import torch
from torch import Tensor

from fairgear.causal import CausalModel, at_random
from fairgear.egos import EgoIndex
from fairgear.errors import ParameterError
from fairgear.graph import SensitiveGraph
from fairgear.methods.generators import Ego, viewed
from fairgear.methods.inputs import FeatureScaler
from fairgear.progress import bar

# Random worlds asked for, each with its complement. Two people of different groups are told apart
# by one pair of worlds with chance a half: by these with chance 15/16.
_PAIRS_OF_WORLDS = 4


class CausalGenerator:
    """Looks counterfactual egos up in a few worlds of a causal model.

    A person's features follow their own attribute alone, so the worlds of zeros and of ones give
    them under either. The link of two members is that of a world in which both have the values
    asked for; where none of the worlds has them, it stays. Egos keep their factual members.

    Args:
        model: fitted.
        graph: the factual graph.
        index: of all egos of `graph`, in the order of its rows; None where no edges are asked for.
        scaler: of the features.
        seed: of the worlds, and of the model's noise.
    """

    def __init__(
        self,
        model: CausalModel,
        graph: SensitiveGraph,
        index: EgoIndex | None,
        scaler: FeatureScaler,
        *,
        seed: int = 0,
    ) -> None:
        device = scaler.mean.device
        asked = [torch.zeros_like(graph.sens), torch.ones_like(graph.sens)]
        if index is not None:
            for draw in range(_PAIRS_OF_WORLDS):
                drawn = at_random(graph, draw=draw, seed=seed)
                asked += [drawn, 1 - drawn]
        self._x: list[Tensor] = []
        self._worlds: list[tuple[Tensor, EgoIndex]] = []
        with bar("asking the causal model", total=len(asked)) as shown:
            for sens in asked:
                world = model.counterfactual(graph, sens, seed=seed)
                if len(self._x) < 2:
                    self._x.append(scaler(world))
                if index is not None:
                    self._worlds.append((sens.to(device), index.in_world(world)))
                shown.advance()

    def counterfactual(self, ego: Ego, sens: Tensor, dose: Tensor) -> Ego:
        """The counterfactual ego; a changed link is taken over with the chance `dose`."""
        if ego.n_id is None:
            raise ParameterError(
                "an ego for a causal generator",
                "one that does not say whose it is",
                "egos with n_id",
                "make them with Ego.of",
            )
        zero, one = (values[ego.n_id] for values in self._x)
        target = torch.where(sens[..., None] == 1, one, zero)
        x = (ego.x + dose[..., None, None] * (target - ego.x)) * ego.mask[..., None]
        return viewed(ego, sens, x, self._edges(ego, ego.n_id, sens, dose))

    def _edges(self, ego: Ego, n_id: Tensor, sens: Tensor, dose: Tensor) -> Tensor:
        result, features = ego.adjacency, self._x[0]
        stays = sens == ego.sens
        found = stays[..., :, None] & stays[..., None, :]
        for values, index in self._worlds:
            agrees = values[n_id] == sens
            here = agrees[..., :, None] & agrees[..., None, :] & ~found
            result = torch.where(here, index.batch(n_id[:, 0], features).adjacency, result)
            found |= here
        kept = torch.triu(torch.rand_like(result) >= dose[..., None, None], diagonal=1)
        return torch.where(kept | kept.transpose(-1, -2), ego.adjacency, result)
