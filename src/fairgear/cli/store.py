"""`fairgear store`: a graph on disk from files that need not fit into memory."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import App, Parameter

from fairgear.cli.output import Json, print_json

store_app = App(
    name="store",
    help="Build a graph on disk, from edges and features that need not fit into memory.",
    help_epilogue=(
        "Example: fairgear store --edges friends.parquet --features people.parquet "
        "--label approved --sensitive sex --out graph   ·   fairgear run graph"
    ),
    help_format="plaintext",
)
_Columns = Annotated[list[str] | None, Parameter(negative=(), consume_multiple=True)]


@store_app.default
def store(
    *,
    edges: Path,
    features: Path,
    sensitive: str,
    out: Path,
    label: str | None = None,
    id: str | None = None,
    positive: str | None = None,
    sensitive_one: str | None = None,
    drop: _Columns = None,
    categorical: _Columns = None,
    missing: str = "refuse",
    model: Path | None = None,
    memory: int = 256,
    json: Json = False,
) -> None:
    """Write a folder that `fairgear run`, `audit` and `embed` take as their dataset.

    Parameters
    ----------
    edges
        Two columns of ids, whole numbers: .parquet, .npy, .csv, .tsv, .txt or .edges.
    features
        One row a person: .parquet, or a matrix in .npy, whose columns are called x0, x1, ….
    sensitive
        The column of the sensitive attribute, with two values; or a .npy file beside a matrix.
    out
        The folder to write, new or empty.
    label
        The column to predict, with two values; or a .npy file beside a matrix.
    id
        The column of the people's ids, whole numbers.
        [default: a column called id or node_id, else row numbers from 0]
    positive
        The label that counts as 1. [default: the larger, the later in the alphabet]
    sensitive_one
        The group that counts as 1. [default: the larger, the later in the alphabet]
    drop
        Columns to leave out.
    categorical
        Columns of numbers that are codes, not quantities.
    missing
        Missing values: refuse, or impute (median or most frequent).
    model
        A saved model, such as RUN/model: columns are coded as those were that it was trained on.
    memory
        Megabytes for buffers; one column of the table and a few numbers a person come on top.
    json
        Print what the folder's meta.json says instead of a sentence.
    """
    from fairgear.errors import FileError, ParameterError
    from fairgear.experiments.own_data import encoding_of
    from fairgear.graph import TableColumns, build_stored

    if memory < 1:
        raise ParameterError("--memory", memory, "1 megabyte or more", "use 256")
    encoding = encoding_of(model)
    if model is not None and encoding is None:
        raise FileError(
            f"model folder {model}",
            "none with an encoding.json in it",
            "a model that was trained on a table or a stored graph",
            "check the path, such as RUN/model",
        )
    columns = TableColumns(
        sensitive=sensitive,
        label=label,
        id=id,
        positive=positive,
        sensitive_one=sensitive_one,
        drop=tuple(drop or ()),
        categorical=tuple(categorical or ()),
        missing=missing,
    )
    facts = build_stored(out, edges, features, columns, encoding=encoding, memory=memory * 2**20)
    if json:
        print_json(facts)
    else:
        shown = f"{facts['nodes']:,} people, {facts['edges']:,} edges"
        print(f"Wrote {shown}, {len(facts['feature_names'])} features to {out}")  # noqa: T201
