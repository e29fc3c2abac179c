"""Bounds: met, missed or undecided by the interval; and the file of bounds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import yaml
from sklearn.metrics import roc_auc_score

from fairgear.errors import FileError, ParameterError
from fairgear.studies.judging.bounds import (
    MET,
    MISSED,
    UNDECIDED,
    Bound,
    judge,
    read_bounds,
)
from fairgear.studies.judging.measures import SavedAnswers
from fairgear.studies.judging.plan import CHOSEN

SEEDS = 5


def rows(reach: float = 0.002, **values: Any) -> pd.DataFrame:
    """A row for each seed; `a` and `b` are the AUROC of two methods."""
    found = [
        {
            "dataset": "toy",
            "method": method,
            "point": CHOSEN,
            "seed": seed,
            "auroc": value,
            "worst": 1 - value,
            "intervals": {
                "auroc": [value - reach, value + reach],
                "worst": [1 - value - reach, 1 - value + reach],
            },
        }
        for method, of in values.items()
        for seed, value in enumerate(of)
    ]
    return pd.DataFrame(found)


def nothing(*_: Any) -> None:
    return None


def bound(figure: str = "auroc", **limit: Any) -> Bound:
    return Bound.read({"dataset": "toy", "method": "a", "figure": figure, **limit})


def test_a_number_is_met_missed_or_undecided() -> None:
    table = rows(a=[0.95] * SEEDS)
    for limit, verdict in ((0.947, MET), (0.953, MISSED), (0.949, UNDECIDED), (0.951, UNDECIDED)):
        assert judge(bound(at_least=limit), table, nothing).verdict == verdict
    for limit, verdict in ((0.053, MET), (0.047, MISSED), (0.051, UNDECIDED)):
        found = judge(bound("worst", at_most=limit), table, nothing)
        assert found.verdict == verdict
        assert found.value == pytest.approx(0.05)
        assert found.margin.value == pytest.approx(limit - 0.05)
        assert found.margin.interval.low == pytest.approx(limit - 0.052)


def test_splits_that_differ_widen_the_interval() -> None:
    spread = [0.93, 0.94, 0.95, 0.96, 0.97]
    assert judge(bound(at_least=0.93), rows(a=spread), nothing).verdict == UNDECIDED
    assert judge(bound(at_least=0.85), rows(a=spread), nothing).verdict == MET


def test_without_rows_or_with_one_seed_nothing_is_decided() -> None:
    missing = judge(bound(at_least=0.5), rows(b=[0.9]), nothing)
    assert (missing.verdict, missing.because) == (UNDECIDED, "there are no rows")
    assert judge(bound(at_least=0.5), rows(a=[0.9]), nothing).verdict == UNDECIDED


def answers(shift: float, seed: int, people: int = 400) -> SavedAnswers:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, people)
    noise = rng.normal(size=people) + 0.05 * np.random.default_rng(seed + 1).normal(size=people)
    scores = 1 / (1 + np.exp(-(shift * (2 * y - 1) + noise)))
    flips = (np.random.default_rng(9).random((3, people)) < 0.3 / shift).astype(float)
    labels = (scores > 0.5).astype(np.int64)
    return SavedAnswers(y, np.arange(people) // 4, scores, labels, flips, ("x", "y", "z"), ())


def compared(one: float, other: float) -> tuple[pd.DataFrame, Any]:
    strength = {"a": one, "b": other}

    def find(dataset: str, method: str, point: str, seed: int) -> SavedAnswers:
        return answers(strength[method], seed)

    found = {
        name: [
            float(roc_auc_score(kept.y, kept.scores))
            for kept in (find("toy", name, CHOSEN, seed) for seed in range(SEEDS))
        ]
        for name in strength
    }
    return rows(reach=0.05, **found), find


def test_another_method_is_compared_person_by_person() -> None:
    table, find = compared(1.5, 0.8)
    assert judge(bound(at_least={"method": "b"}), table, find).verdict == MET
    assert judge(bound(at_least={"method": "b", "plus": 0.3}), table, find).verdict == MISSED
    table, find = compared(1.0, 1.0)
    # Equal on everybody: within any margin, whatever the error of each by itself.
    equal = judge(bound(at_least={"method": "b", "plus": -0.005}), table, find)
    assert equal.verdict == MET
    assert equal.margin.value == pytest.approx(0.005)
    found = judge(bound(at_least={"method": "b"}), table, nothing)
    assert (found.verdict, found.because) == (UNDECIDED, "answers to compare are missing")
    found = judge(bound(at_least={"method": "c"}), table, find)
    assert found.verdict == UNDECIDED
    assert "c has no rows" in found.because


def test_a_third_of_anothers_flips() -> None:
    table, find = compared(1.5, 0.1)
    table["worst"] = [
        float(find("", row.method, "", row.seed).flips.mean(axis=1).max())
        for row in table.itertuples()
    ]
    limit = {"method": "b", "factor": 1 / 3}
    found = judge(bound("worst", at_most=limit), table, find)
    assert found.verdict == MET
    assert found.margin.value > 0
    assert str(found.bound) == "worst ≤ 0.333 × b"
    assert (
        judge(bound("worst", at_most={"method": "b", "factor": 0.1}), table, find).verdict == MISSED
    )


def test_the_packages_bounds_are_those_that_were_set() -> None:
    found = {(one.dataset, one.figure, str(one)) for one in read_bounds()}
    for dataset, text in {
        "bail": "auroc ≥ 0.99, accuracy ≥ 0.97, trained_worst ≤ 0.005, held_out_worst ≤ 0.015, "
        "any ≤ 0.035",
        "credit": "auroc ≥ 0.76, trained_worst ≤ 0.005, held_out_worst ≤ 0.01, any ≤ 0.015",
        "meps": "trained_worst ≤ 0.005, held_out_worst ≤ 0.015, any ≤ 0.03",
        "diabetes": "trained_worst ≤ 0.005, held_out_worst ≤ 0.015, any ≤ 0.03",
        "synthetic": "own ≤ 0.01, held_out_worst ≤ 0.02",
    }.items():
        for one in text.split(", "):
            assert (dataset, one.split(" ")[0], one) in found
    assert ("synthetic", "auroc", "auroc ≥ logistic, X − s·v -0.005") in found
    for fresh in ("meps", "diabetes"):
        assert (fresh, "auroc", "auroc ≥ GEAR, fairness_weight=0 -0.005") in found
    assert ("synthetic-neighbours", "auroc", "auroc ≥ GraphSAGE -0.01") in found
    assert ("synthetic-neighbours", "worst", "worst ≤ 0.333 × GraphSAGE") in found


@pytest.mark.parametrize(
    "broken",
    [
        {"at_least": 1, "at_most": 2},
        {},
        {"at_least": "much"},
        {"at_least": True},
        {"at_least": 1, "figure": "beauty"},
        {"at_least": 1, "more": 2},
        {"at_least": {"method": "b", "wonder": 1}},
        {"at_most": {"method": "b"}, "figure": "any"},
    ],
)
def test_damaged_bounds_are_refused(broken: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "bounds.yaml"
    one = {"dataset": "toy", "method": "a", "figure": "auroc"} | broken
    path.write_text(yaml.safe_dump({"bounds": [one]}), encoding="utf-8")
    with pytest.raises(ParameterError, match="correct the file"):
        read_bounds(path)


def test_missing_bounds_are_refused(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="no such file"):
        read_bounds(tmp_path / "none.yaml")
