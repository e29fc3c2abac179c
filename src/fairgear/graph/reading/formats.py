"""Files of users, one function a format: text, Parquet, PyG and GraphML."""

from __future__ import annotations

import importlib
import io
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import torch
from pyarrow import parquet
from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.data.data import DataEdgeAttr, DataTensorAttr
from torch_geometric.data.storage import GlobalStorage

from fairgear.errors import FairgearError, FileError
from fairgear.files import unreadable
from fairgear.graph.sensitive_graph import MASKS

# What a pickled Data consists of; a file that names anything else is refused.
_PYG_CLASSES = [Data, DataEdgeAttr, DataTensorAttr, GlobalStorage]


def wrong_content(path: Path, got: str, allowed: str, next_step: str) -> FileError:
    """The error for a file that can be read and is not what it should be."""
    return FileError(f"file {path}", got, allowed, next_step)


def content(path: Path) -> bytes:
    """The bytes of a file that is not empty."""
    try:
        found = path.read_bytes()
    except OSError as error:
        raise unreadable(path, error) from error
    if not found.strip():
        raise wrong_content(path, "an empty file", "a file with rows", "check that it was saved")
    return found


def text_of(path: Path) -> str:
    """The text of a file in UTF-8, with or without a byte order mark."""
    found = content(path)
    if b"\0" in found:
        raise wrong_content(
            path,
            f"a binary file (byte {found.index(0)} is zero)",
            f"text, as its ending {path.suffix} says",
            "check what kind of file it is; a Parquet file ends in .parquet",
        )
    try:
        return found.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise wrong_content(
            path,
            f"byte 0x{found[error.start]:02x} at position {error.start}, which is no UTF-8",
            "text in UTF-8",
            "save it again as UTF-8 (in a spreadsheet: CSV UTF-8)",
        ) from error


def read_parquet(path: Path) -> pd.DataFrame:
    """The table of a Parquet file."""
    found = content(path)
    with parquet_errors(path):
        return to_frame(parquet.read_table(pa.BufferReader(found)))


def to_frame(table: pa.Table, *, ignore_metadata: bool = False) -> pd.DataFrame:
    """As pandas; integers with gaps stay integers, since floats would round long ids."""
    frame: pd.DataFrame = table.to_pandas(
        integer_object_nulls=True, ignore_metadata=ignore_metadata
    )
    return frame


@contextmanager
def parquet_errors(path: Path) -> Iterator[None]:
    """Turns errors of reading the Parquet file `path` into a `FileError`."""
    try:
        yield
    except FairgearError:
        raise
    except (pa.ArrowException, OSError, ValueError) as error:
        # Errors of the system have a number; pyarrow's OSErrors for damaged bytes have none.
        if isinstance(error, OSError) and error.errno is not None:
            raise unreadable(path, error) from error
        raise wrong_content(
            path,
            f"no table in Parquet, or a damaged one ({' '.join(str(error).split())[:120]})",
            "a Parquet file",
            "check what kind of file it is, or save it again",
        ) from error


def read_pyg(path: Path) -> Data:
    """A `Data`, or a dictionary of its tensors, saved with torch; no code in the file is run."""
    found = content(path)
    try:
        with torch.serialization.safe_globals(_PYG_CLASSES), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            value = torch.load(io.BytesIO(found), map_location="cpu", weights_only=True)
        # A Data that was put together by hand can still hold anything in place of its storage.
        value = Data.from_dict(value if isinstance(value, dict) else value.to_dict())
    # A damaged pickle can raise anything.
    except Exception as error:
        raise wrong_content(
            path,
            "no PyG Data that torch can load as weights only",
            "a torch_geometric.data.Data of tensors and plain values, saved with torch.save",
            "save the Data itself, or its to_dict(), with torch.save",
        ) from error
    return value


def has_masks(path: Path) -> bool:
    """Whether a PyG file has a training, a validation and a test mask, none of them empty."""
    data = read_pyg(path)
    x, found = data.get("x"), [data.get(key) for key in MASKS]
    return isinstance(x, Tensor) and all(
        isinstance(mask, Tensor) and mask.shape == x.shape[:1] and bool(mask.any())
        for mask in found
    )


def read_graphml(path: Path) -> Any:
    """A NetworkX graph."""
    try:
        networkx = importlib.import_module("networkx")
    except ImportError as error:
        raise FileError(
            f"file {path}",
            "no package networkx to read GraphML with",
            "fairgear with its extra [networkx]",
            "pip install 'fairgear[networkx]'",
        ) from error
    found = content(path)
    try:
        return networkx.read_graphml(io.BytesIO(found))
    # The reader passes on any error of its parsers.
    except Exception as error:
        raise wrong_content(
            path, "no graph in GraphML", "a GraphML file", "write it again, or use an edge list"
        ) from error
