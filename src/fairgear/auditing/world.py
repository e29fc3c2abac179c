"""World: one graph that a model is asked about."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from torch import Tensor

from fairgear.graph import SensitiveGraph


@dataclass(frozen=True, eq=False)
class World:
    """One graph that a model is asked about, and the question that it answers.

    Attributes:
        protocol: "strict", "released", "placebo", "factual", "edgeless", or the name of another
            causal model.
        intervention: "rate 0", "rate 0.5", "rate 1", "random", "unchanged" or "self NODE_ID".
        draw: number of the draw.
        sens: everyone's attribute there.
        make: builds the graph, when it is first asked for.
    """

    protocol: str
    intervention: str
    draw: int
    sens: Tensor
    make: Callable[[], SensitiveGraph]

    @property
    def name(self) -> str:
        """Fit for a file's name, and its own among the worlds of one audit."""
        # A node's id may be negative, and its minus is no dash.
        words = f"{self.protocol} {self.intervention.replace('-', 'minus')} draw {self.draw}"
        return re.sub(r"[^A-Za-z0-9.]+", "-", words)

    @cached_property
    def graph(self) -> SensitiveGraph:
        """With the same nodes, in the same order, as the factual graph."""
        return self.make()
