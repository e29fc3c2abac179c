"""Named splits into training, validation and test nodes.

Nodes are drawn in the order of their ids, so that reordering a graph does not change its split.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from numpy.typing import NDArray

from fairgear.errors import GraphError, ParameterError
from fairgear.graph.sensitive_graph import MASKS, SensitiveGraph
from fairgear.registry import Registry
from fairgear.seeds import check_seed

Indices = NDArray[np.int64]
Parts = tuple[Indices, Indices, Indices]
SPLITS: Registry[Callable[[Indices, Indices, np.random.Generator, int | None], Parts]] = Registry(
    "split"
)


def split(
    graph: SensitiveGraph,
    name: str = "sixty-twenty-twenty",
    *,
    seed: int = 0,
    train_labels: int | None = None,
) -> SensitiveGraph:
    """The graph with fresh masks over its labelled nodes.

    Args:
        graph: a graph; its labels decide which nodes take part.
        name: `sixty-twenty-twenty` (the paper's text) or `released` (the authors' code: balanced
            training labels out of half of each class, a quarter each for validation and test).
        seed: the draw.
        train_labels: for `released`, how many training labels at most.
    """
    draw = SPLITS[name]
    by_id = graph.node_id.cpu().argsort().numpy()
    y = graph.y.cpu().numpy()[by_id]
    if not (y >= 0).any():
        raise GraphError("labels y", "none known", "labelled nodes", "give labels")
    parts = draw(np.flatnonzero(y >= 0), y, _generator(seed), train_labels)
    masks = {}
    for key, chosen in zip(MASKS, parts, strict=True):
        mask = np.zeros(len(y), dtype=bool)
        mask[by_id[chosen]] = True
        masks[key] = torch.from_numpy(mask).to(graph.x.device)
    return graph.replace(**masks)


def _generator(seed: int) -> np.random.Generator:
    return np.random.default_rng(check_seed("seed of the split", seed))


def _sixty_twenty_twenty(
    labelled: Indices, y: Indices, rng: np.random.Generator, train_labels: int | None
) -> Parts:
    if train_labels is not None:
        raise ParameterError(
            "train_labels",
            train_labels,
            "a number with the split 'released' only",
            "leave it out or use the split 'released'",
        )
    order = rng.permutation(labelled)
    first, second = round(0.6 * len(order)), round(0.8 * len(order))
    return order[:first], order[first:second], order[second:]


def _released(
    labelled: Indices, y: Indices, rng: np.random.Generator, train_labels: int | None
) -> Parts:
    if train_labels is None or train_labels < 2:
        raise ParameterError(
            "train_labels of the split 'released'",
            train_labels,
            "a number of at least 2",
            "say how many labels training may use, for instance 1000",
        )
    train, val, test = [], [], []
    for label in (0, 1):
        order = rng.permutation(labelled[y[labelled] == label])
        half, three_quarters = len(order) // 2, int(0.75 * len(order))
        train.append(order[: min(half, train_labels // 2)])
        val.append(order[half:three_quarters])
        test.append(order[three_quarters:])
    return np.concatenate(train), np.concatenate(val), np.concatenate(test)


SPLITS.add("sixty-twenty-twenty", _sixty_twenty_twenty)
SPLITS.add("released", _released)
