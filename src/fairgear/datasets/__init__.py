"""The datasets, by name."""

from fairgear.datasets import synthetic as _synthetic  # registers itself
from fairgear.datasets.base import DATASETS, Dataset, load, load_graph, load_split
from fairgear.datasets.statistics import GraphStatistics, statistics

__all__ = [
    "DATASETS",
    "Dataset",
    "GraphStatistics",
    "load",
    "load_graph",
    "load_split",
    "statistics",
]

del _synthetic
