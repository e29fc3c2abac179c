from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pandas as pd
import pytest

from fairgear.auditing import Worlds
from fairgear.auditing.comparison import Comparison, ComparisonRow, compare_people
from fairgear.auditing.effects import COUNTERFACTUAL
from fairgear.auditing.records import from_json
from fairgear.errors import ParameterError
from fairgear.files import json_ready
from fairgear.metrics import METRICS, UNDEFINED, Interval, evaluate_predictions, paired_interval
from tests.auditing.models import Constant, CopiesSens, Everything, Features, measure, small_graph

# The bounds over causal models are not compared person by person.
COMPARED = [key for key in METRICS if not key.endswith(("_min", "_max", "_any", "_all"))]
FACTUAL = [key for key in COMPARED if key not in COUNTERFACTUAL]


def table(seed: int, *, n: int = 1200, flip: float = 0.1, noise: float = 0.3) -> pd.DataFrame:
    """A model on people that are the same whatever the seed; the seed is the model's."""
    people, own = np.random.default_rng(0), np.random.default_rng(seed)
    truth, sens = people.random(n), people.integers(0, 2, n)
    score = truth + 0.1 * sens + noise * own.normal(size=n)
    columns: dict[str, Any] = {
        "node_id": np.arange(n) * 3,
        "y": (truth > 0.5) * 1,
        "sens": sens,
        "community": np.arange(n) // 6,
        "region": np.arange(n) // 60,
        "around": people.random(n),
        "score": score,
        "label": (score > 0.55) * 1,
    }
    for name in COUNTERFACTUAL.values():
        columns[f"flip_{name}"] = own.binomial(3, flip, n) / 3
    return pd.DataFrame(columns)


def by_metric(comparison: Comparison) -> dict[str, ComparisonRow]:
    return {row.metric: row for row in comparison.rows}


def test_rows_are_the_metrics_of_both() -> None:
    first, second = table(1), table(2, flip=0.3)
    result = compare_people(first, second, names=("old", "new"))
    assert (result.first, result.second, result.people) == ("old", "new", 1200)
    rows = by_metric(result)
    assert list(rows) == COMPARED
    for people, side in ((first, "first"), (second, "second")):
        expected = evaluate_predictions(
            people["y"].to_numpy(),
            people["score"].to_numpy(),
            people["label"].to_numpy(),
            sensitive_features=people["sens"].to_numpy(),
            summary=people["around"].to_numpy(),
            clusters=people["community"].to_numpy(),
        )
        for key in FACTUAL:
            assert getattr(rows[key], side) == expected[key].value
        for key, name in COUNTERFACTUAL.items():
            assert getattr(rows[key], side) == pytest.approx(people[f"flip_{name}"].mean())
    for key, row in rows.items():
        assert row.difference == row.first - row.second
        assert row.difference in row.interval, key
    share = "flip_strict_self"
    assert rows["delta_cf_self"].interval == paired_interval(
        first[share].to_numpy(),
        second[share].to_numpy(),
        first["community"].to_numpy(),
        regions=first["region"].to_numpy(),
    )
    assert result.notes == ()


def test_the_better_model_is_named_where_the_interval_leaves_out_zero() -> None:
    good, poor = table(1, flip=0.05, noise=0.1), table(2, flip=0.3, noise=0.6)
    for first, second, better in ((good, poor, "first"), (poor, good, "second")):
        rows = by_metric(compare_people(first, second))
        for key in ("accuracy", "f1", "auroc", "delta_cf", "delta_cf_both"):
            assert rows[key].better == better, key
    for row in compare_people(good, table(3, flip=0.05, noise=0.1)).rows:
        assert (row.better is None) is (0 in row.interval)


@pytest.mark.parametrize(
    ("metric", "interval", "better"),
    [
        ("accuracy", Interval(0.1, 0.3), "first"),
        ("delta_cf", Interval(0.1, 0.3), "second"),
        ("delta_cf", Interval(0.0, 0.3), None),
        ("delta_cf", UNDEFINED, None),
    ],
)
def test_better_follows_the_direction(metric: str, interval: Interval, better: str | None) -> None:
    assert ComparisonRow.of(metric, 0.6, 0.4, interval).better == better


def test_a_model_is_not_better_than_itself() -> None:
    same = table(1)
    for row in compare_people(same, same).rows:
        assert row.difference == 0
        assert row.interval.low < 0 < row.interval.high
        assert row.better is None


def test_audited_models() -> None:
    worlds = Worlds(small_graph())
    copies, constant, everything = (
        measure(model, worlds) for model in (CopiesSens(), Constant(), Everything())
    )
    result = compare_people(copies.people, everything.people, names=("copy", "all"))
    for key, row in by_metric(result).items():
        if key in ("delta_cf_neighbor", "delta_cf_both"):
            continue
        assert row.first == pytest.approx(copies.metrics[key], abs=1e-12)
        assert row.second == pytest.approx(everything.metrics[key], abs=1e-12)
    fixed = compare_people(copies.people, constant.people, names=("copy", "fixed"))
    rows = by_metric(fixed)
    assert rows["delta_cf_self"].difference == 1
    assert rows["delta_cf_self"].better == "second"
    assert math.isnan(rows["r2"].second)
    assert not rows["r2"].interval.defined
    assert any(note.startswith("Of fixed: R² is undefined") for note in fixed.notes)
    assert "The difference in R² is undefined." in fixed.notes
    assert not any(note.startswith("Of copy") for note in fixed.notes)


