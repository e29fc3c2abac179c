"""The columns of a table that become features: its own, or those that a model was trained on."""

from __future__ import annotations

import numpy as np
import pandas as pd

from fairgear.errors import GraphError
from fairgear.graph.convert.columns import TableColumns
from fairgear.graph.convert.encoding import Encoding
from fairgear.graph.convert.features import FeatureColumn, Mask, NumberColumn, feature_column
from fairgear.graph.convert.identity import id_column
from fairgear.graph.convert.missing import without_missing
from fairgear.graph.convert.spelling import listed
from fairgear.graph.convert.two_values import TwoValues


def table_features(
    nodes: pd.DataFrame,
    group: TwoValues,
    columns: TableColumns,
    encoding: Encoding | None,
    notes: list[str],
) -> tuple[list[FeatureColumn], Mask]:
    """The columns without gaps, the sensitive one at its own place, and which rows are kept."""
    aside = {columns.label, id_column(nodes.columns, columns), *columns.drop}
    shown = [name for name in nodes.columns if name not in aside]
    if encoding is None:
        features = [
            feature_column(nodes[name], name, categorical=name in columns.categorical)
            for name in shown
            if name != columns.sensitive
        ]
    else:
        unused = [name for name in shown if name not in encoding.names()]
        if unused:
            notes.append(f"the model does not use the columns {listed(unused)}")
        shown = encoding.names()
        features = [
            code.read(nodes[code.column])
            for code in encoding.columns
            if code.column != columns.sensitive
        ]
    features, keep = without_missing(
        features, group.codes < 0, sensitive=columns.sensitive, policy=columns.missing, notes=notes
    )
    if encoding is None and len(set(group.codes[keep].tolist())) < 2:
        left = group.names[int(group.codes[keep][0])]
        raise GraphError(
            f"rows without missing values, of the groups in {columns.sensitive!r}",
            f"{left!r} alone once the others are dropped",
            "people of both groups",
            "use --missing impute, or leave columns with many gaps out with --drop",
        )
    sens = NumberColumn(columns.sensitive, group.codes[keep].astype(np.float64))
    features.insert(shown.index(columns.sensitive), sens)
    return features, keep
