"""The datasets, by name."""

from fairgear.datasets.bail import BAIL
from fairgear.datasets.base import DATASETS, Dataset, load, load_graph, load_split
from fairgear.datasets.credit import CREDIT
from fairgear.datasets.download import RemoteFile, fetch
from fairgear.datasets.german import GERMAN
from fairgear.datasets.nba import NBA
from fairgear.datasets.statistics import GraphStatistics, statistics
from fairgear.datasets.synthetic import SYNTHETIC

__all__ = [
    "DATASETS",
    "Dataset",
    "GraphStatistics",
    "RemoteFile",
    "fetch",
    "load",
    "load_graph",
    "load_split",
    "statistics",
]

# The order in which they are listed.
for _dataset in (SYNTHETIC, BAIL, CREDIT, GERMAN, NBA):
    DATASETS.add(_dataset.name, _dataset)
