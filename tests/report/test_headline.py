from __future__ import annotations

from dataclasses import replace

from fairgear.auditing import Audit
from fairgear.graph.targets import Target
from fairgear.metrics import Interval
from fairgear.report.sections.headline import headline
from tests.report.example import example

SOUND = example(causal_models=None)


def cautions(of: Audit = SOUND, /, **metrics: tuple[float, float, float]) -> str:
    audit = replace(
        of,
        metrics=of.metrics | {name: value for name, (value, _, _) in metrics.items()},
        intervals=of.intervals
        | {name: Interval(low, high) for name, (_, low, high) in metrics.items()},
    )
    return " ".join(headline(audit).cautions)


def test_a_sound_model_needs_no_caution() -> None:
    assert headline(SOUND).cautions == ()


def test_guessing_is_called_guessing() -> None:
    assert "close to guessing" in cautions(auroc=(0.51, 0.46, 0.56))


def test_too_few_people_to_tell_is_not_called_guessing() -> None:
    said = cautions(auroc=(0.778, 0.4, 0.972))
    assert said == (
        "AUROC is 0.778 (0.400 to 0.972): too few people to tell whether it ranks better than "
        "chance."
    )


def test_several_classes_are_told_apart() -> None:
    target = Target("multiclass", ("a", "b", "c"))
    for ends, words in (
        ((0.51, 0.46, 0.56), "close to guessing: it hardly tells classes apart."),
        ((0.58, 0.49, 0.66), "too few people to tell whether it tells classes apart better than"),
    ):
        said = cautions(replace(SOUND, target=target), auroc=ends)
        assert words in said
        assert "class 1" not in said


def test_few_changes_are_no_merit_of_a_model_that_guesses() -> None:
    assert "no merit" in cautions(auroc=(0.51, 0.46, 0.56))
    strong = {"delta_cf_self": (0.9, 0.8, 1.0), "auroc": (0.51, 0.46, 0.56)}
    assert "no merit" not in cautions(**strong)


def test_a_constant_predictor_is_said_to_tell_nobody_apart() -> None:
    groups = tuple(replace(group, selection_rate=1.0) for group in SOUND.groups)
    assert "tells nobody apart" in " ".join(headline(replace(SOUND, groups=groups)).cautions)


def test_protocols_that_disagree_are_named() -> None:
    strict, released = (0.13, 0.10, 0.16), (0.01, 0.001, 0.03)
    assert "rely on strict" in cautions(delta_cf=strict, delta_cf_released=released)
    assert "follow the attribute only in part" in cautions(
        delta_cf=released, delta_cf_released=strict
    )


def test_a_large_placebo_is_named() -> None:
    assert "placebo" not in cautions(delta_cf_released=(0.06, 0.05, 0.07))
    assert "placebo" in cautions(delta_cf_released=(0.0015, 0.001, 0.002))


def test_a_model_that_does_not_repeat_itself_is_a_caution() -> None:
    noisy = example(causal_models=None, probes={"sens": False, "graph": False, "repeats": False})
    (caution,) = headline(noisy).cautions
    assert caution.startswith("It gives different scores when it is run twice")


def test_answers_in_plain_words() -> None:
    right, alike, alone = headline(SOUND).answers
    assert "right about 71.8 % of people (67.6 % to 75.7 %)" in right
    assert "0.6 % of them would get another answer on average (0.2 % to 1.4 %)" in alike
    assert "0.5 % of the people sampled for this would get another answer" in alone
