"""Scores and representations of everybody, computed and written some people at a time."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import torch
from numpy.typing import NDArray

from fairgear.auditing import Audit, person_ids
from fairgear.files import replacing
from fairgear.graph import SensitiveGraph, groups_of
from fairgear.methods import Method
from fairgear.methods.network_method import NetworkMethod
from fairgear.metrics.disagreement import of_answer
from fairgear.streams import NpyWriter, parquet_stream

# People in one call of a method that does not choose the number itself.
CHUNK = 65_536
# Least rows of a row group: of representations (8 MB at 1,024 numbers each) and of predictions.
GROUP, PREDICTION_GROUP = 2_048, 2**16
_NAMES = {"y": "label_names", "sens": "sens_names", "label": "label_names"}
# Columns of an audit's table of people that the table of predictions has by itself, or not at all.
_OWN = [
    *("node_name", "y", "sens", "sens_known", "band"),
    *("score", "label", "neighbors_that_matter"),
]

Matrix = NDArray[np.float32]
Vector = NDArray[np.float64]


def by_chunks(
    model: Method, graph: SensitiveGraph, *, embed: bool = True
) -> Iterator[tuple[Matrix, Vector]]:
    """Everybody's representation (m, dim) and `Method.scores`, m people at a time.

    Without `embed`, a method that computes the two apart returns no representation.
    """
    if isinstance(model, NetworkMethod):
        for z, logits in model.chunks(graph):
            yield z.numpy(), model.head.answers(logits)
        return
    for nodes in torch.split(torch.arange(len(graph.x)), CHUNK):
        none = np.empty((len(nodes), 0), np.float32)
        found = model.embed(graph, nodes=nodes) if embed else none
        yield found, model.scores(graph, nodes=nodes)


def write_matrix(model: Method, graph: SensitiveGraph, out: Path) -> tuple[int, int]:
    """Write the representations to an NPY file as they come; its shape."""
    found = by_chunks(model, graph)
    with replacing(out, private=True) as temporary:
        first, _ = next(found)
        rows = len(first)
        with NpyWriter(temporary, first.dtype, first.shape[1:]) as writer:
            writer.append(first)
            for z, _ in found:
                writer.append(z)
                rows += len(z)
            writer.finish(rows)
    return rows, first.shape[1]


def write_table(
    model: Method, graph: SensitiveGraph, out: Path, *, scores: bool = False
) -> tuple[int, int]:
    """Write the representations to a Parquet file as they come; rows, and how wide they are.

    The columns are `node_id`, `node_name` where ids are not whole numbers, `score` with
    `scores`, and z0, z1, ….
    """
    people, done, width = person_ids(graph), 0, 0
    with parquet_stream(out, group=GROUP) as stream:
        for z, score in by_chunks(model, graph):
            width = z.shape[1]
            rows = people.iloc[done : done + len(z)].reset_index(drop=True)
            if scores:
                rows = rows.assign(score=_shown(model, score))
            frame = pd.DataFrame(z, columns=[f"z{i}" for i in range(width)])
            stream.write(pd.concat([rows, frame], axis=1))
            done += len(z)
    return done, width


def write_predictions(path: Path, model: Method, graph: SensitiveGraph, audit: Audit) -> None:
    """Everyone's score and label, and what was measured of the audited people.

    For a user's own data `y_name`, `sens_name` and `label_name` say what 0 and 1 stand for. Of a
    sensitive number, `band` is the number of its range.
    """
    measured = _measured(audit, len(graph.x))
    people, done = person_ids(graph), 0
    if graph.continuous:
        people = people.assign(band=groups_of(graph).numpy())
    found = (scores for _, scores in by_chunks(model, graph, embed=False))
    first = next(found)
    table = _beside(_rows(model, graph, people, first, 0), measured)
    with parquet_stream(path, group=PREDICTION_GROUP, schema=_schema(table)) as stream:
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
    frame: pd.DataFrame = people[part].assign(
        y=graph.y[part].numpy(),
        sens=graph.sens[part].numpy(),
        split=np.select(masks, ["train", "val", "test"], default=""),
        score=_shown(model, scores),
        label=model.decide(scores),
    )
    if graph.sens_known is not None:
        place = frame.columns.get_loc("sens")
        assert isinstance(place, int)
        frame.insert(place + 1, "sens_known", graph.sens_known[part].cpu().numpy())
    if model.target_.outputs > 1:
        # The probability of every class, by its number.
        frame = frame.assign(**{f"probability_{k}": of for k, of in enumerate(scores.T)})
    for column, names in _NAMES.items():
        if names in graph:
            place = frame.columns.get_loc(column)
            assert isinstance(place, int)
            known = dict(enumerate(graph[names]))
            frame.insert(place + 1, f"{column}_name", frame[column].map(known).astype(object))
    return frame


def _shown(model: Method, scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """One score a person: of class 1, of the answer where classes are several, or the number."""
    if model.target_.outputs == 1:
        return scores[:, -1]
    return of_answer(scores, model.decide(scores))


def _beside(rows: pd.DataFrame, measured: pd.DataFrame) -> pd.DataFrame:
    """`rows` with what was measured of them."""
    found = measured.reindex(rows["node_id"])
    return pd.concat([rows.reset_index(drop=True), found.reset_index(drop=True)], axis=1)


def _measured(audit: Audit, everyone: int) -> pd.DataFrame:
    """What was measured of people, by their ids."""
    measured = audit.people.drop(columns=_OWN, errors="ignore").set_index("node_id")
    if len(measured) == everyone:
        return measured
    # People who were not audited have gaps, which whole numbers cannot represent.
    return measured.astype(np.float64)


def _schema(table: pd.DataFrame) -> pa.Schema:
    """That of the first rows, except that names may first appear in later ones."""
    schema = pa.Schema.from_pandas(table, preserve_index=False)
    for place, name in enumerate(schema.names):
        if name in {f"{column}_name" for column in _NAMES}:
            schema = schema.set(place, pa.field(name, pa.large_string()))
    return schema
