"""Ego indices on disk: safetensors with a checksum, so that damage is noticed."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from fairgear.errors import FileError
from fairgear.files import replacing
from fairgear.streams import raw_bytes

KIND = "fairgear ego index 1"
TYPES = {"ids": torch.int32, "mask": torch.bool, "adjacency": torch.int64}


def write(path: Path, tensors: Mapping[str, Tensor], said: Mapping[str, str]) -> None:
    """Write the tensors of an index and what is said about them."""
    stored = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    metadata = {**said, "kind": KIND, "checksum": _checksum(stored, said)}
    with replacing(path) as temporary:
        save_file(stored, temporary, metadata)


def read(path: Path) -> tuple[dict[str, Tensor], dict[str, str]]:
    """Tensors and metadata of a file that `write` wrote; anything else is refused."""
    if not path.is_file():
        raise _refused(path, "no such file", "build and save the index first")
    try:
        with safe_open(path, framework="pt") as file:
            said = dict(file.metadata() or {})
            tensors = {name: file.get_tensor(name) for name in TYPES}
    except (SafetensorError, OSError, ValueError) as error:
        raise _refused(path, f"a damaged file or one of another kind ({error})") from error
    if said.get("kind") != KIND or any(tensors[name].dtype != TYPES[name] for name in TYPES):
        raise _refused(path, "a safetensors file of another kind")
    checksum = said.pop("checksum", None)
    del said["kind"]
    if checksum != _checksum(tensors, said):
        raise _refused(path, "content that does not match its checksum")
    return tensors, said


def _checksum(tensors: Mapping[str, Tensor], said: Mapping[str, str]) -> str:
    digest = hashlib.sha256(repr(sorted(said.items())).encode())
    for name in sorted(tensors):
        digest.update(f"{name}:{tuple(tensors[name].shape)};".encode())
        digest.update(raw_bytes(tensors[name].numpy()))
    return digest.hexdigest()


def _refused(
    path: Path, got: str, next_step: str = "delete the file and build the index again"
) -> FileError:
    return FileError(f"ego index {path}", got, "a file that EgoIndex.save wrote", next_step)
