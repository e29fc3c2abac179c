"""Files of tensors: safetensors, with the rest in its JSON header. Nothing else is ever loaded."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from fairgear.errors import FileError
from fairgear.files import replacing


def write_tensors(path: Path, tensors: dict[str, Tensor], facts: dict[str, Any]) -> None:
    """Write tensors and JSON facts to one safetensors file, in one step."""
    ready = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    with replacing(path) as temporary:
        save_file(ready, temporary, metadata={"fairgear": json.dumps(facts)})


def read_tensors(path: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Read what `write_tensors` wrote; a pickle or a damaged file is refused."""
    try:
        with safe_open(path, framework="pt") as file:
            facts = dict(json.loads((file.metadata() or {})["fairgear"]))
            return {name: file.get_tensor(name) for name in file.keys()}, facts  # noqa: SIM118
    except (SafetensorError, OSError, KeyError, ValueError, TypeError) as error:
        raise damaged(path) from error


def damaged(path: Path) -> FileError:
    """The error for a file that cannot be what it should be."""
    return FileError(
        f"cannot read {path}",
        "a file that is missing, damaged, or no safetensors file of fairgear",
        "a file that fairgear wrote",
        "remove it and make it again, or take it from where it was whole",
    )


def take(path: Path, tensors: dict[str, Tensor], name: str, shape: torch.Size) -> Tensor:
    """One tensor of a file, if it is there and of that shape."""
    found = tensors.get(name)
    if found is None or found.shape != shape:
        raise FileError(
            f"weights {name} in {path}",
            "none" if found is None else f"shape {tuple(found.shape)}",
            f"shape {tuple(shape)}",
            "use the settings that they were trained with, or remove the file",
        )
    return found