def test_flips_are_compared_among_those_measured_for_both() -> None:
    first, second = table(1), table(2)
    first.loc[:99, "flip_strict_neighbours"] = math.nan
    second.loc[50:299, "flip_strict_neighbours"] = math.nan
    result = compare_people(first, second)
    row = by_metric(result)["delta_cf_neighbor"]
    assert row.first == first["flip_strict_neighbours"][300:].mean()
    assert row.second == second["flip_strict_neighbours"][300:].mean()
    label = METRICS["delta_cf_neighbor"].label
    assert any(note.startswith(f"{label} is compared on 900 of the 1200") for note in result.notes)


@pytest.mark.parametrize("absent", [True, False])
def test_flips_that_were_not_measured(absent: bool) -> None:
    first, second = table(1), table(2)
    column = "flip_strict_self"
    second = second.drop(columns=column) if absent else second.assign(**{column: math.nan})
    result = compare_people(first, second)
    row = by_metric(result)["delta_cf_self"]
    assert math.isnan(row.first)
    assert math.isnan(row.difference)
    assert not row.interval.defined
    assert row.better is None
    assert f"The difference in {METRICS['delta_cf_self'].label} is undefined." in result.notes


def test_unknown_labels() -> None:
    first, second = (
        table(s).assign(y=lambda t: t["y"].where(t.index % 2 == 0, -1)) for s in (1, 2)
    )
    result = compare_people(first, second)
    rows, every = by_metric(result), by_metric(compare_people(table(1), table(2)))
    assert rows["accuracy"].first == (first["y"] == first["label"])[::2].mean()
    assert (rows["delta_dp"], rows["r2"]) == (every["delta_dp"], every["r2"])
    # Of both models, so said once.
    assert sum("600 of 1200 people have a known label" in note for note in result.notes) == 1
    hidden = [people.assign(y=-1) for people in (first, second)]
    blind = by_metric(compare_people(*hidden))
    assert [key for key in FACTUAL if blind[key].interval.defined] == ["delta_dp", "r2"]


def test_one_community_tells_nothing_about_resamples() -> None:
    first, second = (table(seed, n=60).assign(community=0) for seed in (1, 2))
    result = compare_people(first, second)
    rows = by_metric(result)
    assert rows["accuracy"].interval.defined
    assert not rows["r2"].interval.defined
    assert "The interval of the difference in R² is undefined." in result.notes
    json.dumps(json_ready(result), allow_nan=False)


def test_to_json_and_back() -> None:
    first, second = table(1), table(2).assign(label=1)
    result = compare_people(first, second, names=("a", "b"))
    data = json.loads(json.dumps(json_ready(result), allow_nan=False))
    assert set(data) == {"first", "second", "people", "rows", "notes", "changes"}
    assert set(data["rows"][0]) == {
        *("metric", "first", "second", "difference", "interval", "better")
    }
    again = from_json(Comparison, data)
    assert json_ready(again) == json_ready(result)
    assert by_metric(again)["accuracy"] == by_metric(result)["accuracy"]
    assert math.isnan(by_metric(again)["r2"].second)


def test_as_a_frame() -> None:
    result = compare_people(table(1), table(2, flip=0.4))
    frame = result.to_frame().set_index("metric")
    assert list(frame.index) == COMPARED
    assert list(frame.columns) == [
        *("label", "first", "second", "difference", "low", "high", "better")
    ]
    row = by_metric(result)["delta_cf"]
    assert tuple(frame.loc["delta_cf", ["low", "high"]]) == tuple(row.interval)
    assert frame.loc["delta_cf", "better"] == "first"


def test_level_and_seed() -> None:
    first, second = table(1), table(2)
    usual = by_metric(compare_people(first, second))
    wide = by_metric(compare_people(first, second, level=0.99))
    other = by_metric(compare_people(first, second, seed=1))
    assert usual == by_metric(compare_people(first, second))
    for key in COMPARED:
        assert wide[key].interval.low < usual[key].interval.low, key
        assert usual[key].interval.high < wide[key].interval.high, key
    assert other["auroc"].interval != usual["auroc"].interval


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda t: t.iloc[:-1], "1200 and 1199 people"),
        (lambda t: t.iloc[::-1], "another node_id in 1200 of 1200"),
        (lambda t: t.assign(node_id=t["node_id"] + (t.index == 5)), "another node_id in 1 of 1200"),
        (lambda t: t.assign(y=t["y"].where(t.index != 7, -1)), "another y in 1 of"),
        (lambda t: t.assign(sens=1 - t["sens"]), "another sens in 1200 of"),
        (lambda t: t.assign(community=0), "another community"),
        (lambda t: t.drop(columns=["around", "label"]), "no column around, label"),
        (lambda t: t.iloc[:0], "no rows"),
    ],
)
def test_other_people_are_refused(change: Any, words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        compare_people(table(1), change(table(2)))
    with pytest.raises(ParameterError, match="people"):
        compare_people(change(table(1)), table(2))


def test_ids_beyond_the_reach_of_floats_are_told_apart() -> None:
    first, second = (table(seed, n=60) for seed in (1, 2))
    first["node_id"] += 2**53
    second["node_id"] += 2**53
    second["node_id"] += second.index == 0
    with pytest.raises(ParameterError, match="another node_id in 1 of 60"):
        compare_people(first, second)


def test_reading_features_flips_less_than_copying_s() -> None:
    worlds = Worlds(small_graph(n=900))
    copies, features = (measure(model, worlds) for model in (CopiesSens(), Features()))
    rows = by_metric(compare_people(features.people, copies.people))
    assert rows["delta_cf_self"].better == "first"
    assert rows["delta_cf_self"].interval.high < 0
