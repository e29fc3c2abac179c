"""The table of predictions: one row a person, in the words of their own data."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from fairgear.auditing import Evaluation, who
from fairgear.experiments.representations import scores_of
from fairgear.graph import SensitiveGraph
from fairgear.methods import Method
from fairgear.parquet_stream import parquet_stream

# Rows of a row group, at least.
GROUP = 2**16
_NAMES = {"y": "label_names", "sens": "sens_names", "label": "label_names"}


def write_predictions(
    path: Path, model: Method, graph: SensitiveGraph, evaluation: Evaluation
) -> None:
    """Everyone's score and label; what was measured of the evaluated people beside it.

    For one's own data `y_name`, `sens_name` and `label_name` say what 0 and 1 stand for. Rows are
    written as the scores come.
    """
    measured = _measured(evaluation, len(graph.x))
    people, done = who(graph), 0
    found = scores_of(model, graph)
    first = next(found)
    table = _beside(_rows(model, graph, people, first, 0), measured)
    with parquet_stream(path, group=GROUP, schema=_schema(table)) as stream:
        stream.write(table)
        done = len(first)
        for scores in found:
            rows = _rows(model, graph, people, scores, done)
            stream.write(_beside(rows, measured))
            done += len(scores)


def _rows(
    model: Method,
    graph: SensitiveGraph,
    people: pd.DataFrame,
    scores: NDArray[np.float64],
    begin: int,
) -> pd.DataFrame:
    """The people from row `begin` on."""
    part = slice(begin, begin + len(scores))
    masks = [graph[key][part].numpy() for key in ("train_mask", "val_mask", "test_mask")]
    assert model.threshold_ is not None
    frame = people[part].assign(
        y=graph.y[part].numpy(),
        sens=graph.sens[part].numpy(),
        split=np.select(masks, ["train", "val", "test"], default=""),
        score=scores,
        label=(scores > model.threshold_).astype(np.int64),
    )
    for column, names in _NAMES.items():
        if names in graph:
            place = frame.columns.get_loc(column)
            assert isinstance(place, int)
            known = dict(enumerate(graph[names]))
            frame.insert(place + 1, f"{column}_name", frame[column].map(known).astype(object))
    return frame


def _beside(rows: pd.DataFrame, measured: pd.DataFrame) -> pd.DataFrame:
    """`rows` with what was measured of them; its ids are hashed once for all pieces."""
    found = measured.reindex(rows["node_id"])
    return pd.concat([rows.reset_index(drop=True), found.reset_index(drop=True)], axis=1)


def _measured(evaluation: Evaluation, everyone: int) -> pd.DataFrame:
    """What was measured of people, by their ids."""
    measured = evaluation.people.drop(
        columns=["node_name", "y", "sens", "score", "label"], errors="ignore"
    ).set_index("node_id")
    if len(measured) == everyone:
        return measured
    # Others have gaps there, which whole numbers and truth values cannot show.
    return measured.astype(np.float64)


def _schema(table: pd.DataFrame) -> pa.Schema:
    """That of the first rows; they may have no label, which later ones have."""
    schema = pa.Schema.from_pandas(table, preserve_index=False)
    for place, name in enumerate(schema.names):
        if name in {f"{column}_name" for column in _NAMES}:
            schema = schema.set(place, pa.field(name, pa.large_string()))
    return schema
