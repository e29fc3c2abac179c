"""The graph of a run with its split, whether it comes from a dataset or from a file."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from fairgear import datasets
from fairgear.experiments.own_data import is_path, read_own
from fairgear.experiments.own_split import GIVEN, split_own
from fairgear.experiments.run_config import RunConfig
from fairgear.graph import SPLITS, SensitiveGraph


@dataclass(frozen=True, eq=False)
class RunData:
    """A graph to train and evaluate on, and what its dataset says on how to evaluate."""

    graph: SensitiveGraph
    evaluation: dict[str, Any] = field(default_factory=dict)


def load_data(config: RunConfig) -> RunData:
    """The data that the settings name."""
    own = is_path(config.dataset)
    # A wrong name is said before a large file is read.
    if not (own and config.split == GIVEN):
        _ = SPLITS[config.split]
    if own:
        graph = read_own(config.dataset, config.data)
        return RunData(split_own(graph, config.split, seed=config.seed))
    share = datasets.DATASETS[config.dataset].released_share
    graph = datasets.load_split(
        config.dataset, split=config.split, seed=config.seed, graph_seed=config.graph_seed
    )
    return RunData(graph, {"released_share": share})
