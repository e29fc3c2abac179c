"""What is read of a saved model besides its weights: model.json, checked, and sizes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from fairgear.decoding import from_json
from fairgear.documents import read_json
from fairgear.errors import FileError
from fairgear.graph.targets import BINARY, Target
from fairgear.reading import reading
from fairgear.settings import SEED, Range
from fairgear.tensor_files import damaged

# Of a saved model; raised when what is saved changes.
FORMAT = 4
# The version whose models have an earlier format.
_EARLIER = "0.1"
# Of a sensitive attribute; more are a damaged file.
_MOST_GROUPS = 10**6


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


def read_about(folder: Path) -> dict[str, Any]:
    """The contents of a saved model's model.json, checked."""
    what, got = "model folder", "no model.json that this version of fairgear wrote"
    allowed = "a folder written by a model's save"
    step = "check the path, or train and save the model again"
    wrong = FileError(f"{what} {folder}", got, allowed, step)
    try:
        about = read_json(folder / "model.json", got, allowed, step)
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
    return dict(about)


def columns_of(path: Path, facts: dict[str, Any]) -> tuple[int, int | None]:
    """The number of feature columns of a saved model, and which of them is sensitive."""
    width, column = facts.get("features"), facts.get("sens_column")
    if not isinstance(width, int) or width < 1:
        raise damaged(path)
    if column is not None and not (isinstance(column, int) and 0 <= column < width):
        raise damaged(path)
    return width, column
