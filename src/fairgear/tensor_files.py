"""Files of tensors: safetensors, with the rest in its JSON header. Nothing else is ever loaded.

The header also holds the SHA-256 of all of it, which is compared when a process first reads a file
as it is: a damaged file gives no results.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor
from torch.overrides import TorchFunctionMode

from fairgear.documents import json_of
from fairgear.errors import FairgearError, FileError
from fairgear.files import file_stamp, replacing, settles_in, unwritable
from fairgear.reading import DAMAGE

# Path and stamp of files whose content was compared.
_good: set[tuple[str, tuple[int, ...]]] = set()
# What a damaged file has.
OTHER = "other content than was written"
# Among the facts; earlier versions wrote none.
_DIGEST = "sha256"
# A model that is restored may make so many entries, and so many times those of its file.
_ROOM, _TIMES = 2**22, 4
# A layer of so many rows and columns takes 16 MB.
_LARGE = 2048
_MAKERS: set[Any] = {
    torch.empty,
    torch.zeros,
    torch.ones,
    torch.full,
    torch.eye,
    torch.rand,
    torch.randn,
}
_MAKERS |= {torch.arange, torch.linspace}


def write_tensors(path: Path, tensors: dict[str, Tensor], facts: dict[str, Any]) -> None:
    """Write tensors and JSON facts to one safetensors file, in one step.

    What was learned of people may hold values of theirs: the file is its owner's alone.
    """
    ready = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    # As they will be read.
    said = json.loads(json.dumps(facts))
    text = json.dumps({**said, _DIGEST: _digest(ready, said)})
    with replacing(path, private=True) as temporary:
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
            facts = json_of((file.metadata() or {})["fairgear"], constants=True)
            if not isinstance(facts, dict):
                raise damaged(path)
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    # Of a type that torch does not have, an AttributeError.
    except (SafetensorError, *DAMAGE, KeyError, TypeError, AttributeError) as error:
        raise damaged(path) from error
    written = facts.pop(_DIGEST, None)
    if written is not None and stamp not in _good:
        if written != _digest(tensors, facts):
            raise damaged(path, OTHER)
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


@contextmanager
def restoring(path: Path, tensors: dict[str, Tensor], *headers: dict[str, Any]) -> Iterator[None]:
    """Around the making of a model from the file `path`: what does not fit it is a damaged file.

    Sizes in `headers` decide how large the model is; one that is many times as large as the
    tensors of the file is refused before it takes memory.
    """
    room = _ROOM + _TIMES * sum(tensor.numel() for tensor in tensors.values())
    # The bound takes a third of a millisecond, which small numbers need not.
    bounded = _Bounded(room) if _has_large(headers) else nullcontext()
    try:
        with bounded:
            yield
    except FairgearError:
        raise
    except (*DAMAGE, LookupError, TypeError, AttributeError, RuntimeError, StopIteration) as error:
        raise damaged(path) from error


def _has_large(held: Any) -> bool:
    """Whether plain values hold a whole number that may be too large a size."""
    if isinstance(held, dict):
        return any(map(_has_large, held.values()))
    if isinstance(held, list | tuple):
        return any(map(_has_large, held))
    return isinstance(held, int) and abs(held) > _LARGE


class _Bounded(TorchFunctionMode):
    """New tensors may have so many entries together."""

    def __init__(self, room: int) -> None:
        super().__init__()
        self._room = room

    def __torch_function__(
        self, func: Any, types: Any, args: Sequence[Any] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        if func in _MAKERS:
            # Such a tensor has a size and takes no memory.
            self._room -= func(*args, **{**kwargs, "device": "meta"}).numel()
            if self._room < 0:
                raise ValueError("sizes that do not fit the file")
        return func(*args, **kwargs)


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
