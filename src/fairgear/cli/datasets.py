"""`fairgear datasets` and `fairgear store`: graphs, their statistics and their files."""

from __future__ import annotations

import math
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import App

from fairgear.cli.flags import DATASET, NO_COLUMNS, SOURCE, SPLIT, StoreFlags, examples, given
from fairgear.cli.output import Json, print_json, print_table, say

if TYPE_CHECKING:
    from fairgear.datasets import Dataset

datasets_app = App(
    name="datasets",
    help="What datasets there are, their statistics and their files.",
    help_epilogue=examples(
        "fairgear datasets list",
        "fairgear datasets stats bail --json",
        "fairgear datasets fetch bail credit",
    ),
)
store_app = App(
    name="store",
    help="Build a graph on disk, from edges and features that need not fit into memory.",
    help_epilogue=examples(
        "fairgear store --edges friends.parquet --features people.parquet --label approved \\\n"
        "    --sensitive sex --out graph",
        "fairgear run graph",
    ),
)


@datasets_app.command(name="list")
def list_datasets(*, json: Json = False) -> None:
    """List the datasets."""
    from fairgear.datasets import DATASETS

    entries = [entry for _, entry in DATASETS.items()]
    if json:
        fields = ("name", "summary", "sensitive", "label", "source", "licence", "problems")
        print_json(
            {
                "datasets": [
                    {key: getattr(e, key) for key in fields}
                    | {"files": [asdict(file) for file in e.files]}
                    for e in entries
                ]
            }
        )
        return
    rows = [(e.name, e.sensitive, e.label, _download_size(e), e.summary) for e in entries]
    print_table("Datasets", ("name", "sensitive", "label", "download", "what it is"), rows)


@datasets_app.command(name="stats")
def stats(
    dataset: Annotated[str, SOURCE],
    /,
    *,
    graph_seed: int = 0,
    split: Annotated[str, SPLIT] = "sixty-twenty-twenty",
    seed: int = 0,
    json: Json = False,
) -> None:
    """Count a dataset's nodes, edges, groups and classes, as Table 1 of the paper does.

    Parameters
    ----------
    dataset
        A name from `fairgear datasets list`.
    graph_seed
        Which synthetic graph.
    split
        A named split: sixty-twenty-twenty or released.
    seed
        The draw of the split.
    """
    from fairgear.datasets import GraphSource, statistics

    source = GraphSource(dataset, split=split, seed=seed, graph_seed=graph_seed)
    counted = asdict(statistics(source.load()))
    if json:
        print_json(counted)
        return
    rows = [(key.replace("_", " "), _shown(value)) for key, value in counted.items()]
    print_table(f"Statistics of {dataset}", ("statistic", "value"), rows)


@datasets_app.command(
    name="fetch",
    help_epilogue=examples(
        "fairgear datasets fetch",
        "fairgear datasets fetch bail credit",
        "FAIRGEAR_DATA=~/data fairgear datasets fetch --json",
    ),
)
def fetch_files(*datasets: Annotated[str, DATASET], json: Json = False) -> None:
    """Fetch the files of datasets, and check each against its SHA-256.

    A file is taken from the folder $FAIRGEAR_DATA, else from the cache
    ($FAIRGEAR_CACHE or ~/.cache/fairgear), else it is downloaded there.

    Parameters
    ----------
    datasets
        Names from `fairgear datasets list`; all of them if none is given.
    """
    from fairgear.datasets import DATASETS, fetch

    entries = [DATASETS[name] for name in datasets or DATASETS]
    found = [
        {"dataset": entry.name, **asdict(file), "location": str(fetch(file).absolute())}
        for entry in entries
        for file in entry.files
    ]
    if json:
        print_json({"files": found})
        return
    rows = [(f["dataset"], f["location"], f"{f['size']:,} bytes, SHA-256 agrees") for f in found]
    rows += [(entry.name, "made here", "no files") for entry in entries if not entry.files]
    print_table("Files", ("dataset", "where", "what"), rows)


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
        A saved model, such as RUN/model: columns are coded as its training data.
    memory
        Megabytes for buffers, besides one column of the table and a few numbers per person.
    """
    from fairgear.datasets.source import FileOptions
    from fairgear.errors import FileError, ParameterError
    from fairgear.graph import build_stored
    from fairgear.graph.tables import Encoding

    if memory < 1:
        raise ParameterError("--memory", memory, "1 megabyte or more", "use 256")
    options = FileOptions.from_dict(given(data))
    options.require("sensitive", of=features)
    encoding = None if model is None else Encoding.of_folder(model)
    if model is not None and encoding is None:
        got = "none with an encoding.json in it"
        allowed = "a model that was trained on a table or a stored graph"
        step = "check the path, such as RUN/model"
        raise FileError(f"model folder {model}", got, allowed, step)
    columns, size = options.columns(), memory * 2**20
    facts = build_stored(out, edges, features, columns, encoding=encoding, memory=size)
    if json:
        print_json(facts)
    else:
        shown = f"{facts['nodes']:,} people, {facts['edges']:,} edges"
        say(f"{shown}, {len(facts['feature_names'])} features in {out}")


def _download_size(dataset: Dataset) -> str:
    size = sum(file.size for file in dataset.files)
    return f"{size / 1e6:.1f} MB" if size else "none"


def _shown(value: object) -> str:
    if isinstance(value, float):
        return "–" if math.isnan(value) else f"{value:,.3f}"
    return f"{value:,}" if isinstance(value, int) else str(value)
