"""A dataset: how to load it, where it comes from, what it must not be used for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from fairgear.graph import SensitiveGraph
from fairgear.registry import Registry


@dataclass(frozen=True)
class Dataset:
    """One entry of the list that `fairgear datasets list` prints."""

    name: str
    summary: str
    sensitive: str
    label: str
    released_labels: int
    """How many training labels the authors' split takes."""
    released_share: float
    """How much of a counterfactual's feature change the authors' evaluation files keep."""
    source: str
    load: Callable[..., SensitiveGraph]
    """Takes the dataset's own options and returns the graph without masks."""


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
    """
    from fairgear.graph import split as apply_split

    dataset = DATASETS[name]
    train_labels = dataset.released_labels if split == "released" else None
    return apply_split(dataset.load(**options), split, seed=split_seed, train_labels=train_labels)
