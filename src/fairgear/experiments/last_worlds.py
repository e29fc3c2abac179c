"""LastWorlds: the worlds of one graph, kept until those of another are asked for."""

from __future__ import annotations

from typing import Any

from fairgear.auditing import Worlds
from fairgear.experiments.run_data import RunData


class LastWorlds:
    """Lets runs on the same graph share its counterfactual worlds.

    Making them is most of an evaluation. Those of one graph alone are kept: a comparison goes
    through its runs graph by graph, and all worlds of all graphs would not fit in memory.
    """

    def __init__(self) -> None:
        self._key: tuple[str, int, dict[str, Any]] | None = None
        self._worlds: Worlds | None = None

    def of(self, data: RunData, seed: int) -> Worlds:
        """The worlds of this graph at this seed: the ones at hand, if they are its."""
        key = (data.graph.fingerprint(), seed, data.evaluation)
        if self._worlds is None or key != self._key:
            # The old ones go first: two graphs' worlds are never held at once.
            self._worlds = None
            self._worlds = Worlds(data.graph, seed=seed, **data.evaluation)
            self._key = key
        return self._worlds
