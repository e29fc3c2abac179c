"""The table of predictions: one row a person, in the words of their own data."""

from __future__ import annotations

import numpy as np
import pandas as pd

from fairgear.auditing import Evaluation, who
from fairgear.graph import SensitiveGraph
from fairgear.methods import Method


def predictions(model: Method, graph: SensitiveGraph, evaluation: Evaluation) -> pd.DataFrame:
    """Everyone's score and label; what was measured of the evaluated people beside it.

    For one's own data `y_name`, `sens_name` and `label_name` say what 0 and 1 stand for.
    """
    scores = model.predict_proba(graph)[:, 1]
    masks = (graph.train_mask, graph.val_mask, graph.test_mask)
    part = np.select([mask.numpy() for mask in masks], ["train", "val", "test"], default="")
    everyone = who(graph).assign(
        y=graph.y.numpy(),
        sens=graph.sens.numpy(),
        split=part,
        score=scores,
        label=model.predict(graph),
    )
    for column, names in (("y", "label_names"), ("sens", "sens_names"), ("label", "label_names")):
        if names in graph:
            place = everyone.columns.get_loc(column)
            assert isinstance(place, int)
            known = dict(enumerate(graph[names]))
            everyone.insert(place + 1, f"{column}_name", everyone[column].map(known))
    measured = evaluation.people.drop(
        columns=["node_name", "y", "sens", "score", "label"], errors="ignore"
    )
    return everyone.merge(measured, on="node_id", how="left")
