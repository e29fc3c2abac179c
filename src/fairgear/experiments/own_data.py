"""The user's own data: told from the names of datasets, checked, and read. Imports no torch."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING

from fairgear.errors import FileError, ParameterError
from fairgear.experiments.data_config import DataConfig, content_hash
from fairgear.stored_folder import is_stored, read_facts

if TYPE_CHECKING:
    from fairgear.graph import SensitiveGraph
    from fairgear.graph.convert.encoding import Encoding

# Beside the model of a run on own data.
ENCODING = "encoding.json"


def is_path(dataset: str) -> bool:
    """Whether it is a file or a stored graph: by its ending, a separator, or because it is there.

    A dataset's name goes before a file of that name without an ending.
    """
    path = Path(dataset)
    if path.suffix or len(path.parts) > 1:
        return True
    if not (path.is_file() or is_stored(path)):
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
                f"the dataset {dataset!r}, which has columns of its own",
                "with a file, such as people.csv",
                "leave it out, or name your file",
            )
        return data
    if is_stored(dataset):
        return _checked_stored(dataset, data, graph_seed)
    for option, needed in (("sensitive", True), ("label", labelled)):
        if needed and not getattr(data, option):
            raise ParameterError(
                f"--{option}",
                f"none for {dataset}",
                "a column of the file",
                f"name the column: --{option} COLUMN",
            )
    return _settled(dataset, data, graph_seed, content_hash(dataset, *filter(None, [data.edges])))


def _checked_stored(dataset: str, data: DataConfig, graph_seed: int) -> DataConfig:
    """A stored graph says itself what its columns mean."""
    given = [option for option in data.given() if option != "sha256"]
    if given:
        raise ParameterError(
            f"--{given[0].replace('_', '-')}",
            f"the stored graph {dataset}, which was built with settings of its own",
            "with a file, such as people.csv, and with fairgear store",
            "leave it out, or build the graph again",
        )
    return _settled(dataset, data, graph_seed, str(read_facts(Path(dataset))["fingerprint"]))


def _settled(dataset: str, data: DataConfig, graph_seed: int, found: str) -> DataConfig:
    """The settings with the hash of the content, which no earlier one may contradict."""
    if graph_seed:
        raise ParameterError(
            "--graph-seed",
            f"{graph_seed} for {dataset}",
            "with a dataset that is sampled, such as synthetic",
            "leave it out",
        )
    if data.sha256 not in ("", found):
        raise FileError(
            f"data of {dataset}",
            "other content than when these settings were written",
            f"files with the SHA-256 {data.sha256}",
            "put the old files back, or remove sha256 from the settings",
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
    from fairgear.graph.reading import read_graph

    encoding = encoding_of(model)
    if is_stored(dataset):
        return _opened(Path(dataset), encoding)
    return read_graph(dataset, data.columns(), data.edges or None, encoding=encoding)


def encoding_of(model: Path | None) -> Encoding | None:
    """How the table of a model's training became features; None where it was no table."""
    from fairgear.graph.convert.encoding import Encoding

    path = None if model is None else model / ENCODING
    return None if path is None or not path.exists() else Encoding.read(path)


def _opened(folder: Path, encoding: Encoding | None) -> SensitiveGraph:
    """A stored graph, whose features must be coded as those were that a model was trained on."""
    from fairgear.graph import open_stored

    graph = open_stored(folder)
    own = graph.get("encoding")
    if encoding is not None and (own is None or asdict(own) != asdict(encoding)):
        raise FileError(
            f"stored graph {folder}",
            "features that were coded or scaled otherwise than those of the training",
            "features coded as the model's",
            "build it again with fairgear store --model and the folder of the model",
        )
    return graph


def save_encoding(graph: SensitiveGraph, model: Path) -> None:
    """Leave beside a model how its table became features, where it was the user's own."""
    encoding = graph.get("encoding")
    if encoding is not None:
        encoding.write(model / ENCODING)
