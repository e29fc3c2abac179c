"""`fairgear store`: a graph on disk from files that need not fit into memory."""

from __future__ import annotations

from pathlib import Path

from cyclopts import App

from fairgear.cli.flags import given
from fairgear.cli.output import Json, print_json
from fairgear.cli.own_data import NO_COLUMNS, StoreFlags

store_app = App(
    name="store",
    help="Build a graph on disk, from edges and features that need not fit into memory.",
    help_epilogue=(
        "Example: fairgear store --edges friends.parquet --features people.parquet "
        "--label approved --sensitive sex --out graph   ·   fairgear run graph"
    ),
    help_format="plaintext",
)


@store_app.default
def store(
    *,
    edges: Path,
    features: Path,
    out: Path,
    data: StoreFlags = NO_COLUMNS,
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
        One row a person: .parquet, or a matrix in .npy, whose columns are called x0, x1, …;
        --label and --sensitive are then .npy files of their own.
    out
        The folder to write, new or empty.
    model
        A saved model, such as RUN/model: columns are coded as those were that it was trained on.
    memory
        Megabytes for buffers; one column of the table and a few numbers a person come on top.
    json
        Print what the folder's meta.json says instead of a sentence.
    """
    from fairgear.datasets.source import FileOptions
    from fairgear.errors import FileError, ParameterError
    from fairgear.graph import build_stored
    from fairgear.graph.tables import Encoding

    if memory < 1:
        raise ParameterError("--memory", memory, "1 megabyte or more", "use 256")
    options = FileOptions.from_dict(given(data))
    options.require("sensitive", of=features)
    encoding = None if model is None else Encoding.of_model(model)
    if model is not None and encoding is None:
        raise FileError(
            f"model folder {model}",
            "none with an encoding.json in it",
            "a model that was trained on a table or a stored graph",
            "check the path, such as RUN/model",
        )
    columns, size = options.columns(), memory * 2**20
    facts = build_stored(out, edges, features, columns, encoding=encoding, memory=size)
    if json:
        print_json(facts)
    else:
        shown = f"{facts['nodes']:,} people, {facts['edges']:,} edges"
        print(f"Wrote {shown}, {len(facts['feature_names'])} features to {out}")  # noqa: T201
