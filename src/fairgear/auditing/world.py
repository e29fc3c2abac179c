"""World: one graph that a model scores; Alternative: the worlds of another causal model."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

from torch import Tensor

from fairgear.causal import Credibility, LocalWorld
from fairgear.graph import SensitiveGraph


@dataclass(frozen=True, eq=False)
class World:
    """One graph that a model scores, and the intervention that it is for.

    Attributes:
        protocol: "strict", "released", "placebo", "factual", "edgeless", or the name of another
            causal model.
        intervention: "rate 0", "rate 0.5", "rate 1" (two groups), "group 2", "mixed" (several),
            "quantile 0.05", "mixed" (a number), "random", "unchanged" or "self NODE_ID".
        draw: number of the draw.
        assigned: everyone's attribute in this world, or what gives it.
        make: builds the graph on first use.
        change: gives what differs from the factual graph, for the world of one person.

    Example:
        >>> from fairgear.auditing import Worlds
        >>> from fairgear.testing import toy_graph
        >>> world = Worlds(toy_graph(), draws=1).attribute_only
        >>> world.name
        'attribute only'
    """

    protocol: str
    intervention: str
    draw: int
    assigned: Tensor | Callable[[], Tensor] = field(repr=False)
    make: Callable[[], SensitiveGraph] = field(repr=False)
    change: Callable[[], LocalWorld] | None = field(default=None, repr=False)

    @property
    def name(self) -> str:
        """Unique among the worlds of one audit, and fit for a file name."""
        # A node id may be negative; its minus must not read as a dash.
        words = f"{self.protocol} {self.intervention.replace('-', 'minus')} draw {self.draw}"
        return re.sub(r"[^A-Za-z0-9.]+", "-", words)

    @cached_property
    def sens(self) -> Tensor:
        """Everyone's attribute in this world."""
        return self.assigned if isinstance(self.assigned, Tensor) else self.assigned()

    @cached_property
    def local(self) -> LocalWorld:
        """What differs from the factual graph; only the worlds of one person have it."""
        assert self.change is not None
        return self.change()

    @cached_property
    def graph(self) -> SensitiveGraph:
        """With the same nodes, in the same order, as the factual graph."""
        return self.make()


# Differences from the factual graph where few people (rows) have other values.
Few = Callable[[Tensor, Tensor], LocalWorld]
# From a world of the audit's own causal model to another model's world at the same assignment.
Make = Callable[[World], SensitiveGraph]
ByRate = dict[float, list[World]]


@dataclass(frozen=True, eq=False)
class Alternative:
    """A causal model at the assignments of the audit: its own, or another.

    Attributes:
        name: also the protocol of its worlds.
        meaning: what it assumes that the attribute changes.
        worlds: by rate; empty where the model cannot be fitted.
        error: why not.
        local: the worlds in which few people change, as differences; None where it has none.
        part: whether it is a part of the own model, to see what matters, rather than a belief.
        check: finds out whether its people could exist; None where that is no question.
    """

    name: str
    meaning: str
    worlds: ByRate = field(repr=False)
    error: str | None = None
    local: Few | None = field(default=None, repr=False)
    part: bool = False
    check: Callable[[], Credibility | None] = field(default=lambda: None, repr=False)

    def all_worlds(self) -> list[World]:
        """Every draw at every rate."""
        return [world for draws in self.worlds.values() for world in draws]

    @cached_property
    def credibility(self) -> Credibility | None:
        """Whether its people could exist."""
        return self.check()
