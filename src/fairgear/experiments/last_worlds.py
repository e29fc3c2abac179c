"""LastWorlds: the worlds of one graph, kept until those of another are asked for."""

from __future__ import annotations

from fairgear.auditing import Worlds
from fairgear.graph import SensitiveGraph


class LastWorlds:
    """Lets runs on the same graph share its counterfactual worlds.

    Making them is most of an evaluation. Those of one graph alone are kept: a comparison goes
    through its runs graph by graph, and all worlds of all graphs would not fit in memory.
    """

    def __init__(self) -> None:
        self._key: tuple[str, int, float | None] | None = None
        self._worlds: Worlds | None = None

    def of(self, graph: SensitiveGraph, seed: int, released_share: float | None) -> Worlds:
        """The worlds of this graph at this seed: the ones at hand, if they are its."""
        key = (graph.fingerprint(), seed, released_share)
        if self._worlds is None or key != self._key:
            # The old ones go first: two graphs' worlds are never held at once.
            self._worlds = None
            self._worlds = Worlds(graph, seed=seed, released_share=released_share)
            self._key = key
        return self._worlds
