"""The table of the audited pairs: who they are, and what each world says of them."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pandas as pd
from torch import Tensor

from fairgear.auditing.adapters.base import Predictions
from fairgear.auditing.effects import Effect
from fairgear.auditing.people import person_ids
from fairgear.graph import SensitiveGraph
from fairgear.links.cells import PairGroups
from fairgear.metrics.inputs import Integers


def table_of(
    graph: SensitiveGraph,
    ends: Tensor,
    linked: Integers,
    factual: Predictions,
    effects: Sequence[Effect],
) -> pd.DataFrame:
    """One row for each pair; `LinkAudit` says which columns.

    Args:
        graph: the factual one.
        ends: rows (2, m) of the pairs.
        linked: which of them are.
        factual: predictions of the graph as it is.
        effects: of each intervention.
    """
    ids, groups = person_ids(graph), PairGroups.of(graph, ends.numpy())
    columns: dict[str, object] = {}
    for side, rows in zip(("source", "target"), ends.numpy(), strict=True):
        columns[side] = ids["node_id"].to_numpy()[rows]
        if "node_name" in ids:
            columns[f"{side}_name"] = ids["node_name"].to_numpy()[rows]
    columns |= {
        "group_source": groups.first,
        "group_target": groups.second,
        "linked": linked,
        "score": factual.scores,
        "label": factual.labels,
    }
    for effect in effects:
        name = effect.intervention.replace(" ", "_")
        for kind, values in (("score", effect.scores), ("flip", effect.flips.by_node)):
            if values is not None:
                column = np.full(len(linked), math.nan)
                column[effect.positions] = values
                columns[f"{kind}_{name}"] = column
    return pd.DataFrame(columns)
