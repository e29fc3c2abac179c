"""SharedWorlds: the worlds of a graph, made once for all the models of a test session."""

from __future__ import annotations

from fairgear.auditing import Worlds
from fairgear.causal import CausalModel
from fairgear.graph import SensitiveGraph


class SharedWorlds:
    """Gives the same `Worlds` for the same content: graph, causal model, draws and seed.

    Example:
        >>> from fairgear.testing import SharedWorlds, toy_graph
        >>> shared = SharedWorlds()
        >>> shared(toy_graph()) is shared(toy_graph())
        True
    """

    def __init__(self) -> None:
        self._made: dict[tuple[str, str], Worlds] = {}

    def __call__(
        self,
        graph: SensitiveGraph,
        causal_model: CausalModel | None = None,
        *,
        draws: int = 3,
        seed: int = 0,
    ) -> Worlds:
        """The worlds, kept until the session ends; arguments are those of `Worlds`."""
        worlds = Worlds(graph, causal_model, draws=draws, seed=seed)
        return self._made.setdefault((graph.name, worlds.fingerprint), worlds)
