from __future__ import annotations

from typing import Any

from fairgear.report.headline import headline, people
from tests.report.example import example_run


def _cautions(**metrics: tuple[float, float, float]) -> str:
    run = example_run()
    for name, (value, low, high) in metrics.items():
        run["metrics"][name], run["intervals"][name] = value, [low, high]
    return " ".join(headline(run).cautions)


def test_a_sound_run_needs_no_caution() -> None:
    assert headline(example_run()).cautions == ()


def test_guessing_is_called_guessing() -> None:
    assert "close to guessing" in _cautions(auroc=(0.51, 0.46, 0.56))
    assert "close to guessing" in _cautions(auroc=(0.58, 0.49, 0.66))


def test_a_constant_predictor_is_called_useless() -> None:
    run = example_run()
    for row in run["details"]["groups"]:
        row["selection_rate"] = 1.0
    assert "useless" in " ".join(headline(run).cautions)


def test_protocols_that_disagree_are_named() -> None:
    strict, released = (0.13, 0.10, 0.16), (0.01, 0.001, 0.03)
    assert "go by strict" in _cautions(delta_cf=strict, delta_cf_released=released)
    assert "takes back" in _cautions(delta_cf=released, delta_cf_released=strict)


def test_a_large_placebo_is_named() -> None:
    run = example_run()
    run["metrics"]["delta_cf_released"] = 0.06
    run["intervals"]["delta_cf_released"] = [0.05, 0.07]
    for row in run["details"]["flips"]:
        if row["protocol"] == "placebo":
            row["rate"] = 0.054
    assert "placebo" in " ".join(headline(run).cautions)


def test_people_are_counted_from_whatever_is_there() -> None:
    run: dict[str, Any] = example_run()
    assert people(run) == 500
    run["details"]["flips"] = None
    assert people(run) == 205 + 295
    run["details"]["groups"] = None
    assert people(run) == run["details"]["graph"]["test"]
    assert people({}) is None


def test_answers_in_plain_words() -> None:
    right, alike, alone = headline(example_run()).answers
    assert "right about 71.8 % of people (67.6 % to 75.7 %)" in right
    assert "0.6 % of them would get another answer on average (0.2 % to 1.4 %)" in alike
    assert "0.5 % of those asked about would get another answer (0.1 % to 1.3 %)" in alone
