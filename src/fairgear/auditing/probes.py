"""Probes: does a model read the sensitive column, does it read the graph, is it deterministic?"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from torch import Tensor

from fairgear.auditing.adapters.base import ROUNDING, Adapter, Predictions
from fairgear.auditing.world import World
from fairgear.auditing.worlds import Worlds
from fairgear.causal import MIXED
from fairgear.errors import FairgearError, of_the_machine
from fairgear.progress import bar

_SENTENCES = {
    ("sens", False): "It does not read the sensitive column: its scores are the same whatever "
    "everybody's attribute is.",
    ("sens", True): "It reads the sensitive column: scores change when nothing else does.",
    ("graph", False): "It does not read the graph: its scores are the same without any edge.",
    ("graph", True): "It reads the graph: scores change when every edge is removed.",
    ("repeats", True): "It gives the same scores when it is run twice.",
}
UNSTABLE = (
    "It gives different scores when it is run twice on the same graph, so that some flips are its "
    "own noise: fix its seed, switch its dropout off, or check what state it keeps."
)


@dataclass(frozen=True)
class Probes:
    """What a model reads; None where it could not be tested.

    Attributes:
        sens: whether any score changes when only the sensitive attribute is set, for everyone.
        graph: whether any score changes when every edge is removed.
        repeats: whether two runs on the same graph give the same scores.

    Example:
        >>> import fairgear as fg
        >>> from fairgear.testing import toy_graph
        >>> def group(world):
        ...     return world.sens.float()
        >>> audit = fg.audit(group, toy_graph(), other_causal_models=False, what_if_people=0)
        >>> audit.probes
        Probes(sens=True, graph=False, repeats=True)
    """

    sens: bool | None
    graph: bool | None
    repeats: bool | None

    @property
    def unstable(self) -> bool:
        """Whether two runs were seen to differ."""
        return self.repeats is False

    def findings(self) -> list[str]:
        """What was found, a sentence each."""
        return [text for (key, value), text in _SENTENCES.items() if getattr(self, key) is value]

    def cautions(self) -> list[str]:
        """What a reader of the numbers must know: what the model ignores, and that it is noisy."""
        ignored = [
            text
            for (key, value), text in _SENTENCES.items()
            if value is False and getattr(self, key) is False
        ]
        return [*ignored, *([UNSTABLE] if self.unstable else [])]


def probe(model: Adapter, worlds: Worlds, rows: Tensor, factual: Predictions) -> Probes:
    """Run the model on a few graphs that differ from the factual one in one thing each."""
    attribute = worlds.attribute_only.worlds
    with bar("testing what it reads", total=4) as progress:

        def same(world: World) -> bool | None:
            """Whether the scores there are the factual ones; None where they are not known."""
            progress.advance()
            if not model.can_score(world):
                return None
            try:
                answer = model.predict(world, rows)
            except FairgearError as error:
                asked = model.can_repeat and not of_the_machine(error)
                if world.protocol == "edgeless" and asked:
                    # It cannot work without edges, so it reads them. Scores that were computed
                    # elsewhere can be damaged, which says nothing.
                    return False
                raise
            if factual.how.changes(factual.labels, answer.labels).any():
                return False
            # Scores may be of any size: compare their differences with their spread.
            spread = float(np.ptp(factual.scores)) or 1.0
            return bool(np.abs(answer.scores - factual.scores).max() <= ROUNDING * spread)

        again = same(worlds.factual) if model.can_repeat else None
        blind = [same(draws[0]) for which, draws in attribute.items() if which != MIXED]
        edges = same(worlds.edgeless) if worlds.graph.num_undirected_edges else None
    return Probes(
        sens=None if None in blind else not all(blind),
        graph=None if edges is None else not edges,
        repeats=again,
    )
