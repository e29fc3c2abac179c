"""Functions from a graph to scores: the way in for everything that has no other."""

from __future__ import annotations

from collections.abc import Callable

from torch import Tensor

from fairgear.auditing.adapters.base import Adapter
from fairgear.auditing.adapters.checks import as_columns, check_order
from fairgear.auditing.adapters.copies import own_copy
from fairgear.auditing.world import World
from fairgear.graph import SensitiveGraph
from fairgear.metrics.inputs import Floats


class CallableAdapter(Adapter):
    """Anything that is called with a graph and returns a score for every node.

    Args:
        model: returns (n,), (n, 1), or (n, 2) with the probability of class 1 in the second
            column. It gets a copy of the graph, and may do to it what it likes.
        name: the function's own if not given.
        threshold: 0.5, of probabilities, if not given; with one, scores may be any numbers.
    """

    kind = "Python callable"

    def __init__(
        self,
        model: Callable[[SensitiveGraph], object],
        *,
        name: str | None = None,
        threshold: float | None = None,
    ) -> None:
        self.original = self._model = model
        known = getattr(model, "__name__", type(model).__name__)
        self.name = name or ("function" if known == "<lambda>" else known)
        self._choose(threshold)

    def scores(self, world: World, nodes: Tensor) -> Floats:
        """What the function returned for `nodes`."""
        graph = world.graph
        with self._asking(world, "see that it works when it is called with a graph alone"):
            found = self._model(own_copy(graph))
        ids = graph.node_id.cpu().numpy()
        check_order(self._where(world), found, ids)
        table = as_columns(self._where(world), found, len(ids))
        rows = nodes.cpu().numpy()
        values = table[rows, -1]
        if table.shape[1] == 1:
            return self._finished(world, values, rows)
        # The second of two logits says nothing without the first.
        step = "return one column, such as softmax(outputs)[:, 1]"
        return self._finished(world, values, rows, probabilities=True, next_step=step)
