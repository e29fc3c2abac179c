"""Goals by hand: bounds that are figures, bounds that other lines set, and what is not measured."""

from __future__ import annotations

import math

import pandas as pd
import pytest

from fairgear.experiments.reproduce.goals import Goal, goals, goals_markdown

BASELINES = ("GCN", "GraphSAGE", "GIN", "C-ENC", "FairGNN", "NIFTY-GCN", "NIFTY-SAGE")


def summary(
    cells: dict[tuple[str, str], float], dataset: str = "bail", half: float = 0.01
) -> pd.DataFrame:
    """Means of lines and metrics, with an interval of that half-width."""
    return pd.DataFrame(
        [
            {
                "dataset": dataset,
                "line": line,
                "metric": metric,
                "mean": mean,
                "low": mean - half,
                "high": mean + half,
            }
            for (line, metric), mean in cells.items()
        ]
    )


def found(table: pd.DataFrame) -> dict[tuple[str, str], Goal]:
    return {(goal.point, goal.metric): goal for goal in goals(table)}


def test_a_figure_is_a_bound_on_either_side() -> None:
    for auroc, r2, met in ((0.89, 0.038, True), (0.8901, 0.0379, True), (0.8899, 0.0381, False)):
        one = found(summary({("GEAR", "auroc"): auroc, ("GEAR", "r2"): r2}))
        higher, lower = one["both protocols", "auroc"], one["both protocols", "r2"]
        assert (higher.bound, lower.bound) == (0.890, 0.038)
        assert (higher.mean, higher.low, higher.high) == (auroc, auroc - 0.01, auroc + 0.01)
        assert (higher.met, lower.met) == (met, met)
        assert (higher.why, higher.dataset) == ("", "bail")


def test_each_point_has_its_line() -> None:
    cells = {("GEAR", "auroc"): 0.89, ("GEAR, strict only", "auroc"): 0.9}
    one = found(summary(cells))
    assert one["both protocols", "auroc"].mean == 0.89
    assert one["strict only", "auroc"].mean == 0.9
    assert one["strict only", "auroc"].bound == 0.896
    assert one["against all graph baselines", "auroc"].mean == 0.89


def test_a_share_of_another_lines_figure() -> None:
    cells = {("GraphSAGE", "delta_cf"): 0.1, ("GEAR", "delta_cf"): 0.0201}
    cells |= {("GEAR, strict only", "delta_cf"): 0.0099}
    one = found(summary(cells))
    both, strict = one["both protocols", "delta_cf"], one["strict only", "delta_cf"]
    assert (both.bound, strict.bound) == pytest.approx((0.02, 0.01))
    assert (both.met, strict.met) == (False, True)
    assert (both.why, strict.why) == (" (0.2 × GraphSAGE)", " (0.1 × GraphSAGE)")


def test_a_little_less_than_another_line() -> None:
    cells = {("logistic, X − s·v", "auroc"): 0.787, ("GEAR, strict only", "auroc"): 0.783}
    goal = found(summary(cells, "synthetic"))["strict only", "auroc"]
    assert goal.bound == pytest.approx(0.782)
    assert goal.why == " (logistic, X − s·v − 0.005)"
    assert goal.met


def test_the_best_of_all_baselines_by_the_measures_own_direction() -> None:
    cells = {(name, "auroc"): 0.8 + i / 100 for i, name in enumerate(BASELINES)}
    cells |= {(name, "delta_cf"): 0.5 + i / 100 for i, name in enumerate(BASELINES)}
    cells |= {("GEAR", "auroc"): 0.855, ("GEAR", "delta_cf"): 0.0999}
    one = found(summary(cells, "credit"))
    auroc = one["against all graph baselines", "auroc"]
    assert (auroc.why, auroc.met) == (" (NIFTY-SAGE)", False)
    delta = one["against all graph baselines", "delta_cf"]
    assert (delta.why, delta.met) == (" (0.2 × GCN)", True)
    assert (auroc.bound, delta.bound) == pytest.approx((0.86, 0.1))


def test_what_is_not_measured_is_not_met() -> None:
    one = found(summary({("GEAR", "delta_cf"): 0.0}))
    assert not one["both protocols", "auroc"].met
    assert math.isnan(one["both protocols", "auroc"].mean)
    # Without the baselines there is nothing to be better than.
    for point in ("both protocols", "against all graph baselines"):
        assert math.isnan(one[point, "delta_cf"].bound)
        assert not one[point, "delta_cf"].met
    # One baseline of seven that is missing could be the best.
    some = {(name, "auroc"): 0.5 for name in BASELINES[1:]} | {("GEAR", "auroc"): 0.9}
    assert math.isnan(found(summary(some))["against all graph baselines", "auroc"].bound)


def test_only_datasets_at_hand_have_goals() -> None:
    table = summary({("GEAR", "auroc"): 0.9}, "credit")
    assert {goal.dataset for goal in goals(table)} == {"credit"}
    assert goals(summary({("GEAR", "auroc"): 0.9}, "toy")) == []
    both = pd.concat([table, summary({("GEAR", "auroc"): 0.1}, "bail")])
    means = {goal.dataset: goal.mean for goal in goals(both) if goal.metric == "auroc"}
    assert means["bail"] != means["credit"]


def test_the_table_says_all_of_it() -> None:
    goal = Goal("bail", "both protocols", "auroc", 0.89, "", 0.9, 0.88, 0.92)
    share = Goal("bail", "strict only", "r2", 0.01, " (0.1 × GIN)", 0.02, math.nan, math.nan)
    unbound = Goal("bail", "x", "r2", math.nan, "", 0.02, math.nan, math.nan)
    nothing = Goal("bail", "x", "f1", math.nan, "", math.nan, math.nan, math.nan)
    head, rule, *lines = goals_markdown([goal, share, unbound, nothing]).splitlines()
    assert head.count("|") == rule.count("|") == 7
    assert lines == [
        "| bail | both protocols | AUROC | ≥ 0.8900 | 0.9000 (0.8800 to 0.9200) | yes |",
        "| bail | strict only | R² | ≤ 0.0100 (0.1 × GIN) | 0.0200 | no |",
        "| bail | x | R² |  | 0.0200 |  |",
        "| bail | x | F1 |  | not measured |  |",
    ]
