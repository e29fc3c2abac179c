from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import accuracy_score, f1_score, roc_auc_score

from fairgear.errors import ParameterError, UndefinedMetricWarning
from fairgear.metrics import accuracy, auroc, f1, weighted_auroc

bits = st.integers(0, 1)
rows = st.lists(st.tuples(bits, bits, st.sampled_from([0.1, 0.2, 0.25, 0.7, 0.9])), min_size=1)


@given(rows)
def test_they_equal_scikit_learn(table: list[tuple[int, int, float]]) -> None:
    y, pred, scores = (np.array(column) for column in zip(*table, strict=True))
    assert accuracy(y, pred) == pytest.approx(accuracy_score(y, pred))
    if y.any() or pred.any():
        assert f1(y, pred) == pytest.approx(f1_score(y, pred))
    if y.min() < y.max():
        assert auroc(y, scores) == pytest.approx(roc_auc_score(y, scores))


@given(rows, st.integers(0, 100))
def test_weighted_auroc_is_that_of_repeated_nodes(
    table: list[tuple[int, int, float]], seed: int
) -> None:
    y, _, scores = (np.array(column) for column in zip(*table, strict=True))
    weights = np.random.default_rng(seed).integers(0, 4, (3, len(y)))
    with np.errstate(invalid="ignore"):
        values = weighted_auroc(y, scores)(weights.astype(float))
    for weight, value in zip(weights, values, strict=True):
        repeated = np.repeat(y, weight)
        if len(repeated) and repeated.min() < repeated.max():
            assert value == pytest.approx(roc_auc_score(repeated, np.repeat(scores, weight)))
        else:
            assert math.isnan(value)


def test_f1_is_of_class_1_and_not_the_micro_average() -> None:
    y, pred = [1, 0, 0, 0, 0, 0, 0, 0], [0, 1, 0, 0, 0, 0, 0, 0]
    assert f1(y, pred) == 0
    assert f1_score(y, pred, average="micro") == accuracy(y, pred) == 0.75
    assert f1([1, 1, 0, 0], [1, 0, 1, 0]) == 0.5
    # Class 0 would give another number.
    assert f1([1, 1, 1, 0], [1, 1, 0, 0]) == pytest.approx(0.8)
    assert f1_score([1, 1, 1, 0], [1, 1, 0, 0], pos_label=0) == pytest.approx(2 / 3)


def test_auroc_ranks_scores_and_not_hard_labels() -> None:
    rng = np.random.default_rng(0)
    scores = rng.random(500)
    y = (rng.random(500) < scores).astype(int)
    pred = scores > 0.5
    assert auroc(y, scores) == pytest.approx(roc_auc_score(y, scores))
    assert auroc(y, scores) > roc_auc_score(y, pred) + 0.03
    for labels in (pred, pred.astype(int), torch.from_numpy(pred), pred.astype(np.uint8).tolist()):
        with pytest.raises(ParameterError, match="predict_proba"):
            auroc(y, labels)


def test_whole_numbers_can_be_scores() -> None:
    assert auroc([0, 0, 1, 1], [1, 3, 2, 9]) == 0.75


def test_where_they_are_undefined() -> None:
    with pytest.warns(UndefinedMetricWarning, match="F1 is undefined"):
        assert math.isnan(f1([0, 0], [0, 0]))
    for y in ([0, 0], [1, 1]):
        with pytest.warns(UndefinedMetricWarning, match="one class"):
            assert math.isnan(auroc(y, [0.1, 0.2]))
    # Defined, and the worst there is: all that was found is wrong, or nothing was.
    assert f1([0, 0], [0, 1]) == 0
    assert f1([0, 1], [0, 0]) == 0


def test_tensors_arrays_and_lists_are_alike() -> None:
    y, scores = [0, 1, 1, 0], [0.2, 0.3, 0.9, 0.4]
    assert auroc(torch.tensor(y), torch.tensor(scores, requires_grad=True)) == auroc(y, scores)
    assert accuracy(torch.tensor(y).bool(), np.array([0.0, 1.0, 0.0, 0.0])) == 0.75


@pytest.mark.parametrize(
    ("y", "pred", "words"),
    [
        ([0, 1], [0, 1, 1], "lengths 2, 3"),
        ([0, -1], [0, 1], "-1"),
        ([0, 1], [0.3, 0.7], "0.3, 0.7"),
        ([], [], "shape"),
        ([[0, 1]], [[0, 1]], r"\(1, 2\)"),
        ([0, math.nan], [0, 1], "nan"),
        (["a", "b"], [0, 1], "allowed: numbers"),
    ],
)
def test_bad_labels_are_refused(y: list[int], pred: list[int], words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        accuracy(y, pred)
    with pytest.raises(ParameterError, match=words):
        f1(y, pred)


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_scores_that_are_no_numbers_are_refused(bad: float) -> None:
    with pytest.raises(ParameterError, match="first in row 1"):
        auroc([0, 1, 1], [0.1, bad, 0.3])
