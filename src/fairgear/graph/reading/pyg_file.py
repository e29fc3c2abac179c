"""PyG graphs in files that torch saved, read without running anything that they say."""

from __future__ import annotations

import io
import warnings
from pathlib import Path

import torch
from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.data.data import DataEdgeAttr, DataTensorAttr
from torch_geometric.data.storage import GlobalStorage

from fairgear.graph.reading.source import content, unreadable
from fairgear.graph.sensitive_graph import MASKS

# What a pickled Data is made of; a file that names anything else is refused.
_CLASSES = [Data, DataEdgeAttr, DataTensorAttr, GlobalStorage]


def read_pyg(path: Path) -> Data:
    """A `Data`, or a dictionary of its tensors."""
    found = content(path)
    try:
        with torch.serialization.safe_globals(_CLASSES), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            value = torch.load(io.BytesIO(found), map_location="cpu", weights_only=True)
        # A Data that was put together by hand can still hold anything in place of its storage.
        value = Data.from_dict(value if isinstance(value, dict) else value.to_dict())
    # A damaged pickle can fail in any way it likes.
    except Exception as error:
        raise unreadable(
            path,
            "no PyG Data that torch can load as weights only",
            "a torch_geometric.data.Data of tensors and plain values, saved with torch.save",
            "save the Data itself, or its to_dict(), with torch.save",
        ) from error
    return value


def has_masks(path: Path) -> bool:
    """Whether the file says of people who is trained on, who is validated on and who is tested."""
    data = read_pyg(path)
    x, found = data.get("x"), [data.get(key) for key in MASKS]
    return isinstance(x, Tensor) and all(
        isinstance(mask, Tensor) and mask.shape == x.shape[:1] and bool(mask.any())
        for mask in found
    )
