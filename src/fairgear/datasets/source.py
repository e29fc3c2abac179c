"""GraphSource: the name of a dataset, or a file with its columns, as a graph. Imports no torch."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Self

from fairgear.column_names import said_kinds, sensitive_columns, unknown_column
from fairgear.delimited import names_in
from fairgear.errors import FileError, ParameterError
from fairgear.evidence import file_hash, note_file
from fairgear.files import read_errors
from fairgear.reading import regular_file
from fairgear.settings import SEED, Config, OneOf, Range

if TYPE_CHECKING:
    from fairgear.graph import SensitiveGraph, TableColumns
    from fairgear.graph.tables import Encoding

_OPTIONAL_COLUMNS = (
    *("label", "task", "id", "positive", "sensitive_one", "against", "similarity", "neighbors"),
    "weight",
)


@dataclass(frozen=True)
class FileOptions(Config):
    """What the columns of a user's file mean; nothing is set for a dataset of fairgear.

    Example:
        >>> from fairgear.datasets import FileOptions
        >>> FileOptions(label="approved", sensitive="sex", similarity=0.7).columns().sensitive
        'sex'
    """

    label: str = ""
    """Column to predict: classes or a number; empty where unknown."""
    task: Annotated[str, OneOf("", "classification", "regression")] = ""
    """classification or regression. [default: inferred]"""
    sensitive: str = ""
    """Column, or such as race,sex or "age<40"."""
    sensitive_kind: list[str] = field(default_factory=list)
    """As age=continuous; or =categorical, =binary."""
    unknown: Annotated[str, OneOf("keep", "drop")] = "keep"
    """Whose --sensitive is empty: keep (a guess) or drop."""
    id: str = ""
    """Column of ids. [default: id, node_id or row numbers]"""
    edges: str = ""
    """File of edges: two columns of ids."""
    directed: bool | None = None
    """Edges go from first to second id. [default: as the file says]"""
    weight: str = ""
    """Column of --edges, or edge attribute, of weights."""
    similarity: Annotated[float, Range(0, 1)] = 0.0
    """Link rows above this share of a row's top similarity."""
    neighbors: Annotated[int, Range(0, 2**31)] = 0
    """For --similarity: nearest rows used. [default: all]"""
    standardize: bool = False
    """For --similarity: give columns the same weight."""
    positive: str = ""
    """Of two labels the one that counts as 1. [default: last]"""
    sensitive_one: str = ""
    """Group that counts as 1. [default: last when sorted]"""
    against: str = ""
    """Group that counts as 0; all others count as 1."""
    drop: list[str] = field(default_factory=list)
    """Columns to leave out."""
    drop_text: bool = False
    """Leave out columns of free text."""
    categorical: list[str] = field(default_factory=list)
    """Columns of numbers that are codes, not quantities."""
    missing: Annotated[str, OneOf("refuse", "impute", "drop")] = "refuse"
    """Empty cells: refuse, impute or drop. [default: refuse]"""
    sha256: str = ""
    """SHA-256 of the file and of its edges; a run notes them and resumes with no others."""

    def __post_init__(self) -> None:
        for option in ("drop", "categorical", "sensitive_kind"):
            value = getattr(self, option)
            if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
                raise ParameterError(
                    f"setting {option}", repr(value), "a list of column names", f"change {option}"
                )
        said_kinds(self.sensitive_kind)
        super().__post_init__()

    def given(self) -> list[str]:
        """The names of the options that differ from their defaults."""
        default = FileOptions()
        names = [item.name for item in fields(self)]
        return [name for name in names if getattr(self, name) != getattr(default, name)]

    def require(self, option: str, *, of: Path | str) -> None:
        """Refuse options without the column `option` of the file `of`."""
        if not getattr(self, option):
            raise ParameterError(
                f"--{option}",
                f"none for {of}",
                "a column of the file",
                f"name the column: --{option} COLUMN",
            )

    def columns(self) -> TableColumns:
        """The same options for the readers of tables, which take None for "not given"."""
        from fairgear.graph import TableColumns

        # Options that are off are "", 0 or an empty list in a settings file.
        given: dict[str, Any] = {name: getattr(self, name) or None for name in _OPTIONAL_COLUMNS}
        return TableColumns(
            self.sensitive,
            sensitive_kind=said_kinds(self.sensitive_kind),
            unknown=self.unknown,
            drop=tuple(self.drop),
            drop_text=self.drop_text,
            categorical=tuple(self.categorical),
            missing=self.missing,
            standardize=self.standardize,
            directed=self.directed,
            **given,
        )


