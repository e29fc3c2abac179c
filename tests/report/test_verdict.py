"""The verdict: severe where the model is, in the words of the data, and no more than is known."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import cache

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from fairgear.auditing import Audit, Worlds, audit
from fairgear.auditing.family import FIXED, OWN
from fairgear.auditing.references import Reference
from fairgear.causal import attribute_only
from fairgear.graph import SensitiveGraph, from_tables, split
from fairgear.metrics import UNDEFINED, Interval
from fairgear.report import render_page
from fairgear.report.sections.severity import LEVELS, severity
from fairgear.report.sections.verdict import verdict
from tests.report.example import example
from tests.report.markup import Markup

PEOPLE = pd.read_csv("examples/people.csv")


@cache
def worlds() -> Worlds:
    graph = from_tables(PEOPLE, label="approved", sensitive="sex", similarity=0.7)
    return Worlds(split(graph, seed=0))


def copying(graph: SensitiveGraph) -> Tensor:
    return 0.1 + 0.8 * graph.sens.float()


def constant(graph: SensitiveGraph) -> Tensor:
    return 0.7 + 0 * graph.sens.float()


def by_chance(graph: SensitiveGraph) -> Tensor:
    return (graph.node_id * 7919 % 101) / 101


@cache
def audited(model: Callable[[SensitiveGraph], Tensor], family: bool = False) -> Audit:
    return audit(model, worlds(), other_causal_models=family, affected_people=0, what_if_people=0)


def text_of(found: Audit) -> str:
    return " ".join(Markup(render_page(found)).text.split())


def test_a_model_that_copies_the_attribute_is_said_to_decide_by_it() -> None:
    found = verdict(audited(copying))
    assert (found.level, found.colour) == ("decides", "red")
    assert found.title == "Decides by sex"
    assert found.figure == "100 % of answers change when a person’s own sex changes"
    assert found.sentences[0] == (
        "That is with all that follows from it; 95 % interval 93.7 % to 100 %."
    )
    assert [one.group for one in found.affected] == ["female", "male"]
    assert "would get “approved: yes”" in found.affected[0].words
    assert "0 % would lose it" in found.affected[0].words
    assert found.affected[0].words.startswith("100 % (38 of 38) would get another answer")
    text = text_of(audited(copying))
    assert text.index("Decides by sex: 100 %") < text.index("How large that is")


def test_its_own_figures_are_the_reference_of_everybody_elses() -> None:
    """What copying and a constant are said to measure is what audits of both measure."""
    for name, one in audited(by_chance).references.items():
        for expected, model in ((one.copying, copying), (one.constant, constant)):
            found = audited(model).metrics.get(name, math.nan)
            if name in ("auroc", "accuracy") and model is copying:
                found = max(found, 1 - found)
            if name == "accuracy" and model is constant:
                found = max(found, 1 - found)
            if not math.isnan(expected) and not math.isnan(found):
                assert found == pytest.approx(expected), (name, model)


def test_a_model_that_ignores_everybody_hides_no_large_difference() -> None:
    found = verdict(audited(by_chance, family=True))
    assert found.level in ("none", "unsure")
    told = f"{found.figure} {found.sentences[0]}"
    assert "0 %" in told


def test_the_same_answer_for_everybody_is_no_merit() -> None:
    found = verdict(audited(constant))
    assert found.title == "Gives everybody the same answer"
    assert found.colour == "grey"


def test_without_worlds_nothing_is_said_of_what_would_change() -> None:
    graph = worlds().graph
    same = attribute_only(graph, graph.sens * 0)
    found = audit(by_chance, same)
    said = verdict(found)
    assert said.level == "unknown"
    assert said.title == "Not known: whether answers change with sex"
    assert not [one for one in said.gauges if one.title != "Right answers"]
    assert "What would change in other worlds was not measured" in text_of(found)


@pytest.mark.parametrize(
    ("value", "ends", "level"),
    [
        (1.0, (0.97, 1.0), "decides"),
        (0.5, (0.45, 0.55), "decides"),
        (1.0, None, "decides"),
        (0.6, (0.05, 0.99), "depends"),
        (0.3, (0.2, 0.4), "strong"),
        (0.3, (0.01, 0.6), "unsure"),
        (0.06, (0.03, 0.09), "depends"),
        (0.006, (0.001, 0.014), "few"),
        (0.0, (0.0, 0.04), "none"),
        (0.0, (0.0, 0.3), "unsure"),
        (0.0, None, "unsure"),
        (math.nan, None, "unknown"),
    ],
)
def test_severity(value: float, ends: tuple[float, float] | None, level: str) -> None:
    assert severity(value, UNDEFINED if ends is None else Interval(*ends)) == level


@pytest.mark.parametrize(
    ("value", "ends", "copying", "level"),
    [
        (0.44, (0.4, 0.48), 0.45, "decides"),
        (0.46, None, 0.45, "decides"),
        (0.40, (0.35, 0.44), 0.45, "strong"),
        (0.3, (0.05, 0.6), 0.45, "depends"),
        # A copy that hardly differs from other models says nothing.
        (0.13, (0.11, 0.16), 0.12, "strong"),
        (0.44, (0.4, 0.48), math.nan, "strong"),
    ],
)
def test_what_a_copy_would_have_decides(
    value: float, ends: tuple[float, float] | None, copying: float, level: str
) -> None:
    assert severity(value, UNDEFINED if ends is None else Interval(*ends), copying) == level


@given(st.floats(0, 1), st.floats(0, 0.5), st.floats(0, 0.5), st.floats(0, 0.4), st.floats(0, 0.4))
def test_more_changes_are_never_judged_milder(
    value: float, below: float, above: float, more: float, wider: float
) -> None:
    """A larger share whose whole interval is higher; and none is milder for being less certain."""
    ends = Interval(max(0.0, value - below), min(1.0, value + above))
    higher = Interval(min(1.0, ends.low + more), min(1.0, ends.high + more))
    order = LEVELS.index
    assert order(severity(min(1.0, value + more), higher)) <= order(severity(value, ends))
    unsure = Interval(ends.low, min(1.0, ends.high + wider))
    assert order(severity(value, unsure)) <= order(severity(value, ends))


def test_the_most_severe_figure_decides_but_not_bounds_that_no_credible_model_has() -> None:
    found = example()
    assert verdict(found).title.startswith("Answers depend")
    assert "under another causal model" in verdict(found).figure
    assert found.causal_models is not None
    doubtful = replace(found, causal_models=replace(found.causal_models, credible=0))
    said = verdict(doubtful)
    assert said.level == "few"
    assert any("none of those" in one for one in said.would_change)


def test_what_would_change_the_verdict_names_figures() -> None:
    said = " ".join(verdict(example()).would_change)
    assert "0.6 % of answers change under this audit’s own, 10.4 % under “quantile”" in said
    assert "if nothing but its own column, 0 %" in said


def with_figures(found: Audit, **figures: tuple[float, float, float]) -> Audit:
    """An audit with other figures: value and both ends."""
    values = {name: value for name, (value, _, _) in figures.items()}
    ends = {name: Interval(*of) for name, (_, *of) in figures.items()}
    return replace(found, metrics=found.metrics | values, intervals=found.intervals | ends)


def test_a_verdict_by_everybodys_value_says_which_figure_has_which_interval() -> None:
    """As of a model that copies the neighbours' attribute: nobody's own value matters."""
    people = audited(copying).people.assign(flip_strict_self=0.0)
    found = with_figures(
        replace(audited(copying), people=people),
        delta_cf_self=(0.0, 0.0, 0.076),
        delta_cf=(0.503, 0.49, 0.516),
    )
    said = verdict(found)
    assert said.level == "decides"
    assert said.figure == (
        "0 % of answers change when a person’s own sex changes, 50.3 % (49.0 % to 51.6 %) when "
        "everybody’s does"
    )
    assert said.sentences[0] == (
        "The 0 % is with all that follows from a person’s own sex (95 % interval 0 % to 7.6 %)."
    )
    assert said.asked == "Answers that change on average when everybody’s sex does"
    assert min(one.share for one in said.affected) > 0.4
    assert "7.6 %" not in " ".join(said.would_change)


def test_more_people_are_named_only_where_they_would_change_the_verdict() -> None:
    def more(own: tuple[float, float, float], everybody: tuple[float, float, float]) -> str:
        found = replace(audited(copying), references={})
        said = verdict(with_figures(found, delta_cf_self=own, delta_cf=everybody)).would_change
        return " ".join(one for one in said if one.startswith("More people"))

    assert more((0.06, 0.03, 0.09), (0.01, 0.0, 0.015)) == ""
    assert more((0.0, 0.0, 0.076), (0.3, 0.2, 0.4)) == ""
    assert more((0.06, 0.03, 0.14), (0.0, 0.0, 0.04)) == (
        "More people: with 80 asked, the share that changes with a person’s own sex could be "
        "anywhere from 3.0 % to 14.0 %."
    )
    assert "with everybody’s sex could be anywhere from 20.0 % to 60.0 %" in more(
        (0.0, 0.0, 0.01), (0.4, 0.2, 0.6)
    )


@pytest.mark.parametrize(
    ("everybody", "title", "colour"),
    [
        (
            (0.0, 0.0, 0.04),
            "No more than 4.0 % of answers could change with everybody’s sex",
            "green",
        ),
        ((0.01, 0.001, 0.03), "Few answers change with everybody’s sex", "yellow"),
    ],
)
def test_an_own_value_that_was_not_asked_is_said_not_to_be(
    everybody: tuple[float, float, float], title: str, colour: str
) -> None:
    unasked = audit(
        by_chance, worlds(), other_causal_models=False, affected_people=0, self_people=0
    )
    assert math.isnan(unasked.metrics["delta_cf_self"])
    said = verdict(with_figures(unasked, delta_cf=everybody))
    assert (said.title, said.colour) == (title, colour)
    assert "when everybody’s sex is set alike or mixed (95 % interval 0" in said.sentences[0]
    assert said.sentences[1] == "What happens when a person’s own sex changes was not measured."


def test_a_copy_that_was_not_asked_about_its_own_value_decides() -> None:
    found = audited(copying)
    said = verdict(
        with_figures(
            replace(found, references={"delta_cf": Reference(0.48, 0.0)}),
            delta_cf_self=(math.nan, *UNDEFINED),
            delta_cf=(0.47, 0.4, 0.54),
        )
    )
    assert said.title == "Decides by sex"


@pytest.mark.parametrize(
    ("model", "words"),
    [
        ("quantile", "10.4 % (7.1 % to 14.3 %) under another causal model when everybody’s does"),
        (
            OWN + FIXED,
            "10.4 % (7.1 % to 14.3 %) under this audit’s own causal model with links fixed when "
            "everybody’s does",
        ),
        (
            OWN,
            "10.4 % (7.1 % to 14.3 %, the interval for all causal models at once) when "
            "everybody’s does",
        ),
    ],
)
def test_the_largest_bound_is_said_to_be_of_its_model(model: str, words: str) -> None:
    found = example()
    assert found.causal_models is not None
    largest = replace(found.causal_models.largest, model=model)
    said = verdict(replace(found, causal_models=replace(found.causal_models, largest=largest)))
    assert said.figure.endswith(f"changes, {words}")
    assert said.asked.endswith("under this audit’s own causal model") == (model != OWN)


def rated(*groups: tuple[int, int]) -> Audit:
    """An audit without worlds whose groups have so many selected of so many people."""
    found = example(flips=[], causal_models=None)
    highest = max(selected / people for selected, people in groups if people > 20)
    lines = tuple(
        replace(
            found.groups[0],
            group=group,
            count=people,
            selected=selected,
            selection_rate=selected / people,
            impact_ratio=selected / people / highest,
            intervals={**found.groups[0].intervals, "impact_ratio": Interval(0.4, 0.9)},
            delta_cf=math.nan,
        )
        for group, (selected, people) in enumerate(groups)
    )
    missing = {"delta_cf": math.nan, "delta_cf_self": math.nan}
    return replace(
        found,
        metrics=found.metrics | missing,
        groups=lines,
        names=replace(found.names, groups=("a", "b", "c", "d")),
    )


def test_rates_are_compared_among_groups_that_are_large_enough() -> None:
    # One of one, none of one: both extremes are of small groups.
    said = verdict(rated((50, 100), (60, 200), (1, 1), (0, 1))).sentences
    assert said[1] == (
        "50.0 % (50 of 100) of a get “granted”, and 30.0 % (60 of 200) of b: 60.0 % of the "
        "highest rate (95 % interval 40.0 % to 90.0 %). Smaller groups are in the table."
    )
    assert verdict(rated((50, 100), (60, 200))).sentences[1].endswith("90.0 %).")


def test_equal_rates_have_no_lowest() -> None:
    equal = verdict(rated((50, 100), (100, 200))).sentences
    assert equal[1] == "All groups get “granted” equally often: 50.0 %."
    small = verdict(rated((50, 100), (100, 200), (0, 1))).sentences[1]
    assert small.startswith("All larger groups get “granted” equally often")
    assert small.endswith("Smaller groups are in the table.")
    assert len(verdict(rated((0, 1), (90, 100))).sentences) == 1


def test_names_that_steer_are_written_out() -> None:
    found = example()
    names = replace(found.names, attribute="sex\u202e", groups=("wo\u2066men", "men\x1b[31m"))
    text = text_of(replace(found, names=names))
    assert "\u202e" not in text
    assert "‹U+202E›" in text
    assert "‹U+001B›[31m" in text
