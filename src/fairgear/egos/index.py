"""EgoIndex: the members of every ego and the links among them; indices only, no features.

Several processes of a job build an index together: each finds a share of the egos, and all end
with all of them. Everything about that is in this file.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections import OrderedDict
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from fairgear.distributed import all_gather, all_true, barrier, on_rank0, share
from fairgear.documents import json_of
from fairgear.egos.batches import WIDTH, EgoBatch, Rows, make_batch, pack
from fairgear.egos.pagerank import PageRank, find_egos
from fairgear.egos.structure import Structure
from fairgear.errors import FileError, ParameterError
from fairgear.files import holding, replacing, write_errors
from fairgear.graph import SensitiveGraph
from fairgear.graph.sensitive_graph import checked_rows
from fairgear.progress import bar, log, quiet
from fairgear.reading import DAMAGE
from fairgear.streams import raw_bytes

# Part of every key: raise it when the same parameters may give other egos.
METHOD = 1
# Nodes of a shard: the work that is lost if a build is interrupted.
SHARD = 65_536
# Bytes of indices that `cached` keeps; the least recently used goes first.
LIMIT = 512 * 2**20
TYPES = {"ids": np.int32, "mask": np.bool_, "adjacency": np.int64}
_cached: OrderedDict[str, EgoIndex] = OrderedDict()


@dataclass(frozen=True, eq=False, repr=False)
class EgoIndex:
    """Egos of m nodes, k members each, the centre first.

    Attributes:
        ids: (m, k) int32 rows of the graph; padding repeats the centre's.
        mask: (m, k), true for members.
        adjacency: (m, k) int64; bit j of entry [i, a] is set iff members a and j of ego i are
            linked; in a directed graph, iff j points to a. Padding has no bits.
        uncertified: how many egos have a last place that could not be proven: a tie, a near tie,
            or a search that ran out of its budget of edges.
        key: SHA-256 of the edges, the node ids and all parameters; never a name.

    Example:
        >>> from fairgear.egos import EgoIndex
        >>> from fairgear.testing import toy_graph
        >>> index = EgoIndex.build(toy_graph(), k=5)
        >>> tuple(index.ids.shape)
        (160, 5)
        >>> index.ids[:3, 0].tolist()
        [0, 1, 2]
    """

    ids: Tensor
    mask: Tensor
    adjacency: Tensor
    uncertified: int
    key: str

    @classmethod
    def build(
        cls,
        graph: SensitiveGraph,
        k: int = 20,
        alpha: float = 0.15,
        tolerance: float | None = None,
        rank_by: str = "importance",
        steps: int | None = None,
        nodes: Tensor | None = None,
        precision: str = "exact",
    ) -> EgoIndex:
        """Find the egos of `nodes` (default: all); see `PageRank` for the other arguments."""
        how = PageRank(k, alpha, tolerance, rank_by, steps, precision)
        key = cls.key_of(graph, nodes, **asdict(how))
        structure = Structure.of_canonical(graph.canonical)
        rows = checked_rows(nodes, structure.num_nodes)
        return cls(**shared_egos(structure, how, rows), key=key)

    @staticmethod
    def key_of(graph: SensitiveGraph, nodes: Tensor | None = None, **params: Any) -> str:
        """The key that `build(graph, nodes=nodes, **params)` would give its index."""
        how = PageRank(**params)
        if how.k > WIDTH:
            allowed = f"1 to {WIDTH}: a member's links are the bits of one word"
            raise ParameterError("k of an ego index", how.k, allowed, f"use at most {WIDTH}")
        content = {
            "method": METHOD,
            "graph": graph.fingerprint("edge_index", "node_id"),
            "num_nodes": len(graph.x),
            "nodes": None if nodes is None else nodes.tolist(),
            **asdict(how),
        }
        # Equal numbers must give equal keys, whether 1 or 1.0.
        content["alpha"] = float(how.alpha)
        content["tolerance"] = None if how.tolerance is None else float(how.tolerance)
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()

    def __len__(self) -> int:
        return len(self.ids)

    def __repr__(self) -> str:
        return f"EgoIndex({len(self):,} egos of {self.k}, {self.uncertified:,} uncertified)"

    @property
    def k(self) -> int:
        """Members of an ego, the centre counted."""
        return int(self.ids.shape[1])

    def to(self, device: torch.device | str) -> EgoIndex:
        """The same index on another device."""
        return replace(
            self,
            ids=self.ids.to(device),
            mask=self.mask.to(device),
            adjacency=self.adjacency.to(device),
        )

    def in_world(self, graph: SensitiveGraph) -> EgoIndex:
        """The same members with the links that they have in another graph of the same nodes."""
        words = pack(graph.canonical, self.ids.cpu().long(), self.mask.cpu())
        world = hashlib.sha256(f"{self.key}:{graph.fingerprint('edge_index')}".encode())
        return replace(self, adjacency=words.to(self.ids.device), key=world.hexdigest())

    def batch(self, rows: Tensor, features: Tensor | Rows) -> EgoBatch:
        """The egos in `rows` of this index with the features (n, d) of their members."""
        rows = rows.to(self.ids.device)
        return make_batch(self.ids[rows], self.mask[rows], self.adjacency[rows], features)


def cached(
    graph: SensitiveGraph,
    k: int,
    alpha: float,
    nodes: Tensor | None = None,
    precision: str = "exact",
    folder: Path | None = None,
) -> EgoIndex:
    """What `EgoIndex.build` gives, cached in this process.

    The key is the content of the edges: worlds with the same edges share an index, and edges that
    were changed in place get another. With a `folder`, the egos of a graph larger than a shard are
    written there as they are found.

    Example:
        >>> from fairgear.egos import cached
        >>> from fairgear.testing import toy_graph
        >>> graph = toy_graph()
        >>> cached(graph, k=5, alpha=0.15) is cached(graph.clone(), k=5, alpha=0.15)
        True
    """
    key = EgoIndex.key_of(graph, nodes, k=k, alpha=alpha, precision=precision)
    index = _cached.pop(key, None)
    if index is None and folder is not None and nodes is None and len(graph.x) > SHARD:
        index = sharded(graph, folder, k=k, alpha=alpha, precision=precision)
    elif index is None:
        index = EgoIndex.build(graph, k, alpha, nodes=nodes, precision=precision)
    _cached[key] = index
    while len(_cached) > 1 and sum(map(_size, _cached.values())) > LIMIT:
        _cached.popitem(last=False)
    return index


def clear_cache() -> None:
    """Drop all that `cached` keeps.

    Example:
        >>> from fairgear.egos import cached, clear_cache
        >>> from fairgear.testing import toy_graph
        >>> graph = toy_graph()
        >>> first = cached(graph, k=5, alpha=0.15)
        >>> clear_cache()
        >>> cached(graph, k=5, alpha=0.15) is first
        False
    """
    _cached.clear()


def sharded(
    graph: SensitiveGraph, folder: Path | str, *, shard: int = SHARD, **how: Any
) -> EgoIndex:
    """What `EgoIndex.build(graph, **how)` gives, as memory maps of files in `folder`.

    Shards that a finished or interrupted call has written are compared with their checksums and
    kept; missing and damaged ones are built.

    Args:
        graph: the egos of all of its nodes are found.
        folder: for this and other indices, each in a folder named by its key.
        shard: nodes that are worked on, and written, at a time.
        how: the arguments of `EgoIndex.build`, except `nodes`.

    Example:
        >>> from fairgear.egos import sharded
        >>> from fairgear.testing import toy_graph
        >>> index = sharded(toy_graph(), "egos", shard=64, k=5)
        >>> tuple(index.ids.shape)
        (160, 5)
    """
    if shard < 1:
        raise ParameterError("shard", shard, "1 node or more", f"use {SHARD}")
    key = EgoIndex.key_of(graph, **how)
    n = len(graph.x)
    shards = EgoShards(Path(folder) / key, key, n, PageRank(**how).k)
    # On a shared disk, the files of the first process are found by the others.
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
                    found = shared_egos(structure, rank, torch.arange(begin, end))
                shards.write(begin, end, found)
                uncertified[at] = found["uncertified"]
                shown.advance(end - begin)
    barrier()
    total = sum(count or 0 for count in uncertified)
    if missing and total:
        log(f"egos: {total} of {n} have a last place that is tied, nearly, or past the budget")
    return EgoIndex(**shards.mapped(), uncertified=total, key=key)


def shared_egos(structure: Structure, how: PageRank, rows: Tensor) -> dict[str, Any]:
    """The fields of an index of `rows`; each process of a job finds a share of them."""
    total = len(rows)
    egos = find_egos(structure, how, nodes=rows[share(total)])
    words = pack(structure.canonical, egos.ids, egos.mask)
    return {
        "ids": all_gather(egos.ids.int(), total),
        "mask": all_gather(egos.mask, total),
        "adjacency": all_gather(words, total),
        "uncertified": int(all_gather(egos.uncertified, total).sum()),
    }


class EgoShards:
    """The files of one index: an array for each of its tensors, and a note for each shard.

    The note is written after the rows: a shard is complete if they have the note's checksum.
    """

    def __init__(self, folder: Path, key: str, num_nodes: int, k: int) -> None:
        self.folder = folder
        self._key = key
        self._shape = (num_nodes, k)

    def allocate(self) -> None:
        """Create files of the right size, unless they exist."""
        # Replaced by a second command, a file would lose what the first has written to it.
        with write_errors(self.folder):
            self.folder.mkdir(parents=True, exist_ok=True)
        with holding(self.folder, wait=True):
            for name, kind in TYPES.items():
                path = self._path(name)
                held = _mapped(path, "r")
                if held is None or held.dtype != kind or held.shape != self._shape:
                    with replacing(path, by_all=True, private=True) as temporary:
                        np.lib.format.open_memmap(temporary, "w+", kind, self._shape).flush()

    def uncertified(self, begin: int, end: int) -> int | None:
        """How many egos of a shard are uncertified; None if it has to be built."""
        path = self._note(begin, end)
        if not path.exists():
            return None
        try:
            note = json_of(path.read_bytes())
            count = int(note["uncertified"])
            rows = {name: self._mapped(name, "r")[begin:end] for name in TYPES}
            if note["sha256"] == self._checksum(begin, end, count, rows):
                return count
        except (*DAMAGE, KeyError, TypeError):
            pass
        log(f"egos: rows {begin} to {end - 1} in {self.folder} are damaged: building them again")
        return None

    def write(self, begin: int, end: int, found: dict[str, Any]) -> None:
        """Write the egos of a shard to their place, and then its note."""
        note = self._note(begin, end)
        with write_errors(self.folder):
            note.unlink(missing_ok=True)
            rows = {name: found[name].numpy().astype(kind) for name, kind in TYPES.items()}
            for name, values in rows.items():
                held = self._mapped(name, "r")
                # On a full disk, writing to a file raises; writing to a map kills the process.
                with self._path(name).open("r+b") as file:
                    file.seek(held.offset + begin * held.strides[0])
                    file.write(raw_bytes(values))
        count = int(found["uncertified"])
        content = {"uncertified": count, "sha256": self._checksum(begin, end, count, rows)}
        with replacing(note, by_all=True) as temporary:
            temporary.write_text(json.dumps(content), encoding="utf-8")

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
    """The array of a file; None if there is none, or a damaged one."""
    if not os.path.isfile(path):
        return None
    try:
        held = np.load(path, mmap_mode=mode, allow_pickle=False)
    except Exception:
        # A header that is damaged raises whatever Python's own parser does.
        return None
    return held if isinstance(held, np.memmap) else None


def _size(index: EgoIndex) -> int:
    return sum(tensor.nbytes for tensor in (index.ids, index.mask, index.adjacency))
