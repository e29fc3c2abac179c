"""Egos of a large graph: found in shards, kept on disk as they are found, read where they lie."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from fairgear.distributed import all_true, barrier, on_rank0
from fairgear.egos.index import EgoIndex, found_egos
from fairgear.egos.pagerank import PageRank
from fairgear.egos.structure import Structure
from fairgear.errors import FileError, ParameterError
from fairgear.files import replacing
from fairgear.graph import SensitiveGraph
from fairgear.progress import bar, log, quiet
from fairgear.streams import raw_bytes

# Nodes of a shard: what is lost where the work is cut short.
SHARD = 65_536
TYPES = {"ids": np.int32, "mask": np.bool_, "adjacency": np.int64}


def sharded(
    graph: SensitiveGraph, folder: Path | str, *, shard: int = SHARD, **how: Any
) -> EgoIndex:
    """What `EgoIndex.build(graph, **how)` gives, as maps of files in `folder`.

    Shards that are there already, from a finished call or from one that was cut short, are
    compared with their checksums and kept; missing and damaged ones are made.

    Args:
        graph: the egos of all of its nodes are found.
        folder: for this and other indices, each in a folder called after its key.
        shard: nodes that are worked on, and written, at a time.
        how: the arguments of `EgoIndex.build`, except `nodes`.
    """
    if shard < 1:
        raise ParameterError("shard", shard, "1 node or more", f"use {SHARD}")
    key = EgoIndex.key_of(graph, **how)
    n = len(graph.x)
    shards = EgoShards(Path(folder) / key, key, n, PageRank(**how).k)
    # One after the others: where the disk is shared, the first has made the files for all.
    on_rank0(shards.allocate)
    shards.allocate()
    ranges = [(begin, min(begin + shard, n)) for begin in range(0, n, shard)]
    uncertified = [shards.uncertified(*rows) for rows in ranges]
    missing = [place for place, count in enumerate(uncertified) if not all_true(count is not None)]
    if missing:
        if len(missing) < len(ranges):
            log(f"egos: {len(ranges) - len(missing)} of {len(ranges)} shards are there already")
        structure, rank = Structure.of_canonical(graph.canonical), PageRank(**how)
        with bar("egos", n, done=n - sum(ranges[at][1] - ranges[at][0] for at in missing)) as shown:
            for at in missing:
                begin, end = ranges[at]
                with quiet():
                    found = found_egos(structure, rank, torch.arange(begin, end))
                shards.write(begin, end, found)
                uncertified[at] = found["uncertified"]
                shown.advance(end - begin)
    barrier()
    total = sum(count or 0 for count in uncertified)
    if missing and total:
        log(f"egos: {total} of {n} have a last place that is tied, nearly, or past the budget")
    return EgoIndex(**shards.mapped(), uncertified=total, key=key)


class EgoShards:
    """The files of one index: an array for each of its tensors, and a note for each shard.

    A shard counts when its note is there and its rows have the note's checksum: the note is
    written after the rows.
    """

    def __init__(self, folder: Path, key: str, num_nodes: int, k: int) -> None:
        self.folder = folder
        self._key = key
        self._shape = (num_nodes, k)

    def allocate(self) -> None:
        """Make files of the right size, unless they are there."""
        for name, kind in TYPES.items():
            path = self._path(name)
            held = _mapped(path, "r")
            if held is None or held.dtype != kind or held.shape != self._shape:
                with replacing(path, by_all=True) as temporary:
                    np.lib.format.open_memmap(temporary, "w+", kind, self._shape).flush()

    def uncertified(self, begin: int, end: int) -> int | None:
        """How many egos of a shard are uncertified; None where it must be made."""
        path = self._note(begin, end)
        if not path.exists():
            return None
        try:
            said = json.loads(path.read_text(encoding="utf-8"))
            count = int(said["uncertified"])
            rows = {name: self._mapped(name, "r")[begin:end] for name in TYPES}
            if said["sha256"] == self._checksum(begin, end, count, rows):
                return count
        except (OSError, ValueError, KeyError, TypeError):
            pass
        log(f"egos: those of rows {begin} to {end - 1} in {self.folder} are damaged: made again")
        return None

    def write(self, begin: int, end: int, found: dict[str, Any]) -> None:
        """Put the egos of a shard into their place, and then its note."""
        note = self._note(begin, end)
        with _writing(self.folder):
            note.unlink(missing_ok=True)
            rows = {name: found[name].numpy().astype(kind) for name, kind in TYPES.items()}
            for name, values in rows.items():
                held = self._mapped(name, "r")
                # A write to a file says when a disk is full; one to a map would end the process.
                with self._path(name).open("r+b") as file:
                    file.seek(held.offset + begin * held.strides[0])
                    file.write(raw_bytes(values))
        count = int(found["uncertified"])
        said = {"uncertified": count, "sha256": self._checksum(begin, end, count, rows)}
        with replacing(note, by_all=True) as temporary:
            temporary.write_text(json.dumps(said), encoding="utf-8")

    def mapped(self) -> dict[str, Tensor]:
        """The tensors of the index; changes to them stay in memory."""
        return {name: torch.from_numpy(np.asarray(self._mapped(name, "c"))) for name in TYPES}

    def _path(self, name: str) -> Path:
        return self.folder / f"{name}.npy"

    def _note(self, begin: int, end: int) -> Path:
        return self.folder / f"{begin}-{end}.json"

    def _mapped(self, name: str, mode: str) -> np.memmap[Any, Any]:
        held = _mapped(self._path(name), mode)
        if held is None:
            raise FileError(
                f"ego index {self.folder}",
                f"no {name}.npy any more",
                "files that nobody else removes",
                "run it again",
            )
        return held

    def _checksum(self, begin: int, end: int, count: int, rows: dict[str, NDArray[Any]]) -> str:
        digest = hashlib.sha256(f"{self._key}:{begin}:{end}:{count};".encode())
        for name in TYPES:
            digest.update(raw_bytes(rows[name]))
        return digest.hexdigest()


def _mapped(path: Path, mode: Any) -> np.memmap[Any, Any] | None:
    """The array of a file; None where there is none that is whole."""
    if not os.path.isfile(path):
        return None
    try:
        held = np.load(path, mmap_mode=mode, allow_pickle=False)
    except (OSError, ValueError, EOFError):
        return None
    return held if isinstance(held, np.memmap) else None


@contextmanager
def _writing(folder: Path) -> Iterator[None]:
    try:
        yield
    except FileError:
        raise
    except OSError as error:
        raise FileError(
            f"cannot write {folder}",
            error.strerror or error,
            "a folder one may write to, with room on the disk",
            "choose another place",
        ) from error
