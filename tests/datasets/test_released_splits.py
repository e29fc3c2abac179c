"""The splits of the published graphs, and what a plain model scores on them."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from fairgear.datasets import DATASETS, load
from fairgear.graph import SensitiveGraph, split


@pytest.mark.parametrize("seed", [0, 1])
def test_released(published: SensitiveGraph, seed: int) -> None:
    wanted = {"credit": 6000}.get(published.name, 100)
    assert DATASETS[published.name].released_labels == wanted
    graph = load(published.name, split="released", split_seed=seed)
    masks = [mask.numpy() for mask in (graph.train_mask, graph.val_mask, graph.test_mask)]
    assert np.stack(masks).sum(axis=0).max() == 1
    y = graph.y.numpy()
    for label in (0, 1):
        size = int((y == label).sum())
        counts = [int((mask & (y == label)).sum()) for mask in masks]
        half, rest = size // 2, int(0.75 * size)
        # Half of the training labels from either class, a quarter of the class for each of the
        # others.
        assert counts == [wanted // 2, rest - half, size - rest]
    assert not np.stack(masks)[:, y < 0].any()


@pytest.mark.parametrize(
    ("name", "train_labels", "accuracy"),
    [("released", 100, 0.84), ("sixty-twenty-twenty", None, 0.94)],
)
def test_logistic_regression_on_bail(
    bail: SensitiveGraph, name: str, train_labels: int | None, accuracy: float
) -> None:
    # With 100 labels one draw differs from the next by 0.04.
    scores = []
    for seed in range(5):
        graph = split(bail, name, seed=seed, train_labels=train_labels)
        x, y = graph.x.numpy(), graph.y.numpy()
        train, test = graph.train_mask.numpy(), graph.test_mask.numpy()
        model = LogisticRegression(max_iter=1000).fit(x[train], y[train])
        scores.append(model.score(x[test], y[test]))
    assert np.mean(scores) == pytest.approx(accuracy, abs=0.015)
