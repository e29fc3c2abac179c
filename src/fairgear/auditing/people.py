"""The people who are audited: which rows of the graph, in what order, and what they are called."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from torch import Tensor

from fairgear.errors import ParameterError
from fairgear.graph import (
    SensitiveGraph,
    communities,
    groups_around,
    groups_of,
    regions,
    rows_of,
)
from fairgear.hashing import node_uniform
from fairgear.metrics.inputs import Floats, Integers


@dataclass(frozen=True, eq=False)
class People:
    """What is known of some people before any prediction.

    Attributes:
        y: label, −1 where unknown; a number, NaN where unknown.
        sens: sensitive attribute: a group, or a number.
        clusters: community.
        regions: larger part of the graph, of several communities.
        around: mean s of the person and their neighbours; of more than two groups, the share of
            each but the first.
        band: range of a number; None of groups.
        ranges: how many ranges the graph has.
    """

    y: NDArray[Any]
    sens: NDArray[Any]
    clusters: Integers
    regions: Integers
    around: Floats
    band: Integers | None = None
    ranges: int = 0

    @property
    def group(self) -> Integers:
        """Of each person; of a number, their range."""
        return self.sens if self.band is None else self.band

    @property
    def two_groups(self) -> bool:
        """Whether people are of two groups, neither of more nor of a number."""
        return self.band is None and self.around.ndim == 1

    @property
    def around_by_name(self) -> dict[str, Floats]:
        """`around` as columns of a table."""
        if self.around.ndim == 1:
            return {"around": self.around}
        return {f"around_{at}": column for at, column in enumerate(self.around.T, start=1)}

    @classmethod
    def of(cls, graph: SensitiveGraph, rows: Tensor) -> People:
        """The people in these rows."""
        around = groups_around(graph)
        columns = (graph.y, graph.sens, communities(graph), regions(graph), around)
        y, sens, clusters, parts, means = (column[rows].cpu().numpy() for column in columns)
        if not graph.continuous:
            return cls(y, sens, clusters, parts, means)
        band = groups_of(graph)
        ranges = int(band.max()) + 1
        return cls(y, sens, clusters, parts, means, band[rows].cpu().numpy(), ranges)


def select(graph: SensitiveGraph, nodes: Tensor | None) -> Tensor:
    """Rows of the people, ordered by node id, so that the order of the graph's rows is irrelevant.

    Args:
        graph: the factual graph.
        nodes: row numbers, or a mask; the test nodes if not given.
    """
    name = "the graph's test_mask" if nodes is None else "nodes to audit"
    rows = rows_of(graph, graph.test_mask if nodes is None else nodes, name=name)
    if len(rows) == 0 or len(set(rows.tolist())) < len(rows):
        raise ParameterError(
            name,
            "no node" if len(rows) == 0 else "a node more than once",
            "at least one node, each once",
            "make a split with fairgear.graph.split, or pass nodes=torch.arange(n)",
        )
    return graph.canonical.by_id(rows)


def sample(graph: SensitiveGraph, rows: Tensor, most: int, seed: int) -> Tensor:
    """Sorted positions in `rows` of at most `most` people, chosen by a hash of their ids."""
    noise = node_uniform(graph.node_id[rows], seed, "people")
    return noise.argsort(stable=True)[:most].sort().values


def person_ids(graph: SensitiveGraph) -> pd.DataFrame:
    """Everyone's `node_id`, and `node_name` where the data's ids are not whole numbers.

    Example:
        >>> from fairgear.auditing import person_ids
        >>> from fairgear.testing import toy_graph
        >>> person_ids(toy_graph()).columns.tolist()
        ['node_id']
    """
    ids = graph.node_id.cpu().numpy()
    people = pd.DataFrame({"node_id": ids})
    if "node_names" in graph:
        people["node_name"] = np.array(graph["node_names"], dtype=object)[ids]
    return people


def person_name(graph: SensitiveGraph, row: int) -> int | str:
    """What the data call the person in a row: their name, or else their id."""
    number = int(graph.node_id[row])
    return str(graph["node_names"][number]) if "node_names" in graph else number


def is_guessed(graph: SensitiveGraph, row: int) -> bool:
    """Whether the attribute of the person in a row is unknown, and the graph has a guess of it."""
    return graph.sens_known is not None and not bool(graph.sens_known[row])
