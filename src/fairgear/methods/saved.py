"""The folder of a saved model: model.json and weights.safetensors, written and read together.

The weights hold the SHA-256 of model.json, and their own: a folder of which either is damaged, or
that holds those of two models, gives no results.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from torch import Tensor

from fairgear.decoding import from_json
from fairgear.documents import json_of
from fairgear.errors import FileError
from fairgear.files import json_text, write_text
from fairgear.graph.targets import BINARY, Target
from fairgear.reading import content_of, reading
from fairgear.settings import SEED, OneOf, Range
from fairgear.tensor_files import OTHER, damaged, read_tensors, write_tensors

ABOUT, WEIGHTS = "model.json", "weights.safetensors"

# Of a saved model; raised when what is saved changes.
FORMAT = 4
# The version whose models have an earlier format.
_EARLIER = "0.1"
# Of a sensitive attribute; more are a damaged file.
_MOST_GROUPS = 10**6
# What a model is of, and what reads it.
PEOPLE, LINKS = "people", "links"
_READERS = {PEOPLE: "fairgear.load_model", LINKS: "fairgear.links.load_link_model"}
# Of model.json, among the facts of the weights; those of earlier commits have none.
_DIGEST = "model_sha256"


@dataclass(frozen=True)
class About:
    """The types of what model.json holds."""

    method: str
    seed: Annotated[int, SEED]
    threshold: float
    config: Mapping[str, Any]
    target: Target = BINARY
    groups: Annotated[int, Range(0, _MOST_GROUPS)] = 2
    offsets: tuple[float, ...] | None = None
    task: Annotated[str, OneOf(PEOPLE, LINKS)] = PEOPLE
    # Of links: fingerprints of the pairs in question and of the edges that it was fitted on.
    split: str | None = None
    edges: str | None = None


@dataclass(frozen=True, eq=False)
class Saved:
    """What a folder holds: the content of model.json, and of the weights."""

    folder: Path
    about: dict[str, Any]
    tensors: dict[str, Tensor]
    facts: dict[str, Any]

    @property
    def weights(self) -> Path:
        """The file of the weights."""
        return self.folder / WEIGHTS

    def damaged(self) -> FileError:
        """The error for a model.json of which something cannot be so."""
        return damaged(self.folder / ABOUT)


def write_saved(
    folder: Path, about: Mapping[str, Any], tensors: dict[str, Tensor], facts: dict[str, Any]
) -> None:
    """Write a folder; model.json comes last, so that it implies the weights."""
    text = json_text({"format": FORMAT, **about})
    write_tensors(folder / WEIGHTS, tensors, {**facts, _DIGEST: _sha256(text.encode())})
    write_text(folder / ABOUT, text)


def read_saved(folder: Path, task: str = PEOPLE) -> Saved:
    """What `write_saved` wrote; a folder that is damaged, or of another task, is refused."""
    about, content = _about(folder)
    found = about.get("task", PEOPLE)
    if found != task:
        step = f"load it with {_READERS[found]}"
        raise FileError(f"model folder {folder}", f"a model of {found}", f"one of {task}", step)
    tensors, facts = read_tensors(folder / WEIGHTS)
    if facts.pop(_DIGEST, _sha256(content)) != _sha256(content):
        raise damaged(folder / ABOUT, OTHER)
    return Saved(folder, about, tensors, facts)


def _about(folder: Path) -> tuple[dict[str, Any], bytes]:
    """The contents of model.json, of the right types, and its bytes."""
    what, got = "model folder", f"no {ABOUT} that this version of fairgear wrote"
    allowed = "a folder written by a model's save"
    step = "check the path, or train and save the model again"
    wrong = FileError(f"{what} {folder}", got, allowed, step)
    try:
        content = content_of(folder / ABOUT)
        with reading(folder / ABOUT, got, allowed, step):
            about = json_of(content)
    except FileError as error:
        raise wrong from error
    number = about.get("format") if isinstance(about, dict) else None
    if isinstance(number, int) and number < FORMAT:
        raise FileError(
            f"model folder {folder}",
            f"a model of format {number}, saved by fairgear {_EARLIER}",
            f"format {FORMAT}",
            f"load it with fairgear {_EARLIER}, or train it again",
        )
    if number != FORMAT:
        raise wrong
    with reading(folder, got, allowed, step, what=what):
        from_json(About, about)
    return dict(about), content


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def columns_of(path: Path, facts: dict[str, Any]) -> tuple[int, int | None]:
    """The number of feature columns of a saved model, and which of them is sensitive."""
    width, column = facts.get("features"), facts.get("sens_column")
    if not isinstance(width, int) or width < 1:
        raise damaged(path)
    if column is not None and not (isinstance(column, int) and 0 <= column < width):
        raise damaged(path)
    return width, column
