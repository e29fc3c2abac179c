"""What a causal model must answer: what would this graph be, had sens been another?"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

import torch
from torch import Tensor

from fairgear.errors import GraphError
from fairgear.graph import SensitiveGraph


class CausalModel(ABC):
    """A model of how the sensitive attribute shapes features, edges and labels.

    Two laws bind every model. Identity: `counterfactual(graph, graph.sens)` is the graph itself,
    exactly. Shared noise: one noise draw a node and a pair, a function of the seed and the node
    ids, serves every world, so that two worlds differ only by what the attribute changed.
    """

    name: ClassVar[str]
    exact: ClassVar[bool] = False
    """Whether its equations are those that made the graph, rather than a model of them."""

    @abstractmethod
    def counterfactual(
        self, graph: SensitiveGraph, sens: Tensor | int, *, seed: int = 0
    ) -> SensitiveGraph:
        """The graph as it would be, had its sensitive attribute been `sens`.

        Args:
            graph: the factual graph.
            sens: the new values (n,), or one value for everyone.
            seed: the noise of models that have any.
        """


def as_assignment(graph: SensitiveGraph, sens: Tensor | int) -> Tensor:
    """`sens` as a checked int64 vector (n,) of 0 and 1."""
    n = graph.sens.shape[0]
    if isinstance(sens, int):
        sens = torch.full((n,), sens, device=graph.sens.device)
    if tuple(sens.shape) != (n,) or not bool(((sens == 0) | (sens == 1)).all()):
        raise GraphError(
            "counterfactual sens",
            got=f"shape {tuple(sens.shape)}, values {int(sens.min())} to {int(sens.max())}",
            allowed=f"{n} values, each 0 or 1, or one value for everyone",
            next_step="pass one value a node",
        )
    return sens.to(graph.sens.dtype)