@dataclass(frozen=True)
class GraphSource(Config):
    """Where a graph comes from, and how its people are split.

    `checked` and `with_default_split` complete the settings before any work is done; `load`
    makes the graph.

    Example:
        >>> from fairgear.datasets import GraphSource
        >>> source = GraphSource(dataset="synthetic", seed=3)
        >>> graph = source.load()
        >>> graph.num_nodes
        2000
    """

    dataset: str = "synthetic"
    """A name from `fairgear datasets list`, or your own file."""
    data: FileOptions = field(default_factory=FileOptions)
    """What the columns of your own file mean."""
    split: str = "sixty-twenty-twenty"
    """sixty-twenty-twenty, released or given (masks of a file).
    [default: that of the run, else sixty-twenty-twenty]"""
    seed: Annotated[int, SEED] = 0
    """Split and draws. [default: the run's, else 0]"""
    graph_seed: Annotated[int, SEED] = 0
    """Which synthetic graph. [default: the run's or 0]"""

    def to_dict(self) -> dict[str, Any]:
        """As nested plain values; `data` is left out where it says nothing."""
        values = super().to_dict()
        if not self.data.given():
            del values["data"]
        return values

    @property
    def is_path(self) -> bool:
        """Whether `dataset` is a file or a stored graph, not a name.

        It is one if it has an ending or a separator, or if it exists. A dataset's name has
        priority over a file of the same name without an ending.
        """
        path = Path(self.dataset)
        if path.suffix or len(path.parts) > 1:
            return True
        if not (os.path.isfile(path) or self._is_stored):
            return False
        from fairgear.datasets import DATASETS

        return self.dataset not in DATASETS

    @property
    def is_table_or_graph(self) -> bool:
        """Whether `dataset` is a file of the user's, neither a name nor a stored graph."""
        return self.is_path and not self._is_stored

    @property
    def short_name(self) -> str:
        """For the names of folders: a file's name without its ending."""
        return Path(self.dataset).stem

    @property
    def released_share(self) -> float | None:
        """See `Dataset.released_share`; None for a file."""
        from fairgear.datasets import DATASETS

        return None if self.is_path else DATASETS[self.dataset].released_share

    def checked(self, *, labelled: bool = True) -> Self:
        """The same source with the hash of its files; options that do not fit it are refused.

        Args:
            labelled: whether a label is needed.
        """
        options = [name for name in self.data.given() if name != "sha256"]
        if not self.is_path:
            if self.data.given():
                raise _misplaced(
                    self.data.given()[0],
                    f"the dataset {self.dataset!r}, which has columns of its own",
                    "with a file, such as people.csv",
                    "leave it out, or name your file",
                )
            return self
        if self._is_stored and options:
            raise _misplaced(
                options[0],
                f"the stored graph {self.dataset}, which was built with settings of its own",
                "with a file, such as people.csv, and with fairgear store",
                "leave it out, or build the graph again",
            )
        if not self._is_stored:
            self.data.require("sensitive", of=self.dataset)
            if labelled:
                self.data.require("label", of=self.dataset)
        if self.graph_seed:
            raise _misplaced(
                "graph_seed",
                f"{self.graph_seed} for {self.dataset}",
                "with a dataset that is sampled, such as synthetic",
                "leave it out",
            )
        found = self._content_hash()
        if self.data.sha256 not in ("", found):
            raise FileError(
                f"data of {self.dataset}",
                "other content than when these settings were written",
                f"files with the SHA-256 {self.data.sha256}",
                "put the old files back, or remove sha256 from the settings",
            )
        return replace(self, data=replace(self.data, sha256=found))

    def check_names(self) -> None:
        """Refuse columns that a table does not have, before anything heavy is imported."""
        wrong = next(iter(self.unknown_names()), None)
        if wrong is not None:
            raise wrong

    def unknown_names(self, names: Sequence[str] | None = None) -> list[ParameterError]:
        """One error for each column that is named and that the table does not have.

        `names` are its columns; by default those in the first line of a text file.
        """
        names = self.column_names() if names is None else names
        if names is None:
            return []
        data = self.data
        named = [("sensitive", one) for one in sensitive_columns(data.sensitive, names)]
        named.append(("label", data.label))
        named += [("id", data.id), *(("drop", name) for name in data.drop)]
        named += [("categorical", name) for name in data.categorical]
        named += [("sensitive-kind", name) for name in said_kinds(data.sensitive_kind)]
        wrong = [(option, name) for option, name in named if name and name not in names]
        return [unknown_column(names, name, option) for option, name in wrong]

    def column_names(self) -> list[str] | None:
        """The names of a text file's columns; None where only reading it all can tell."""
        path = Path(self.dataset)
        return names_in(path) if path.suffix.lower() in (".csv", ".tsv", ".txt") else None

    def with_default_split(self) -> Self:
        """The same source; where its file has all three masks, they are the split."""
        from fairgear.graph.splits import GIVEN

        return replace(self, split=GIVEN) if self.is_path and self._has_masks() else self

    def resolved(self) -> Self:
        """The same source with absolute paths."""
        if not self.is_path:
            return self
        edges = str(Path(self.data.edges).resolve()) if self.data.edges else ""
        path = str(Path(self.dataset).resolve())
        return replace(self, dataset=path, data=replace(self.data, edges=edges))

    def roles(self) -> dict[str, str]:
        """What its files are, by path."""
        if not self.is_path:
            return {}
        graph = self._is_stored or Path(self.dataset).suffix.lower() in (".pt", ".graphml")
        edges = {self.data.edges: "edges"} if self.data.edges else {}
        return {self.dataset: "graph" if graph else "table", **edges}

    def load(
        self, *, split: bool = True, model: Path | None = None, linked: bool = True
    ) -> SensitiveGraph:
        """The graph, with unknown values of the sensitive attribute as in its first completion.

        Args:
            split: whether to give it the masks of the split.
            model: the folder of a saved model; a file is encoded as the model's training data.
            linked: whether a table must have edges; without any, it is read as people alone.
        """
        from fairgear.graph import complete

        return complete(self._loaded(split, model, linked))

    def _loaded(self, split: bool, model: Path | None, linked: bool) -> SensitiveGraph:
        from fairgear.datasets import DATASETS, load
        from fairgear.graph import SPLITS, splits

        # Refuse a wrong name before reading a large file.
        if split and not (self.is_path and self.split == splits.GIVEN):
            _ = SPLITS[self.split]
        if self.is_path:
            graph = self._read(model, linked)
            return splits.split_file(graph, self.split, seed=self.seed) if split else graph
        dataset = DATASETS[self.dataset]
        options = {"seed": self.graph_seed} if dataset.sampled else {}
        if not split:
            return dataset.load(**options)
        return load(self.dataset, split=self.split, split_seed=self.seed, **options)

    def _read(self, model: Path | None, linked: bool) -> SensitiveGraph:
        from fairgear.graph import open_stored, read_graph
        from fairgear.graph.tables import Encoding

        encoding = None if model is None else Encoding.of_folder(model)
        if not self._is_stored:
            columns, edges = self.data.columns(), self.data.edges or None
            return read_graph(self.dataset, columns, edges, encoding=encoding, linked=linked)
        for path in sorted(Path(self.dataset).iterdir()):
            note_file(path)
        graph = open_stored(self.dataset)
        own: Encoding | None = graph.get("encoding")
        if encoding is not None and (own is None or asdict(own) != asdict(encoding)):
            raise FileError(
                f"stored graph {self.dataset}",
                "features that are not coded and scaled as those of the training data",
                "features coded as the model's",
                "build it again with fairgear store --model and the folder of the model",
            )
        return graph

    def _content_hash(self) -> str:
        if self._is_stored:
            return str(self._stored_meta()["fingerprint"])
        found = []
        for path in filter(None, (self.dataset, self.data.edges)):
            regular_file(path)
            with read_errors(path):
                found.append(file_hash(Path(path), "").sha256)
        return " ".join(found)

    def _has_masks(self) -> bool:
        if self._is_stored:
            return bool(self._stored_meta()["masks"])
        if Path(self.dataset).suffix.lower() != ".pt":
            return False
        from fairgear.graph.formats import has_masks

        return has_masks(Path(self.dataset))

    @property
    def _is_stored(self) -> bool:
        if not os.path.isdir(self.dataset):
            return False
        from fairgear.graph.stored import is_stored

        return is_stored(self.dataset)

    def _stored_meta(self) -> dict[str, Any]:
        from fairgear.graph.stored import read_meta

        return read_meta(Path(self.dataset))


def _misplaced(option: str, got: str, allowed: str, next_step: str) -> ParameterError:
    return ParameterError(f"--{option.replace('_', '-')}", got, allowed, next_step)
