"""Where the data of a run come from, if they are the user's own. Imports no torch."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from fairgear.errors import ParameterError
from fairgear.files import unreadable
from fairgear.settings import Config, OneOf, Range

if TYPE_CHECKING:
    from fairgear.graph.convert import TableColumns


@dataclass(frozen=True)
class DataConfig(Config):
    """What the columns of a user's file mean; for a dataset of fairgear all stays as it is."""

    label: str = ""
    """The column to predict, with two values; empty cells are people to predict for."""
    sensitive: str = ""
    """The column of the sensitive attribute, with two values."""
    id: str = ""
    """The column of the people's ids. [default: a column called id or node_id, else row numbers]"""
    edges: str = ""
    """A file of edges: two columns of ids."""
    similarity: Annotated[float, Range(0, 1)] = 0.0
    """Join similar rows instead: an edge exceeds this share of a row's highest similarity."""
    neighbors: Annotated[int, Range(0, 2**31)] = 0
    """With --similarity, look at so many nearest rows only. [default: every pair]"""
    standardize: bool = False
    """With --similarity, give all columns the same weight before rows are compared."""
    positive: str = ""
    """The label that counts as 1. [default: the larger, the later in the alphabet]"""
    sensitive_one: str = ""
    """The group that counts as 1. [default: the larger, the later in the alphabet]"""
    drop: list[str] = field(default_factory=list)
    """Columns to leave out."""
    categorical: list[str] = field(default_factory=list)
    """Columns of numbers that are codes, not quantities."""
    missing: Annotated[str, OneOf("refuse", "impute", "drop")] = "refuse"
    """Missing values: refuse, impute (median or most frequent) or drop (the rows).
    [default: refuse]"""
    sha256: str = ""
    """The content of the files; a run notes it, and refuses to go on with other content."""

    def __post_init__(self) -> None:
        for option in ("drop", "categorical"):
            value = getattr(self, option)
            if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
                raise ParameterError(
                    f"setting {option}", repr(value), "a list of column names", f"change {option}"
                )
        super().__post_init__()

    def given(self) -> list[str]:
        """The options that say something."""
        plain = DataConfig()
        return [
            item.name
            for item in fields(self)
            if getattr(self, item.name) != getattr(plain, item.name)
        ]

    def columns(self) -> TableColumns:
        """As the reader of tables takes them."""
        from fairgear.graph.convert import TableColumns

        return TableColumns(
            sensitive=self.sensitive,
            label=self.label or None,
            id=self.id or None,
            positive=self.positive or None,
            sensitive_one=self.sensitive_one or None,
            drop=tuple(self.drop),
            categorical=tuple(self.categorical),
            missing=self.missing,
            similarity=self.similarity or None,
            neighbors=self.neighbors or None,
            standardize=self.standardize,
        )


def content_hash(*paths: str) -> str:
    """SHA-256 of the content of files, in order."""
    digest = hashlib.sha256()
    for path in paths:
        try:
            with Path(path).open("rb") as file:
                digest.update(hashlib.file_digest(file, "sha256").digest())
        except OSError as error:
            raise unreadable(path, error) from error
    return digest.hexdigest()
