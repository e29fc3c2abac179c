"""The figures that the docs report, held against what they must show."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

ROWS = Path(__file__).parents[2] / "docs" / "results" / "synthetic_presets.csv"


def rows_of(method: str, graph: int) -> pd.DataFrame:
    rows = pd.read_csv(ROWS)
    rows = rows[(rows.graph == graph) & (rows.method == method)]
    assert sorted(rows.seed) == [0, 1, 2, 3, 4]
    return rows


@pytest.mark.parametrize("graph", [0, 1, 2, 3])
def test_the_default_preset_is_accurate_in_the_mean_of_five_seeds(graph: int) -> None:
    default, floor = rows_of("default", graph), rows_of("logistic X − s·v", graph)
    assert default.auroc.mean() >= floor.auroc.mean() - 0.02
    assert default.accuracy.mean() >= floor.accuracy.mean() - 0.02


@pytest.mark.parametrize("graph", range(7))
def test_the_default_preset_treats_people_alike_in_the_mean_of_five_seeds(graph: int) -> None:
    default = rows_of("default", graph)
    assert default.delta_cf.mean() <= 0.02
    assert default.delta_cf_released.mean() <= 0.01
    assert default.r2.mean() <= 0.007


@pytest.mark.parametrize("graph", range(7))
def test_it_pays_what_being_alike_under_both_protocols_costs_a_linear_model(graph: int) -> None:
    default, linear = rows_of("default", graph), rows_of("logistic, v̂ erased", graph)
    assert default.auroc.mean() >= linear.auroc.mean() - 0.01
    assert default.accuracy.mean() >= linear.accuracy.mean() - 0.012
