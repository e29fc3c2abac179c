"""The datasets for PyTorch Geometric: plain `Data` behind an `InMemoryDataset`.

Processed files are safetensors. PyG's own are pickles, which run code when they are loaded.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from torch import Tensor
from torch_geometric.data import Data, InMemoryDataset

from fairgear.datasets import DATASETS, load
from fairgear.errors import FileError, GraphError
from fairgear.graph import SensitiveGraph
from fairgear.graph.sensitive_graph import MASKS
from fairgear.progress import log
from fairgear.tensor_files import read_tensors, write_tensors
from fairgear.version import installed_version

__all__ = ["FairgearDataset"]

# Of a graph, what its `Data` holds.
_TENSORS = ("x", "edge_index", "edge_weight", "y", "sens", "sens_known", "node_id", *MASKS)
_WORDS = ("name", "feature_names", "sens_column", "sens_name", "sens_names", "label_names")
Transform = Callable[[Data], Data]


class FairgearDataset(InMemoryDataset):  # type: ignore[misc]  # PyG ships no types
    """One of `fairgear.datasets` with a split, as PyG has its datasets.

    Its one graph has `x`, `edge_index`, `y` (−1 where unknown, NaN for numbers), `sens`,
    `train_mask`, `val_mask`, `test_mask`, `node_id`, and the names of columns and groups
    (`feature_names`, `sens_column`, `sens_names`).

    Args:
        root: the folder of processed files; each dataset has one of its own in it.
        name: one of `fairgear.datasets.DATASETS`.
        split: `sixty-twenty-twenty` or `released`, see `fairgear.graph.split`.
        split_seed: its draw.
        transform: is applied whenever the graph is asked for.
        pre_transform: is applied once, before the graph is saved. It must leave tensors and plain
            values.
        force_reload: to make the processed file again.
        options: the dataset's own, such as `seed` and `n` of `synthetic`.

    Example:
        >>> from fairgear.pyg import FairgearDataset
        >>> dataset = FairgearDataset("data", "synthetic", n=300)
        >>> int(dataset[0].train_mask.sum())
        180
    """

    def __init__(
        self,
        root: Path | str,
        name: str,
        *,
        split: str = "sixty-twenty-twenty",
        split_seed: int = 0,
        transform: Transform | None = None,
        pre_transform: Transform | None = None,
        force_reload: bool = False,
        **options: Any,
    ) -> None:
        self.name = name
        self.split = split
        self.split_seed = split_seed
        self.options = options
        _ = DATASETS[name]
        super().__init__(str(root), transform, pre_transform, force_reload=force_reload)
        data = None if force_reload else self._processed()
        self.data, self.slices = self.collate([self._made() if data is None else data])

    @property
    def processed_dir(self) -> str:
        """The folder of this dataset's processed files."""
        return str(Path(self.root) / self.name / "processed")

    @property
    def processed_file_names(self) -> list[str]:
        """One file for each split and each choice of options."""
        words = [self.split, str(self.split_seed)]
        words += [f"{key}={value}" for key, value in sorted(self.options.items())]
        return [re.sub(r"[^A-Za-z0-9.=_-]+", "-", "-".join(words)) + ".safetensors"]

    def __repr__(self) -> str:
        return f"FairgearDataset({self.name!r}, split={self.split!r}, seed={self.split_seed})"

    def to_sensitive_graph(self) -> SensitiveGraph:
        """The same people for fairgear, in the same order, with all that it knows of the graph.

        That is more than `Data` holds: the rule or the equations that made it, by which audits
        make other worlds. Transforms are not applied to it.
        """
        return load(self.name, split=self.split, split_seed=self.split_seed, **self.options)

    @property
    def _facts(self) -> dict[str, Any]:
        """What a processed file was made from."""
        wanted = [self.name, self.split, self.split_seed, repr(sorted(self.options.items()))]
        transform = re.sub(r" at 0x[0-9a-fA-F]+", "", repr(self.pre_transform))
        return {"made_from": [installed_version(), *wanted, transform]}

    def _processed(self) -> Data | None:
        """The saved graph; None where there is none, or one of another transform or version."""
        path = Path(self.processed_paths[0])
        if not path.exists():
            return None
        try:
            tensors, facts = read_tensors(path)
        except FileError:
            log(f"{path} is damaged: it is made again")
            return None
        values = facts.pop("values", None)
        if facts != self._facts or not isinstance(values, dict):
            log(f"{path} was made otherwise: it is made again")
            return None
        return Data(**tensors, **values)

    def _made(self) -> Data:
        """The graph from its source, transformed and saved."""
        graph = self.to_sensitive_graph()
        held = {key: graph[key] for key in (*_TENSORS, *_WORDS) if graph.get(key) is not None}
        if graph.attributes is not None:
            held |= {"sens_name": graph.attributes.name, "sens_names": graph.attributes.names}
        data = Data(**{key: list(v) if isinstance(v, tuple) else v for key, v in held.items()})
        data = data if self.pre_transform is None else self.pre_transform(data)
        fields = data.to_dict()
        tensors = {key: value for key, value in fields.items() if isinstance(value, Tensor)}
        values = {key: value for key, value in fields.items() if key not in tensors}
        for key, value in values.items():
            if not _plain(value):
                got, allowed = f"a {type(value).__name__} in data.{key}", "tensors and plain values"
                raise GraphError("pre_transform", got, allowed, "use it as transform instead")
        write_tensors(Path(self.processed_paths[0]), tensors, self._facts | {"values": values})
        return data


def _plain(value: Any) -> bool:
    """Whether JSON gives it back as it was."""
    try:
        return bool(json.loads(json.dumps(value)) == value)
    except (TypeError, ValueError):
        return False
