"""A dataset: how to load it, where it comes from, what it must not be used for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from fairgear.datasets.download import RemoteFile
from fairgear.graph import SensitiveGraph
from fairgear.graph import split as apply_split
from fairgear.registry import Registry


@dataclass(frozen=True, repr=False)
class Dataset:
    """One entry of the list that `fairgear datasets list` prints.

    Example:
        >>> from fairgear.datasets import DATASETS
        >>> bail = DATASETS["bail"]
        >>> bail.sensitive, bail.label
        ('WHITE', 'RECID')
    """

    name: str
    summary: str
    sensitive: str
    label: str
    source: str
    problems: tuple[str, ...]
    """What readers of results on it must know; its page says more."""
    load: Callable[..., SensitiveGraph]
    """Takes the dataset's own options and returns the graph without masks."""
    files: tuple[RemoteFile, ...] = ()
    licence: str = "none stated"
    """Or the terms of use, as far as they are known."""
    groups: tuple[str, ...] = ()
    """What the two groups are called, if the columns hold numbers."""
    answers: tuple[str, ...] = ()
    """What the two classes are called, likewise."""
    released_labels: int = 100
    """Training labels of the authors' split."""
    released_share: float = 0.05
    """The share of a feature's change that the authors' evaluation files keep."""
    sampled: bool = False
    """Whether `load` takes a seed and samples the graph."""

    def __repr__(self) -> str:
        return f"Dataset({self.name!r}: {self.summary})"


DATASETS: Registry[Dataset] = Registry("dataset")


def load(
    name: str, *, split: str = "sixty-twenty-twenty", split_seed: int = 0, **options: Any
) -> SensitiveGraph:
    """A dataset as a graph with a split.

    Args:
        name: one of `DATASETS`.
        split: a named split, see `fairgear.graph.split`.
        split_seed: its draw.
        options: the dataset's own, such as `seed` and `n` of `synthetic`.

    Example:
        >>> from fairgear.datasets import load
        >>> graph = load("synthetic", seed=0)
        >>> graph.num_nodes, int(graph.test_mask.sum())
        (2000, 400)
    """
    dataset = DATASETS[name]
    train_labels = dataset.released_labels if split == "released" else None
    return apply_split(dataset.load(**options), split, seed=split_seed, train_labels=train_labels)
