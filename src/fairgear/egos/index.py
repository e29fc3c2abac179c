"""EgoIndex: the members of every ego and the links among them; indices only, no features."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from fairgear.distributed import all_gather, all_true, share
from fairgear.egos import bits
from fairgear.egos.batches import EgoBatch, Rows, make_batch
from fairgear.egos.pagerank import PageRank, checked_rows, find_egos
from fairgear.egos.storage import read, write
from fairgear.egos.structure import Structure
from fairgear.errors import FileError, ParameterError
from fairgear.graph.sensitive_graph import SensitiveGraph
from fairgear.progress import log

# Part of every key: raise it when the same parameters may give other egos.
METHOD = 1


@dataclass(frozen=True, eq=False)
class EgoIndex:
    """Egos of m nodes, k members each, the centre first.

    Attributes:
        ids: (m, k) int32 rows of the graph; padding repeats the centre's.
        mask: (m, k), true for members.
        adjacency: (m, k) int64; bit j of entry [i, a] is set iff members a and j of ego i are
            linked. Padding has no bits.
        uncertified: how many egos have a last place that could not be proven: a tie, a near tie,
            or a search that ran out of its budget of edges.
        key: SHA-256 of the edges, the node ids and all parameters; never a name.
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
        """Find the egos of `nodes` (default: all); see `PageRank` for the other arguments.

        The processes of a job find those of their share each, and all have all of them.
        """
        how = _checked(PageRank(k, alpha, tolerance, rank_by, steps, precision))
        structure = Structure.of_canonical(graph.canonical)
        rows = torch.from_numpy(checked_rows(nodes, structure.num_nodes))
        return cls(**found_egos(structure, how, rows), key=_key(graph, how, nodes))

    @staticmethod
    def key_of(graph: SensitiveGraph, nodes: Tensor | None = None, **params: Any) -> str:
        """The key that `build(graph, nodes=nodes, **params)` would give its index."""
        return _key(graph, _checked(PageRank(**params)), nodes)

    @classmethod
    def cached(cls, graph: SensitiveGraph, folder: Path | str, **params: Any) -> EgoIndex:
        """The index that `build(graph, **params)` gives, from `folder` if it is there already."""
        key = cls.key_of(graph, **params)
        path = Path(folder) / f"{key}.safetensors"
        index = cls._kept(path, key)
        # Building is work that the processes of a job share: all read, or all build.
        whole = all_true(index is not None)
        if index is None or not whole:
            index = cls.build(graph, **params)
            index.save(path)
        return index

    @classmethod
    def _kept(cls, path: Path, key: str) -> EgoIndex | None:
        """What a cache holds; nothing where it is damaged, or of another graph."""
        if not path.exists():
            return None
        try:
            return cls.load(path, expected_key=key)
        except FileError as error:
            log(f"{error.what}: {error.got}; building it again")
            return None

    def save(self, path: Path | str) -> None:
        """Write to `path`, whole or not at all."""
        tensors = {"ids": self.ids, "mask": self.mask, "adjacency": self.adjacency}
        write(Path(path), tensors, {"key": self.key, "uncertified": str(self.uncertified)})

    @classmethod
    def load(cls, path: Path | str, expected_key: str | None = None) -> EgoIndex:
        """Read what `save` wrote; with `expected_key`, refuse an index of anything else."""
        tensors, said = read(Path(path))
        if expected_key is not None and said["key"] != expected_key:
            raise FileError(
                f"ego index {path}",
                f"key {said['key'][:12]}…",
                f"key {expected_key[:12]}…, that of this graph and these parameters",
                "delete the file and build the index again",
            )
        return cls(**tensors, uncertified=int(said["uncertified"]), key=said["key"])

    def __len__(self) -> int:
        return len(self.ids)

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
        words = bits.pack(graph.canonical, self.ids.cpu().long(), self.mask.cpu())
        world = hashlib.sha256(f"{self.key}:{graph.fingerprint('edge_index')}".encode())
        return replace(self, adjacency=words.to(self.ids.device), key=world.hexdigest())

    def batch(self, rows: Tensor, features: Tensor | Rows) -> EgoBatch:
        """The egos in `rows` of this index with the features (n, d) of their members."""
        rows = rows.to(self.ids.device)
        return make_batch(self.ids[rows], self.mask[rows], self.adjacency[rows], features)


def found_egos(structure: Structure, how: PageRank, rows: Tensor) -> dict[str, Any]:
    """The fields of an index of `rows`; the processes of a job find those of their share each."""
    total = len(rows)
    egos = find_egos(structure, how, nodes=rows[share(total)])
    words = bits.pack(structure.canonical, egos.ids, egos.mask)
    return {
        "ids": all_gather(egos.ids.int(), total),
        "mask": all_gather(egos.mask, total),
        "adjacency": all_gather(words, total),
        "uncertified": int(all_gather(egos.uncertified, total).sum()),
    }


def _checked(how: PageRank) -> PageRank:
    if how.k > bits.WIDTH:
        raise ParameterError(
            "k of an ego index",
            how.k,
            f"1 to {bits.WIDTH}: a member's links are the bits of one word",
            f"use at most {bits.WIDTH}",
        )
    return how


def _key(graph: SensitiveGraph, how: PageRank, nodes: Tensor | None) -> str:
    content = {
        "method": METHOD,
        "graph": graph.fingerprint("edge_index", "node_id"),
        "num_nodes": len(graph.x),
        "nodes": None if nodes is None else nodes.tolist(),
        **asdict(how),
    }
    # Floats that are equal must be written alike, given as 1 or as 1.0.
    content["alpha"] = float(how.alpha)
    content["tolerance"] = None if how.tolerance is None else float(how.tolerance)
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
