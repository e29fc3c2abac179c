"""Sight: whether a model looks at the sensitive column, looks at the graph, and repeats itself."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from torch import Tensor

from fairgear.auditing.adapters.base import Adapter
from fairgear.auditing.model import ROUNDING, Predictions, predict
from fairgear.auditing.world import World
from fairgear.auditing.worlds import Worlds
from fairgear.errors import FairgearError
from fairgear.progress import bar
from fairgear.report.sight import cautions


@dataclass(frozen=True)
class Sight:
    """What a model was seen to look at; None where it could not be asked.

    Attributes:
        sens: whether any score changes when only the sensitive attribute is set, for everyone.
        graph: whether any score changes when every edge is taken away.
        repeats: whether it gives the same scores when asked twice about the same graph.
    """

    sens: bool | None
    graph: bool | None
    repeats: bool | None

    def sentences(self) -> list[str]:
        """What a reader of the numbers must know."""
        return list(cautions(self.to_dict()))

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready."""
        return asdict(self)


def look(model: Adapter, worlds: Worlds, rows: Tensor, factual: Predictions) -> Sight:
    """Ask the model about a few graphs that differ from the factual one in one thing each."""
    attribute = worlds.attribute_only.worlds
    with bar("seeing what it looks at", total=4) as progress:

        def same(world: World) -> bool | None:
            found = _same(model, world, rows, factual)
            progress.advance()
            return found

        again = same(worlds.factual) if model.can_repeat else None
        blind = [same(attribute[rate][0]) for rate in (0.0, 1.0)]
        edges = same(worlds.edgeless) if worlds.graph.num_undirected_edges else None
    return Sight(
        sens=None if None in blind else not all(blind),
        graph=None if edges is None else not edges,
        repeats=again,
    )


def _same(model: Adapter, world: World, rows: Tensor, factual: Predictions) -> bool | None:
    """Whether the scores there are the factual ones; None where nobody can say."""
    if not model.can_answer(world):
        return None
    try:
        answer = predict(model, world, rows)
    except FairgearError:
        if world.protocol == "edgeless":
            # It cannot do without edges, so it looks at them.
            return False
        raise
    if not np.array_equal(answer.labels, factual.labels):
        return False
    # Scores may be of any size: what counts is how far they are apart.
    spread = float(np.ptp(factual.scores)) or 1.0
    return bool(np.abs(answer.scores - factual.scores).max() <= ROUNDING * spread)
