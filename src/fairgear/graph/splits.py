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
from fairgear.graph.targets import known_labels, strata
from fairgear.progress import log
from fairgear.registry import Registry
from fairgear.settings import check_seed

# The name of the split that keeps the masks of a file.
GIVEN = "given"
_PARTS = ("training", "validation", "test")

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

    Several classes have the same share of each mask, and so has every tenth of the numbers.

    Args:
        graph: a graph; its labels decide which nodes take part.
        name: `sixty-twenty-twenty` (the paper's text) or `released` (the authors' code: balanced
            training labels out of half of each class, a quarter each for validation and test).
        seed: the draw.
        train_labels: for `released`, how many training labels at most.

    Example:
        >>> from fairgear.graph import split
        >>> from fairgear.testing import toy_graph
        >>> graph = split(toy_graph(), "sixty-twenty-twenty", seed=1)
        >>> int(graph.train_mask.sum()), int(graph.val_mask.sum()), int(graph.test_mask.sum())
        (86, 29, 29)
    """
    draw = SPLITS[name]
    by_id = graph.canonical.rows.numpy()
    y = strata(graph.y.cpu().numpy()[by_id])
    if not (y >= 0).any():
        raise GraphError("labels y", "none known", "labelled nodes", "give labels")
    rng = np.random.default_rng(check_seed("seed of the split", seed))
    parts = draw(np.flatnonzero(y >= 0), y, rng, train_labels)
    masks = {}
    for key, chosen in zip(MASKS, parts, strict=True):
        mask = np.zeros(len(y), dtype=bool)
        mask[by_id[chosen]] = True
        masks[key] = torch.from_numpy(mask).to(graph.x.device)
    return graph.replace(**masks)


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
    # Two classes are drawn together, as in the paper.
    parts = [order] if y.max() < 2 else [order[y[order] == part] for part in range(y.max() + 1)]
    drawn = [np.split(part, [round(0.6 * len(part)), round(0.8 * len(part))]) for part in parts]
    train, val, test = (np.concatenate(of_part) for of_part in zip(*drawn, strict=True))
    return train, val, test


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
    classes = max(2, int(y.max()) + 1)
    for label in range(classes):
        order = rng.permutation(labelled[y[labelled] == label])
        half, three_quarters = len(order) // 2, int(0.75 * len(order))
        train.append(order[: min(half, train_labels // classes)])
        val.append(order[half:three_quarters])
        test.append(order[three_quarters:])
    return np.concatenate(train), np.concatenate(val), np.concatenate(test)


def split_file(graph: SensitiveGraph, name: str, *, seed: int) -> SensitiveGraph:
    """A user's graph with a split, checked: both classes must be there to learn from.

    Args:
        graph: as it was read; it may have masks of its own.
        name: one of `SPLITS`, or `given` to keep those masks. `released` takes half of the
            smaller class for training, and as many people of the other.
        seed: the draw.
    """
    if name == GIVEN:
        graph = _given(graph)
    else:
        if any(bool(graph[key].any()) for key in MASKS):
            log(f"{graph.name}: the masks of the file are not used; the split is {name}")
        labels = _balanced_labels(graph) if name == "released" else None
        graph = split(graph, name, seed=seed, train_labels=labels)
    _check_classes(graph, name)
    return graph


def _given(graph: SensitiveGraph) -> SensitiveGraph:
    """The graph with its own masks, restricted to labelled people."""
    masks = {key: graph[key] & known_labels(graph.y) for key in MASKS}
    counts = {key: int(mask.sum()) for key, mask in masks.items()}
    if not all(counts.values()):
        empty = next(key for key, count in counts.items() if not count)
        raise GraphError(
            "--split given",
            f"a file with no labelled people in {empty}",
            "a PyG file with train_mask, val_mask and test_mask",
            "draw a split with --split sixty-twenty-twenty",
        )
    unlabelled = sum(int(graph[key].sum()) for key in MASKS) - sum(counts.values())
    aside = f"; {unlabelled:,} people in them have no label and are ignored" if unlabelled else ""
    shown = ", ".join(
        f"{count:,} for {part}" for part, count in zip(_PARTS, counts.values(), strict=True)
    )
    log(f"{graph.name}: the split is that of the file's masks: {shown}{aside}")
    return graph.replace(**masks)


def _balanced_labels(graph: SensitiveGraph) -> int:
    part = strata(graph.y.cpu().numpy())
    counts = {name: int((part == code).sum()) for code, name in _part_names(graph, part).items()}
    if min(counts.values()) < 2:
        raise ParameterError(
            "--split released",
            " and ".join(f"{count} people with {name!r}" for name, count in counts.items()),
            "at least 2 people with each label",
            "label more people, or use --split sixty-twenty-twenty",
        )
    return len(counts) * (min(counts.values()) // 2)


def _part_names(graph: SensitiveGraph, part: Indices) -> dict[int, str]:
    if graph.target.is_number:
        return {code: f"part {code + 1} of the numbers" for code in range(int(part.max()) + 1)}
    return dict(enumerate(graph.target.classes))


def _check_classes(graph: SensitiveGraph, name: str) -> None:
    """Refuse training or validation people of one class only, or with one number."""
    remedy = "correct the masks" if name == GIVEN else "draw with another --seed"
    for key, part in zip(MASKS[:2], _PARTS[:2], strict=True):
        chosen = graph.y[graph[key]]
        if graph.target.is_number:
            if len(torch.unique(chosen)) < 2:
                got, allowed = f"{len(chosen)} with one number at most", "numbers that differ"
                raise GraphError(f"{part} people", got, allowed, f"label more people, or {remedy}")
            continue
        for code, label in enumerate(graph.target.classes):
            if not (chosen == code).any():
                raise GraphError(
                    f"{part} people",
                    f"{len(chosen)}, none of the class {label!r}",
                    "people of each class",
                    f"add people with a label to the table, or {remedy}",
                )


SPLITS.add("sixty-twenty-twenty", _sixty_twenty_twenty)
SPLITS.add("released", _released)
