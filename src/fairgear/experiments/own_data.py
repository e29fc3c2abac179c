"""The user's own data: told from the names of datasets, checked, and read. Imports no torch."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from fairgear.errors import FileError, ParameterError
from fairgear.experiments.data_config import DataConfig, content_hash

if TYPE_CHECKING:
    from fairgear.graph import SensitiveGraph

# Beside the model of a run on own data.
ENCODING = "encoding.json"


def is_path(dataset: str) -> bool:
    """Whether it is a file: by its ending, a separator, or because it is there.

    A dataset's name goes before a file of that name without an ending.
    """
    path = Path(dataset)
    if path.suffix or len(path.parts) > 1:
        return True
    if not path.is_file():
        return False
    from fairgear.datasets import DATASETS

    return dataset not in DATASETS


def checked_data(
    dataset: str, data: DataConfig, *, graph_seed: int = 0, labelled: bool = True
) -> DataConfig:
    """The settings that say all that is needed for this dataset, with the content's hash.

    Args:
        dataset: a path, or the name of a dataset.
        data: what was given.
        graph_seed: means nothing for data that are there.
        labelled: whether a label is needed.
    """
    if not is_path(dataset):
        if data.given():
            raise ParameterError(
                f"--{data.given()[0].replace('_', '-')}",
                got=f"the dataset {dataset!r}, which has columns of its own",
                allowed="with a file, such as people.csv",
                next_step="leave it out, or name your file",
            )
        return data
    for option, needed in (("sensitive", True), ("label", labelled)):
        if needed and not getattr(data, option):
            raise ParameterError(
                f"--{option}",
                got=f"none for {dataset}",
                allowed="a column of the file",
                next_step=f"name the column: --{option} COLUMN",
            )
    if graph_seed:
        raise ParameterError(
            "--graph-seed",
            got=f"{graph_seed} for {dataset}",
            allowed="with a dataset that is sampled, such as synthetic",
            next_step="leave it out",
        )
    found = content_hash(dataset, *filter(None, [data.edges]))
    if data.sha256 not in ("", found):
        raise FileError(
            f"data of {dataset}",
            got="other content than when these settings were written",
            allowed=f"files with the SHA-256 {data.sha256}",
            next_step="put the old files back, or remove sha256 from the settings",
        )
    return replace(data, sha256=found)


def read_own(dataset: str, data: DataConfig, model: Path | None = None) -> SensitiveGraph:
    """The graph of a file, without a split.

    Args:
        dataset: its path.
        data: what its columns mean.
        model: the folder of a model; where it was trained on own data, the file is read as these
            were.
    """
    from fairgear.graph.convert.encoding import Encoding
    from fairgear.graph.reading import read_graph

    path = None if model is None else model / ENCODING
    encoding = None if path is None or not path.exists() else Encoding.read(path)
    return read_graph(dataset, data.columns(), data.edges or None, encoding=encoding)


def save_encoding(graph: SensitiveGraph, model: Path) -> None:
    """Leave beside a model how its table became features, where it was the user's own."""
    encoding = graph.get("encoding")
    if encoding is not None:
        encoding.write(model / ENCODING)
