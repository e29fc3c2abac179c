from __future__ import annotations

import math

import pytest

from fairgear.auditing.conditions import Condition
from fairgear.errors import ParameterError
from fairgear.metrics import METRICS, UNDEFINED, Interval

METRIC_VALUES = {"delta_cf": 0.12, "accuracy": 0.8, "r2": math.nan}
INTERVALS = {
    "delta_cf": Interval(0.08, 0.16),
    "accuracy": Interval(0.7, 0.9),
    "r2": UNDEFINED,
}


@pytest.mark.parametrize(
    ("text", "parsed"),
    [
        ("delta_cf > 0.05", Condition("delta_cf", None, ">", 0.05)),
        ("delta_cf>0.05", Condition("delta_cf", None, ">", 0.05)),
        ("  delta_cf_self.high  >=  .1 ", Condition("delta_cf_self", "high", ">=", 0.1)),
        ("accuracy.low<=0.7", Condition("accuracy", "low", "<=", 0.7)),
        ("auroc < 7e-1", Condition("auroc", None, "<", 0.7)),
        ("delta_dp > 0", Condition("delta_dp", None, ">", 0.0)),
    ],
)
def test_conditions_are_read(text: str, parsed: Condition) -> None:
    assert Condition.parse(text) == parsed
    assert Condition.parse(str(parsed)) == parsed


@pytest.mark.parametrize("name", list(METRICS))
def test_every_metric_can_be_named(name: str) -> None:
    assert str(Condition.parse(f"{name}.low > 0.5")) == f"{name}.low > 0.5"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "write it as"),
        ("delta_cf", "write it as"),
        ("delta_cf = 0.05", "write it as"),
        ("delta_cf == 0.05", "write it as"),
        ("delta_cf => 0.05", "write it as"),
        ("0.05 < delta_cf", "choose a metric"),
        ("delta_cf > 0.05 > 0", "write it as"),
        ("deltacf > 0.05", "did you mean 'delta_cf'"),
        ("δCF > 0.05", "choose a metric"),
        ("delta_cf.mean > 0.05", "write delta_cf.low or delta_cf.high"),
        ("delta_cf. > 0.05", "write delta_cf.low or delta_cf.high"),
        ("delta_cf > a lot", "write it as"),
        ("delta_cf > 5%", "compare delta_cf with a number"),
        ("delta_cf > delta_dp", "compare delta_cf with a number"),
    ],
)
def test_what_cannot_be_read_is_refused(text: str, words: str) -> None:
    with pytest.raises(ParameterError, match="a condition: got") as refused:
        Condition.parse(text)
    message = str(refused.value)
    assert words in message
    assert repr(text) in message
    assert all(name in message for name in METRICS)
    assert all(sign in message for sign in (">", ">=", "<", "<=", ".low", ".high"))


@pytest.mark.parametrize("number", ["5", "-0.1", "1.01", "nan", "inf"])
def test_a_number_that_no_value_reaches_would_let_everything_pass(number: str) -> None:
    with pytest.raises(ParameterError, match=r"allowed: 0 to 1.*0\.05"):
        Condition.parse(f"delta_cf > {number}")


@pytest.mark.parametrize(
    ("text", "fails"),
    [
        ("delta_cf > 0.05", True),
        ("delta_cf > 0.12", False),
        ("delta_cf >= 0.12", True),
        ("delta_cf < 0.12", False),
        ("delta_cf <= 0.12", True),
        ("delta_cf.low > 0.1", False),
        ("delta_cf.high > 0.1", True),
        ("delta_cf.low < 0.1", True),
        ("accuracy < 0.75", False),
        ("accuracy.low < 0.75", True),
        ("r2 > 0.1", None),
        ("r2.high > 0.1", None),
        ("auroc < 0.9", None),
        ("auroc.low < 0.9", None),
    ],
)
def test_conditions_hold_or_not_or_cannot_be_told(text: str, fails: bool | None) -> None:
    sentence = Condition.parse(text).failure(METRIC_VALUES, INTERVALS)
    assert (sentence is None) is (fails is False)
    assert (sentence is not None and "is undefined" in sentence) is (fails is None)


def test_nan_is_undefined_too() -> None:
    sentence = Condition.parse("r2 > 0.1").failure({"r2": math.nan}, {})
    assert sentence == "r2 is undefined: it cannot be shown not to be > 0.1."


def test_a_sentence_for_each_failure() -> None:
    expected = {
        "delta_cf > 0.05": "delta_cf is 0.12 (interval 0.08 to 0.16), which is > 0.05.",
        "accuracy < 0.7": None,
        "delta_cf.high >= 0.16": "delta_cf.high is 0.16 (interval 0.08 to 0.16), which is >= 0.16.",
        "r2 > 0.1": "r2 is undefined: it cannot be shown not to be > 0.1.",
        "auroc.low < 0.6": "auroc.low is undefined: it cannot be shown not to be < 0.6.",
    }
    for text, sentence in expected.items():
        assert Condition.parse(text).failure(METRIC_VALUES, INTERVALS) == sentence


def test_a_value_is_shown_apart_from_the_number_that_it_passes() -> None:
    found = Condition.parse("delta_cf > 0.05").failure({"delta_cf": 0.05000001}, {})
    assert found == "delta_cf is 0.05000001 (no interval), which is > 0.05."


@pytest.mark.parametrize("name", list(METRICS))
@pytest.mark.parametrize("end", [None, "worse", "better"])
def test_breaking_a_bound_is_to_be_worse(name: str, end: str | None) -> None:
    condition = Condition.breaking(name, 0.5, end)
    for low, high in ((0.2, 0.8), (0.6, 0.8), (0.2, 0.4)):
        values: dict[str | None, float] = {None: (low + high) / 2}
        values["worse"], values["better"] = (
            (low, high) if METRICS[name].direction == "higher" else (high, low)
        )
        found = condition.failure({name: (low + high) / 2}, {name: Interval(low, high)})
        worse = METRICS[name].better(0.5, values[end])
        assert (found is not None) == worse
    assert condition.failure({name: 0.5}, {name: Interval(0.5, 0.5)}) is None
