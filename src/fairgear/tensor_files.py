"""Files of tensors: safetensors, with the rest in its JSON header. Nothing else is ever loaded.

The header also holds the SHA-256 of all of it, which is compared when a process first reads a file
as it is: a damaged file gives no results.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from fairgear.errors import FileError
from fairgear.files import file_stamp, replacing, settles_in, unwritable

_UNREADABLE = (
    *(SafetensorError, OSError, KeyError, ValueError, TypeError),
    *(OverflowError, RecursionError, MemoryError),
)
# Path and stamp of files whose content was compared.
_good: set[tuple[str, tuple[int, ...]]] = set()
# Among the facts; earlier versions wrote none.
_DIGEST = "sha256"


def write_tensors(path: Path, tensors: dict[str, Tensor], facts: dict[str, Any]) -> None:
    """Write tensors and JSON facts to one safetensors file, in one step."""
    ready = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    # As they will be read.
    said = json.loads(json.dumps(facts))
    text = json.dumps({**said, _DIGEST: _digest(ready, said)})
    with replacing(path) as temporary:
        try:
            save_file(ready, temporary, metadata={"fairgear": text})
        except SafetensorError as error:
            # Whatever the system answers, a full disk say, comes as an error of its own.
            raise unwritable(path, error) from error


def read_tensors(path: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Read what `write_tensors` wrote; a pickle or a damaged file is refused."""
    if path.exists() and not path.is_file():
        raise damaged(path)
    try:
        stamp = os.path.abspath(path), file_stamp(path)
        with safe_open(path, framework="pt") as file:
            facts = dict(json.loads((file.metadata() or {})["fairgear"]))
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except _UNREADABLE as error:
        raise damaged(path) from error
    written = facts.pop(_DIGEST, None)
    if written is not None and stamp not in _good:
        if written != _digest(tensors, facts):
            raise damaged(path, "other content than was written")
        if not settles_in(stamp[1]):
            _good.add(stamp)
    return tensors, facts


def _digest(tensors: Mapping[str, Tensor], facts: Mapping[str, Any]) -> str:
    digest = hashlib.sha256(json.dumps(facts, sort_keys=True).encode())
    for name, tensor in sorted(tensors.items()):
        digest.update(f"{name!r}:{tensor.dtype}:{tuple(tensor.shape)};".encode())
        # One expanded element counts as contiguous, with a stride of 0.
        flat = tensor.as_strided((tensor.numel(),), (1,))
        digest.update(flat.view(torch.uint8).numpy().data)
    return digest.hexdigest()


def damaged(
    path: Path, got: str = "a file that is missing, damaged, or no safetensors file of fairgear"
) -> FileError:
    """The error for a file that cannot be what it should be."""
    return FileError(
        f"cannot read {path}",
        got,
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
